//! A client on real kernels' own sockets.

mod support;

use std::time::{Duration, Instant};

use sandbook_jupyter::{
    Activity, Channel, Content, End, Error, ExecuteRequest, ExecutionEnd, ExecutionEvent, KernelClient, Link,
    Message, Origin, SessionEvent, SessionId, ZeroMq, kernelspec,
};
use sandbook_test_support::{PATIENCE, python};
use support::{collect, collect_on, ipykernel, ready_ipykernel, start, take, until_line};

#[tokio::test]
async fn code_runs_before_the_kernel_is_up_and_nothing_of_it_is_missed() {
    let kernel = ipykernel();
    let seen = collect(kernel.client.execute(&ExecuteRequest::new("print('hello'); 1+1")).unwrap()).await;
    assert_eq!((seen.stdout.as_str(), seen.results.as_slice()), ("hello\n", &["2".to_owned()][..]));
    assert_eq!((seen.status.as_str(), seen.end), ("ok", Some(ExecutionEnd::Complete)));
}

#[tokio::test]
async fn a_kernel_of_another_language_over_signed_tcp_runs_code() {
    let mut spec = kernelspec::KernelSpec::of_python(&python());
    spec.argv = vec![
        python().to_string_lossy().into_owned(),
        "-m".into(),
        "bash_kernel".into(),
        "-f".into(),
        "{connection_file}".into(),
    ];
    let kernel = start(&spec, false);
    assert!(!support::is_ipc(&kernel.info));
    let info = kernel.client.ready(PATIENCE).await.unwrap();
    assert_eq!(info.language(), "bash");
    let seen = collect(kernel.client.execute(&ExecuteRequest::new("echo $((40+2))")).unwrap()).await;
    assert_eq!(seen.stdout.trim(), "42");
}

#[tokio::test]
async fn two_hundred_thousand_lines_arrive_whole() {
    let kernel = ready_ipykernel().await;
    let seen =
        collect(kernel.client.execute(&ExecuteRequest::new("for i in range(200_000): print(i)")).unwrap())
            .await;
    assert_eq!(seen.stdout.lines().count(), 200_000);
    assert!(seen.stdout.ends_with("\n199999\n"));
}

#[tokio::test]
async fn a_reader_that_gets_no_time_for_seconds_loses_nothing() {
    let kernel = ready_ipykernel().await;
    let code = "import time\ntime.sleep(1)\nfor i in range(20_000):\n    print(i, flush=True)\n    if i % 100 == 0: time.sleep(0.005)";
    let execution = kernel.client.execute(&ExecuteRequest::new(code)).unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    // the test has one thread: nothing reads meanwhile
    std::thread::sleep(Duration::from_secs(4));
    let seen = collect(execution).await;
    assert_eq!((seen.stdout.lines().count(), seen.end), (20_000, Some(ExecutionEnd::Complete)));
}

#[tokio::test]
async fn a_line_of_twenty_megabytes_arrives_whole() {
    let kernel = ready_ipykernel().await;
    let seen = collect(kernel.client.execute(&ExecuteRequest::new("print('x' * 20_000_000)")).unwrap()).await;
    assert_eq!(seen.stdout.len(), 20_000_001);
}

#[tokio::test]
async fn a_prompt_is_answered_on_the_stdin_channel() {
    let kernel = ready_ipykernel().await;
    let code = "import getpass\nprint(input('name? ') + getpass.getpass('secret? '))";
    let mut execution = kernel.client.execute(&ExecuteRequest::new(code)).unwrap();
    let mut seen = support::Seen::default();
    let mut prompts = Vec::new();
    while let Some(event) = execution.next().await {
        if let ExecutionEvent::InputRequest(message) = &event {
            let Content::InputRequest(request) = message.content() else { panic!("{message:?}") };
            prompts.push((request.prompt, request.password));
            kernel.client.reply_input(message, format!("answer{}", prompts.len()).into()).unwrap();
        }
        take(&mut seen, event);
    }
    assert_eq!(prompts, [("name? ".to_owned(), false), ("secret? ".to_owned(), true)]);
    assert_eq!(seen.stdout, "answer1answer2\n");
}

#[tokio::test]
async fn requests_beside_execution_are_answered() {
    let kernel = ready_ipykernel().await;
    let client = &kernel.client;
    collect(client.execute(&ExecuteRequest::new("zebra_one = 1")).unwrap()).await;
    assert!(client.complete("zebra_", 6).await.unwrap().matches.contains(&"zebra_one".to_owned()));
    let found = client.inspect("len", 3, 0).await.unwrap();
    assert!(found.found && found.data.text("text/plain").unwrap().contains("len"));
    assert_eq!(client.is_complete("for i in x:").await.unwrap().status, "incomplete");
    assert!(client.history(5).await.unwrap().sources().contains(&"zebra_one = 1".to_owned()));
    assert_eq!(client.kernel_info().await.unwrap().language(), "python");
}

