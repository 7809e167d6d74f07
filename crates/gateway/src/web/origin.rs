//! Who may speak to the command port: only a page that came from it, under a name of this computer.
//!
//! A name that is not this computer's means that somebody pointed a name of theirs at 127.0.0.1. Any port is allowed
//! in it, so that a tunnel works. A page says where it came from in `Origin`; every one but the page at this very name
//! and port is refused, and so is `null`, which is what a framed output says.

use axum::http::{HeaderMap, header};

/// The name and port under which a browser reached us, such as `localhost:8321`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host(String);

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The Host header is missing, doubled, or not a name of this computer.
    Host,
    /// The Origin header is not our own.
    Origin,
}

impl Host {
    /// Reads the Host header.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut values = headers.get_all(header::HOST).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return Err(Refusal::Host) };
        let text = value.to_str().map_err(|_| Refusal::Host)?.to_ascii_lowercase();
        let (name, port) = split(&text).ok_or(Refusal::Host)?;
        let ours = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
        let port_is_fine = port.is_none_or(|port| port.parse::<u16>().is_ok() && !port.starts_with('+'));
        if ours && port_is_fine { Ok(Self(text)) } else { Err(Refusal::Host) }
    }

    /// The origin of the page at this name and port.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.0)
    }

    /// The address of the WebSocket at this name and port, as a source expression.
    pub(crate) fn socket_origin(&self) -> String {
        format!("ws://{}", self.0)
    }

    /// The origin of another port under the same name.
    pub(crate) fn origin_at(&self, port: u16) -> String {
        let name = split(&self.0).map_or("127.0.0.1", |(name, _)| name);
        format!("http://{name}:{port}")
    }

    /// Checks where a request came from. `needed`: whether it may leave that out, as the loading of a page does.
    pub(crate) fn check_origin(&self, headers: &HeaderMap, needed: bool) -> Result<(), Refusal> {
        let mut values = headers.get_all(header::ORIGIN).iter();
        match (values.next(), values.next()) {
            (None, None) if !needed => Ok(()),
            (Some(origin), None) if origin.as_bytes() == self.origin().as_bytes() => Ok(()),
            _ => Err(Refusal::Origin),
        }
    }
}

/// A name and its port, if there is one. An IPv6 address keeps its brackets.
fn split(host: &str) -> Option<(&str, Option<&str>)> {
    let end_of_name =
        if host.starts_with('[') { host.find(']')? + 1 } else { host.find(':').unwrap_or(host.len()) };
    let (name, rest) = host.split_at(end_of_name);
    if rest.is_empty() { Some((name, None)) } else { Some((name, Some(rest.strip_prefix(':')?))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        headers
    }

    #[test]
    fn only_names_of_this_computer_are_taken_with_any_port() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:65535", "[::1]", "[::1]:8080"] {
            assert!(Host::of(&headers(host, None)).is_ok(), "{host}");
        }
        for host in [
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "127.0.0.2",
            "0.0.0.0:80",
            "[::]:80",
            "localhost:99999",
            "localhost:+80",
            "localhost:",
            "localhost:80:80",
            "user@localhost",
            "",
            "[::1",
        ] {
            assert_eq!(Host::of(&headers(host, None)), Err(Refusal::Host), "{host}");
        }
    }

    #[test]
    fn a_missing_or_doubled_host_is_refused() {
        assert_eq!(Host::of(&HeaderMap::new()), Err(Refusal::Host));
        let mut doubled = headers("localhost", None);
        doubled.append(header::HOST, HeaderValue::from_static("localhost"));
        assert_eq!(Host::of(&doubled), Err(Refusal::Host));
    }

    #[test]
    fn every_origin_but_our_own_is_refused() {
        let check = |origin: Option<&str>, needed| {
            let headers = headers("localhost:8321", origin);
            Host::of(&headers).unwrap().check_origin(&headers, needed)
        };
        assert_eq!(check(Some("http://localhost:8321"), true), Ok(()));
        assert_eq!(check(None, false), Ok(()));
        assert_eq!(check(None, true), Err(Refusal::Origin));
        for origin in [
            "null",
            "http://localhost",
            "http://localhost:8322",
            "http://127.0.0.1:8321",
            "https://localhost:8321",
            "http://localhost:8321.example.org",
            "https://example.org",
        ] {
            assert_eq!(check(Some(origin), false), Err(Refusal::Origin), "{origin}");
        }
    }

    #[test]
    fn another_port_is_found_under_the_same_name() {
        for (host, expected) in [
            ("localhost:1", "http://localhost:9"),
            ("[::1]:1", "http://[::1]:9"),
            ("127.0.0.1", "http://127.0.0.1:9"),
        ] {
            assert_eq!(Host::of(&headers(host, None)).unwrap().origin_at(9), expected);
        }
    }
}
