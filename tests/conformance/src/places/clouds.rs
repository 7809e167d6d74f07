//! Kernels of clouds' open pages: a kernel on a real server, behind a stand-in of the cloud's proxy.
//!
//! What the proxies do that nobody has seen is written down in `docs/clouds.md`; the kernel behind them is a real one.

use std::sync::Arc;

use sandbook_runtimes::{
    colab::{ColabRuntime, ColabSettings},
    kaggle::{KaggleRuntime, KaggleSettings},
};
use sandbook_sandbox::{Runtime, SandboxSettings};
use sandbook_test_support::{Server, StandIn, rest, server};
use serde_json::Value;
use url::Url;

use super::Place;
use crate::{Stage, stage::Folders};

const SECRET: &str = "s3cret-of-a-page";

/// What tells it from the kernel of any server.
const WHERE_IT_DIFFERS: &[&str] = &["Restart", "Settings", "Create and join", "Stop"];

/// The kernel of a Colab tab.
pub(super) const COLAB: Place = Place {
    name: "colab",
    title: "Colab tab",
    about: "runtime `colab`, the kernel of an open tab by its channels link; a stand-in of Google's proxy",
    only: Some((WHERE_IT_DIFFERS, "jupyter_server")),
    prepare: || {
        Box::pin(async {
            let page = Page::open("colab_proxy", &[SECRET]).await;
            let own = ColabSettings { url: page.at("/"), kernel_id: page.kernel.clone() };
            page.stage(Arc::new(ColabRuntime), own.to_value())
        })
    },
};

/// The kernel of a Kaggle session.
pub(super) const KAGGLE: Place = Place {
    name: "kaggle",
    title: "Kaggle session",
    about: "runtime `kaggle`, the kernel of an open session by its channels link; a stand-in of Kaggle's proxy",
    only: Some((WHERE_IT_DIFFERS, "jupyter_server")),
    prepare: || {
        Box::pin(async {
            let page = Page::open("kaggle_proxy", &["17", SECRET]).await;
            let own = KaggleSettings {
                url: page.at("/k/17/***/proxy/"),
                kernel_id: Some(page.kernel.clone()),
                kernel: None,
            };
            page.stage(Arc::new(KaggleRuntime), own.to_value())
        })
    },
};

/// A page with its kernel.
struct Page {
    folders: Folders,
    server: Server,
    proxy: StandIn,
    kernel: String,
}

impl Page {
    async fn open(stand_in: &str, arguments: &[&str]) -> Self {
        let folders = Folders::new();
        let root = format!("--ServerApp.root_dir={}", folders.root().display());
        // whether a server holds output back is for its own tests
        let limits =
            ["data", "msg"].map(|kind| format!("--ZMQChannelsWebsocketConnection.iopub_{kind}_rate_limit=0"));
        let server = server("jupyter_server", &[&root, &limits[0], &limits[1]]).await;
        let kernel = rest("POST", &server.url, "api/kernels").await;
        let kernel = kernel["id"].as_str().expect("a kernel has an id").to_owned();
        let proxy = StandIn::start(stand_in, &server, arguments);
        Self { folders, server, proxy, kernel }
    }

    fn at(&self, path: &str) -> Url {
        self.proxy.url.join(path).expect("a path")
    }

    fn stage(self, runtime: Arc<dyn Runtime>, own: Value) -> Stage {
        let settings = SandboxSettings { runtime: own, ..SandboxSettings::default() };
        let stage = Stage::new(runtime, settings, self.folders);
        let credential = Some(SECRET.to_owned().into());
        Stage { credential, shared: true, started: Some(Box::new((self.server, self.proxy))), ..stage }
    }
}
