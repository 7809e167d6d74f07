//! Installed kernels, found where Jupyter looks for them.
//!
//! Order and names follow `jupyter_core.paths`: `JUPYTER_PATH`, then (unless told otherwise) the person's data folder,
//! the environments given, and the system's folders; the first kernel of a name wins. Reads files only; starts nothing.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Map, Value};

/// Takes ipykernel's limit of unsent output away. Leaves no name behind, and does nothing in versions that are built
/// otherwise.
const KEEP_OUTPUT: &str = "(lambda thread: thread and thread.schedule(lambda: thread.socket.setsockopt(\
    __import__('zmq').SNDHWM, 0)))(getattr(get_ipython().kernel, 'iopub_thread', None))";

/// An installed kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSpec {
    /// The name of its folder, in lower case as Jupyter compares it.
    pub name: String,
    /// Its folder, `{resource_dir}` in the command.
    pub folder: PathBuf,
    /// The command, with its placeholders.
    pub argv: Vec<String>,
    /// What a person sees.
    pub display_name: String,
    /// As `python`.
    pub language: String,
    /// How it wants to be interrupted.
    pub interrupt: InterruptMode,
    /// Its environment, with placeholders `${NAME}`.
    pub env: BTreeMap<String, String>,
    /// Anything else it says.
    pub metadata: Map<String, Value>,
}

/// How a kernel wants to be interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InterruptMode {
    /// By SIGINT.
    #[default]
    Signal,
    /// By an `interrupt_request` on the control channel.
    Message,
}

#[derive(Deserialize)]
struct File {
    argv: Vec<String>,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    language: String,
    #[serde(default)]
    interrupt_mode: Option<InterruptMode>,
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

impl KernelSpec {
    /// Reads `FOLDER/kernel.json`; the error is a sentence about the file.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join("kernel.json");
        let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let file: File =
            serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        if file.argv.is_empty() {
            return Err(format!("{}: its command is empty", path.display()));
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        Ok(Self {
            display_name: if file.display_name.is_empty() { name.clone() } else { file.display_name },
            name,
            folder: folder.to_owned(),
            argv: file.argv,
            language: file.language,
            interrupt: file.interrupt_mode.unwrap_or_default(),
            env: file.env.unwrap_or_default(),
            metadata: file.metadata.unwrap_or_default(),
        })
    }

    /// The kernelspec of an interpreter that has ipykernel, whether or not one is installed.
    pub fn of_python(python: &Path) -> Self {
        let words = ["-m", "ipykernel_launcher", "-f", "{connection_file}"];
        let argv =
            std::iter::once(python.to_string_lossy().into_owned()).chain(words.map(str::to_owned)).collect();
        Self {
            name: "python3".into(),
            folder: PathBuf::new(),
            argv,
            display_name: "Python 3".into(),
            language: "python".into(),
            interrupt: InterruptMode::Signal,
            env: BTreeMap::new(),
            metadata: Map::new(),
        }
    }

    /// The command with its placeholders filled in. ipykernel is told besides to keep output for us without a limit:
    /// ZeroMQ lets it throw messages away, even the one that ends a run, once 1,000 wait for a reader that the system
    /// did not give time to.
    pub fn command(&self, connection_file: &Path) -> Vec<OsString> {
        let fill = |word: &String| {
            let word = word.replace("{connection_file}", &connection_file.to_string_lossy());
            OsString::from(word.replace("{resource_dir}", &self.folder.to_string_lossy()))
        };
        let mut command: Vec<OsString> = self.argv.iter().map(fill).collect();
        if self.is_ipykernel() {
            command.push(format!("--IPKernelApp.code_to_run={KEEP_OUTPUT}").into());
        }
        command
    }

    /// The environment with `${NAME}` filled in from `outer`; unknown names stay as they stand.
    pub fn environment(&self, outer: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
        self.env.iter().map(|(name, value)| (name.clone(), filled(value, &outer))).collect()
    }