#[tokio::test]
async fn a_thread_that_prints_after_the_end_is_logged_as_late() {
    let mut kernel = ready_ipykernel().await;
    let code = "import threading, time\ndef late():\n    time.sleep(0.5); print('late')\nthreading.Thread(target=late).start()";
    let execution = kernel.client.execute(&ExecuteRequest::new(code)).unwrap();
    let id = execution.id().to_owned();
    collect(execution).await;
    let found = async {
        while let Some(event) = kernel.log.recv().await {
            if let SessionEvent::Message { origin: Origin::Late(of), message } = event
                && matches!(message.content(), Content::Stream(stream) if stream.text.contains("late"))
            {
                return of;
            }
        }
        String::new()
    };
    assert_eq!(tokio::time::timeout(PATIENCE, found).await.unwrap(), id);
}

#[tokio::test]
async fn another_client_s_output_is_logged_as_foreign() {
    let mut kernel = ready_ipykernel().await;
    let (other, _log) = KernelClient::start(ZeroMq::new(kernel.info.clone(), SessionId::random()));
    other.ready(PATIENCE).await.unwrap();
    collect(other.execute(&ExecuteRequest::new("print('theirs')")).unwrap()).await;
    let found = async {
        while let Some(event) = kernel.log.recv().await {
            if let SessionEvent::Message { origin: Origin::Foreign, message } = event
                && message.msg_type() == "stream"
            {
                return true;
            }
        }
        false
    };
    assert!(tokio::time::timeout(PATIENCE, found).await.unwrap());
}

#[tokio::test]
async fn comm_messages_pass_both_ways_with_their_buffers() {
    let kernel = ready_ipykernel().await;
    let code = "def opened(comm, message):\n    comm.send({'n': len(message['buffers'][0])}, buffers=[b'abc'])\nget_ipython().kernel.comm_manager.register_target('t', opened)";
    let mut raw = kernel.client.raw();
    collect(kernel.client.execute(&ExecuteRequest::new(code)).unwrap()).await;
    let content = serde_json::json!({"comm_id": "c", "target_name": "t", "data": {}});
    let mut open = Message::new(Channel::Shell, "comm_open", kernel.client.session(), &content);
    open.buffers.push(bytes::Bytes::from_static(b"12345"));
    kernel.client.send_raw(open).unwrap();
    let answer = async {
        loop {
            let message = raw.recv().await.unwrap();
            if message.msg_type() == "comm_msg" {
                return message;
            }
        }
    };
    let answer = tokio::time::timeout(PATIENCE, answer).await.unwrap();
    let Content::Comm(comm) = answer.content() else { panic!("{answer:?}") };
    assert_eq!(
        (comm.data.unwrap().to_value(), answer.buffers[0].as_ref()),
        (serde_json::json!({"n": 5}), &b"abc"[..])
    );
}

#[tokio::test]
async fn a_killed_kernel_is_known_at_once_and_ends_what_was_running() {
    let mut kernel = ready_ipykernel().await;
    let mut execution = kernel
        .client
        .execute(&ExecuteRequest::new("print('before', flush=True)\nimport time; time.sleep(100)"))
        .unwrap();
    let seen = until_line(&mut execution, "before").await;
    let killed = Instant::now();
    kernel.process.0.kill().unwrap();
    let seen = collect_on(execution, seen).await;
    assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
    assert_eq!((seen.stdout.as_str(), seen.end), ("before\n", Some(ExecutionEnd::Died)));
    assert_eq!(*kernel.client.link().borrow(), Link::Ended(End::KernelClosed));
    assert!(matches!(kernel.client.execute(&ExecuteRequest::new("1")), Err(Error::Ended(_))));
}

#[tokio::test]
async fn stopping_ends_the_execution_here_and_the_kernel_goes_on() {
    let kernel = ready_ipykernel().await;
    let code = "import time; time.sleep(1); done = 1";
    let mut execution = kernel.client.execute(&ExecuteRequest::new(code)).unwrap();
    execution.next().await.unwrap();
    kernel.client.stop();
    assert_eq!(collect(execution).await.end, Some(ExecutionEnd::Disconnected(End::Stopped)));
    let (again, _log) = KernelClient::start(ZeroMq::new(kernel.info.clone(), SessionId::random()));
    assert_eq!(collect(again.execute(&ExecuteRequest::new("done")).unwrap()).await.results, ["1"]);
    assert_eq!(*again.activity().borrow(), Activity::Idle);
}
