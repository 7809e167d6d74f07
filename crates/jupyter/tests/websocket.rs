//! A client through real servers.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are not seen as tests

mod support;

use std::time::{Duration, Instant};

use sandbook_jupyter::{
    Activity, Channel, Content, Credential, Error, ExecuteRequest, ExecutionEnd, ExecutionEvent,
    KernelClient, Message, SessionId, WebSocket,
};
use sandbook_test_support::{PATIENCE, Proxy, gateway, jupyter_server, rest};
use support::{Seen, collect, connect, is_busy, new_kernel, take, target};

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

#[tokio::test]
async fn a_kernel_that_its_server_starts_again_counts_as_dead_within_a_second_of_its_word() {
    let server = jupyter_server().await;
    let kernel = new_kernel(&server.url).await;
    let (client, _log) = connect(&server.url, &kernel).await;
    let mut execution = client
        .execute(&ExecuteRequest::new("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
        .unwrap();
    let mut activity = client.activity();
    let word = async {
        activity.wait_for(|activity| *activity == Activity::Restarting).await.unwrap();
        Instant::now()
    };
    let end = async {
        loop {
            match execution.next().await {
                Some(ExecutionEvent::Ended(end)) => break (end, Instant::now()),
                Some(_) => {}
                None => panic!("no end"),
            }
        }
    };
    let both = async { tokio::join!(word, end) };
    let (told, (end, ended)) = tokio::time::timeout(PATIENCE, both).await.expect("the server says so");
    assert_eq!(end, ExecutionEnd::Died);
    assert!(ended.saturating_duration_since(told) < Duration::from_secs(1));
    let seen = collect(client.execute(&ExecuteRequest::new("40+2")).unwrap()).await;
    assert_eq!(seen.results, ["42"]);
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
