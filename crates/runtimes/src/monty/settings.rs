//! What only this runtime knows of a sandbox's settings. Unknown names are refused.

use std::{path::PathBuf, time::Duration};

use sandbook_sandbox::{SandboxError, SandboxSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    folders::{FolderAccess, Mount, WORKING_DIRECTORY},
    memory::Memory,
};

/// The `runtime` part of [`SandboxSettings`]; null means all defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MontySettings {
    /// The most memory that the code may hold.
    pub memory: Memory,
    /// The longest that one run may take, in seconds; no limit if absent.
    pub seconds_per_run: Option<f64>,
    /// Whether each piece of code is type-checked before it runs.
    pub type_check: bool,
    /// Declarations that type checking knows of, as in a stub file.
    pub type_check_stubs: Option<String>,
    /// What code may do in the sandbox's working directory, which it sees as `/work`. Nothing if absent, and then no
    /// working directory can be given.
    pub folder: FolderAccess,
    /// Folders of this computer that code sees, by absolute paths.
    pub mounts: Vec<Mount>,
    /// The worker program; found by itself if absent.
    pub worker: Option<PathBuf>,
}

impl Default for MontySettings {
    fn default() -> Self {
        Self {
            memory: Memory::bytes(512 << 20),
            seconds_per_run: None,
            type_check: false,
            type_check_stubs: None,
            folder: FolderAccess::None,
            mounts: Vec::new(),
            worker: None,
        }
    }
}

fn refused(setting: &str, reason: impl Into<String>) -> SandboxError {
    SandboxError::Setting { setting: setting.into(), reason: reason.into() }
}

impl MontySettings {
    /// Reads the runtime's part of a sandbox's settings.
    ///
    /// # Errors
    /// [`SandboxError::Setting`] where there is one that Monty does not know or cannot keep.
    pub fn read(settings: &SandboxSettings) -> Result<Self, SandboxError> {
        if !settings.environment.is_empty() {
            return Err(refused("environment", "Monty has no environment variables"));
        }
        let read: Self = match &settings.runtime {
            Value::Null => Self::default(),
            own => {
                serde_json::from_value(own.clone()).map_err(|error| refused("runtime", error.to_string()))?
            }
        };
        if settings.working_directory.is_some() && read.folder == FolderAccess::None {
            let reason = "Monty has no files, unless its setting `folder` grants them with `read` or `write`";
            return Err(refused("working_directory", reason));
        }
        if settings.working_directory.is_none() && read.folder != FolderAccess::None {
            return Err(refused("folder", "there is no working directory that could be granted"));
        }
        if read.seconds_per_run.is_some() && read.longest().is_none() {
            return Err(refused("seconds_per_run", "it is not a number of seconds above zero"));
        }
        if read.type_check_stubs.is_some() && !read.type_check {
            return Err(refused("type_check_stubs", "they need `type_check`"));
        }
        let targets: Vec<&str> = read.mounts.iter().map(|mount| mount.target.as_str()).collect();
        if let Some(target) = targets.iter().find(|target| !target.starts_with('/') || **target == "/") {
            return Err(refused("mounts", format!("{target} is no absolute path of a folder")));
        }
        Ok(read)
    }

    /// As the `runtime` part.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The longest that one run may take.
    pub(super) fn longest(&self) -> Option<Duration> {
        let longest = Duration::try_from_secs_f64(self.seconds_per_run?).ok()?;
        (!longest.is_zero()).then_some(longest)
    }

    /// All folders that are granted.
    pub(super) fn granted(&self, settings: &SandboxSettings) -> Vec<Mount> {
        let own = settings.working_directory.clone().filter(|_| self.folder != FolderAccess::None);
        let own = own.map(|source| Mount {
            source,
            target: WORKING_DIRECTORY.into(),
            read_only: self.folder == FolderAccess::Read,
        });
        own.into_iter().chain(self.mounts.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_monty_cannot_keep_is_refused_by_name() {
        let refused = |settings: SandboxSettings| match MontySettings::read(&settings) {
            Err(SandboxError::Setting { setting, .. }) => setting,
            other => panic!("{other:?}"),
        };
        let default = SandboxSettings::default;
        let folder = Some("/tmp".into());
        assert_eq!(refused(SandboxSettings { working_directory: folder, ..default() }), "working_directory");
        let environment = [("A".to_owned(), "b".to_owned())].into();
        assert_eq!(refused(SandboxSettings { environment, ..default() }), "environment");
        for (runtime, setting) in [
            (json!({"limit": 1}), "runtime"),
            (json!({"folder": "read"}), "folder"),
            (json!({"memory": 1}), "runtime"),
            (json!({"seconds_per_run": -1}), "seconds_per_run"),
            (json!({"type_check_stubs": "x: int"}), "type_check_stubs"),
            (json!({"mounts": [{"source": "/tmp", "target": "data"}]}), "mounts"),
            (json!({"mounts": [{"source": "/tmp", "target": "/"}]}), "mounts"),
        ] {
            assert_eq!(refused(SandboxSettings { runtime, ..default() }), setting);
        }
    }

    #[test]
    fn settings_are_read_back_as_they_were_written() {
        let settings = MontySettings { seconds_per_run: Some(1.5), type_check: true, ..Default::default() };
        let kept = SandboxSettings { runtime: settings.to_value(), ..SandboxSettings::default() };
        assert_eq!(MontySettings::read(&kept).unwrap(), settings);
    }

    #[test]
    fn a_folder_is_granted_only_where_a_setting_says_so() {
        let granted = |runtime: Value| {
            let settings =
                SandboxSettings { working_directory: Some("/home".into()), runtime, ..Default::default() };
            MontySettings::read(&settings).map(|own| own.granted(&settings))
        };
        assert!(granted(json!({})).is_err());
        for (access, read_only) in [("read", true), ("write", false)] {
            let mount = Mount { source: "/home".into(), target: "/work".into(), read_only };
            assert_eq!(granted(json!({ "folder": access })).unwrap(), [mount]);
        }
    }
}
