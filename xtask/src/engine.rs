//! A Docker engine of the tests' own: Debian's packages, started by hand, private, gone with us.
//!
//! Its images lie in the cache, everything else in a folder with a short name, because sockets have short paths. One
//! engine at a time: two would share the bridge `docker0` and give their containers the same addresses. An engine that
//! runs on this machine anyway is used as it is. What one that was killed left behind is swept up before the next start,
//! which fails on it otherwise.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::process::Group;
use crate::repository::Repository;
use crate::{image, packages, process, registry};

/// Starts the engine and makes the image for somebody who runs tests by hand, and stays until it is interrupted.
pub(crate) fn serve(repository: &Repository) -> Result<bool> {
    packages::install(&packages::missing(packages::TO_TEST_CONTAINERS))?;
    let containers = Containers::start(repository)?;
    for (name, value) in containers.variables() {
        println!("export {name}={value}");
    }
    println!("# the engine ends with Ctrl-C");
    loop {
        std::thread::park();
    }
}

/// What the tests of the docker runtime find.
pub(crate) struct Containers {
    engine: Engine,
    image: String,
    registry: String,
}

impl Containers {
    /// Starts the engine and makes the image.
    pub(crate) fn start(repository: &Repository) -> Result<Self> {
        let engine = Engine::start(repository)?;
        let image = image::make(repository, &engine)?;
        let registry = registry::program(repository)?.display().to_string();
        Ok(Self { engine, image, registry })
    }

    fn variables(&self) -> [(&'static str, &str); 3] {
        [
            ("SANDBOOK_TEST_DOCKER", self.engine.host()),
            ("SANDBOOK_TEST_IMAGE", &self.image),
            ("SANDBOOK_TEST_REGISTRY", &self.registry),
        ]
    }

    /// Tells a test run where they are.
    pub(crate) fn enter(&self, command: &mut Command) {
        command.envs(self.variables());
    }
}

const PATIENCE: Duration = Duration::from_secs(30);

/// A running engine.
pub(crate) struct Engine {
    /// Absent for an engine that runs anyway.
    private: Option<Private>,
    host: String,
}

struct Private {
    daemon: Option<Group>,
    place: Place,
    /// Goes with the file.
    _lock: File,
}

impl Engine {
    /// Finds or starts one.
    pub(crate) fn start(repository: &Repository) -> Result<Self> {
        if !process::is_on_path("docker") {
            packages::install(&["docker-cli"])?;
        }
        if let Some(host) = running() {
            return Ok(Self { private: None, host });
        }
        if !nix::unistd::geteuid().is_root() {
            bail!(
                "no Docker engine answers here, and only root can start one. Start the system's, and let this user \
                 reach it: `sudo systemctl start docker && sudo usermod -aG docker $USER`, then log in again"
            );
        }
        let place = Place::new(&repository.cache("docker"))?;
        let lock = place.lock()?;
        place.sweep();
        let daemon = Some(place.start()?);
        let engine = Self { host: place.host(), private: Some(Private { daemon, place, _lock: lock }) };
        engine.wait()?;
        engine.remove_containers();
        Ok(engine)
    }

    /// Its address, as `DOCKER_HOST` has it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The `docker` command, speaking to this engine.
    pub(crate) fn docker(&self, words: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command
            .args(words)
            .env("DOCKER_HOST", &self.host)
            .env("DOCKER_BUILDKIT", "0")
            .env_remove("DOCKER_CONTEXT");
        command
    }

    /// Removes every container of a private engine: they are what failed tests left behind.
    fn remove_containers(&self) {
        let containers = process::printed(&mut self.docker(&["ps", "--all", "--quiet"])).unwrap_or_default();
        if !containers.is_empty() {
            process::printed(self.docker(&["rm", "--force"]).args(containers.lines()));
        }
    }

