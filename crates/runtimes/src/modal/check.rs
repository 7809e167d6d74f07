//! What is wrong with settings, as far as it can be told without asking Modal.

use std::net::IpAddr;

use sandbook_sandbox::{Problem, SandboxSettings};
use url::Url;

use super::{
    image::is_id,
    settings::{LONGEST_LIFE, ModalSettings, NetworkPolicy},
};
use crate::{memory::Memory, paste::is_loopback};

/// What a kernel needs at least.
const LEAST_MEMORY: Memory = Memory::bytes(64 << 20);
const LEAST_CPU: f64 = 0.125;
/// Below this a sandbox would end while somebody reads.
const LEAST_IDLE: u32 = 30;
const LONGEST_NAME: usize = 64;

/// Everything that is wrong.
pub(super) fn problems(settings: &ModalSettings, general: &SandboxSettings) -> Vec<Problem> {
    let mut problems: Vec<Problem> = general.environment.iter().filter_map(variable).collect();
    let mut wrong = |is_wrong: bool, setting: &str, reason: String| {
        if is_wrong {
            problems.push(Problem::new(setting, reason));
        }
    };
    let folder = general.working_directory.as_ref();
    let is_relative = folder.is_some_and(|folder| !folder.to_string_lossy().starts_with('/'));
    wrong(is_relative, "working_directory", "it is a folder of the sandbox, as /root/work".into());
    wrong(!is_name(&settings.app), "app", "a name has up to 64 of the letters a-z, A-Z, 0-9, - _ .".into());
    let image = settings.image.as_deref();
    let reason = "an image is named as in python:3.13-slim, or by Modal's own id im-…";
    wrong(image.is_some_and(|image| !is_image(image)), "image", reason.into());
    wrong(!is_program(&settings.python), "python", "it is a program, as python3 or /usr/bin/python3".into());
    let cpu = settings.cpu;
    let too_few = cpu.is_some_and(|cores| !(cores.is_finite() && cores >= LEAST_CPU));
    wrong(too_few, "cpu", format!("it is a number of cores, at least {LEAST_CPU}"));
    let memory = settings.memory;
    let too_little = memory.is_some_and(|memory| memory < LEAST_MEMORY);
    wrong(too_little, "memory", format!("a kernel needs at least {LEAST_MEMORY}"));
    let life = settings.longest_life;
    let reason = format!("it is a number of seconds, at most {LONGEST_LIFE}: that is Modal's limit");
    wrong(life == 0 || life > LONGEST_LIFE, "longest_life", reason);
    let idle = settings.idle_timeout;
    let reason = format!("it is a number of seconds, at least {LEAST_IDLE}, or 0 for none");
    wrong(idle != 0 && idle < LEAST_IDLE, "idle_timeout", reason);
    let region = settings.region.as_deref();
    wrong(region.is_some_and(|region| !is_name(region)), "region", "a region is named as in us-east".into());
    problems.extend(settings.server_url.as_deref().and_then(server));
    problems.extend(packages(settings));
    problems.extend(network(settings));
    problems.extend(resources(settings));
    problems
}

fn variable((name, value): (&String, &String)) -> Option<Problem> {
    let reason = if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        format!("`{name}` is no name of a variable")
    } else if name.starts_with("MODAL_") {
        format!("{name} is Modal's own; a token of a cloud never enters a sandbox")
    } else {
        return None;
    };
    Some(Problem::new("environment", reason))
}

fn server(server: &str) -> Option<Problem> {
    let reason = match Url::parse(server) {
        Err(error) => error.to_string(),
        Ok(url) if url.scheme() == "https" || url.scheme() == "http" && is_loopback(&url) => return None,
        Ok(_) => "a token is sent by https only".into(),
    };
    Some(Problem::new("server_url", reason))
}

/// What `pip` takes, one at a time; an option would change where packages come from.
fn packages(settings: &ModalSettings) -> Vec<Problem> {
    let usual =
        |letter: char| letter.is_ascii_alphanumeric() || " ._-+!=<>~,;[]()@/:#&?%\"*".contains(letter);
    let is_package = |package: &str| {
        package.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && package.chars().all(usual)
    };
    let wrong = |(index, package): (usize, &String)| {
        let reason = format!("`{package}` is no package as pip takes it, such as numpy or torch==2.4.1");
        (!is_package(package)).then(|| Problem::new(format!("packages[{index}]"), reason))
    };
    settings.packages.iter().enumerate().filter_map(wrong).collect()
}

fn network(settings: &ModalSettings) -> Vec<Problem> {
    let hosts = &settings.allowed_hosts;
    let one = |reason: &str| vec![Problem::new("allowed_hosts", reason)];
    if settings.network != NetworkPolicy::Allowlist {
        return if hosts.is_empty() { Vec::new() } else { one("they need the network policy `allowlist`") };
    }
    if hosts.is_empty() {
        return one("the network policy `allowlist` needs at least one host; `none` is for nobody");
    }
    let wrong = |(index, host): (usize, &String)| {
        let reason = format!(
            "`{host}` is no host; write its name or a range, as pypi.org or 192.0.2.0/24. Ports cannot be told apart there"
        );
        (range(host).is_none() && !is_host(host))
            .then(|| Problem::new(format!("allowed_hosts[{index}]"), reason))
    };
    hosts.iter().enumerate().filter_map(wrong).collect()
}

/// A range of addresses as Modal takes it; one address is a range of one.
pub(super) fn range(host: &str) -> Option<String> {
    let (address, length) = host.split_once('/').unwrap_or((host, ""));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length =
        if length.is_empty() { most } else { length.parse().ok().filter(|length| *length <= most)? };
    Some(format!("{address}/{length}"))
}

fn is_host(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
    };
    name.contains('.') && name.split('.').all(is_label)
}

/// What is the account's: secrets and volumes.
fn resources(settings: &ModalSettings) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, secret) in settings.secrets.iter().enumerate() {
        if !is_name(secret) {
            problems
                .push(Problem::new(format!("secrets[{index}]"), "it is the name of a secret of the account"));
        }
    }
    for (index, volume) in settings.volumes.iter().enumerate() {
        let named = format!("volumes[{index}]");
        if !is_name(&volume.name) {
            problems.push(Problem::new(named, "it is the name of a volume of the account"));
        } else if !volume.target.starts_with('/') || volume.target.trim_matches('/').is_empty() {
            problems.push(Problem::new(named, format!("{} is no folder of the sandbox", volume.target)));
        }
    }
    problems
}

fn is_name(name: &str) -> bool {
    let usual = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(usual)
}

fn is_program(name: &str) -> bool {
    let usual = |letter: char| letter.is_ascii_alphanumeric() || "-_./+".contains(letter);
    !name.is_empty() && name.chars().all(usual) && !name.starts_with('-')
}

fn is_image(name: &str) -> bool {
    if name.starts_with("im-") {
        return is_id(name);
    }
    let usual = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@".contains(letter);
    name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && name.chars().all(usual)
}
