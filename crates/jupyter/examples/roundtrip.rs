//! Measures `1+1`: request to reply, idle and result. Prints the transport, and each time in milliseconds.
//!
//! `roundtrip zmq CONNECTION_FILE [-n N]`, or `roundtrip ws SERVER KERNEL_ID [-n N]` with the token in
//! `JUPYTER_TOKEN`: the kernel or server must already run. `roundtrip bridge PYTHON [-n N]` starts a kernel behind the
//! standard streams of that Python.

use std::{path::Path, process::Stdio, time::Instant};

use bytes::Bytes;
use futures::StreamExt as _;
use sandbook_jupyter::{
    Bridge, ConnectionInfo, Credential, ExecuteRequest, KernelClient, SessionId, Target, WebSocket, ZeroMq,
    bridge::{Decoder, Heard, Order, PROGRAM, Piece, Reader, Said},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    sync::mpsc,
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
        ["bridge", python] => ("bridge", KernelClient::start(bridge(python, session).await?)),
        _ => {
            let usage = "usage: roundtrip zmq CONNECTION_FILE | ws SERVER KERNEL_ID | bridge PYTHON [-n N]";
            return Err(usage.into());
        }
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

/// A kernel behind the standard streams of the bridge's program, which ends with this one.
async fn bridge(python: &str, session: SessionId) -> Outcome<Bridge> {
    let mut command = Command::new(python);
    command.args(["-u", "-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(false);
    let mut child = command.spawn()?;
    let (mut stdin, stdout) =
        (child.stdin.take().ok_or("no way in")?, child.stdout.take().ok_or("no way out")?);
    let (lines, mut to_write) = mpsc::unbounded_channel::<Bytes>();
    tokio::spawn(async move {
        while let Some(line) = to_write.recv().await {
            if stdin.write_all(&line).await.is_err() {
                return;
            }
        }
    });
    let pieces = futures::stream::unfold(stdout, |mut stdout| async {
        let mut buffer = vec![0; 1 << 16];
        let count = stdout.read(&mut buffer).await.unwrap_or_default();
        buffer.truncate(count);
        (count > 0).then(|| (Piece::Bytes(buffer.into()), stdout))
    });
    lines.send(Order::Begin { folder: None, idle: None, driver: "", plain: false }.line())?;
    let mut reader = Reader::new(pieces.boxed(), Decoder::at_the_beginning());
    match reader.next().await {
        Heard::Said(Said::Hello(_)) => Ok(Bridge::new(session, reader, lines, Box::new(|_, _| {}))),
        other => Err(format!("the kernel did not start: {other:?}").into()),
    }
}
