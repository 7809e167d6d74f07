//! What only this runtime knows of a sandbox's settings. Unknown names are refused.

use std::path::{Path, PathBuf};

use sandbook_sandbox::{SandboxError, SandboxSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::python::{self, Interpreter, Surroundings};

/// The `runtime` part of [`SandboxSettings`]; null means the best Python for the working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvalSettings {
    /// This interpreter, or the environment in this folder.
    pub python: Option<PathBuf>,
}

impl EvalSettings {
    /// Reads the runtime's part of a sandbox's settings.
    pub fn read(settings: &SandboxSettings) -> Result<Self, SandboxError> {
        if settings.runtime == Value::Null {
            return Ok(Self::default());
        }
        serde_json::from_value(settings.runtime.clone())
            .map_err(|error| SandboxError::Setting { setting: "runtime".into(), reason: error.to_string() })
    }

    /// As the `runtime` part.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The interpreter that is meant. Reads files; starts nothing.
    pub(super) fn choose(
        &self,
        folder: Option<&Path>,
        surroundings: &Surroundings,
    ) -> Result<Interpreter, SandboxError> {
        let not_found = |detail: String| SandboxError::NotInstalled { what: "a Python".into(), detail };
        if let Some(program) = &self.python {
            return Interpreter::at(program, surroundings.home.as_deref())
                .ok_or_else(|| not_found(format!("{} is none", program.display())));
        }
        let mut found = python::find(folder, surroundings);
        // one whose files tell no version may be a script that looks for another one
        let best = found.iter().position(|python| python.version.is_some()).unwrap_or_default();
        if found.is_empty() {
            return Err(not_found("there is none on this computer".into()));
        }
        Ok(found.swap_remove(best))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_setting_is_refused_and_a_known_one_is_read_back() {
        let read = |runtime| EvalSettings::read(&SandboxSettings { runtime, ..SandboxSettings::default() });
        assert!(matches!(read(json!({"pyhton": "x"})), Err(SandboxError::Setting { .. })));
        let settings = EvalSettings { python: Some("/usr/bin/python3".into()) };
        assert_eq!(read(settings.to_value()).unwrap(), settings);
        assert_eq!(read(Value::Null).unwrap(), EvalSettings::default());
    }

    #[test]
    fn where_there_is_no_python_that_is_told() {
        let error = EvalSettings::default().choose(None, &Surroundings::default()).unwrap_err();
        assert!(matches!(error, SandboxError::NotInstalled { .. }), "{error:?}");
    }
}
