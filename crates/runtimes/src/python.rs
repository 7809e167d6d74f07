//! Python interpreters on this computer, found by reading files.
//!
//! Nothing is started to look: an environment beside a notebook from the internet must not run before its person asks
//! for it. Whether ipykernel is there shows in the interpreter's package folders.

#[cfg(test)]
mod tests;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Where to look besides the notebook's folder.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// `VIRTUAL_ENV` and `CONDA_PREFIX`, where set.
    pub active: Vec<PathBuf>,
    /// The environment that this program made, whether or not it exists.
    pub private: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process(private: Option<PathBuf>) -> Self {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            home: env::home_dir(),
            path: env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default(),
            active: ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(folder).collect(),
            private,
        }
    }
}

/// Why an interpreter is offered, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// An environment in the notebook's folder or above it.
    Notebook,
    /// The environment that this program was started in.
    Active,
    /// On the `PATH`.
    Path,
    /// The environment that this program made.
    Private,
    /// An environment of conda, or a Python that uv or pyenv keeps.
    Elsewhere,
}

/// A Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program.
    pub program: PathBuf,
    /// Its environment's folder.
    pub prefix: PathBuf,
    /// As `3.11` or `3.11.7`, where the files tell.
    pub version: Option<String>,
    /// Whether it has ipykernel.
    pub has_ipykernel: bool,
    /// Whether it has `jupyter_server`.
    pub has_server: bool,
    /// Why it is offered.
    pub origin: Origin,
}

