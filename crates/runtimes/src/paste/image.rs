//! Container images: by a command that starts or pulls one, or by name.

/// A container image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its name, with tag or digest as it was given.
    pub name: String,
    /// Whether it stood in a command with further words, which are not kept.
    pub in_command: bool,
}

/// Options of `docker run` that stand alone; every other one takes the next word, unless it holds a `=`.
const ALONE: &[&str] = &[
    "-d",
    "--detach",
    "-i",
    "--interactive",
    "-t",
    "--tty",
    "-it",
    "-ti",
    "-dit",
    "-itd",
    "-id",
    "-di",
    "-dt",
    "-td",
    "--rm",
    "--init",
    "--privileged",
    "--read-only",
    "-P",
    "--publish-all",
    "--no-healthcheck",
    "--oom-kill-disable",
    "-q",
    "--quiet",
    "-a",
    "--all-tags",
    "--disable-content-trust",
    "--sig-proxy",
];

/// Registries whose name alone says that an image follows.
const REGISTRIES: &[&str] = &[
    "docker.io",
    "ghcr.io",
    "quay.io",
    "gcr.io",
    "registry.k8s.io",
    "mcr.microsoft.com",
    "nvcr.io",
    "public.ecr.aws",
    "registry.gitlab.com",
    "registry.hub.docker.com",
    "cr.weaviate.io",
];

/// Below this number is no port of a server, but a version: `postgres:16`.
const FIRST_PORT: u32 = 1024;

/// The image of a command as `docker run …`.
pub(super) fn of_command(text: &str) -> Option<Image> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut words = joined.split_whitespace().skip_while(|word| matches!(*word, "$" | "#" | "sudo" | "!"));
    if !matches!(words.next()?, "docker" | "podman" | "nerdctl") {
        return None;
    }
    let mut verb = words.next()?;
    if matches!(verb, "container" | "image") {
        verb = words.next()?;
    }
    if !matches!(verb, "run" | "pull" | "create") {
        return None;
    }
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            let name = word.trim_matches(['"', '\'']).to_owned();
            return is_image(&name).then_some(Image { name, in_command: true });
        }
        if ALONE.contains(&word) || word.contains('=') || is_short_with_value(word) {
            continue;
        }
        skip_value(&mut words);
    }
    None
}

/// As `-p8888:8888`.
fn is_short_with_value(word: &str) -> bool {
    !word.starts_with("--") && word.len() > 2
}

/// One word, or all of them up to the closing quote.
fn skip_value<'a>(words: &mut impl Iterator<Item = &'a str>) {
    let Some(first) = words.next() else { return };
    let Some(quote) = first.chars().find(|c| matches!(c, '"' | '\'')) else { return };
    if first.matches(quote).count() % 2 == 1 {
        let _closing = words.find(|word| word.contains(quote));
    }
}

/// An image by its name alone, where that is no address of a server as well.
pub(super) fn named(text: &str) -> Option<Image> {
    let (with_scheme, text) =
        match text.strip_prefix("docker://").or_else(|| text.strip_prefix("docker-image://")) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
    if !is_image(text) {
        return None;
    }
    let (path, digest) = text.split_once('@').map_or((text, None), |(path, digest)| (path, Some(digest)));
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let host = first.split(':').next().unwrap_or_default();
    let tag = path.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let is_port =
        rest.is_none() && tag.is_some_and(|tag| tag.parse::<u32>().is_ok_and(|port| port >= FIRST_PORT));
    let is_host_with_tag = rest.is_none() && (host == "localhost" || host.contains('.'));
    let known = with_scheme
        || digest.is_some()
        || rest.is_some() && REGISTRIES.contains(&first)
        || tag.is_some() && !is_port && !is_host_with_tag && !is_well_known_port(rest, tag);
    known.then(|| Image { name: text.to_owned(), in_command: false })
}

/// `host:80` and `host:443` are servers.
fn is_well_known_port(rest: Option<&str>, tag: Option<&str>) -> bool {
    rest.is_none() && matches!(tag, Some("80" | "443"))
}

/// Whether a text has the shape of an image's name.
fn is_image(text: &str) -> bool {
    let (path, digest) = text.split_once('@').map_or((text, None), |(path, digest)| (path, Some(digest)));
    let good_digest = digest.is_none_or(|digest| {
        digest
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    let (name, tag) = match path.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (path, None),
    };
    let good_tag = tag.is_none_or(|tag| {
        (1..=128).contains(&tag.len())
            && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            && !tag.starts_with(['.', '-'])
    });
    let mut parts = name.split('/').enumerate();
    let is_good = |(index, part): (usize, &str)| {
        // only the first may be a host with its port
        let bare = match part.split_once(':') {
            Some((host, number)) if index == 0 && number.bytes().all(|b| b.is_ascii_digit()) => host,
            _ => part,
        };
        bare.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
            && bare.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
    };
    good_digest && good_tag && name.len() <= 255 && parts.all(is_good)
}
