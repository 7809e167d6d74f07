//! A client through real servers, over lines that break.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are not seen as tests

mod support;

use std::time::{Duration, Instant};

use sandbook_jupyter::{
    Activity, Channel, Content, Credential, End, Error, ExecuteRequest, ExecutionEnd, ExecutionEvent,
    KernelClient, Link, Message, SessionEvent, SessionId, SessionLog, WebSocket,
};
use sandbook_test_support::{Line, PATIENCE, Proxy, gateway, jupyter_server, rest};
use support::{Seen, collect, collect_on, new_kernel, take, target, until_line};

async fn connect(url: &url::Url, kernel_id: &str) -> (KernelClient, SessionLog) {
    let transport = WebSocket::connect(target(url, kernel_id), SessionId::random()).await.unwrap();
    let (client, log) = KernelClient::start(transport);
    client.ready(PATIENCE).await.unwrap();
    (client, log)
}

/// Waits until the connection is seen to be away, and so many attempts have failed.
async fn is_away(client: &KernelClient, attempts: u32) {
    let mut link = client.link();
    let away =
        link.wait_for(|link| matches!(link, Link::Reconnecting { attempt, .. } if *attempt >= attempts));
    drop(tokio::time::timeout(PATIENCE, away).await.unwrap().unwrap());
}

/// Waits until the kernel says that it runs something.
async fn is_busy(client: &KernelClient) {
    let mut activity = client.activity();
    let busy = activity.wait_for(|activity| *activity == Activity::Busy);
    drop(tokio::time::timeout(PATIENCE, busy).await.unwrap().unwrap());
}

#[tokio::test]
async fn code_runs_over_the_v1_framing_and_large_output_arrives_whole() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let transport = WebSocket::connect(target(&server.url, &kernel), SessionId::random()).await.unwrap();
    assert!(transport.is_v1());
    let (client, _log) = KernelClient::start(transport);
    let seen = collect(client.execute(&ExecuteRequest::new("print('x' * 20_000_000); 1+1")).unwrap()).await;
    assert_eq!((seen.stdout.len(), seen.results.as_slice()), (20_000_001, &["2".to_owned()][..]));
    let seen =
        collect(client.execute(&ExecuteRequest::new("for i in range(200_000): print(i)")).unwrap()).await;
    assert_eq!((seen.stdout.lines().count(), seen.end), (200_000, Some(ExecutionEnd::Complete)));
}

#[tokio::test]
async fn a_server_that_knows_only_the_oldest_framing_is_spoken_to_in_it() {
    let server = jupyter_server().await;
    let proxy = Proxy::hiding_subprotocols(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let transport = WebSocket::connect(target(&proxy.url, &kernel), SessionId::random()).await.unwrap();
    assert!(!transport.is_v1());
    let (client, _log) = KernelClient::start(transport);
    let code = "def opened(comm, message):\n    comm.send({'n': len(message['buffers'][0])}, buffers=[b'abc'])\nget_ipython().kernel.comm_manager.register_target('t', opened)\nprint(input('? '))";
    let mut execution = client.execute(&ExecuteRequest::new(code)).unwrap();
    let mut seen = Seen::default();
    while let Some(event) = execution.next().await {
        if let ExecutionEvent::InputRequest(message) = &event {
            client.reply_input(message, "typed".to_owned().into()).unwrap();
        }
        take(&mut seen, event);
    }
    assert_eq!(seen.stdout, "typed\n");
    let mut raw = client.raw();
    let content = serde_json::json!({"comm_id": "c", "target_name": "t", "data": {}});
    let mut open = Message::new(Channel::Shell, "comm_open", client.session(), &content);
    open.buffers.push(bytes::Bytes::from_static(b"12345"));
    client.send_raw(open).unwrap();
    let answer = async {
        loop {
            let message = raw.recv().await.unwrap();
            if message.msg_type() == "comm_msg" {
                return message;
            }
        }
    };
    let answer = tokio::time::timeout(PATIENCE, answer).await.unwrap();
    assert_eq!(answer.buffers[0].as_ref(), b"abc");
    assert_eq!(answer.content.to_value()["data"], serde_json::json!({"n": 5}));
}

#[tokio::test]
async fn a_kernel_gateway_runs_code_and_takes_input() {
    let server = gateway(&[]).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&server.url, &kernel).await;
    let mut execution = client.execute(&ExecuteRequest::new("print(input('? '))")).unwrap();
    let mut seen = Seen::default();
    while let Some(event) = execution.next().await {
        if let ExecutionEvent::InputRequest(message) = &event {
            client.reply_input(message, "typed".to_owned().into()).unwrap();
        }
        take(&mut seen, event);
    }
    assert_eq!(seen.stdout, "typed\n");
}

