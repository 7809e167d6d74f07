//! The driver of plain Python: its program, and its first word.

use sandbook_sandbox::KernelInfo;
use serde::Deserialize;
use serde_json::json;

/// The program. `eval` runs it on this computer; what has no ipykernel runs it elsewhere.
pub(crate) const DRIVER: &str = include_str!("../eval/driver.py");

/// What the driver says: first hello, then what every engine says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum First {
    Hello(Hello),
}

/// The driver's first word.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Hello {
    /// The version of Python.
    pub(crate) version: String,
    /// What Python says of itself.
    pub(crate) banner: String,
}

impl Hello {
    /// What a notebook says of the kernel: as an IPython kernel has it, so that a notebook that goes from one to the other
    /// stays the same.
    pub(crate) fn info(self) -> KernelInfo {
        let language_info = json!({
            "codemirror_mode": { "name": "ipython", "version": 3 },
            "file_extension": ".py",
            "mimetype": "text/x-python",
            "name": "python",
            "nbconvert_exporter": "python",
            "pygments_lexer": "ipython3",
            "version": self.version,
        });
        KernelInfo {
            implementation: "python".into(),
            language: "python".into(),
            language_version: self.version,
            highlighter: Some("ipython3".into()),
            language_info: Some(language_info.to_string()),
            banner: self.banner,
        }
    }
}
