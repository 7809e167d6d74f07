//! The kernels that can be started on this computer, and which one is meant.

use std::path::{Path, PathBuf};

use sandbook_jupyter::kernelspec::{KernelSpec, Search};
use sandbook_sandbox::SandboxError;

use super::settings::LocalSettings;
use crate::python::{self, Interpreter, Surroundings};

/// A kernel that can be started here.
#[derive(Debug, Clone)]
pub struct LocalKernel {
    /// How to start it.
    pub spec: KernelSpec,
    /// The interpreter, for ipykernel without an installed kernelspec.
    pub python: Option<Interpreter>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct LocalKernels {
    /// Best first.
    pub kernels: Vec<LocalKernel>,
    /// Every Python, those without ipykernel too.
    pub interpreters: Vec<Interpreter>,
    /// A sentence for each kernelspec that cannot be used.
    pub broken: Vec<String>,
}

impl LocalKernels {
    /// Looks in the working directory, the surroundings, and Jupyter's folders; `extra` are data folders that are looked
    /// in before those.
    pub fn find(folder: Option<&Path>, surroundings: &Surroundings, extra: &[PathBuf]) -> Self {
        let interpreters = python::find(folder, surroundings);
        let prefixes: Vec<PathBuf> = interpreters.iter().map(|python| python.prefix.clone()).collect();
        let mut installed = Search::of_data_folders(extra.iter().cloned()).find();
        let others = Search::of_system(&prefixes).find();
        installed.broken.extend(others.broken);
        for kernel in others.kernels {
            if installed.kernels.iter().all(|known| known.name != kernel.name) {
                installed.kernels.push(kernel);
            }
        }
        let with_ipykernel = interpreters.iter().filter(|python| python.has_ipykernel);
        let mut kernels: Vec<LocalKernel> = with_ipykernel.map(LocalKernel::of_python).collect();
        for mut spec in installed.kernels {
            resolve_python(&mut spec, &interpreters);
            let program = spec.argv.first().map(PathBuf::from);
            let known = |kernel: &LocalKernel| {
                kernel.python.as_ref().map(|python| &python.program) == program.as_ref()
            };
            let adds_nothing = spec.is_ipykernel() && spec.env.is_empty() && kernels.iter().any(known);
            if !adds_nothing {
                kernels.push(LocalKernel { spec, python: None });
            }
        }
        Self { kernels, interpreters, broken: installed.broken }
    }

    /// The kernel that the settings mean.
    pub fn choose(&self, settings: &LocalSettings, home: Option<&Path>) -> Result<LocalKernel, SandboxError> {
        if let Some(program) = &settings.python {
            let not_found = |detail: &str| SandboxError::NotInstalled {
                what: "ipykernel".into(),
                detail: format!("{} {detail}", program.display()),
            };
            let python = Interpreter::at(program, home).ok_or_else(|| not_found("is no Python"))?;
            return if python.has_ipykernel {
                Ok(LocalKernel::of_python(&python))
            } else {
                Err(not_found("does not have it"))
            };
        }
        let wanted = settings.kernel.as_deref().unwrap_or("python3");
        let named = || self.kernels.iter().find(|kernel| kernel.spec.name == wanted.to_lowercase());
        let best = if wanted == "python3" { self.best_python() } else { None };
        best.or_else(named).cloned().ok_or_else(|| self.not_installed(wanted))
    }

    fn best_python(&self) -> Option<&LocalKernel> {
        self.kernels.iter().find(|kernel| kernel.python.is_some())
    }

    fn not_installed(&self, wanted: &str) -> SandboxError {
        let has: Vec<&str> = self.kernels.iter().map(|kernel| kernel.spec.display_name.as_str()).collect();
        let detail = if has.is_empty() {
            let pythons: Vec<String> =
                self.interpreters.iter().map(|python| python.program.display().to_string()).collect();
            if pythons.is_empty() {
                "there is no Python on this computer".into()
            } else {
                format!("{} have no ipykernel", pythons.join(", "))
            }
        } else {
            format!("this computer has {}", has.join(", "))
        };
        let what = if wanted == "python3" {
            "a Python with ipykernel".into()
        } else {
            format!("the kernel {wanted}")
        };
        SandboxError::NotInstalled { what, detail }
    }
}

impl LocalKernel {
    fn of_python(python: &Interpreter) -> Self {
        let mut spec = KernelSpec::of_python(&python.program);
        spec.display_name = python.label();
        Self { spec, python: Some(python.clone()) }
    }

    /// Whether it is an interpreter's, and which.
    pub fn program(&self) -> Option<&Path> {
        self.python.as_ref().map(|python| python.program.as_path())
    }
}

/// A kernelspec that says just `python` means the Python of the environment it is installed in.
fn resolve_python(spec: &mut KernelSpec, interpreters: &[Interpreter]) {
    let Some(first) = spec.argv.first_mut() else { return };
    let bare = first == "python"
        || first
            .strip_prefix("python3")
            .is_some_and(|rest| rest.bytes().all(|b| b == b'.' || b.is_ascii_digit()));
    if !bare {
        return;
    }
    let own = spec.folder.ancestors().find_map(python::program_in);
    let best =
        || interpreters.iter().find(|python| python.has_ipykernel).map(|python| python.program.clone());
    if let Some(program) = own.or_else(best) {
        *first = program.to_string_lossy().into_owned();
    }
}
