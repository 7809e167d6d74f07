//! What Sandbook may do without asking.

use super::file::Format;
use super::schema::{Key, Kind, Schema};
use super::settings_file::SettingsFile;

const RULES: Kind = Kind::Choice(&["ask", "allow", "refuse"]);

/// `policies.toml`.
pub static POLICIES: Schema = Schema {
    title: "What Sandbook may do: \"ask\" asks you each time, \"allow\" does it, \"refuse\" never does it.\n\
            Where nobody can be asked, as in a script, \"ask\" refuses.",
    format: Format { migrations: &[] },
    keys: &[
        Key {
            path: "network.plain_http",
            kind: RULES,
            explanation: "Connect to another machine over plain http, where others can read along. Before anything is sent you \
                          are asked, once for each server that you save.",
        },
        Key {
            path: "kernels.attach_to_busy",
            kind: RULES,
            explanation: "Attach to a kernel that is running somebody's code.",
        },
        Key {
            path: "kernels.make_environment",
            kind: RULES,
            explanation: "Make a private Python environment and install ipykernel from the network.",
        },
        Key {
            path: "output.go_on_past_limit",
            kind: RULES,
            explanation: "Let a run go on past the output limit, without keeping what it prints; \"refuse\" interrupts it.",
        },
    ],
};

/// What is done when something needs leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The person is asked; where nobody can be, it is refused.
    #[default]
    Ask,
    /// It is done.
    Allow,
    /// It is not done.
    Refuse,
}

/// All policies in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// Plain http to another machine.
    pub plain_http: Rule,
    /// Attaching to a busy kernel.
    pub attach_to_busy: Rule,
    /// A private Python environment.
    pub make_environment: Rule,
    /// Going on past the output limit.
    pub go_on_past_limit: Rule,
}

impl Policies {
    /// What `file`, read with [`POLICIES`], says.
    pub fn of(file: &SettingsFile) -> Self {
        let rule =
            |key| [Rule::Ask, Rule::Allow, Rule::Refuse].get(file.choice(key)).copied().unwrap_or_default();
        Self {
            plain_http: rule("network.plain_http"),
            attach_to_busy: rule("kernels.attach_to_busy"),
            make_environment: rule("kernels.make_environment"),
            go_on_past_limit: rule("output.go_on_past_limit"),
        }
    }
}
