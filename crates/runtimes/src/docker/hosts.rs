//! A list of hosts that a container may reach, and whether one is on it.
//!
//! An entry is a name (`pypi.org`), every name below one (`*.example.org`), or an address, each with or without a port. One
//! without a port means 80 and 443. What is asked for has to be written as the entry is: names are compared as names, addresses
//! as addresses, and no other way to write either gets through.

use std::{fmt, net::IpAddr, str::FromStr};

/// The ports of an entry that names none.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The hosts that may be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hosts(Vec<Host>);

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    name: Name,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// In small letters, without a dot at its end.
    Exact(String),
    /// What has to stand at the end, with its dot.
    Below(String),
    Address(IpAddr),
}

impl Hosts {
    /// Reads entries; what is none is left out, because what is not understood is not allowed.
    pub(super) fn read<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        Self(entries.into_iter().filter_map(|entry| entry.parse().ok()).collect())
    }

    /// Whether a port of a host may be reached. The host is as a request names it: an address of version 6 without brackets.
    pub(super) fn allow(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|entry| {
            entry.port.map_or(USUAL_PORTS.contains(&port), |it| it == port) && entry.name.is(host)
        })
    }
}

impl Name {
    fn is(&self, host: &str) -> bool {
        if let Ok(address) = host.parse::<IpAddr>() {
            return *self == Self::Address(address);
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        match self {
            Self::Exact(name) => host == *name,
            Self::Below(end) => host.len() > end.len() && host.ends_with(end),
            Self::Address(_) => false,
        }
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is no host: write it as pypi.org, *.example.org, 192.0.2.7 or host.example.org:8443"
            )
        };
        if let Ok(address) = text.parse() {
            return Ok(Self { name: Name::Address(address), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok().filter(|port| *port != 0).ok_or_else(bad)?)),
            None => (text, None),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse() {
            return Ok(Self { name: Name::Address(address), port });
        }
        let (is_below, name) = host.strip_prefix("*.").map_or((false, host), |name| (true, name));
        if !is_name(name) {
            return Err(bad());
        }
        let name = name.to_ascii_lowercase();
        Ok(Self { name: if is_below { Name::Below(format!(".{name}")) } else { Name::Exact(name) }, port })
    }
}

/// A name as the naming system has them. One that is only digits and dots is an address that is written wrongly.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && label.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_')
    };
    let has_letter = name
        .rsplit('.')
        .next()
        .is_some_and(|last| last.contains(|letter: char| letter.is_ascii_alphabetic()));
    name.len() <= 253 && has_letter && name.split('.').all(is_label)
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Exact(name) => formatter.write_str(name)?,
            Name::Below(end) => write!(formatter, "*{end}")?,
            Name::Address(IpAddr::V6(address)) if self.port.is_some() => write!(formatter, "[{address}]")?,
            Name::Address(address) => write!(formatter, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        formatter.write_str(&entries.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_list_is_allowed_and_nothing_that_only_looks_like_it() {
        let hosts = Hosts::read([
            "pypi.org",
            "*.Example.org",
            "192.0.2.7",
            "api.test:8443",
            "[2001:db8::1]:80",
            "a b",
        ]);
        for (host, port) in [
            ("pypi.org", 443),
            ("PyPI.org.", 80),
            ("a.b.example.org", 443),
            ("192.0.2.7", 80),
            ("api.test", 8443),
            ("2001:db8:0::1", 80),
        ] {
            assert!(hosts.allow(host, port), "{host}:{port}");
        }
        for (host, port) in [
            ("pypi.org", 22),
            ("evilpypi.org", 443),
            ("pypi.org.evil.test", 443),
            ("x.pypi.org", 443),
            ("example.org", 443),
            ("evilexample.org", 443),
            ("api.test", 443),
            ("3221225991", 80),
            ("192.0.2.07", 80),
            ("::ffff:192.0.2.7", 80),
            ("2001:db8::1", 443),
            ("", 80),
            (".example.org", 443),
        ] {
            assert!(!hosts.allow(host, port), "{host}:{port}");
        }
    }

    #[test]
    fn entries_are_read_back_as_they_were_written_and_others_are_refused() {
        for entry in [
            "pypi.org",
            "*.example.org",
            "192.0.2.7:8080",
            "[2001:db8::1]:80",
            "2001:db8::1",
            "localhost:8888",
        ] {
            assert_eq!(entry.parse::<Host>().unwrap().to_string(), entry);
        }
        for bad in [
            "",
            "*",
            "*.",
            "http://a.org",
            "a.org/x",
            "a b",
            "a..b",
            "-a.org",
            "a.org:0",
            "a.org:x",
            "1.2.3",
            "a@b.org",
            "*.*.org",
        ] {
            assert!(bad.parse::<Host>().is_err(), "{bad}");
        }
    }
}
