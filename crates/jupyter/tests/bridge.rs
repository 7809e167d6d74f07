//! A client over the standard streams of the bridge's program, run here as any place would run it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests stop where something is wrong

mod support;

use std::{process::Stdio, time::Duration};

use bytes::Bytes;
use futures::StreamExt as _;
use sandbook_jupyter::{
    Bridge, Content, ExecuteRequest, ExecutionEnd, ExecutionEvent, KernelClient, SessionId, SessionLog,
    bridge::{Decoder, Heard, Hello, Kind, Order, PROGRAM, Piece, Reader, Said},
};
use sandbook_test_support::{PATIENCE, python};
use support::{collect, take, until_line};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, Command},
    sync::mpsc,
};

/// The program, and both ways. It ends with this, because its standard input does.
struct Program {
    child: Child,
    lines: mpsc::UnboundedSender<Bytes>,
    reader: Reader,
}

fn run(order: &Order<'_>) -> Program {
    let mut child = Command::new(python())
        .args(["-u", "-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
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
    lines.send(order.line()).unwrap();
    Program { child, lines, reader: Reader::new(pieces.boxed(), Decoder::at_the_beginning()) }
}

const BEGIN: Order<'_> = Order::Begin { folder: None, idle: None, driver: "", plain: false };

async fn hello(reader: &mut Reader) -> Hello {
    match tokio::time::timeout(PATIENCE, reader.next()).await.unwrap() {
        Heard::Said(Said::Hello(hello)) => hello,
        other => panic!("{other:?}"),
    }
}

struct Kernel {
    client: KernelClient,
    _log: SessionLog,
    child: Child,
    lines: mpsc::UnboundedSender<Bytes>,
    said: mpsc::UnboundedReceiver<String>,
}

async fn kernel_begun_with(order: &Order<'_>) -> Kernel {
    let Program { child, lines, mut reader } = run(order);
    assert_eq!(hello(&mut reader).await.kind, Kind::Kernel);
    let (tell, said) = mpsc::unbounded_channel();
    let listener = Box::new(move |said: &Said, _| {
        if !matches!(said, Said::Message(_)) {
            drop(tell.send(format!("{said:?}")));
        }
    });
    let bridge = Bridge::new(SessionId::random(), reader, lines.clone(), listener);
    let (client, log) = KernelClient::start(bridge);
    client.ready(PATIENCE).await.unwrap();
    Kernel { client, _log: log, child, lines, said }
}

async fn kernel() -> Kernel {
    kernel_begun_with(&BEGIN).await
}

async fn ended(child: &mut Child) {
    tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
}

#[tokio::test]
async fn state_is_kept_and_output_comes_while_code_runs() {
    let kernel = kernel().await;
    collect(kernel.client.execute(&ExecuteRequest::new("x = 40")).unwrap()).await;
    let code = "print('first')\nimport time; time.sleep(0.5)\nprint('second'); x + 2";
    let mut execution = kernel.client.execute(&ExecuteRequest::new(code)).unwrap();
    let seen = until_line(&mut execution, "first").await;
    assert_eq!(seen.stdout, "first\n");
    let seen = collect(execution).await;
    assert_eq!((seen.stdout.as_str(), seen.results.as_slice()), ("second\n", &["42".to_owned()][..]));
    assert_eq!(seen.end, Some(ExecutionEnd::Complete));
}

#[tokio::test]
async fn what_goes_around_python_and_what_is_binary_disturbs_no_frame() {
    let kernel = kernel().await;
    let code = "import os, subprocess\nos.write(1, b'raw \\xff\\x00 bytes\\n')\nsubprocess.run(['echo', 'from a child'])\nprint('printed')";
    let seen = collect(kernel.client.execute(&ExecuteRequest::new(code)).unwrap()).await;
    assert_eq!(seen.end, Some(ExecutionEnd::Complete));
    let display = "from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))";
    assert_eq!(collect(kernel.client.execute(&ExecuteRequest::new(display)).unwrap()).await.displays, 1);
}

#[tokio::test]
async fn much_output_arrives_whole() {
    let kernel = kernel().await;
    let one = ExecuteRequest::new("print('x' * 20_000_000)");
    assert_eq!(collect(kernel.client.execute(&one).unwrap()).await.stdout.len(), 20_000_001);
    let many = ExecuteRequest::new("for i in range(200_000): print(i)");
    let seen = collect(kernel.client.execute(&many).unwrap()).await;
    assert_eq!(seen.stdout.lines().count(), 200_000);
    assert!(seen.stdout.ends_with("\n199999\n"));
}

#[tokio::test]
async fn input_is_answered_and_what_runs_is_interrupted() {
    let kernel = kernel().await;
    let mut execution = kernel.client.execute(&ExecuteRequest::new("print(input('name? '))")).unwrap();
    let mut seen = support::Seen::default();
    while let Some(event) = execution.next().await {
        if let ExecutionEvent::InputRequest(message) = &event {
            let Content::InputRequest(request) = message.content() else { panic!("{message:?}") };
            assert_eq!(request.prompt, "name? ");
            kernel.client.reply_input(message, "Ada".to_owned().into()).unwrap();
        }
        take(&mut seen, event);
    }
    assert_eq!(seen.stdout, "Ada\n");
    let endless = "print('begun', flush=True)\nimport time\nwhile True: time.sleep(0.05)";
    let mut execution = kernel.client.execute(&ExecuteRequest::new(endless)).unwrap();
    until_line(&mut execution, "begun").await;
    kernel.lines.send(Order::Interrupt(true).line()).unwrap();
    assert_eq!(collect(execution).await.error.as_deref(), Some("KeyboardInterrupt"));
}

#[tokio::test]
async fn a_kernel_that_dies_is_told_with_its_signal_and_its_last_words() {
    let mut kernel = kernel().await;
    let code = "print('last words', flush=True)\nimport os, time; time.sleep(0.3); os.kill(os.getpid(), 9)";
    let seen = collect(kernel.client.execute(&ExecuteRequest::new(code)).unwrap()).await;
    assert_eq!(seen.stdout, "last words\n");
    assert_ne!(seen.end, Some(ExecutionEnd::Complete));
    let said = kernel.said.recv().await.unwrap();
    assert_eq!(said, "Died { code: None, signal: Some(9) }");
    ended(&mut kernel.child).await;
}

#[tokio::test]
async fn a_torn_line_does_no_harm_to_the_next() {
    let kernel = kernel().await;
    kernel.lines.send(Bytes::from_static(b"BgAAAAAAAAA")).unwrap();
    kernel.lines.send(Bytes::from_static(b"\n{\"order\": \n")).unwrap();
    let seen = collect(kernel.client.execute(&ExecuteRequest::new("1 + 1")).unwrap()).await;
    assert_eq!(seen.results, ["2"]);
}

#[tokio::test]
async fn the_program_ends_with_its_kernel_when_its_input_does() {
    let Kernel { client, mut child, lines, .. } = kernel().await;
    let pid = collect(client.execute(&ExecuteRequest::new("import os; os.getpid()")).unwrap()).await;
    client.stop();
    drop((client, lines));
    ended(&mut child).await;
    assert!(!std::path::Path::new("/proc").join(&pid.results[0]).exists(), "its kernel is left");
}

#[tokio::test]
async fn a_kernel_that_nobody_uses_ends_and_says_so_and_one_that_runs_code_does_not() {
    let begin = Order::Begin { folder: None, idle: Some(1), driver: "", plain: false };
    let mut kernel = kernel_begun_with(&begin).await;
    let seen =
        collect(kernel.client.execute(&ExecuteRequest::new("import time; time.sleep(3); 'done'")).unwrap())
            .await;
    assert_eq!(seen.results, ["'done'"]);
    let said = tokio::time::timeout(PATIENCE, kernel.said.recv()).await.unwrap().unwrap();
    assert_eq!(said, "Idle(1)");
    ended(&mut kernel.child).await;
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_told() {
    let begin = Order::Begin { folder: Some("/proc/nowhere"), idle: None, driver: "", plain: false };
    let mut program = run(&begin);
    let heard = tokio::time::timeout(Duration::from_secs(20), program.reader.next()).await.unwrap();
    assert!(matches!(&heard, Heard::Said(Said::Missing(folder)) if folder == "/proc/nowhere"), "{heard:?}");
    ended(&mut program.child).await;
}