#[tokio::test]
async fn a_wrong_token_a_missing_kernel_and_a_dead_host_each_have_their_own_error_after_one_request() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let missing = "00000000-0000-0000-0000-000000000000";
    let mut wrong = target(&proxy.url, missing);
    wrong.credential = Credential::Header("wrong".to_owned().into());
    let error = WebSocket::connect(wrong, SessionId::random()).await.err();
    assert!(matches!(error, Some(Error::Refused { status: 403 })), "{error:?}");
    assert_eq!(proxy.accepted(), 1);
    let error = WebSocket::connect(target(&server.url, missing), SessionId::random()).await.err();
    assert!(matches!(error, Some(Error::KernelGone)), "{error:?}");
    let error = WebSocket::connect(target(&"http://127.0.0.1:9/".parse().unwrap(), "k"), SessionId::random())
        .await
        .err();
    assert!(matches!(error, Some(Error::Unreachable { .. })), "{error:?}");
}

const COUNTING: &str =
    "import time\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.1)\n'end'";

fn counted() -> String {
    (0..40).fold(String::new(), |text, i| text + &format!("{i}\n"))
}

#[tokio::test]
async fn output_missed_while_the_line_was_cut_is_replayed_once_and_the_cell_ends() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&proxy.url, &kernel).await;
    let mut execution = client.execute(&ExecuteRequest::new(COUNTING)).unwrap();
    let mut link = client.link();
    // between two lines, when nothing is on its way that a cut would swallow
    let seen = until_line(&mut execution, "7").await;
    proxy.set(Line::Cut);
    let reconnecting = link.wait_for(|link| matches!(link, Link::Reconnecting { .. }));
    let at_once = tokio::time::timeout(Duration::from_secs(1), reconnecting).await;
    drop(at_once.expect("a cut line is told at once").unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    proxy.set(Line::Open);
    let seen = collect_on(execution, seen).await;
    assert_eq!(seen.stdout, counted());
    assert_eq!(
        (seen.results.as_slice(), seen.end),
        (&["'end'".to_owned()][..], Some(ExecutionEnd::Complete))
    );
    assert_eq!(*client.link().borrow(), Link::Connected);
}

#[tokio::test]
async fn a_cell_that_ended_while_the_line_was_cut_ends_here_after_it_is_mended() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&proxy.url, &kernel).await;
    let code = "import time\nprint('begun', flush=True)\ntime.sleep(1)\nprint('done')";
    let mut execution = client.execute(&ExecuteRequest::new(code)).unwrap();
    let seen = until_line(&mut execution, "begun").await;
    proxy.set(Line::Cut);
    tokio::time::sleep(Duration::from_secs(3)).await;
    proxy.set(Line::Open);
    let seen = collect_on(execution, seen).await;
    assert_eq!((seen.stdout.as_str(), seen.end), ("begun\ndone\n", Some(ExecutionEnd::Complete)));
}

#[tokio::test]
async fn code_given_while_reconnecting_runs_when_the_line_is_back() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&proxy.url, &kernel).await;
    proxy.set(Line::Cut);
    is_away(&client, 0).await;
    let execution = client.execute(&ExecuteRequest::new("print('later'); 3")).unwrap();
    proxy.set(Line::Open);
    let seen = collect(execution).await;
    assert_eq!((seen.stdout.as_str(), seen.results.as_slice()), ("later\n", &["3".to_owned()][..]));
}

/// Longer than a silent line is told in where somebody waits (about 5 s), shorter than where nobody does (12 s).
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_line_that_goes_silent_while_code_runs_is_told_soon() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&proxy.url, &kernel).await;
    let _running = client.execute(&ExecuteRequest::new("import time; time.sleep(60)")).unwrap();
    is_busy(&client).await;
    proxy.set(Line::Stalled);
    let mut link = client.link();
    let told = link.wait_for(|link| matches!(link, Link::Reconnecting { .. }));
    drop(tokio::time::timeout(SOON, told).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_line_that_takes_code_and_brings_nothing_back_is_told_soon() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&proxy.url, &kernel).await;
    proxy.set(Line::Stalled);
    let _swallowed = client.execute(&ExecuteRequest::new("1")).unwrap();
    let mut link = client.link();
    let told = link.wait_for(|link| matches!(link, Link::Reconnecting { .. }));
    drop(tokio::time::timeout(SOON, told).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_kernel_that_computes_and_prints_nothing_is_not_taken_for_a_lost_line() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let (client, mut log) = connect(&server.url, &kernel).await;
    let seconds = if std::env::var_os("SANDBOOK_TEST_LONG").is_some() { 70 } else { 20 };
    let code = format!("import time; time.sleep({seconds})");
    let seen = collect(client.execute(&ExecuteRequest::new(code)).unwrap()).await;
    assert_eq!(seen.end, Some(ExecutionEnd::Complete));
    while let Ok(event) = log.try_recv() {
        assert!(!matches!(event, SessionEvent::Link(Link::Reconnecting { .. })), "{event:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_is_slow_is_not_taken_for_one_that_is_gone() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let (client, mut log) = connect(&server.url, &kernel).await;
    let execution = client.execute(&ExecuteRequest::new("import time; time.sleep(12)")).unwrap();
    for _ in 0..3 {
        server.signal("STOP");
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        server.signal("CONT");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(collect(execution).await.end, Some(ExecutionEnd::Complete));
    while let Ok(event) = log.try_recv() {
        assert!(!matches!(event, SessionEvent::Link(Link::Reconnecting { .. })), "{event:?}");
    }
}

#[tokio::test]
async fn a_line_that_goes_silent_is_noticed_and_the_cell_still_ends() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&proxy.url, &kernel).await;
    let execution = client.execute(&ExecuteRequest::new("import time; time.sleep(2); print('x')")).unwrap();
    is_busy(&client).await;
    proxy.set(Line::Stalled);
    is_away(&client, 0).await;
    proxy.set(Line::Open);
    let end = collect(execution).await.end;
    assert!(matches!(end, Some(ExecutionEnd::Complete | ExecutionEnd::Lost { .. })), "{end:?}");
    let seen = collect(client.execute(&ExecuteRequest::new("1")).unwrap()).await;
    assert_eq!(seen.end, Some(ExecutionEnd::Complete));
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_is_lost_when_a_server_that_was_paused_goes_on() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&server.url, &kernel).await;
    let mut execution = client.execute(&ExecuteRequest::new(COUNTING)).unwrap();
    let seen = until_line(&mut execution, "7").await;
    server.signal("STOP");
    is_away(&client, 0).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.signal("CONT");
    let seen = collect_on(execution, seen).await;
    assert_eq!((seen.stdout, seen.end), (counted(), Some(ExecutionEnd::Complete)));
}

