//! The steps that need a sandbox: its channels, one line of code, its end.

use std::{sync::Arc, time::Duration};

use sandbook_sandbox::{
    Check, Client, ExecuteRequest, Finding, KernelStatus, OutcomeBuilder, Sandbox, SandboxError, StopReport,
};
use sandbook_store::folders::Folders;

use super::Seen;
use crate::{
    error::CommandError,
    sandbox::{Own, Plan},
    signals::Signals,
};

/// How long one line of code may take.
const PATIENCE: Duration = Duration::from_mins(1);

const CHANNELS: &str = "its channels open, and the kernel says what it is";
const CODE: &str = "1 + 1 is 2";
const STOP: &str = "what was started ends, and what was there stays";

/// Makes or joins a sandbox, unless that would start something that nobody asked for.
pub(super) async fn steps(
    folders: Folders,
    plan: Plan,
    create: bool,
    seen: &Seen,
    signals: &mut Signals,
) -> Result<(), CommandError> {
    let joins = plan.runtime.joins(&plan.settings, plan.credential.as_ref());
    if !joins && !create {
        let found = "something would have to be started; --create does that";
        for (step, expected) in [("channels", CHANNELS), ("code", CODE), ("stop", STOP)] {
            seen.take(Check::new(step, Finding::Skipped, expected, found));
        }
        return Ok(());
    }
    seen.take(cost(&plan, joins).await);
    let own = match Own::make(folders, plan, signals).await {
        Ok(own) => own,
        Err(error) if error.code == "cancelled" => return Err(error),
        Err(error) => {
            let found = format!("{} {}", error.message, error.hint);
            seen.take(Check::new("channels", Finding::Failed, CHANNELS, found));
            return Ok(());
        }
    };
    let worked = tokio::select! {
        () = use_it(own.sandbox(), seen) => Ok(()),
        asked = signals.next() => {
            Err(CommandError::infrastructure("cancelled", "Given up before all steps were done.", "")
                .with_status(asked.status()))
        }
    };
    seen.take(match own.end().await {
        Ok(report) => stopped(&report, joins),
        Err(error) => Check::failed("stop", STOP, error),
    });
    worked
}

/// What the next steps cost, said before they are taken.
async fn cost(plan: &Plan, joins: bool) -> Check {
    let most = if joins {
        None
    } else {
        let survey = plan.runtime.survey(&plan.settings, plan.credential.as_ref()).await;
        survey.spending.and_then(|spending| spending.at_most)
    };
    let found = match most {
        _ if joins => "nothing more: a kernel that runs already is joined".to_owned(),
        Some(most) => format!("at most {:.2} {}, if it lived to its end", most.value, most.unit),
        None => "nothing that this place reports".into(),
    };
    Check::new("cost", Finding::AsExpected, "it is known before anything starts", found)
}

async fn use_it(sandbox: &Arc<dyn Sandbox>, seen: &Seen) {
    let info = match sandbox.kernel_info().await {
        Ok(info) => info,
        Err(error) => return seen.take(Check::failed("channels", CHANNELS, error)),
    };
    let found = format!("{} {} of {}", info.language, info.language_version, info.implementation);
    seen.take(Check::new("channels", Finding::AsExpected, CHANNELS, found));
    if info.language != "python" {
        let found = format!("the line is Python, and the kernel is of {}", info.language);
        return seen.take(Check::new("code", Finding::Skipped, CODE, found));
    }
    if *sandbox.status().borrow() == KernelStatus::Busy {
        let found = "the kernel runs something, and is left to it";
        return seen.take(Check::new("code", Finding::Skipped, CODE, found));
    }
    let answered = if sandbox.info().owned { in_own(sandbox).await } else { in_joined(sandbox).await };
    seen.take(match answered {
        Ok(text) if text.trim() == "2" => Check::new("code", Finding::AsExpected, CODE, "it is"),
        Ok(text) => Check::new("code", Finding::Failed, CODE, format!("the answer is {text:?}")),
        Err(error) => Check::failed("code", CODE, error),
    });
}

async fn in_own(sandbox: &Arc<dyn Sandbox>) -> Result<String, SandboxError> {
    let outcome = Client::new(sandbox.clone()).with_timeout(Some(PATIENCE)).run("1 + 1").await?;
    match outcome.infrastructure {
        Some(error) => Err(error),
        None => Ok(outcome.text().unwrap_or_default()),
    }
}

/// In a kernel of somebody else: without a place in its history or count, and never interrupted.
async fn in_joined(sandbox: &Arc<dyn Sandbox>) -> Result<String, SandboxError> {
    let quiet = ExecuteRequest { silent: true, allow_input: false, ..ExecuteRequest::new("print(1 + 1)") };
    let run = async {
        let mut execution = sandbox.execute(quiet).await?;
        let mut builder = OutcomeBuilder::default();
        while let Some(event) = execution.next().await {
            if builder.push(&event) {
                break;
            }
        }
        let outcome = builder.finish();
        match outcome.infrastructure {
            Some(error) => Err(error),
            None => Ok(outcome.stdout.text()),
        }
    };
    let timed_out = |_| SandboxError::TimedOut { what: "an answer".into(), limit: PATIENCE };
    tokio::time::timeout(PATIENCE, run).await.map_err(timed_out)?
}

fn stopped(report: &StopReport, joined: bool) -> Check {
    let (finding, found) = match (report, joined) {
        (StopReport::LeftRunning, true) => (Finding::AsExpected, "the kernel was left as it was found"),
        (StopReport::Ended, false) => (Finding::AsExpected, "it ended when asked"),
        (StopReport::Killed, false) => (Finding::Differs, "it had to be killed"),
        (StopReport::WasGone, _) => (Finding::Differs, "it was gone already"),
        (StopReport::LeftRunning, false) => (Finding::Failed, "what was started still runs"),
        (StopReport::Ended | StopReport::Killed, true) => (Finding::Failed, "a kernel of others was ended"),
    };
    Check::new("stop", finding, STOP, found)
}
