//! Texts that a person pasted, held with their secrets until they are connected or dismissed.
//!
//! The page gets back what the text is, with every secret masked, and a name to refer to it by. So the secret comes in
//! once and never goes out again.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use indexmap::IndexMap;
use sandbook_protocol::{ErrorCode, PastedId, ProtocolError, Recognised, RecognisedFact, RuntimeKind};
use sandbook_runtimes::jupyter::{self, parse_pasted};
use sandbook_sandbox::SecretUrl;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

/// How many texts are held; the oldest goes first.
const MOST: usize = 16;

/// A pasted server address.
#[derive(Debug, Clone)]
pub(crate) struct Pasted {
    pub(crate) server: SecretUrl,
    pub(crate) token: Option<SecretString>,
}

/// The texts that are held.
#[derive(Debug, Default)]
pub(crate) struct PastedTexts(Mutex<IndexMap<PastedId, Pasted>>);

impl PastedTexts {
    /// Says what a text is, and holds it.
    pub(crate) fn read(&self, text: &SecretString) -> Result<Recognised, ProtocolError> {
        let id = PastedId(Uuid::new_v4().simple().to_string());
        if let Some(path) = notebook_path(text.expose_secret()) {
            return Ok(notebook(id, &path));
        }
        let found = parse_pasted(text.expose_secret())
            .map_err(|error| ProtocolError::new(ErrorCode::NotRecognised, error.message, error.hint))?;
        if found.provider.runtime() != "jupyter" {
            return Err(ProtocolError::new(
                ErrorCode::NotRecognised,
                format!("This is an address of {}, which Sandbook cannot use yet.", found.provider.runtime()),
                "Paste the address of a Jupyter server.",
            ));
        }
        let recognised = describe(&id, &found);
        let pasted = Pasted { server: found.server, token: found.token };
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() >= MOST {
            texts.shift_remove_index(0);
        }
        texts.insert(id, pasted);
        Ok(recognised)
    }

    /// A text that is held.
    pub(crate) fn get(&self, id: &PastedId) -> Result<Pasted, ProtocolError> {
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.get(id).cloned().ok_or_else(|| {
            ProtocolError::new(
                ErrorCode::NotFound,
                "The pasted text is not held any more.",
                "Paste it again.",
            )
        })
    }

    /// Forgets a text.
    pub(crate) fn dismiss(&self, id: &PastedId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).shift_remove(id);
    }
}

/// The path, where a text is that of a notebook on this computer.
fn notebook_path(text: &str) -> Option<PathBuf> {
    let text = text.trim().trim_matches(['"', '\'']);
    let text = text.strip_prefix("file://").unwrap_or(text);
    let path = match text.strip_prefix("~/") {
        Some(rest) => std::env::home_dir()?.join(rest),
        None => PathBuf::from(text),
    };
    let is_notebook = path.extension().is_some_and(|extension| extension == "ipynb");
    (is_notebook && path.is_absolute() && path.is_file()).then_some(path)
}

fn notebook(id: PastedId, path: &Path) -> Recognised {
    let text = path.display().to_string();
    Recognised {
        pasted: id,
        kind: None,
        title: "Notebook on this computer".into(),
        display_text: text.clone(),
        display_url: None,
        facts: vec![fact("File", &text, true)],
        gets: Vec::new(),
        notebook: Some(text),
        complete: true,
        has_secret: false,
    }
}

fn describe(id: &PastedId, found: &jupyter::Recognised) -> Recognised {
    let url = found.server.expose();
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut facts = vec![fact("Host", &host, true)];
    if let Some(kernel) = &found.kernel_id {
        facts.push(fact("Kernel", kernel, true));
    }
    if let Some(notebook) = &found.notebook {
        facts.push(fact("Notebook", notebook, true));
    }
    facts.push(match &found.token {
        Some(token) => {
            let length = token.expose_secret().chars().count();
            fact(
                "Token",
                &format!("Found, {length} characters. Goes to your system keyring and is not shown again."),
                true,
            )
        }
        None => fact("Token", "None in this address. A server without one can be used as it is.", true),
    });
    if found.is_plain_http_elsewhere() {
        facts.push(fact("Check", "Not encrypted: others on the network can read along", false));
    } else {
        facts.push(fact("Check", "Complete: host and address are all there", true));
    }
    let gets = [
        ("Run cells", "yes, with images"),
        ("Input", "yes"),
        ("Interrupt", "yes"),
        ("Reconnect", "missed output is replayed"),
        ("Time left", "not reported"),
    ];
    Recognised {
        pasted: id.clone(),
        kind: Some(RuntimeKind::Jupyter),
        title: "Jupyter server".into(),
        display_text: found.display_url.clone(),
        display_url: Some(found.server.masked()),
        facts,
        gets: gets.iter().map(|(name, note)| ((*name).to_owned(), (*note).to_owned())).collect(),
        notebook: None,
        complete: true,
        has_secret: found.has_secret(),
    }
}

fn fact(label: &str, value: &str, good: bool) -> RecognisedFact {
    RecognisedFact { label: label.into(), value: value.into(), good }
}
