//! Every form that people paste, as a table.

use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;

/// Pasted text; server, token, kernel or notebook.
const RECOGNISED: &[(&str, &str, Option<&str>, Option<&str>)] = &[
    ("http://h:8888/?token=T", "http://h:8888/", Some("T"), None),
    ("http://h:8888?token=T", "http://h:8888/", Some("T"), None),
    ("  http://h:8888/lab?token=T \n", "http://h:8888/", Some("T"), None),
    ("http://h:8888/lab/tree/x.ipynb?token=T", "http://h:8888/", Some("T"), Some("x.ipynb")),
    (
        "http://h:8888/lab/workspaces/auto-1/tree/a%20b/x+1.ipynb",
        "http://h:8888/",
        None,
        Some("a b/x+1.ipynb"),
    ),
    ("http://h:8888/tree?token=T", "http://h:8888/", Some("T"), None),
    ("http://h:8888/tree/", "http://h:8888/", None, None),
    ("http://h:8888/notebooks/dir/x.ipynb?token=T", "http://h:8888/", Some("T"), Some("dir/x.ipynb")),
    ("http://h:8888/doc/tree/x.ipynb", "http://h:8888/", None, Some("x.ipynb")),
    ("http://h:8888/nbclassic/notebooks/x.ipynb", "http://h:8888/", None, Some("x.ipynb")),
    ("http://h:8888/base/path/lab?token=T&x=1", "http://h:8888/base/path/", Some("T"), None),
    ("http://h:8888/base/path", "http://h:8888/base/path/", None, None),
    ("https://hub.org/user/me/", "https://hub.org/user/me/", None, None),
    (
        "https://hub.org/user/lab/lab/tree/x.ipynb?token=T",
        "https://hub.org/user/lab/",
        Some("T"),
        Some("x.ipynb"),
    ),
    ("https://hub.org/user/me/named/tree?token=T", "https://hub.org/user/me/named/", Some("T"), None),
    ("https://h/http/lab", "https://h/http/", None, None),
    ("HTTP://H:8888/lab", "http://h:8888/", None, None),
    ("localhost:8888/?token=T", "http://localhost:8888/", Some("T"), None),
    ("localhost", "http://localhost/", None, None),
    ("127.0.0.1:8888", "http://127.0.0.1:8888/", None, None),
    ("[::1]:8888/lab", "http://[::1]:8888/", None, None),
    ("jupyter.example.org:443/lab", "https://jupyter.example.org/", None, None),
    ("example.org/lab?token=T", "http://example.org/", Some("T"), None),
    ("http://h:8888/#token=T", "http://h:8888/", Some("T"), None),
    ("http://h:8888/lab?token=a%2Bb%26", "http://h:8888/", Some("a+b&"), None),
    ("http://h:8888/lab?token=", "http://h:8888/", None, None),
    ("\"http://h:8888/lab?token=T\"", "http://h:8888/", Some("T"), None),
    ("<http://h:8888/lab?token=T>", "http://h:8888/", Some("T"), None),
    ("http://localhost:8888/?token=T :: /home/me", "http://localhost:8888/", Some("T"), None),
    (
        "[I 2026-11-29 ServerApp] http://box:8888/lab?token=T\n[I ServerApp]     http://127.0.0.1:8888/lab?token=T",
        "http://127.0.0.1:8888/",
        Some("T"),
        None,
    ),
    (
        "To access the server, open this file in a browser:\n  file:///root/x.html\nOr copy and paste one of these URLs:\n  http://box:8888/tree?token=T",
        "http://box:8888/",
        Some("T"),
        None,
    ),
    ("See (http://h:8888/lab?token=T).", "http://h:8888/", Some("T"), None),
    ("ws://h:8888/api/kernels/0f-1/channels?session_id=s&token=T", "http://h:8888/", Some("T"), Some("0f-1")),
    ("wss://h/user/me/api/kernels/k1/channels", "https://h/user/me/", None, Some("k1")),
    ("http://h:8888/api/kernels/k1", "http://h:8888/", None, Some("k1")),
    ("http://h:8888/api/", "http://h:8888/", None, None),
    ("http://h:8888/api/v2/lab", "http://h:8888/api/v2/", None, None),
    (r#"{"host": "h", "use_https": true, "port": 8888, "token": "T"}"#, "https://h:8888/", Some("T"), None),
    (r#"{"host": "http://h", "port": null, "token": null}"#, "http://h/", None, None),
    (
        "JupyterConnectionInfo(host='h', use_https=False, port=8888, token='T')",
        "http://h:8888/",
        Some("T"),
        None,
    ),
    ("host: h\nport: 8888\nhttps: yes\ntoken: T", "https://h:8888/", Some("T"), None),
    (
        "wss://8080-m-s.us.colab.dev/api/kernels/k1/channels?session_id=s&colab-runtime-proxy-token=T",
        "https://8080-m-s.us.colab.dev/",
        Some("T"),
        Some("k1"),
    ),
];

#[test]
fn every_form_that_people_paste_is_recognised() {
    for (text, server, token, named) in RECOGNISED {
        let recognised = parse_pasted(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(recognised.server.expose().as_str(), *server, "{text}");
        assert_eq!(recognised.token.as_ref().map(ExposeSecret::expose_secret), *token, "{text}");
        let found = recognised.kernel_id.as_deref().or(recognised.notebook.as_deref());
        assert_eq!(found, *named, "{text}");
    }
}

#[test]
fn other_texts_are_refused_with_a_code() {
    let cases = [
        ("", "not_a_url"),
        ("hello", "not_a_url"),
        ("print(1)", "not_a_url"),
        ("/home/me/x.ipynb", "not_a_url"),
        ("x.ipynb", "not_a_url"),
        ("file:///home/me/x.html", "not_a_url"),
        ("ftp://h/x", "not_a_url"),
        ("http://", "not_a_url"),
        ("a = 1", "not_a_url"),
        ("https://hub.org/hub/user-redirect/lab?token=T", "hub_page"),
        ("https://hub.org/hub/spawn", "hub_page"),
    ];
    for (text, code) in cases {
        assert_eq!(parse_pasted(text).err().map(|error| error.code), Some(code), "{text}");
    }
}

#[test]
fn a_kaggle_address_keeps_its_secret_path_and_never_shows_it() {
    let secret = format!("eyJhbGciOiJkaXIifQ..{}.x", "Ab9-_".repeat(30));
    let text = format!(
        "wss://kkb-production.jupyter-proxy.kaggle.net/k/1234/{secret}/proxy/api/kernels/k1/channels?session_id=s"
    );
    let recognised = parse_pasted(&text).unwrap();
    assert_eq!(recognised.provider, Provider::Kaggle);
    assert!(recognised.has_secret() && recognised.token.is_none());
    assert_eq!(recognised.kernel_id.as_deref(), Some("k1"));
    let expected = format!("https://kkb-production.jupyter-proxy.kaggle.net/k/1234/{secret}/proxy/");
    assert_eq!(recognised.server.expose().as_str(), expected);
    assert!(!format!("{recognised:?}").contains(&secret));
}

#[test]
fn nothing_that_is_shown_holds_the_token() {
    for (text, _, token, _) in RECOGNISED {
        let (Some(token), Ok(recognised)) = (token, parse_pasted(&text.replace("=T", "=s3cr3t"))) else {
            continue;
        };
        let shown = format!("{recognised:?} {} {}", recognised.display_url, recognised.server);
        assert!(!shown.contains("s3cr3t") && *token != "s3cr3t", "{shown}");
    }
}

#[test]
fn a_user_name_and_password_are_left_out_and_never_shown() {
    let recognised = parse_pasted("https://me:pw0rd@h/lab?token=T").unwrap();
    assert_eq!(recognised.server.expose().as_str(), "https://h/");
    assert!(recognised.had_userinfo && recognised.has_secret());
    assert!(!format!("{recognised:?}").contains("pw0rd"));
}

#[test]
fn plain_http_is_told_only_of_other_machines() {
    let plain = |text| parse_pasted(text).unwrap().is_plain_http_elsewhere();
    assert!(plain("http://box:8888") && plain("http://192.168.0.2:8888"));
    assert!(
        !plain("http://localhost:8888")
            && !plain("http://127.0.0.1:1")
            && !plain("http://[::1]:1")
            && !plain("https://box")
    );
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        drop(parse_pasted(&text));
    }

    #[test]
    fn any_address_is_survived_and_its_server_ends_with_a_slash(path in "[a-z/.%0-9]{0,40}", query in "[a-z=&%]{0,20}") {
        if let Ok(recognised) = parse_pasted(&format!("http://h:1/{path}?{query}")) {
            prop_assert!(recognised.server.expose().path().ends_with('/'));
        }
    }
}