    fn wait(&self) -> Result<()> {
        let asked = Instant::now();
        while process::printed(&mut self.docker(&["version", "--format", "{{.Server.Version}}"])).is_none() {
            if asked.elapsed() > PATIENCE {
                let log = self.private.as_ref().map(|private| private.place.log()).unwrap_or_default();
                bail!("the Docker engine did not start. It said:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.private.is_some() {
            self.remove_containers();
        }
        let Some(private) = &mut self.private else { return };
        private.daemon = None;
        private.place.sweep();
    }
}

/// The address of an engine that runs anyway and may be used.
fn running() -> Option<String> {
    const SYSTEM: &str = "unix:///var/run/docker.sock";
    let host = std::env::var("DOCKER_HOST").unwrap_or_else(|_| SYSTEM.to_owned());
    let mut ask = Command::new("docker");
    ask.args(["version", "--format", "{{.Server.Version}}"]).env("DOCKER_HOST", &host);
    process::printed(&mut ask).filter(|version| !version.is_empty()).map(|_| host)
}

/// Where a private engine has its things.
struct Place {
    /// In the cache: images.
    data: PathBuf,
    /// The rest.
    run: PathBuf,
}

impl Place {
    fn new(cache: &Path) -> Result<Self> {
        fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
        let digest = Sha256::digest(cache.as_os_str().as_encoded_bytes());
        let name = digest
            .iter()
            .take(4)
            .fold(String::from("sandbook-engine-"), |name, byte| format!("{name}{byte:02x}"));
        let run = Path::new("/tmp").join(name);
        fs::create_dir_all(&run).with_context(|| format!("cannot make {}", run.display()))?;
        Ok(Self { data: cache.join("data"), run })
    }

    fn host(&self) -> String {
        format!("unix://{}/docker.sock", self.run.display())
    }

    fn log(&self) -> String {
        let text = fs::read_to_string(self.run.join("dockerd.log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn lock(&self) -> Result<File> {
        let file = File::create(self.run.join("lock")).context("cannot open the engine's lock")?;
        if file.try_lock().is_err() {
            println!("waiting for another run of the tests to end its Docker engine");
            file.lock().context("cannot lock the engine")?;
        }
        Ok(file)
    }

    /// Starts the daemon. It ends with us, even when we are killed.
    fn start(&self) -> Result<Group> {
        let log = File::create(self.run.join("dockerd.log")).context("cannot write the engine's log")?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "dockerd", "--log-level", "warn", "--host", &self.host()]);
        command.arg("--data-root").arg(&self.data).arg("--exec-root").arg(self.run.join("exec"));
        command.arg("--pidfile").arg(self.run.join("dockerd.pid"));
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("cannot write the engine's log")?)
            .stderr(log);
        Group::start(&mut command)
    }

    /// Ends and removes what an engine of this place left behind: daemons, what ran in its containers, mounts, sockets.
    fn sweep(&self) {
        let own = self.run.display().to_string();
        for (pid, command) in processes() {
            let program =
                command.split(' ').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
            let is_of_engine =
                ["dockerd", "containerd", "containerd-shim-runc-v2", "docker-proxy"].contains(&program);
            if is_of_engine && command.contains(&own) {
                kill(pid);
            }
        }
        for container in fs::read_dir(self.data.join("containers")).into_iter().flatten().flatten() {
            let id = container.file_name().display().to_string();
            for group in ["pids/docker", "docker", "system.slice"] {
                let name = if group == "system.slice" { format!("docker-{id}.scope") } else { id.clone() };
                let list = fs::read_to_string(format!("/sys/fs/cgroup/{group}/{name}/cgroup.procs"));
                list.unwrap_or_default().lines().filter_map(|pid| pid.parse().ok()).for_each(kill);
            }
        }
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let data = self.data.display().to_string();
        let mut left: Vec<&str> = mounts.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        left.retain(|mount| mount.starts_with(&format!("{own}/")) || mount.starts_with(&format!("{data}/")));
        left.sort_unstable();
        for mount in left.into_iter().rev() {
            process::printed(Command::new("umount").args(["--lazy", mount]));
        }
        for name in ["exec", "dockerd.pid", "docker.sock"] {
            let path = self.run.join(name);
            drop(fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)));
        }
    }
}

fn kill(pid: i32) {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
}

/// Every process and its command line.
fn processes() -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let command = |pid| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    pids.map(|pid| (pid, String::from_utf8_lossy(&command(pid)).replace('\0', " "))).collect()
}