impl Interpreter {
    /// As `Python 3.11 (.venv)`.
    pub fn label(&self) -> String {
        let version = self.version.as_deref().unwrap_or("3");
        let place = match self.origin {
            Origin::Private => "Sandbook's own".into(),
            Origin::Path => self.program.display().to_string(),
            _ => self.prefix.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        format!("Python {version} ({place})")
    }

    /// An interpreter that a person named.
    pub fn at(program: &Path, home: Option<&Path>) -> Option<Self> {
        let program = if program.is_dir() { program_in(program)? } else { program.to_owned() };
        program.is_file().then_some(())?;
        let prefix = prefix_of(&program)?;
        Some(Self::read(program, prefix, Origin::Active, home))
    }

    fn read(program: PathBuf, prefix: PathBuf, origin: Origin, home: Option<&Path>) -> Self {
        let config = VenvConfig::read(&prefix);
        let mut folders = package_folders(&prefix);
        match &config {
            Some(config) if !config.isolated => {
                folders.extend(config.base.iter().flat_map(|base| package_folders(base)));
            }
            Some(_) => {}
            None => folders.extend(home.iter().flat_map(|home| package_folders(&home.join(".local")))),
        }
        let version = config
            .as_ref()
            .and_then(|config| config.version.clone())
            .or_else(|| version_in(&prefix, &program));
        let minor = version.as_ref().map(|version| version.split('.').take(2).collect::<Vec<_>>().join("."));
        folders.retain(|folder| fits(folder, minor.as_deref()));
        let has =
            |package: &str| folders.iter().any(|folder| folder.join(package).join("__init__.py").is_file());
        Self {
            has_ipykernel: has("ipykernel"),
            has_server: has("jupyter_server"),
            program,
            prefix,
            version,
            origin,
        }
    }
}

/// All interpreters that are found, best first, each once.
pub(crate) fn find(folder: Option<&Path>, surroundings: &Surroundings) -> Vec<Interpreter> {
    let home = surroundings.home.as_deref();
    let mut found: Vec<Interpreter> = Vec::new();
    let mut add = |program: PathBuf, prefix: PathBuf, origin: Origin| {
        let known = |known: &Interpreter| known.program == program || known.prefix == prefix;
        if !found.iter().any(known) {
            found.push(Interpreter::read(program, prefix, origin, home));
        }
    };
    let environments = |prefixes: Vec<PathBuf>, origin, add: &mut dyn FnMut(PathBuf, PathBuf, Origin)| {
        for prefix in prefixes {
            if let Some(program) = program_in(&prefix) {
                add(program, prefix, origin);
            }
        }
    };
    environments(beside(folder, home), Origin::Notebook, &mut add);
    environments(surroundings.active.clone(), Origin::Active, &mut add);
    for program in platform::programs_on(&surroundings.path) {
        if let Some(prefix) = prefix_of(&program) {
            add(program, prefix, Origin::Path);
        }
    }
    environments(surroundings.private.iter().cloned().collect(), Origin::Private, &mut add);
    environments(elsewhere(home), Origin::Elsewhere, &mut add);
    found
}

/// The program of an environment's folder.
pub(crate) fn program_in(prefix: &Path) -> Option<PathBuf> {
    platform::PROGRAMS.iter().map(|program| prefix.join(program)).find(|program| program.is_file())
}

/// Environments in a folder and the folders above it, as far as the home or the root of a repository.
fn beside(folder: Option<&Path>, home: Option<&Path>) -> Vec<PathBuf> {
    let mut prefixes = Vec::new();
    for folder in folder.into_iter().flat_map(Path::ancestors).take(32) {
        let usual = [".venv", "venv", "env", ".env"].iter().map(|name| folder.join(name));
        prefixes.extend(
            usual.filter(|prefix| prefix.join("pyvenv.cfg").is_file() || prefix.join("conda-meta").is_dir()),
        );
        prefixes
            .extend(Some(folder.join(".pixi").join("envs").join("default")).filter(|prefix| prefix.is_dir()));
        if Some(folder) == home || folder.join(".git").exists() {
            break;
        }
    }
    prefixes
}

fn elsewhere(home: Option<&Path>) -> Vec<PathBuf> {
    let Some(home) = home else { return Vec::new() };
    let listed = fs::read_to_string(home.join(".conda").join("environments.txt")).unwrap_or_default();
    let mut prefixes: Vec<PathBuf> = listed.lines().map(|line| PathBuf::from(line.trim())).collect();
    for name in ["miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba"] {
        let root = home.join(name);
        let inside =
            fs::read_dir(root.join("envs")).into_iter().flatten().flatten().map(|entry| entry.path());
        prefixes.extend(inside);
        prefixes.push(root);
    }
    prefixes.retain(|prefix| prefix.join("conda-meta").is_dir());
    for keeper in
        [home.join(".local").join("share").join("uv").join("python"), home.join(".pyenv").join("versions")]
    {
        prefixes.extend(fs::read_dir(keeper).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    prefixes
}

/// The environment of a program: the folder above `bin`, where a `pyvenv.cfg` is looked for before links are followed.
fn prefix_of(program: &Path) -> Option<PathBuf> {
    let as_named = program.parent()?.parent()?;
    if as_named.join("pyvenv.cfg").is_file() || as_named.join("conda-meta").is_dir() {
        return Some(as_named.to_owned());
    }
    let real = fs::canonicalize(program).ok()?;
    Some(real.parent()?.parent()?.to_owned())
}

struct VenvConfig {
    version: Option<String>,
    isolated: bool,
    base: Option<PathBuf>,
}

impl VenvConfig {
    fn read(prefix: &Path) -> Option<Self> {
        let text = fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?;
        let value = |names: &[&str]| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(name, _)| names.contains(&name.trim()))
                .map(|(_, value)| value.trim().to_owned())
        };
        Some(Self {
            version: value(&["version", "version_info"]),
            isolated: value(&["include-system-site-packages"])
                .is_none_or(|value| !value.eq_ignore_ascii_case("true")),
            base: value(&["home"]).and_then(|bin| Some(Path::new(&bin).parent()?.to_owned())),
        })
    }
}

/// Folders with packages under a prefix, for any version.
fn package_folders(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = vec![prefix.join("Lib").join("site-packages")];
    let roots = [prefix.join("lib"), prefix.join("lib64"), prefix.join("local").join("lib")];
    for entry in roots.iter().flat_map(fs::read_dir).flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("python3") {
            folders.push(entry.path().join("site-packages"));
            folders.push(entry.path().join("dist-packages"));
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Whether a package folder is for this version: `python3` and `Lib` are for any.
fn fits(folder: &Path, minor: Option<&str>) -> bool {
    let name = folder.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    match (name.strip_prefix("python"), minor) {
        (Some("3") | None, _) | (_, None) => true,
        (Some(version), Some(minor)) => version == minor,
    }
}

/// As `3.11`, from the real name of the program or the only version in the environment.
fn version_in(prefix: &Path, program: &Path) -> Option<String> {
    let real = fs::canonicalize(program).ok()?;
    let name = real.file_name()?.to_string_lossy().into_owned();
    let of_name = name.strip_prefix("python").filter(|version| version.starts_with("3.")).map(str::to_owned);
    of_name.or_else(|| {
        let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_string_lossy().strip_prefix("python").map(str::to_owned))
            .find(|version| version.starts_with("3."))
    })
}

mod platform {
    use std::path::PathBuf;

    #[cfg(windows)]
    pub(super) const PROGRAMS: &[&str] = &["Scripts\\python.exe", "python.exe"];
    #[cfg(not(windows))]
    pub(super) const PROGRAMS: &[&str] = &["bin/python", "bin/python3"];

    #[cfg(windows)]
    const NAMES: &[&str] = &["python.exe", "python3.exe"];
    #[cfg(not(windows))]
    const NAMES: &[&str] = &["python3", "python"];

    pub(super) fn programs_on(path: &[PathBuf]) -> Vec<PathBuf> {
        let all = path.iter().flat_map(|folder| NAMES.iter().map(|name| folder.join(name)));
        all.filter(|program| program.is_file()).collect()
    }
}
