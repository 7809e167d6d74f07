//! What is wrong with an address or a token, told apart.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use sandbook_runtimes::jupyter::ServerSettings;
use sandbook_sandbox::{CreateRequest, Runtime, SandboxError, StopChoice};
use sandbook_test_support::{PATIENCE, Proxy, SelfSigned, jupyter_server, server};
use support::{Place, on, run, server_settings};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use url::Url;

#[tokio::test]
async fn a_wrong_token_is_one_request_and_one_error_and_a_missing_one_is_asked_for() {
    let (place, server) = (Place::new(), jupyter_server().await);
    let proxy = Proxy::start(&server.url).await;
    for (token, is_expected) in [
        (
            Some("wrong"),
            (|error| matches!(error, SandboxError::Refused { status: 403, .. })) as fn(&SandboxError) -> bool,
        ),
        (None, |error| matches!(error, SandboxError::CredentialMissing { .. })),
    ] {
        let before = proxy.accepted();
        let credential = token.map(|token| token.to_owned().into());
        let request = CreateRequest { credential, ..place.request(on(server_settings(&proxy.url))) };
        let error = place.runtime.create(request).await.err().unwrap();
        assert!(is_expected(&error), "{error:?}");
        assert_eq!(proxy.accepted() - before, 1);
    }
    assert_eq!(server.kernels().unwrap().len(), 0);
}

/// Answers every connection with the same bytes, and counts.
async fn answering(answer: &'static str) -> (Url, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut buffer = [0; 4096];
            drop(stream.read(&mut buffer).await);
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    (url, count)
}

#[tokio::test]
async fn what_is_no_jupyter_server_says_what_it_is() {
    let place = Place::new();
    let cases = [
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n<html>log in</html>\n",
            "web page",
        ),
        ("HTTP/1.1 302 Found\r\nLocation: /hub/login?next=x\r\nContent-Length: 0\r\n\r\n", "login page"),
        (
            "HTTP/1.1 302 Found\r\nLocation: https://other.org/?token=s3cr3t\r\nContent-Length: 0\r\n\r\n",
            "token=***",
        ),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found", "HTTP 404"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]",
            "names no kernel",
        ),
    ];
    for (answer, told) in cases {
        let (url, count) = answering(answer).await;
        let error = place.create(on(server_settings(&url))).await.err();
        let Some(SandboxError::WrongPeer { detail, .. }) = error else { panic!("{answer}: {error:?}") };
        assert!(detail.contains(told), "{detail}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{answer}");
    }
    let (url, _) = answering("SSH-2.0-OpenSSH_9.2\r\n").await;
    let error = place.create(on(server_settings(&url))).await.err();
    assert!(matches!(error, Some(SandboxError::Unreachable { .. })), "{error:?}");
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_unreachable() {
    let place = Place::new();
    for url in ["http://127.0.0.1:9/", "http://no-such-host.invalid/"] {
        let error = place.create(on(server_settings(&url.parse().unwrap()))).await.err();
        assert!(matches!(error, Some(SandboxError::Unreachable { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn a_self_signed_certificate_shows_its_fingerprint_and_can_be_trusted_for_its_connection() {
    for as_authority in [true, false] {
        self_signed(as_authority).await;
    }
}

async fn self_signed(as_authority: bool) {
    let certificate = SelfSigned::new("elsewhere.example", as_authority);
    let options = certificate.options();
    let server = server("jupyter_server", &options.each_ref().map(String::as_str)).await;
    let place = Place::new();
    let error = place.create(on(server_settings(&server.url))).await.err();
    let Some(SandboxError::Certificate { fingerprint: Some(fingerprint), detail, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(detail, "it is self-signed, so no authority vouches for it");
    assert_eq!(fingerprint.split(':').count(), 32);

    let trusting = |fingerprint: &str| {
        on(ServerSettings {
            trusted_certificate: Some(fingerprint.to_owned()),
            ..server_settings(&server.url)
        })
    };
    let sandbox = place.create(trusting(&fingerprint)).await.unwrap();
    assert_eq!(run(&sandbox, "1+1").await.text().as_deref(), Some("2"));
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();

    let other =
        fingerprint.replace(&fingerprint[..2], if fingerprint.starts_with("00") { "01" } else { "00" });
    let error = place.create(trusting(&other)).await.err();
    assert!(matches!(error, Some(SandboxError::Certificate { .. })), "{error:?}");
}

#[tokio::test]
async fn plain_http_where_https_is_spoken_is_told() {
    let (url, _) = answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
    let https = url.as_str().replace("http:", "https:").parse().unwrap();
    let error = Place::new().create(on(server_settings(&https))).await.err();
    let Some(SandboxError::Unreachable { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("secure"), "{detail}");
}

#[tokio::test]
async fn https_where_only_http_is_spoken_is_told_as_that() {
    let server = jupyter_server().await;
    let https = server.url.as_str().replace("http:", "https:").parse().unwrap();
    let error = Place::new().create(on(server_settings(&https))).await.err();
    let Some(SandboxError::Unreachable { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("speaks http, not https"), "{detail}");
}

#[tokio::test]
async fn http_where_only_https_is_spoken_is_told_as_that() {
    let certificate = SelfSigned::new("elsewhere.example", true);
    let server = server("jupyter_server", &certificate.options().each_ref().map(String::as_str)).await;
    let http = server.url.as_str().replace("https:", "http:").parse().unwrap();
    let error = Place::new().create(on(server_settings(&http))).await.err();
    let Some(SandboxError::Unreachable { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("speaks https, not http"), "{detail}");
}

#[tokio::test]
async fn a_kernel_that_a_server_does_not_have_is_told_with_those_that_it_has() {
    let server = jupyter_server().await;
    let wanted = ServerSettings { kernel: Some("nope".into()), ..server_settings(&server.url) };
    let error = Place::new().create(on(wanted)).await.err();
    let Some(SandboxError::StartFailed { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("no such kernel") && detail.contains("python3"), "{detail}");
}

#[tokio::test]
async fn a_kernel_that_is_gone_is_told_as_that_whatever_its_id_looks_like() {
    let server = jupyter_server().await;
    for id in ["dead-beef", "00000000-0000-0000-0000-000000000000"] {
        let wanted = ServerSettings { kernel_id: Some(id.into()), ..server_settings(&server.url) };
        let error = Place::new().create(on(wanted)).await.err();
        assert!(matches!(error, Some(SandboxError::Gone { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_takes_the_connection_and_is_silent_is_given_up_before_a_start_would_be() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let start = std::time::Instant::now();
    let error = Place::new().create(on(server_settings(&url))).await.err();
    let Some(SandboxError::Unreachable { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("does not answer"), "{detail}");
    assert!(start.elapsed() < std::time::Duration::from_secs(50));
}
