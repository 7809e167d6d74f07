//! A private Python environment with ipykernel, for computers that have a Python but no kernel.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sandbook_sandbox::{Progress, SandboxError};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};
use tokio_util::sync::CancellationToken;

use crate::{
    python::{self, Interpreter},
    supervise::keys::without_keys,
};

/// What is installed into it.
pub const PACKAGES: &[&str] = &["ipykernel"];
const LONGEST: Duration = Duration::from_mins(15);

/// What [`make`] will do, to be shown before it is asked for.
pub fn describe(base: &Interpreter, folder: &Path) -> String {
    let packages = PACKAGES.join(", ");
    format!(
        "A private environment with {packages} and what it needs (about 60 MB) is made in {} from {}. Nothing else changes.",
        folder.display(),
        base.program.display()
    )
}

/// Makes the environment and returns its Python. What was made half is removed again.
pub async fn make(
    base: &Interpreter,
    folder: &Path,
    progress: &Progress,
    cancel: &CancellationToken,
) -> Result<PathBuf, SandboxError> {
    let steps = async {
        progress.report("Making a Python environment", Some(0.05));
        let mut venv = Command::new(&base.program);
        venv.args(["-m", "venv", "--clear"]).arg(folder);
        run(venv, "the environment", progress, 0.1, 0.3).await?;
        let python =
            python::program_in(folder).ok_or_else(|| failed("the environment", "it has no Python in it"))?;
        let mut pip = Command::new(&python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "--progress-bar",
            "off",
        ])
        .args(PACKAGES);
        run(pip, "the installation", progress, 0.3, 0.95).await?;
        progress.report("The environment is ready", Some(1.0));
        Ok(python)
    };
    let made = tokio::select! {
        made = tokio::time::timeout(LONGEST, steps) => {
            made.unwrap_or_else(|_| Err(SandboxError::TimedOut { what: "the installation".into(), limit: LONGEST }))
        }
        () = cancel.cancelled() => Err(SandboxError::Cancelled),
    };
    if made.is_err() {
        drop(std::fs::remove_dir_all(folder));
    }
    made
}

fn failed(what: &str, detail: &str) -> SandboxError {
    // Debian and its like take this part out of their Python.
    let (reason, next) = if detail.contains("ensurepip") {
        (
            "this Python cannot make environments, because its part `venv` is not installed. Nothing was changed"
                .to_owned(),
            "Install it with `sudo apt install python3-venv`, then make the environment again.",
        )
    } else {
        (
            format!("it was not made, and nothing of it is left: {detail}"),
            "The last lines say why. Mend it, then make the environment again.",
        )
    };
    SandboxError::NotReady { what: what.to_owned(), reason, next: next.into() }
}

/// Runs a program to its end and reports its lines; each brings the share a little nearer to `to`.
async fn run(
    mut command: Command,
    what: &str,
    progress: &Progress,
    from: f64,
    to: f64,
) -> Result<(), SandboxError> {
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command.kill_on_drop(true);
    without_keys(command.as_std_mut());
    let mut child = command.spawn().map_err(|error| failed(what, &error.to_string()))?;
    let stderr = child.stderr.take();
    let errors = tokio::spawn(async move {
        let mut text = String::new();
        if let Some(mut stderr) = stderr {
            drop(tokio::io::AsyncReadExt::read_to_string(&mut stderr, &mut text).await);
        }
        text
    });
    let mut said = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout).lines();
        let mut share = from;
        while let Ok(Some(line)) = lines.next_line().await {
            share += (to - share) * 0.06;
            progress.report(line.clone(), Some(share));
            said.push(line);
        }
    }
    let status = child.wait().await.map_err(|error| failed(what, &error.to_string()))?;
    let errors = errors.await.unwrap_or_default();
    if status.success() {
        return Ok(());
    }
    // venv says on its standard output what is missing, pip on standard error
    said.extend(errors.lines().map(str::to_owned));
    said.retain(|line| !line.trim().is_empty());
    Err(failed(what, &said[said.len().saturating_sub(8)..].join("\n")))
}