    /// Whether this starts ipykernel itself, which is known to work over ipc. A wrapper (`docker run …`, a shell) is
    /// none: it may start it elsewhere.
    pub fn is_ipykernel(&self) -> bool {
        let program = self.argv.first().map(Path::new).and_then(Path::file_stem).unwrap_or_default();
        let is_module = |pair: &[String]| {
            pair[0] == "-m" && matches!(pair[1].as_str(), "ipykernel_launcher" | "ipykernel")
        };
        program.to_string_lossy().starts_with("python") && self.argv.windows(2).any(is_module)
    }
}

fn filled(value: &str, outer: &impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        out.push_str(&outer(name).unwrap_or_else(|| format!("${{{name}}}")));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Search {
    folders: Vec<PathBuf>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The kernels, by name; the first folder wins.
    pub kernels: Vec<KernelSpec>,
    /// A sentence for each kernel that cannot be used.
    pub broken: Vec<String>,
}

impl Search {
    /// Where Jupyter looks, with the prefixes of `environments` (a venv's folder, a conda environment) before the
    /// system's folders.
    pub fn of_system(environments: &[PathBuf]) -> Self {
        let mut data = Vec::new();
        if let Some(paths) = env::var_os("JUPYTER_PATH") {
            data.extend(env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()));
        }
        data.extend(platform::own_data_folder());
        data.extend(environments.iter().map(|prefix| prefix.join("share").join("jupyter")));
        data.extend(platform::system_data_folders());
        Self::of_data_folders(data)
    }

    /// Only these data folders (each has `kernels/` in it).
    pub fn of_data_folders(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { folders: folders.into_iter().map(|folder| folder.join("kernels")).collect() }
    }

    /// Looks now. Folders that are missing or cannot be read count as empty.
    pub fn find(&self) -> Found {
        let mut found = Found::default();
        for folder in &self.folders {
            let mut entries: Vec<_> =
                fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            entries.sort();
            for entry in entries.into_iter().filter(|entry| entry.join("kernel.json").is_file()) {
                match KernelSpec::read(&entry) {
                    Ok(spec) if found.kernels.iter().any(|kernel| kernel.name == spec.name) => {}
                    Ok(spec) => found.kernels.push(spec),
                    Err(why) => found.broken.push(why),
                }
            }
        }
        found
    }
}

mod platform {
    use std::{env, path::PathBuf};

    fn home() -> Option<PathBuf> {
        env::home_dir().filter(|home| !home.as_os_str().is_empty())
    }

    fn from_env(name: &str) -> Option<PathBuf> {
        env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The person's own data folder.
    pub(super) fn own_data_folder() -> Option<PathBuf> {
        from_env("JUPYTER_DATA_DIR").or_else(default_data_folder)
    }

    #[cfg(target_os = "macos")]
    fn default_data_folder() -> Option<PathBuf> {
        Some(home()?.join("Library").join("Jupyter"))
    }

    #[cfg(windows)]
    fn default_data_folder() -> Option<PathBuf> {
        from_env("APPDATA")
            .map(|data| data.join("jupyter"))
            .or_else(|| Some(home()?.join(".jupyter").join("data")))
    }

    #[cfg(not(any(windows, target_os = "macos")))]
    fn default_data_folder() -> Option<PathBuf> {
        let data = from_env("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local").join("share")))?;
        Some(data.join("jupyter"))
    }

    #[cfg(windows)]
    pub(super) fn system_data_folders() -> Vec<PathBuf> {
        from_env("PROGRAMDATA").map(|data| data.join("jupyter")).into_iter().collect()
    }

    #[cfg(not(windows))]
    pub(super) fn system_data_folders() -> Vec<PathBuf> {
        vec!["/usr/local/share/jupyter".into(), "/usr/share/jupyter".into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(data: &Path, name: &str, json: &str) {
        let folder = data.join("kernels").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kernel.json"), json).unwrap();
    }

    #[test]
    fn the_first_kernel_of_a_name_wins_and_a_broken_one_is_told() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        install(first.path(), "R", r#"{"argv": ["R"], "display_name": "first", "language": "R"}"#);
        install(second.path(), "r", r#"{"argv": ["R"], "display_name": "second"}"#);
        install(second.path(), "broken", "{");
        install(second.path(), "empty", r#"{"argv": []}"#);
        let found = Search::of_data_folders([first.path().to_owned(), second.path().to_owned()]).find();
        let names: Vec<_> = found.kernels.iter().map(|kernel| kernel.display_name.as_str()).collect();
        assert_eq!((names.as_slice(), found.broken.len()), (&["first"][..], 2));
    }

    #[test]
    fn ipykernel_is_known_by_its_module_and_not_within_a_wrapper() {
        let spec = |words: &[&str]| {
            let argv = words.iter().map(|word| (*word).to_owned()).collect();
            KernelSpec { argv, ..KernelSpec::of_python(Path::new("python")) }
        };
        assert!(KernelSpec::of_python(Path::new("/x/bin/python3.11")).is_ipykernel());
        assert!(
            spec(&["python", "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "c"]).is_ipykernel()
        );
        assert!(!spec(&["docker", "run", "i", "python", "-m", "ipykernel_launcher"]).is_ipykernel());
        assert!(!spec(&["python", "-m", "bash_kernel", "-f", "c"]).is_ipykernel());
    }

    #[test]
    fn placeholders_are_filled_in() {
        let data = tempfile::tempdir().unwrap();
        let json = r#"{"argv": ["{resource_dir}/run", "-f", "{connection_file}"], "interrupt_mode": "message",
            "env": {"A": "x${HOME}y${NONE}$z${", "B": "b"}, "metadata": null}"#;
        install(data.path(), "k", json);
        let spec = KernelSpec::read(&data.path().join("kernels/k")).unwrap();
        let expected = format!("{}/kernels/k/run", data.path().display());
        assert_eq!(spec.command(Path::new("/c.json")), [expected.as_str(), "-f", "/c.json"]);
        assert_eq!(spec.interrupt, InterruptMode::Message);
        let env = spec.environment(|name| (name == "HOME").then(|| "H".to_owned()));
        assert_eq!(env["A"], "xHy${NONE}$z${");
    }
}
