//! What was found, for a person, a program, and somebody else to whom it is sent.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use sandbook_sandbox::{Check, Finding, SandboxError, SecretUrl, sentence};
use sandbook_store::redact::redact;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use crate::{error::CommandError, output};

/// The shortest part of a credential that is looked for in a report. Shorter ones are in every text.
const SHORTEST: usize = 4;

/// The steps so far.
pub(super) struct Findings {
    json: bool,
    secrets: Vec<SecretString>,
    checks: Vec<Check>,
}

impl Findings {
    /// None yet. The credential is kept out of everything that is printed or written.
    pub(super) fn new(json: bool, credential: Option<&SecretString>) -> Self {
        Self { json, secrets: credential.map(parts).unwrap_or_default(), checks: Vec::new() }
    }

    /// Takes a step in, and prints it.
    pub(super) fn take(&mut self, check: Check) {
        let check = Check {
            expected: self.without_secrets(&check.expected),
            found: self.without_secrets(&check.found),
            ..check
        };
        if self.json {
            let (code, hint) = error_of(&check);
            output::line(&json!({
                "type": "check", "step": check.step, "finding": word(check.finding),
                "expected": check.expected, "found": check.found, "code": code, "hint": hint,
            }));
        } else {
            output::text(&shown(&check));
        }
        self.checks.push(check);
    }

    pub(super) fn count(&self, finding: Finding) -> usize {
        self.checks.iter().filter(|check| check.finding == finding).count()
    }

    /// Prints what it came to.
    pub(super) fn finish(&self) {
        if self.json {
            output::line(&json!({
                "type": "outcome",
                "success": self.count(Finding::Failed) == 0,
                "as_expected": self.count(Finding::AsExpected),
                "differs": self.count(Finding::Differs),
                "failed": self.count(Finding::Failed),
                "skipped": self.count(Finding::Skipped),
            }));
        } else {
            output::text(&format!("{}\n", self.summary()));
        }
    }

    fn summary(&self) -> String {
        format!(
            "{} as expected, {} different, {} failed, {} not tried.",
            self.count(Finding::AsExpected),
            self.count(Finding::Differs),
            self.count(Finding::Failed),
            self.count(Finding::Skipped),
        )
    }

    /// What looks like a secret is masked, and what is one wherever it stands.
    fn without_secrets(&self, text: &str) -> String {
        let mut text = redact(text).into_owned();
        for secret in &self.secrets {
            text = text.replace(secret.expose_secret(), "***");
        }
        text
    }
}

/// A credential as it could stand in a text: whole, each of its lines, and of a link the parts that are masked in it.
fn parts(credential: &SecretString) -> Vec<SecretString> {
    let text = credential.expose_secret().trim();
    let masked = Url::parse(text).ok().map(|url| SecretUrl::new(url).masked());
    let separators = |c: char| c.is_whitespace() || masked.is_some() && "/?&=#".contains(c);
    let is_secret = |part: &&str| masked.as_ref().is_none_or(|masked| !masked.contains(*part));
    let pieces = text.split(separators).filter(is_secret);
    let all = std::iter::once(text).chain(pieces).filter(|part| part.len() >= SHORTEST);
    all.map(SecretString::from).collect()
}

fn error_of(check: &Check) -> (Option<&str>, Option<&str>) {
    let error = check.error.as_ref();
    (error.map(SandboxError::code), error.map(SandboxError::hint))
}

const fn word(finding: Finding) -> &'static str {
    match finding {
        Finding::AsExpected => "as_expected",
        Finding::Differs => "differs",
        Finding::Failed => "failed",
        Finding::Skipped => "skipped",
    }
}

/// A step as lines for a person.
fn shown(check: &Check) -> String {
    let mark = match check.finding {
        Finding::AsExpected => "ok",
        Finding::Differs => "differs",
        Finding::Failed => "FAILED",
        Finding::Skipped => "-",
    };
    let aside = |what: &str, text: &str| format!("{:<20} {what}: {text}\n", "");
    let mut lines = vec![format!("{mark:<8} {:<11} {}\n", check.step, sentence(&check.found))];
    if check.finding != Finding::AsExpected {
        lines.push(aside("expected", &check.expected));
    }
    if let (_, Some(hint)) = error_of(check)
        && check.finding == Finding::Failed
    {
        lines.push(aside("hint", hint));
    }
    lines.concat()
}

/// A file for somebody else.
pub(super) struct Report {
    path: PathBuf,
    file: File,
}

impl Report {
    /// Makes the file, before anything is looked at. Nothing is written over.
    pub(super) fn begin(path: &Path) -> Result<Self, CommandError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
            CommandError::usage(
                "file_unwritable",
                format!("The report {} cannot be made: {error}.", path.display()),
                "Name a file that is not there yet.",
            )
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes what was found.
    pub(super) fn write(
        mut self,
        place: &str,
        created: bool,
        findings: &Findings,
    ) -> Result<(), CommandError> {
        let head = format!(
            "Sandbook {}, {} {}, {}\n{place}\n{}\n\n",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH,
            Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"),
            if created { "a sandbox was made" } else { "nothing was made" },
        );
        let steps: String = findings.checks.iter().map(shown).collect();
        let text = findings.without_secrets(&format!("{head}{steps}\n{}\n", findings.summary()));
        self.file.write_all(text.as_bytes()).map_err(|error| {
            CommandError::infrastructure(
                "file_unwritable",
                format!("The report {} cannot be written: {error}.", self.path.display()),
                "Everything that it would say is above.",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_credential_is_in_what_is_said() {
        let credential = "wss://h/k/17/a-very-long-secret-of-a-path/proxy/api/kernels/1/channels?token=xyz";
        let mut findings = Findings::new(false, Some(&credential.into()));
        let found = "https://h/k/17/a-very-long-secret-of-a-path/proxy/ answered";
        findings.take(Check::new("answer", Finding::Differs, "an answer", found));
        assert!(!shown(&findings.checks[0]).contains("a-very-long-secret"));
        let mut findings = Findings::new(false, Some(&"one-line\nother-line".into()));
        findings.take(Check::new("answer", Finding::Differs, "x", "one-line and other-line"));
        assert!(findings.checks[0].found.contains("*** and ***"));
    }

    #[test]
    fn what_failed_says_what_was_expected_and_what_to_do() {
        let error = SandboxError::Refused { address: "http://h/".into(), status: 403 };
        let text = shown(&Check::failed("credential", "it is taken", error));
        assert!(text.starts_with("FAILED") && text.contains("expected: it is taken"), "{text}");
        assert!(text.contains("hint: "), "{text}");
        let text = shown(&Check::new("code", Finding::AsExpected, "1 + 1 is 2", "it is"));
        assert_eq!(text.lines().count(), 1);
    }
}
