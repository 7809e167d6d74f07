//! What is wrong with settings, as far as it can be told without an engine and without looking at the disk.

use std::path::{Component, Path};

use sandbook_sandbox::{Problem, SandboxSettings};

use super::{
    hosts::Host,
    settings::{DockerSettings, NetworkPolicy},
};
use crate::memory::Memory;

/// Variables that Sandbook sets itself.
const OWN_VARIABLES: [&str; 3] = ["TOKEN", "JUPYTER_TOKEN", "KG_AUTH_TOKEN"];
/// What a Jupyter server needs at least.
const LEAST_MEMORY: Memory = Memory::bytes(64 << 20);
/// What a Jupyter server and a kernel need at least, in processes and threads.
const LEAST_PROCESSES: u32 = 32;
/// Folders of private keys, by their names in a home.
const OF_KEYS: [&str; 2] = [".ssh", ".gnupg"];

/// Everything that is wrong.
pub(super) fn problems(settings: &DockerSettings, general: &SandboxSettings) -> Vec<Problem> {
    let mut problems: Vec<Problem> = general.environment.iter().filter_map(variable).collect();
    if settings.image.as_deref().is_some_and(|image| !is_image_name(image)) {
        problems.push(Problem::new(
            "image",
            "an image is named as in python:3.13-slim or registry.example.org/team/image",
        ));
    }
    if settings.cpu.is_some_and(|cores| !(cores.is_finite() && cores >= 0.01)) {
        problems.push(Problem::new("cpu", "it is a number of cores, at least 0.01"));
    }
    if settings.memory.is_some_and(|memory| memory < LEAST_MEMORY) {
        problems.push(Problem::new("memory", format!("a Jupyter server needs at least {LEAST_MEMORY}")));
    }
    if settings.processes.is_some_and(|processes| processes < LEAST_PROCESSES) {
        let reason =
            format!("a Jupyter server and a kernel need at least {LEAST_PROCESSES} processes and threads");
        problems.push(Problem::new("processes", reason));
    }
    problems.extend(settings.folder_at.iter().filter_map(|target| place("folder_at".to_owned(), target)));
    for (index, mount) in settings.mounts.iter().enumerate() {
        let name = format!("mounts[{index}]");
        problems.extend(keys(&name, &mount.source).or_else(|| place(name, &mount.target)));
    }
    problems.extend(network(settings));
    problems
}

fn variable((name, value): (&String, &String)) -> Option<Problem> {
    let reason = if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        format!("`{name}` is no name of a variable")
    } else if OWN_VARIABLES.contains(&name.as_str()) {
        format!("Sandbook makes {name} itself, anew for each container")
    } else {
        return None;
    };
    Some(Problem::new("environment", reason))
}

/// A folder in a container.
fn place(setting: String, target: &str) -> Option<Problem> {
    let is_folder = target.starts_with('/') && target != "/";
    (!is_folder).then(|| Problem::new(setting, format!("{target} is no folder of the container")))
}

fn keys(setting: &str, source: &Path) -> Option<Problem> {
    let of_keys = |component: Component<'_>| OF_KEYS.iter().any(|name| component.as_os_str() == *name);
    source.components().any(of_keys).then(|| {
        let reason =
            format!("{} holds private keys, so it cannot be shared with a sandbox", source.display());
        Problem::new(setting, reason)
    })
}

fn network(settings: &DockerSettings) -> Vec<Problem> {
    let hosts = &settings.allowed_hosts;
    let one = |reason: &str| vec![Problem::new("allowed_hosts", reason)];
    if settings.network != NetworkPolicy::Allowlist {
        return if hosts.is_empty() { Vec::new() } else { one("they need the network policy `allowlist`") };
    }
    if hosts.is_empty() {
        return one("the network policy `allowlist` needs at least one host; `none` is for nobody");
    }
    if cfg!(not(unix)) {
        return vec![Problem::new(
            "network",
            "a list of hosts needs a Unix socket, which this system does not share with containers",
        )];
    }
    let wrong = |(index, host): (usize, &String)| {
        let reason = host.parse::<Host>().err()?;
        Some(Problem::new(format!("allowed_hosts[{index}]"), reason))
    };
    hosts.iter().enumerate().filter_map(wrong).collect()
}

/// Whether an engine would take it as a name. What it does not find it says itself.
fn is_image_name(name: &str) -> bool {
    let usual = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@".contains(letter);
    name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && name.chars().all(usual)
}
