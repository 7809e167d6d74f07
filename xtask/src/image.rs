//! The image of the docker runtime's tests: what `docker/Dockerfile` makes, without a registry.
//!
//! The base, which a Dockerfile would pull, is made from this system's own packages with mmdebstrap and imported. It also
//! gets this machine's certificates, because what is installed on top of it comes over this machine's network. Both
//! images are named by the digest of what they are made from, and older ones are removed.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::engine::Engine;
use crate::repository::Repository;
use crate::{packages, process};

/// What decides what is in the image, in the order in which the digest takes it. The docker runtime computes the same.
const INPUTS: [&str; 4] = ["Dockerfile", "requirements.txt", "start", "user-requirements.txt"];

const NAME: &str = "sandbook/test";
const BASE: &str = "sandbook/test-base";
/// What the base has beside Debian's essential packages.
const PACKAGES: &str = "python3,python3-venv,tini,ca-certificates";
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Makes the image where it is missing. Returns its name.
pub(crate) fn make(repository: &Repository, engine: &Engine) -> Result<String> {
    let folder = repository.root().join("docker");
    let mut digest = Sha256::new();
    for name in INPUTS {
        let text = fs::read(folder.join(name)).with_context(|| format!("cannot read docker/{name}"))?;
        digest.update(name);
        digest.update([0]);
        digest.update(text);
        digest.update([0]);
    }
    let inputs = hex(&digest.finalize());
    let base = base(engine)?;
    let image = format!("{NAME}:{}-{}", base.rsplit(':').next().unwrap_or_default(), short(&inputs));
    if !is_there(engine, &image) {
        println!("building {image} from docker/Dockerfile");
        let (base, inputs) = (format!("BASE={base}"), format!("INPUTS={inputs}"));
        let words =
            ["build", "--network", "host", "--build-arg", &base, "--build-arg", &inputs, "--tag", &image];
        process::must_succeed(engine.docker(&words).arg(&folder))?;
        remove_older(engine, NAME, &image);
    }
    Ok(image)
}

/// The image to build on.
fn base(engine: &Engine) -> Result<String> {
    let (system, suite) = system()?;
    let certificates = fs::read(CERTIFICATES).unwrap_or_default();
    let made_from =
        Sha256::new().chain_update(&suite).chain_update(PACKAGES).chain_update(certificates).finalize();
    let image = format!("{BASE}:{}", short(&hex(&made_from)));
    if is_there(engine, &image) {
        return Ok(image);
    }
    println!("making a base image of {system} {suite}");
    let folder = tempfile::tempdir().context("cannot make a folder for the base image")?;
    let memory = Memory::mount(folder.path());
    let archive = folder.path().join("root.tar");
    let mut make = packages::as_root(&["mmdebstrap", "--quiet", "--variant=minbase"])?;
    make.env("TMPDIR", folder.path()).args(["--dpkgopt=force-unsafe-io", "--include", PACKAGES]);
    for left_out in ["man", "doc", "locale"] {
        make.arg(format!("--dpkgopt=path-exclude=/usr/share/{left_out}/*"));
    }
    make.arg(format!("--customize-hook=upload {CERTIFICATES} {CERTIFICATES}"));
    if system == "ubuntu" {
        make.arg("--components=main,universe");
    }
    process::must_succeed(make.arg(&suite).arg(&archive))?;
    let certificate = format!("ENV PIP_CERT={CERTIFICATES}");
    let words =
        ["import", "--change", "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"];
    process::must_succeed(engine.docker(&words).args(["--change", &certificate]).arg(&archive).arg(&image))?;
    drop(memory);
    remove_older(engine, BASE, &image);
    Ok(image)
}

/// The name of this system, and of its release.
fn system() -> Result<(String, String)> {
    let text = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    match (value("ID"), value("VERSION_CODENAME")) {
        (Some(system), Some(suite)) if system == "debian" || system == "ubuntu" => Ok((system, suite)),
        _ => bail!(
            "the base of the tests' image is made from Debian's or Ubuntu's packages, and this is neither"
        ),
    }
}

fn is_there(engine: &Engine, image: &str) -> bool {
    process::printed(&mut engine.docker(&["image", "inspect", image])).is_some()
}

fn remove_older(engine: &Engine, name: &str, present: &str) {
    let list =
        process::printed(&mut engine.docker(&["images", name, "--format", "{{.Repository}}:{{.Tag}}"]));
    for image in list.unwrap_or_default().lines().filter(|image| *image != present) {
        process::printed(&mut engine.docker(&["rmi", image]));
    }
}

/// A folder whose files are in memory, where that can be had: dpkg waits for the disk after each file.
struct Memory<'a>(Option<&'a std::path::Path>);

impl<'a> Memory<'a> {
    fn mount(folder: &'a std::path::Path) -> Self {
        let mounted = process::printed(
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=4g", "tmpfs"]).arg(folder),
        );
        Self(mounted.map(|_| folder))
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        if let Some(folder) = self.0 {
            process::printed(Command::new("umount").arg(folder));
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
