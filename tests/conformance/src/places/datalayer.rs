//! Datalayer, of which a stand-in makes runtimes with kernels on a real Jupyter server.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
};

use sandbook_runtimes::datalayer::{DatalayerRuntime, DatalayerSettings, Defaults};
use sandbook_sandbox::SandboxSettings;
use sandbook_test_support::{StandIn, jupyter_server};

use super::Place;
use crate::{Stage, stage::Folders};

const KEY: &str = "the-key-of-an-account";

/// What tells it from the kernel of any server.
const WHERE_IT_DIFFERS: &[&str] = &["Restart", "Settings", "Create and join", "Stop"];

/// The place.
pub(super) const PLACE: Place = Place {
    name: "datalayer",
    title: "Datalayer",
    about: "runtime `datalayer`, a machine that is paid for; a stand-in of the platform, with real kernels",
    only: Some((WHERE_IT_DIFFERS, "jupyter_server")),
    prepare: || {
        Box::pin(async {
            let server = jupyter_server().await;
            let platform = StandIn::start("datalayer", &server, &[KEY]);
            let own =
                DatalayerSettings { run_url: Some(platform.url.to_string()), ..DatalayerSettings::default() };
            let settings = SandboxSettings { runtime: own.to_value(), ..SandboxSettings::default() };
            let runtime = Arc::new(DatalayerRuntime::with(Defaults::default()));
            let stage = Stage::new(runtime, settings, Folders::new());
            let port = platform.url.port().unwrap_or_default();
            Stage {
                credential: Some(KEY.to_owned().into()),
                started: Some(Box::new((platform, server))),
                left: Some(Box::new(move || living(port))),
                ..stage
            }
        })
    },
};

/// The runtimes that still cost something.
fn living(port: u16) -> Vec<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the platform is there");
    stream.write_all(b"GET /__door/runtimes HTTP/1.0\r\n\r\n").expect("it is asked");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    serde_json::from_str(body).expect("it names them")
}
