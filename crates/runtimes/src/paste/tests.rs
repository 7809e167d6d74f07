//! Every form that people paste, as a table.

use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;

/// As Kaggle's: an encrypted JSON web token, with an empty part in it.
const JWE: &str = "eyJhbGciOiJkaXIifQ..Ab9-_Zx.3-cret.y";

fn server(text: &str) -> Result<Recognised, NotRecognised> {
    parse_pasted(text).and_then(Pasted::into_server)
}

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
fn every_form_of_a_server_s_address_is_recognised() {
    for (text, address, token, named) in RECOGNISED {
        let recognised = server(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(recognised.server.expose().as_str(), *address, "{text}");
        assert_eq!(recognised.token.as_ref().map(ExposeSecret::expose_secret), *token, "{text}");
        let found = recognised.kernel_id.as_deref().or(recognised.notebook.as_deref());
        assert_eq!(found, *named, "{text}");
    }
}

type Cloud = (&'static str, Provider, &'static str, Option<&'static str>, Option<&'static str>);

/// Links of clouds; `JWE` stands for a secret, and the server, the token and the kernel are what comes out.
const CLOUDS: &[Cloud] = &[
    (
        "wss://8080-m-s-3hq7x0k2.us-west4-2.prod.colab.dev/api/kernels/8c41d0e2-77b9/channels?session_id=5f0a91&colab-runtime-proxy-token=T",
        Provider::Colab,
        "https://8080-m-s-3hq7x0k2.us-west4-2.prod.colab.dev/",
        Some("T"),
        Some("8c41d0e2-77b9"),
    ),
    (
        "https://8080-m-s.colab.dev/api/kernels/k1/channels?colab-runtime-proxy-token=T",
        Provider::Colab,
        "https://8080-m-s.colab.dev/",
        Some("T"),
        Some("k1"),
    ),
    (
        " 'wss://8080-m-s.colab.dev/api/kernels/k1/channels?colab-runtime-proxy-token=a%2Bb&authuser=0#x' ",
        Provider::Colab,
        "https://8080-m-s.colab.dev/",
        Some("a+b"),
        Some("k1"),
    ),
    (
        "wss://8080-m-s.colab.dev/api/kernels/k1/channels#colab-runtime-proxy-token=T",
        Provider::Colab,
        "https://8080-m-s.colab.dev/",
        Some("T"),
        Some("k1"),
    ),
    (
        "wss://colab.research.google.com/tun/m/m-s-3hq/api/kernels/k1/channels?colab-runtime-proxy-token=T",
        Provider::Colab,
        "https://colab.research.google.com/tun/m/m-s-3hq/",
        Some("T"),
        Some("k1"),
    ),
    (
        "ws://127.0.0.1:9000/api/kernels/k1/channels?colab-runtime-proxy-token=T&colab-runtime-proxy-token=U",
        Provider::Colab,
        "http://127.0.0.1:9000/",
        Some("T"),
        Some("k1"),
    ),
    (
        "https://8080-m-s.colab.dev/?colab-runtime-proxy-token=T",
        Provider::Colab,
        "https://8080-m-s.colab.dev/",
        Some("T"),
        None,
    ),
    ("https://8080-m-s.colab.dev/", Provider::Colab, "https://8080-m-s.colab.dev/", None, None),
    (
        "wss://8080-m-s.colab.dev/api/kernels/k1/channels?token=T",
        Provider::Colab,
        "https://8080-m-s.colab.dev/",
        None,
        Some("k1"),
    ),
    (
        "curl 'https://8080-m-s.colab.dev/api/kernels/k1/channels?colab-runtime-proxy-token=T' -H 'x: y'",
        Provider::Colab,
        "https://8080-m-s.colab.dev/",
        Some("T"),
        Some("k1"),
    ),
    (
        "wss://kkb-production.jupyter-proxy.kaggle.net/k/12345678/JWE/proxy/api/kernels/0f-1/channels?session_id=s",
        Provider::Kaggle,
        "https://kkb-production.jupyter-proxy.kaggle.net/k/12345678/JWE/proxy/",
        None,
        Some("0f-1"),
    ),
    (
        "  https://kkb-production.jupyter-proxy.kaggle.net/k/12345678/JWE/proxy\n",
        Provider::Kaggle,
        "https://kkb-production.jupyter-proxy.kaggle.net/k/12345678/JWE/proxy/",
        None,
        None,
    ),
    (
        "https://kkb-production.jupyter-proxy.kaggle.net/k/12345678/JWE/proxy/lab?token=T",
        Provider::Kaggle,
        "https://kkb-production.jupyter-proxy.kaggle.net/k/12345678/JWE/proxy/",
        Some("T"),
        None,
    ),
    (
        "ws://127.0.0.1:9000/k/12345678/JWE/proxy/api/kernels/k1/channels",
        Provider::Kaggle,
        "http://127.0.0.1:9000/k/12345678/JWE/proxy/",
        None,
        Some("k1"),
    ),
    ("OPEN_SANDBOX_DOMAIN=localhost:8080", Provider::OpenSandbox, "http://localhost:8080/", None, None),
    (
        "export OPEN_SANDBOX_DOMAIN=\"sandbox.lan:8080\"",
        Provider::OpenSandbox,
        "http://sandbox.lan:8080/",
        None,
        None,
    ),
    ("opensandbox://sandbox.lan:8080", Provider::OpenSandbox, "http://sandbox.lan:8080/", None, None),
    ("http://sandbox.lan:8080/v1/sandboxes", Provider::OpenSandbox, "http://sandbox.lan:8080/", None, None),
    (
        "https://sandbox.lan/sandboxes/ab/proxy/44771",
        Provider::OpenSandbox,
        "https://sandbox.lan/",
        None,
        None,
    ),
];

#[test]
fn every_form_of_a_cloud_s_link_is_recognised_and_shows_no_secret() {
    for (text, provider, address, token, kernel) in CLOUDS {
        let (text, address) = (text.replace("JWE", JWE), address.replace("JWE", JWE));
        let recognised = server(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(recognised.provider, *provider, "{text}");
        assert_eq!(recognised.server.expose().as_str(), address, "{text}");
        assert_eq!(recognised.token.as_ref().map(ExposeSecret::expose_secret), *token, "{text}");
        assert_eq!(recognised.kernel_id.as_deref(), *kernel, "{text}");
        let shown = format!("{recognised:?} {} {}", recognised.display_url, recognised.server);
        assert!(!shown.contains(JWE), "{shown}");
    }
}

/// Other things; the runtime they are for, and how they are shown.
const OTHER: &[(&str, Option<&str>, &str)] = &[
    ("python:3.12-slim", Some("docker"), "python:3.12-slim"),
    ("postgres:16", Some("docker"), "postgres:16"),
    ("  'ubuntu:24.04'\n", Some("docker"), "ubuntu:24.04"),
    ("quay.io/jupyter/minimal-notebook", Some("docker"), "quay.io/jupyter/minimal-notebook"),
    (
        "quay.io/jupyter/scipy-notebook:2026-11-02",
        Some("docker"),
        "quay.io/jupyter/scipy-notebook:2026-11-02",
    ),
    ("ghcr.io/a/b", Some("docker"), "ghcr.io/a/b"),
    ("jupyter/minimal-notebook:latest", Some("docker"), "jupyter/minimal-notebook:latest"),
    ("registry.lan:5000/team/image:1.0", Some("docker"), "registry.lan:5000/team/image:1.0"),
    ("docker://python:3.12", Some("docker"), "python:3.12"),
    ("docker://alpine", Some("docker"), "alpine"),
    (
        "python@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        Some("docker"),
        "python@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    ("docker run python:3.12", Some("docker"), "python:3.12"),
    ("docker run -it --rm -p 8888:8888 jupyter/base-notebook", Some("docker"), "jupyter/base-notebook"),
    ("docker run -p8888:8888 -e TOKEN=s3cr3t alpine sh -c 'echo hello'", Some("docker"), "alpine"),
    ("docker run --env=TOKEN=s3cr3t --name x python:3 python", Some("docker"), "python:3"),
    ("docker run -v \"/home/me/my files:/work\" python:3", Some("docker"), "python:3"),
    (
        "$ sudo docker run \\\n  --gpus all \\\n  nvcr.io/nvidia/pytorch:24.05-py3",
        Some("docker"),
        "nvcr.io/nvidia/pytorch:24.05-py3",
    ),
    ("podman pull quay.io/a/b:1", Some("docker"), "quay.io/a/b:1"),
    ("docker image pull python", Some("docker"), "python"),
    ("docker container run python", Some("docker"), "python"),
    ("/home/me/x.ipynb", None, "/home/me/x.ipynb"),
    ("x.ipynb", None, "x.ipynb"),
    ("~/notes/plan.ipynb", None, "~/notes/plan.ipynb"),
    ("./a b/x.ipynb", None, "./a b/x.ipynb"),
    ("/home/me/my\\ notes/x.ipynb", None, "/home/me/my notes/x.ipynb"),
    ("\"/home/me/x.ipynb\"", None, "/home/me/x.ipynb"),
    ("file:///home/me/a%20b.ipynb", None, "/home/me/a b.ipynb"),
    ("file://localhost/home/me/x.ipynb", None, "/home/me/x.ipynb"),
    ("C:\\Users\\me\\x.ipynb", None, "C:\\Users\\me\\x.ipynb"),
    ("/home/me/X.IPYNB", None, "/home/me/X.IPYNB"),
    ("/home/me/größe.ipynb", None, "/home/me/größe.ipynb"),
    (
        "modal token set --token-id ak-Zx81 --token-secret as-s3cr3t",
        Some("modal"),
        "a Modal token of ak-Zx81: ***",
    ),
    (
        "$ modal token set --token-id=ak-Zx81 --token-secret=as-s3cr3t --profile=me",
        Some("modal"),
        "a Modal token of ak-Zx81: ***",
    ),
    ("MODAL_TOKEN_ID=ak-Zx81 MODAL_TOKEN_SECRET=as-s3cr3t", Some("modal"), "a Modal token of ak-Zx81: ***"),
    (
        "export MODAL_TOKEN_ID=\"ak-Zx81\"\nexport MODAL_TOKEN_SECRET='as-s3cr3t'",
        Some("modal"),
        "a Modal token of ak-Zx81: ***",
    ),
    (
        "[me]\ntoken_id = \"ak-Zx81\"\ntoken_secret = \"as-s3cr3t\"\nactive = true",
        Some("modal"),
        "a Modal token of ak-Zx81: ***",
    ),
    ("ak-Zx81Zx81 as-s3cr3ts3cr3t", Some("modal"), "a Modal token of ak-Zx81Zx81: ***"),
    (r#"{"username":"me","key":"s3cr3t"}"#, Some("kaggle"), "a Kaggle API token of me: ***"),
    ("{\n  \"key\": \"s3cr3t\",\n  \"username\": \"me\"\n}", Some("kaggle"), "a Kaggle API token of me: ***"),
    ("export KAGGLE_USERNAME=me\nexport KAGGLE_KEY=s3cr3t", Some("kaggle"), "a Kaggle API token of me: ***"),
    ("KAGGLE_API_TOKEN=KGAT_s3cr3ts3cr3t", Some("kaggle"), "a Kaggle API token: ***"),
    ("KGAT_s3cr3ts3cr3t", Some("kaggle"), "a Kaggle API token: ***"),
    ("export DATALAYER_API_KEY=s3cr3t", Some("datalayer"), "a Datalayer token: ***"),
    ("OPEN_SANDBOX_API_KEY=s3cr3t", Some("opensandbox"), "an OpenSandbox key: ***"),
];

#[test]
fn images_paths_and_tokens_are_recognised_and_no_secret_of_them_is_shown() {
    for (text, runtime, shown) in OTHER {
        let pasted = parse_pasted(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((pasted.runtime(), pasted.to_string().as_str()), (*runtime, *shown), "{text}");
        assert!(!format!("{pasted:?} {pasted}").contains("s3cr3t"), "{pasted:?}");
        assert_eq!(pasted.has_secret(), matches!(pasted, Pasted::Token(_)), "{text}");
        let instead = pasted.into_server().err();
        assert_eq!(instead.map(|error| error.code), Some("not_a_server_url"), "{text}");
    }
}

/// What is nothing that can be used, and why.
const REFUSED: &[(&str, &str)] = &[
    ("", "not_a_url"),
    (" \t\r\n ", "not_a_url"),
    ("\"\"", "not_a_url"),
    ("hello", "not_a_url"),
    ("hello world", "not_a_url"),
    ("print(1)", "not_a_url"),
    ("import os; print(os.environ)", "not_a_url"),
    ("/home/me/x.html", "not_a_url"),
    (".ipynb", "not_a_url"),
    ("file:///home/me/x.html", "not_a_url"),
    ("ftp://h/x", "not_a_url"),
    ("http://", "not_a_url"),
    ("wss://", "not_a_url"),
    ("a = 1", "not_a_url"),
    ("docker", "not_a_url"),
    ("docker run", "not_a_url"),
    ("docker ps -a", "not_a_url"),
    ("Python:3.12", "not_a_url"),
    ("https://hub.org/hub/user-redirect/lab?token=T", "hub_page"),
    ("https://hub.org/hub/spawn", "hub_page"),
    ("https://colab.research.google.com/drive/1AbC_d-E?usp=sharing", "page_not_socket"),
    ("https://colab.research.google.com/drive/1AbC_d-E#scrollTo=x9", "page_not_socket"),
    ("https://colab.research.google.com/github/a/b/blob/main/x.ipynb", "page_not_socket"),
    ("https://colab.research.google.com/gist/me/0123/x.ipynb", "page_not_socket"),
    ("https://colab.research.google.com/notebooks/intro.ipynb", "page_not_socket"),
    ("https://colab.research.google.com/", "page_not_socket"),
    ("colab: https://colab.research.google.com/drive/1AbC", "page_not_socket"),
    ("https://colab.google/", "page_not_socket"),
    ("https://www.kaggle.com/code/me/my-notebook/edit", "page_not_socket"),
    ("https://www.kaggle.com/code/me/my-notebook/edit/run/123", "page_not_socket"),
    ("https://kaggle.com/me", "page_not_socket"),
    ("https://github.com/a/b/blob/main/x.ipynb", "notebook_on_the_web"),
    ("https://raw.githubusercontent.com/a/b/main/x.ipynb", "notebook_on_the_web"),
    ("https://nbviewer.org/github/a/b/blob/main/x.ipynb", "notebook_on_the_web"),
    ("modal token set --token-id ak-Zx81", "half_a_token"),
    ("MODAL_TOKEN_SECRET=as-s3cr3t", "half_a_token"),
    ("ak-Zx81Zx81", "half_a_token"),
    ("as-s3cr3ts3cr3t", "half_a_token"),
    ("KAGGLE_KEY=s3cr3t", "half_a_token"),
    ("KAGGLE_USERNAME=me", "half_a_token"),
];

#[test]
fn other_texts_are_refused_with_a_code_a_sentence_and_what_to_do() {
    for (text, code) in REFUSED {
        let error = parse_pasted(text).err().unwrap_or_else(|| panic!("{text}"));
        assert_eq!(error.code, *code, "{text}");
        assert!(error.message.ends_with('.') && !error.hint.is_empty(), "{error:?}");
        assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
        if *code == "page_not_socket" {
            assert!(["1. ", "2. ", "3. "].iter().all(|step| error.hint.contains(step)), "{}", error.hint);
        }
    }
    assert_eq!(parse_pasted(&"x".repeat(1 << 20)).err().map(|error| error.code), Some("not_a_url"));
}

#[test]
fn at_least_a_hundred_and_twenty_texts_are_in_these_tables() {
    assert!(RECOGNISED.len() + CLOUDS.len() + OTHER.len() + REFUSED.len() >= 120);
}

#[test]
fn white_space_and_quotes_around_a_text_change_nothing() {
    let texts = RECOGNISED
        .iter()
        .map(|row| row.0)
        .chain(CLOUDS.iter().map(|row| row.0))
        .chain(OTHER.iter().map(|row| row.0));
    for text in texts {
        let plain = format!("{:?}", parse_pasted(text));
        for (before, after) in
            [("  ", "\n"), ("\t\r\n", " "), ("\u{feff}", ""), ("“", "”"), ("`", "`"), ("\"", "\"")]
        {
            assert_eq!(
                format!("{:?}", parse_pasted(&format!("{before}{text}{after}"))),
                plain,
                "{before}{text}{after}"
            );
        }
    }
}

#[test]
fn nothing_that_is_shown_holds_the_token() {
    for (text, _, token, _) in RECOGNISED {
        let (Some(token), Ok(recognised)) = (token, server(&text.replace("=T", "=s3cr3t"))) else {
            continue;
        };
        let shown = format!("{recognised:?} {} {}", recognised.display_url, recognised.server);
        assert!(!shown.contains("s3cr3t") && *token != "s3cr3t", "{shown}");
    }
}

#[test]
fn a_user_name_and_password_are_left_out_and_never_shown() {
    let recognised = server("https://me:pw0rd@h/lab?token=T").unwrap();
    assert_eq!(recognised.server.expose().as_str(), "https://h/");
    assert!(recognised.had_userinfo && recognised.has_secret());
    assert!(!format!("{recognised:?}").contains("pw0rd"));
}

#[test]
fn plain_http_is_told_only_of_other_machines() {
    let plain = |text| server(text).unwrap().is_plain_http_elsewhere();
    assert!(plain("http://box:8888") && plain("http://192.168.0.2:8888"));
    assert!(
        !plain("http://localhost:8888")
            && !plain("http://127.0.0.1:1")
            && !plain("http://[::1]:1")
            && !plain("https://box")
    );
}

#[test]
fn a_hundred_texts_are_read_in_the_time_of_a_key_press() {
    let texts: Vec<&str> =
        RECOGNISED.iter().map(|row| row.0).chain(CLOUDS.iter().map(|row| row.0)).cycle().take(100).collect();
    let quickest = (0..20).map(|_| {
        let begin = std::time::Instant::now();
        for text in &texts {
            drop(std::hint::black_box(parse_pasted(text)));
        }
        begin.elapsed()
    });
    let quickest = quickest.min().unwrap();
    println!("100 pasted texts: {quickest:?}");
    // unoptimised code takes many times as long
    let most = if cfg!(debug_assertions) { 50_000 } else { 1_000 };
    assert!(quickest < std::time::Duration::from_micros(most), "{quickest:?}");
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        drop(parse_pasted(&text));
    }

    #[test]
    fn any_text_of_the_words_that_mean_something_is_survived(
        words in proptest::collection::vec("(docker|run|-e|--rm|wss://h|/k/1/|proxy|=|\\{|\"|token|key|username|ak-|:|@|sha256:|\\.ipynb|file://|%|\\n| |https://colab\\.dev|x)", 0..24),
    ) {
        drop(parse_pasted(&words.concat()));
    }

    #[test]
    fn no_secret_is_shown_wherever_it_stands(secret in "[A-Za-z0-9]{24,40}", index in 0_usize..12) {
        let texts = [
            format!("http://h:8888/lab?token={secret}"),
            format!("http://h:8888/#token={secret}"),
            format!("https://me:{secret}@h/lab"),
            format!("wss://x.colab.dev/api/kernels/k/channels?colab-runtime-proxy-token={secret}"),
            format!("wss://jupyter-proxy.kaggle.net/k/1/{secret}/proxy/api/kernels/k/channels"),
            format!("ws://127.0.0.1:1/k/1/{secret}/proxy/api/kernels/k/channels?token={secret}"),
            format!("modal token set --token-id ak-1 --token-secret as-{secret}"),
            format!("{{\"username\": \"me\", \"key\": \"{secret}\"}}"),
            format!("KGAT_{secret}"),
            format!("as-{secret}"),
            format!("{{\"host\": \"h\", \"port\": 1, \"token\": \"{secret}\"}}"),
            format!("docker run -e TOKEN={secret} python:3"),
        ];
        let shown = match parse_pasted(&texts[index]) {
            Ok(pasted) => format!("{pasted:?} {pasted}"),
            Err(error) => format!("{error:?} {error}"),
        };
        prop_assert!(!shown.contains(&secret), "{}", shown);
    }

    #[test]
    fn any_address_is_survived_and_its_server_ends_with_a_slash(path in "[a-z/.%0-9]{0,40}", query in "[a-z=&%]{0,20}") {
        if let Ok(recognised) = server(&format!("http://h:1/{path}?{query}")) {
            prop_assert!(recognised.server.expose().path().ends_with('/'));
        }
    }
}
