//! The only way out of a container whose network is a list of hosts.
//!
//! Such a container has no network at all. What it has is a Unix socket in a folder that both sides see, and this proxy behind
//! it, in the owner's process: the container asks for a host by name, and the owner looks the name up and connects, or says no.
//! So there is no packet to filter, no name to look up in the container, and nothing else to reach. Programs come here by the
//! usual variables (`https_proxy`); what does not know them has no network.
//!
//! Both ways of a proxy are spoken: `CONNECT` for what is encrypted, and whole addresses for plain http, one request a
//! connection. Deliberately absent: looking into what is encrypted. What a server on the list passes on is its own affair.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use sandbook_sandbox::SandboxError;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::hosts::Hosts;

/// The longest head of a request.
const LONGEST_HEAD: usize = 32 << 10;
/// How long a client may take to say what it wants, and a host to take a connection.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many connections one container may have at a time.
const CONNECTIONS: usize = 256;

/// A proxy behind a socket. It ends when it is dropped.
pub(super) struct Proxy {
    _ends_with_this: DropGuard,
}

/// What a client asked for.
struct Asked {
    host: String,
    port: u16,
    /// What the host is sent first: nothing where the client was promised a tunnel.
    first: Vec<u8>,
    is_tunnel: bool,
}

/// What a client is told instead: a status, and why.
struct Refused(&'static str, String);

impl Proxy {
    /// Listens at a socket, in place of one that an earlier owner left there.
    pub(super) fn start(socket: &Path, hosts: Hosts) -> Result<Self, SandboxError> {
        let failed = |error: io::Error| SandboxError::Failed(format!("{}: {error}", socket.display()));
        match std::fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let ended = CancellationToken::new();
        platform::listen(socket, Arc::new(hosts), ended.clone()).map_err(failed)?;
        Ok(Self { _ends_with_this: ended.drop_guard() })
    }
}

/// Serves one connection to its end.
async fn carry(mut near: impl AsyncRead + AsyncWrite + Unpin, hosts: &Hosts) {
    let head = tokio::time::timeout(PATIENCE, head(&mut near)).await;
    let Ok(Ok(head)) = head else { return };
    match reach(&head, hosts).await {
        Ok((mut far, asked)) => {
            let promised = if asked.is_tunnel {
                near.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await
            } else {
                Ok(())
            };
            if promised.is_ok() && far.write_all(&asked.first).await.is_ok() {
                drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
            }
        }
        Err(Refused(status, why)) => {
            let length = why.len() + 1;
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
            );
            drop(near.write_all(answer.as_bytes()).await);
            drop(near.shutdown().await);
        }
    }
}

/// Everything that a client said by the end of its head.
async fn head(near: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut said = Vec::new();
    while !said.windows(4).any(|four| four == b"\r\n\r\n") {
        if said.len() > LONGEST_HEAD || near.read_buf(&mut said).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(said)
}

async fn reach(said: &[u8], hosts: &Hosts) -> Result<(TcpStream, Asked), Refused> {
    let asked = Asked::read(said)
        .ok_or_else(|| Refused("400 Bad Request", "This is no request to a proxy.".into()))?;
    let Asked { host, port, .. } = &asked;
    if !hosts.allow(host, *port) {
        let why =
            format!("Sandbook: {host}:{port} is not on the list of hosts that this container may reach.");
        return Err(Refused("403 Forbidden", why));
    }
    let unreachable =
        |error: io::Error| Refused("502 Bad Gateway", format!("Sandbook: {host}:{port}: {error}"));
    let connected = tokio::time::timeout(PATIENCE, connect(host, *port)).await;
    let far = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(unreachable)?;
    drop(far.set_nodelay(true));
    Ok((far, asked))
}

async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let found = tokio::net::lookup_host((host, port)).await?;
    let may_be_here = names_this_computer(host);
    let usable: Vec<SocketAddr> = found.filter(|address| may_be_here || !is_here(address.ip())).collect();
    if usable.is_empty() {
        return Err(io::Error::other("the name leads to no address outside this computer"));
    }
    TcpStream::connect(&*usable).await
}

/// Whether an entry of the list can only mean what it says, even if that is this computer.
fn names_this_computer(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost")
}

/// Whether an address is one of this computer or of its link: names of elsewhere do not lead there.
fn is_here(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_unspecified() || address.is_link_local(),
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unspecified() || address.is_unicast_link_local()
        }
    }
}

