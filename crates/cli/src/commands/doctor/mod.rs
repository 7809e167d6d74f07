//! `sandbook doctor`: first contact with a place where code runs, step by step, and what differs from what is known of it.
//!
//! It reads only. A kernel that the address names is joined as it is, and runs one line that leaves no trace in its history;
//! everything that would start something is left out unless `--create` says so.

mod live;
mod report;
mod target;

use std::sync::{Arc, Mutex, PoisonError};

use sandbook_protocol::RuntimeKind;
use sandbook_sandbox::{Check, Checks, Finding, Readiness};
use secrecy::SecretString;

use self::report::{Findings, Report};
use crate::{
    Ended,
    arguments::Doctor,
    error::CommandError,
    home, input, logging,
    sandbox::{Plan, takes_link},
    signals::Signals,
};

/// The status where a step failed.
const FAILED: u8 = 1;

/// What was found so far, printed as it comes.
#[derive(Clone)]
struct Seen(Arc<Mutex<Findings>>);

impl Seen {
    fn take(&self, check: Check) {
        self.with(|findings| findings.take(check));
    }

    fn with<T>(&self, look: impl FnOnce(&mut Findings) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(crate) async fn doctor(mut doctor: Doctor) -> Ended {
    let folders = home::folders()?;
    let _logging = logging::begin(&folders, "command", None);
    let mut signals = Signals::watch()?;
    let report = doctor.report.as_deref().map(Report::begin).transpose()?;
    let mut plan = target::plan(&mut doctor, &folders).await?;
    if plan.credential.is_none() {
        plan.credential = credential(&plan, &mut signals).await?;
    }
    let place = format!("{} · {}", plan.runtime.variant(), plan.name);
    let seen = Seen(Arc::new(Mutex::new(Findings::new(doctor.json, plan.credential.as_ref()))));

    contact(&plan, &seen, &mut signals).await?;
    if seen.with(|findings| findings.count(Finding::Failed)) == 0 {
        live::steps(folders, plan, doctor.create, &seen, &mut signals).await?;
    }
    seen.with(|findings| {
        findings.finish();
        if let Some(report) = report {
            report.write(&place, doctor.create, findings)?;
        }
        Ok(if findings.count(Finding::Failed) == 0 { 0 } else { FAILED })
    })
}

/// The steps that read only.
async fn contact(plan: &Plan, seen: &Seen, signals: &mut Signals) -> Result<(), CommandError> {
    let into = seen.clone();
    let checks = Checks::new(move |check| into.take(check));
    tokio::select! {
        () = plan.runtime.contact(&plan.settings, plan.credential.as_ref(), checks) => Ok(()),
        asked = signals.next() => {
            Err(CommandError::infrastructure("cancelled", "Given up before all steps were done.", "")
                .with_status(asked.status()))
        }
    }
}

/// Asks for a credential that is missing, where somebody can be asked. Without one the step says so.
async fn credential(plan: &Plan, signals: &mut Signals) -> Result<Option<SecretString>, CommandError> {
    if !input::is_at_a_terminal() {
        return Ok(None);
    }
    let by_link = RuntimeKind::named(plan.runtime.variant()).is_some_and(takes_link);
    let readiness = plan.runtime.readiness(&plan.settings, None).await;
    if !matches!(readiness, Readiness::NeedsCredential(_)) {
        return Ok(None);
    }
    let what = if by_link { "Channels link" } else { "Token" };
    input::ask_secret(&format!("{what} of {} (not shown)", plan.name), signals).await
}
