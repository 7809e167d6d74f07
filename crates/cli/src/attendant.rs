//! A small process beside a command that made a sandbox somewhere else: it ends that sandbox when the command is killed and
//! cannot do so itself.
//!
//! What runs on this computer ends by its supervisor. A container, or a kernel on a server, would live on, and may cost
//! something. So an attendant is started, and told what is about to be made, before it is asked for. It waits at a pipe
//! that only the command holds. A word on it says that all is well; when the pipe closes without one, the attendant looks
//! at the record and ends what is there ([`crate::commands::attend`]). Where it cannot, the record stays, and the owner
//! tries again when it starts.

use std::{
    io::Write,
    process::{Child, ChildStdin, Command, Stdio},
};

use sandbook_runtimes::jupyter::JupyterSettings;
use sandbook_sandbox::SandboxSettings;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::{error::CommandError, home, sandbox::Plan, server};

/// The word that says that nothing is left.
pub(crate) const DONE: &str = "done";

/// What an attendant has to know to end a sandbox. A credential travels in the pipe alone, never in an argument or the
/// environment.
#[derive(Serialize, Deserialize)]
pub(crate) struct Charge {
    /// The sandbox's id on record.
    pub(crate) id: String,
    /// The name of its runtime.
    pub(crate) runtime: String,
    /// What the runtime was told.
    pub(crate) settings: SandboxSettings,
    /// The credential.
    pub(crate) credential: Option<String>,
}

/// An attendant that waits.
pub(crate) struct Attendant {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Attendant {
    /// Starts one where the sandbox of a plan could outlive this process.
    pub(crate) fn beside(plan: &Plan) -> Result<Option<Self>, CommandError> {
        let joins = plan.runtime.joins(&plan.settings, plan.credential.as_ref());
        if joins || ends_with_its_starter(plan) {
            return Ok(None);
        }
        let mut command = Command::new(home::this_program()?);
        command.arg("attend").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // It is told by the pipe what it needs.
        command.env_remove(server::TOKEN);
        // A terminal's interrupt is for the command only.
        platform::own_group(&mut command);
        let mut process = command.spawn().map_err(|error| {
            CommandError::infrastructure(
                "internal",
                format!("Nothing was started, because nothing could see to its end: {error}."),
                "Close other programs and try again.",
            )
        })?;
        let pipe = process.stdin.take();
        Ok(Some(Self { process, pipe }))
    }

    /// Tells it what is about to be made, and with which credential it is reached.
    pub(crate) fn tell(
        &mut self,
        plan: &Plan,
        credential: Option<&SecretString>,
    ) -> Result<(), CommandError> {
        let charge = Charge {
            id: plan.settings.id.clone().unwrap_or_default(),
            runtime: plan.runtime.variant().into(),
            settings: plan.settings.clone(),
            credential: credential.map(|credential| credential.expose_secret().to_owned()),
        };
        let line = serde_json::to_string(&charge).unwrap_or_default();
        let told = self.pipe.as_mut().map(|pipe| writeln!(pipe, "{line}").and_then(|()| pipe.flush()));
        match told {
            Some(Ok(())) => Ok(()),
            _ => Err(CommandError::infrastructure(
                "internal",
                "Nothing was started, because what would see to its end is gone.",
                "Try again.",
            )),
        }
    }

    /// Sends it away: nothing is left. Waits until it has gone.
    pub(crate) fn dismiss(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // one that is gone need not be told
            let _ = writeln!(pipe, "{DONE}");
        }
        let _ = self.process.wait();
    }
}

/// Whether what a plan makes cannot outlive this process: it is a child of it, under a supervisor or a guard.
fn ends_with_its_starter(plan: &Plan) -> bool {
    match plan.runtime.variant() {
        "eval" | "monty" => true,
        "jupyter" => !matches!(JupyterSettings::read(&plan.settings), Ok(JupyterSettings::Server(_))),
        _ => false,
    }
}

mod platform {
    use std::process::Command;

    #[cfg(unix)]
    pub(super) fn own_group(command: &mut Command) {
        std::os::unix::process::CommandExt::process_group(command, 0);
    }

    /// `CREATE_NEW_PROCESS_GROUP`. It was never run: see `docs/platforms.md`.
    #[cfg(windows)]
    pub(super) fn own_group(command: &mut Command) {
        std::os::windows::process::CommandExt::creation_flags(command, 0x200);
    }
}
