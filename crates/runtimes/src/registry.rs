//! Every runtime of this build, by its name. A new one is one line here.

use std::sync::Arc;

use sandbook_sandbox::Runtime;

use crate::Surrounding;

/// Every runtime of this build.
#[derive(Clone)]
pub struct Runtimes(Arc<[Arc<dyn Runtime>]>);

impl Runtimes {
    /// All of them, in a surrounding. Starts nothing.
    pub fn new(surrounding: &Surrounding) -> Self {
        Self(Arc::new([
            #[cfg(feature = "jupyter")]
            Arc::new(crate::jupyter::JupyterRuntime::new(surrounding.clone())),
            #[cfg(all(unix, feature = "eval"))]
            Arc::new(crate::eval::EvalRuntime::new(surrounding.clone())),
            #[cfg(feature = "docker")]
            Arc::new(crate::docker::DockerRuntime::new(surrounding.clone())),
            #[cfg(feature = "monty")]
            Arc::new(crate::monty::MontyRuntime::new(surrounding.clone())),
            #[cfg(feature = "colab")]
            Arc::new(crate::colab::ColabRuntime),
            #[cfg(feature = "kaggle")]
            Arc::new(crate::kaggle::KaggleRuntime),
            #[cfg(feature = "datalayer")]
            Arc::new(crate::datalayer::DatalayerRuntime::of_process()),
            #[cfg(feature = "modal")]
            Arc::new(crate::modal::ModalRuntime::default()),
            #[cfg(feature = "opensandbox")]
            Arc::new(crate::opensandbox::OpenSandboxRuntime::of_process()),
        ]))
    }

    /// The runtime of this name.
    pub fn get(&self, variant: &str) -> Option<Arc<dyn Runtime>> {
        self.iter().find(|runtime| runtime.variant() == variant).cloned()
    }

    /// All of them, in the order in which they are offered.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Runtime>> {
        self.0.iter()
    }
}

impl std::fmt::Debug for Runtimes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter().map(|runtime| runtime.variant())).finish()
    }
}
