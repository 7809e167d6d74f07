//! Whom code in a container reaches, and where engines are found.

#![cfg(all(feature = "docker", unix))]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

#[path = "support/containers.rs"]
mod containers;
mod support;

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::PathBuf,
    time::Duration,
};

use containers::{Place, on_engine, text};
use sandbook_runtimes::docker::{DockerSettings, NetworkPolicy, Surroundings};
use sandbook_sandbox::{Readiness, Runtime as _, SandboxSettings, StopChoice};
use sandbook_test_support::{Container, PATIENCE, docker, docker_engine, docker_image};
use serde_json::json;

/// A network of one test, with servers in it.
struct Network(String);

impl Network {
    fn new() -> Self {
        let name = format!("sandbook-test-{}", std::process::id());
        let (made, said) = docker(&["network", "create", &name]);
        assert!(made, "{said}");
        Self(name)
    }

    /// A server of files that says a word, and its address.
    fn server(&self, says: &str) -> (Container, String) {
        let command =
            format!("echo {says} > /tmp/index.html && exec python3 -m http.server 8000 --directory /tmp");
        let image = docker_image();
        let server = Container::run(&["--network", &self.0, "-e", "TOKEN=t", &image, "sh", "-c", &command]);
        let format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
        let address = docker(&["inspect", &server.0, "--format", format]).1;
        for _ in 0..300 {
            if std::net::TcpStream::connect((address.as_str(), 8000)).is_ok() {
                return (server, address);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{address} does not answer: {}", docker(&["logs", &server.0]).1);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(docker(&["network", "rm", &self.0]));
    }
}

/// A port of this computer's loopback behind which somebody says a word, once.
fn says_once(word: &'static str) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 100]);
        write!(stream, "{word}").unwrap();
    });
    port
}

/// Asking by a program that knows proxies, by a tunnel, and by neither.
const ASKING: &str = r"
import socket, urllib.error, urllib.request
def ask(url):
    try:
        return urllib.request.urlopen(url, timeout=30).read().decode().strip()
    except urllib.error.HTTPError as error:
        return f'{error.code} {error.read().decode().strip()}'
def tunnel(target, says=b'GET / HTTP/1.0\r\n\r\n'):
    with socket.create_connection(('127.0.0.1', 3128), timeout=30) as stream:
        stream.sendall(f'CONNECT {target} HTTP/1.1\r\n\r\n'.encode())
        answer = stream.recv(1000).decode().split('\r\n')[0]
        if ' 200 ' not in answer:
            return answer
        stream.sendall(says)
        return b''.join(iter(lambda: stream.recv(1000), b'')).decode().split()[-1]
def around(host, port):
    try:
        socket.create_connection((host, port), timeout=10)
        return 'reached'
    except OSError as error:
        return f'{type(error).__name__} {error.errno}'
";

#[tokio::test]
async fn with_a_list_of_hosts_those_on_it_are_reached_and_nobody_else_in_no_other_way() {
    let network = Network::new();
    let ((_one, allowed), (_other, forbidden)) = (network.server("hello"), network.server("secret"));
    let here = says_once("here");
    let place = Place::new();
    let settings = DockerSettings {
        network: NetworkPolicy::Allowlist,
        allowed_hosts: vec![format!("{allowed}:8000"), format!("localhost:{here}")],
        ..on_engine()
    };
    let sandbox = place.create(settings).await.unwrap();
    text(&sandbox, ASKING).await;
    let ask = async |code: String| text(&sandbox, &format!("print({code})")).await;

    assert_eq!(ask(format!("ask('http://{allowed}:8000/')")).await, "hello");
    assert_eq!(ask(format!("tunnel('{allowed}:8000')")).await, "hello");
    assert_eq!(ask(format!("tunnel('localhost:{here}')")).await, "here", "a name is looked up outside");

    let refused = ask(format!("ask('http://{forbidden}:8000/')")).await;
    assert!(refused.starts_with("403 ") && refused.contains("not on the list"), "{refused}");
    assert_eq!(ask(format!("tunnel('{forbidden}:8000')")).await, "HTTP/1.1 403 Forbidden");
    assert_eq!(ask(format!("tunnel('{allowed}:8001')")).await, "HTTP/1.1 403 Forbidden", "another port");
    assert_eq!(ask("tunnel('example.org:443')".into()).await, "HTTP/1.1 403 Forbidden");

    for host in [&allowed, &forbidden, "172.17.0.1", "1.1.1.1"] {
        assert_eq!(ask(format!("around('{host}', 8000)")).await, "OSError 101", "no route to {host}");
    }
    assert_eq!(ask("around('example.org', 80)".into()).await, "gaierror -3", "no names");
    assert_eq!(ask("[name for _, name in socket.if_nameindex()]".into()).await, "['lo']");

    // a later owner lets it reach the same, whatever the settings are by then
    let handle = sandbox.info().handle;
    sandbox.stop(StopChoice::Keep, PATIENCE).await.unwrap();
    drop(sandbox);
    let again = place.runtime.attach(handle, place.request(&on_engine())).await.unwrap();
    assert_eq!(text(&again, &format!("print(ask('http://{allowed}:8000/'))")).await, "hello");
    let refused = text(&again, &format!("print(tunnel('{forbidden}:8000'))")).await;
    assert_eq!(refused, "HTTP/1.1 403 Forbidden");
    again.stop(StopChoice::Default, PATIENCE).await.unwrap();
    assert_eq!(std::fs::read_dir(place.folder.path().join("run")).unwrap().count(), 0);
}

#[tokio::test]
async fn an_engine_is_found_wherever_one_listens() {
    let socket = PathBuf::from(docker_engine().strip_prefix("unix://").unwrap());
    let settings = SandboxSettings {
        runtime: json!({"image": docker_image(), "folder": "none"}),
        ..SandboxSettings::default()
    };
    let ready = async |surroundings: Surroundings| {
        let runtime = Place::new().runtime.looking_in(surroundings);
        let readiness = runtime.readiness(&settings, None).await;
        assert!(matches!(&readiness, Readiness::Ready(_)), "{readiness:?}");
    };
    let nowhere = || Surroundings { system: vec!["/nowhere/docker.sock".into()], ..Surroundings::default() };
    for path in [
        "run/docker.sock",
        "run/podman/podman.sock",
        "home/.docker/run/docker.sock",
        "home/.docker/desktop/docker.sock",
        "home/.colima/default/docker.sock",
        "home/.config/colima/default/docker.sock",
        "home/.rd/docker.sock",
        "home/.orbstack/run/docker.sock",
        "home/.local/share/containers/podman/machine/podman.sock",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join(path);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&socket, &link).unwrap();
        let (home, run) = (folder.path().join("home"), folder.path().join("run"));
        ready(Surroundings { home: Some(home), runtime_folder: Some(run), ..nowhere() }).await;
    }
    ready(Surroundings { host: Some(docker_engine()), ..nowhere() }).await;
    ready(Surroundings { system: vec![socket.clone()], ..nowhere() }).await;

    // as `docker context create colima` and `docker context use colima` leave it
    let folder = tempfile::tempdir().unwrap();
    let create = ["context", "create", "colima", "--docker", &format!("host={}", docker_engine())];
    for words in [&create[..], &["context", "use", "colima"]] {
        let mut command = std::process::Command::new("docker");
        command.args(words).env("HOME", folder.path()).env_remove("DOCKER_HOST").env_remove("DOCKER_CONFIG");
        assert!(command.output().unwrap().status.success(), "{words:?}");
    }
    ready(Surroundings { home: Some(folder.path().to_owned()), ..nowhere() }).await;
}