#[tokio::test]
async fn a_kernel_that_its_server_removed_is_gone_and_not_reconnected_to() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&proxy.url, &kernel).await;
    rest("DELETE", &server.url, &format!("api/kernels/{kernel}")).await;
    proxy.set(Line::Cut);
    is_away(&client, 0).await;
    proxy.set(Line::Open);
    let mut link = client.link();
    let ended = link.wait_for(|link| matches!(link, Link::Ended(_)));
    assert_eq!(*tokio::time::timeout(PATIENCE, ended).await.unwrap().unwrap(), Link::Ended(End::KernelGone));
}

#[tokio::test]
async fn a_kernel_that_its_server_starts_again_counts_as_dead_within_a_second_of_its_word() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&server.url, &kernel).await;
    let mut execution = client
        .execute(&ExecuteRequest::new("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
        .unwrap();
    let mut told = None;
    let mut activity = client.activity();
    let end = loop {
        tokio::select! {
            _ = activity.wait_for(|activity| *activity == Activity::Restarting), if told.is_none() => told = Some(Instant::now()),
            event = execution.next() => match event {
                Some(ExecutionEvent::Ended(end)) => break end,
                Some(_) => {}
                None => panic!("no end"),
            }
        }
    };
    assert_eq!(end, ExecutionEnd::Died);
    assert!(told.is_none_or(|told| told.elapsed() < Duration::from_secs(1)));
    let seen = collect(client.execute(&ExecuteRequest::new("40+2")).unwrap()).await;
    assert_eq!(seen.results, ["42"]);
}

#[tokio::test]
async fn stopping_while_reconnecting_ends_at_once() {
    let server = jupyter_server().await;
    let proxy = Proxy::start(&server.url).await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&proxy.url, &kernel).await;
    proxy.set(Line::Cut);
    is_away(&client, 2).await;
    client.stop();
    let mut link = client.link();
    let ended = link.wait_for(|link| *link == Link::Ended(End::Stopped));
    drop(tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_result_does_not_wait_for_a_delayed_acknowledgement() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&server.url, &kernel).await;
    let mut times = Vec::new();
    for _ in 0..30 {
        let start = Instant::now();
        let seen = collect(client.execute(&ExecuteRequest::new("1+1")).unwrap()).await;
        assert_eq!(seen.results, ["2"]);
        times.push(start.elapsed());
    }
    times.sort();
    // without the Pong it is 44 ms or more on an idle machine, with it 3 ms
    assert!(times[5] < Duration::from_millis(35), "{times:?}");
}

#[tokio::test]
async fn interrupting_by_message_is_answered() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&server.url, &kernel).await;
    let mut execution =
        client.execute(&ExecuteRequest::new("print('go', flush=True)\nimport time; time.sleep(60)")).unwrap();
    let mut seen = Seen::default();
    while let Some(event) = execution.next().await {
        let go = matches!(&event, ExecutionEvent::Output(message) if matches!(message.content(), Content::Stream(_)));
        take(&mut seen, event);
        if go {
            tokio::time::timeout(PATIENCE, client.interrupt()).await.unwrap().unwrap();
        }
    }
    assert_eq!(seen.error.as_deref(), Some("KeyboardInterrupt"));
}

#[tokio::test]
async fn a_restart_by_somebody_else_ends_what_was_running_and_code_runs_afterwards() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&server.url, &kernel).await;
    let execution = client.execute(&ExecuteRequest::new("import time; time.sleep(60)")).unwrap();
    is_busy(&client).await;
    rest("POST", &server.url, &format!("api/kernels/{kernel}/restart")).await;
    let end = collect(execution).await.end;
    assert!(matches!(end, Some(ExecutionEnd::Restarted | ExecutionEnd::Died)), "{end:?}");
    let seen = collect(client.execute(&ExecuteRequest::new("2")).unwrap()).await;
    assert_eq!(seen.results, ["2"]);
}
