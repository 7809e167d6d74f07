//! Lines to a server that break, fall silent and come back.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are not seen as tests

mod support;

use std::time::Duration;

use sandbook_jupyter::{End, ExecuteRequest, ExecutionEnd, KernelClient, Link, SessionEvent};
use sandbook_test_support::{Line, PATIENCE, Proxy, jupyter_server, rest};
use support::{collect, collect_on, connect, is_busy, new_kernel, until_line};

/// Waits until the connection is seen to be away, and so many attempts have failed.
async fn is_away(client: &KernelClient, attempts: u32) {
    let mut link = client.link();
    let away =
        link.wait_for(|link| matches!(link, Link::Reconnecting { attempt, .. } if *attempt >= attempts));
    drop(tokio::time::timeout(PATIENCE, away).await.unwrap().unwrap());
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