impl Asked {
    /// Reads a request, and makes of a plain one what the host itself is sent.
    fn read(said: &[u8]) -> Option<Self> {
        let end = said.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (head, rest) = said.split_at(end);
        let mut lines = std::str::from_utf8(head).ok()?.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = target.rsplit_once(':')?;
            let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
            let first = rest.get(4..)?.to_vec();
            return Some(Self { host: host.to_owned(), port: port.parse().ok()?, first, is_tunnel: true });
        }
        let url = Url::parse(target).ok().filter(|url| url.scheme() == "http")?;
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default()?;
        let shown = url.port().map_or_else(
            || url.host_str().unwrap_or_default().to_owned(),
            |port| format!("{}:{port}", url.host_str().unwrap_or_default()),
        );
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        // the host is the one that was looked up, and the connection ends with the answer
        let mut first =
            format!("{method} {}{query} {version}\r\nHost: {shown}\r\nConnection: close\r\n", url.path());
        for line in lines {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            if !["host", "connection", "keep-alive"].contains(&name.as_str()) && !name.starts_with("proxy-") {
                first.push_str(line);
                first.push_str("\r\n");
            }
        }
        let first = [first.as_bytes(), b"\r\n", rest.get(4..)?].concat();
        Some(Self { host, port, first, is_tunnel: false })
    }
}

mod platform {
    use super::{Arc, CancellationToken, Hosts, Path, io};

    /// Takes connections until it is told to end.
    #[cfg(unix)]
    pub(super) fn listen(socket: &Path, hosts: Arc<Hosts>, ended: CancellationToken) -> io::Result<()> {
        let listener = tokio::net::UnixListener::bind(socket)?;
        super::super::folder::open_to_all(socket)?;
        tokio::spawn(serve(listener, hosts, ended));
        Ok(())
    }

    #[cfg(not(unix))]
    pub(super) fn listen(_: &Path, _: Arc<Hosts>, _: CancellationToken) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(unix)]
    async fn serve(listener: tokio::net::UnixListener, hosts: Arc<Hosts>, ended: CancellationToken) {
        let places = Arc::new(tokio::sync::Semaphore::new(super::CONNECTIONS));
        loop {
            let accepted = async {
                let place = places.clone().acquire_owned().await.ok();
                (listener.accept().await, place)
            };
            let (near, place) = tokio::select! {
                accepted = accepted => accepted,
                () = ended.cancelled() => return,
            };
            let Ok((near, _)) = near else {
                // no more files can be opened; some close again
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            };
            let (hosts, ended) = (hosts.clone(), ended.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = super::carry(near, &hosts) => {}
                    () = ended.cancelled() => {}
                }
                drop(place);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_request_is_made_into_what_the_host_itself_is_asked() {
        let said = b"POST http://h.test:8080/a?b=c HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: x\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi";
        let asked = Asked::read(said).unwrap();
        assert_eq!((asked.host.as_str(), asked.port, asked.is_tunnel), ("h.test", 8080, false));
        let first = String::from_utf8(asked.first).unwrap();
        assert_eq!(
            first,
            "POST /a?b=c HTTP/1.1\r\nHost: h.test:8080\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"
        );
    }

    #[test]
    fn a_tunnel_is_asked_for_by_host_and_port_and_anything_else_is_no_request() {
        let asked = Asked::read(b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\nhello").unwrap();
        assert_eq!(
            (asked.host.as_str(), asked.port, asked.first.as_slice()),
            ("2001:db8::1", 443, &b"hello"[..])
        );
        for bad in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a.org/ HTTP/1.1\r\n\r\n",
            "GET file:///etc/passwd HTTP/1.1\r\n\r\n",
            "CONNECT a.org HTTP/1.1\r\n\r\n",
            "CONNECT a.org:99999 HTTP/1.1\r\n\r\n",
            "GET http://a.org/ x HTTP/1.1\r\n\r\n",
            "\r\n\r\n",
            "\u{16}\u{3}",
        ] {
            assert!(Asked::read(bad.as_bytes()).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_name_of_elsewhere_does_not_lead_to_this_computer() {
        assert!(is_here("::ffff:127.0.0.1".parse().unwrap()) && is_here("169.254.169.254".parse().unwrap()));
        assert!(!is_here("192.0.2.7".parse().unwrap()) && !is_here("10.0.0.1".parse().unwrap()));
        assert!(names_this_computer("localhost") && !names_this_computer("localhost.example.org"));
    }
}
