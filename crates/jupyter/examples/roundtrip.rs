//! Measures `1+1`: request to reply, idle and result. Prints the transport, and each time in milliseconds.
//!
//! `roundtrip zmq CONNECTION_FILE [-n N]`, or `roundtrip ws SERVER KERNEL_ID [-n N]` with the token in
//! `JUPYTER_TOKEN`. The kernel or server must already run.

use std::{path::Path, time::Instant};

use sandbook_jupyter::{
    ConnectionInfo, Credential, ExecuteRequest, KernelClient, SessionId, Target, WebSocket, ZeroMq,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runs = arguments.iter().skip_while(|word| *word != "-n").nth(1).map_or(Ok(200), |n| n.parse())?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).take_while(|word| *word != "-n").collect();
    let session = SessionId::random();
    let (name, (client, log)) = match words.as_slice() {
        ["zmq", file] => {
            let info = ConnectionInfo::read(Path::new(file))?;
            ("zmq", KernelClient::start(ZeroMq::new(info, session)))
        }
        ["ws", server, kernel_id] => {
            let token = std::env::var("JUPYTER_TOKEN")?;
            let target = Target {
                server: server.parse()?,
                kernel_id: (*kernel_id).to_owned(),
                credential: Credential::Header(token.into()),
                headers: Vec::new(),
                tls: None,
            };
            ("ws", KernelClient::start(WebSocket::connect(target, session).await?))
        }
        _ => return Err("usage: roundtrip zmq CONNECTION_FILE | ws SERVER KERNEL_ID [-n N]".into()),
    };
    drop(log);
    client.ready(std::time::Duration::from_mins(1)).await?;
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        let mut execution = client.execute(&ExecuteRequest::new("1+1"))?;
        while execution.next().await.is_some() {}
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    println!("{}", serde_json::json!({ "transport": name, "times_ms": times }));
    client.stop();
    Ok(())
}
