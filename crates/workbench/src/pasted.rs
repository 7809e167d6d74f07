//! Texts that a person pasted, held with their secrets until they are connected or dismissed.
//!
//! The page gets back what the text is, with every secret masked, and a name to refer to it by. So the secret comes in
//! once and never goes out again.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use indexmap::IndexMap;
use sandbook_protocol::{ErrorCode, PastedId, ProtocolError, Recognised, RecognisedFact, RuntimeKind};
use sandbook_runtimes::{
    kaggle::separated,
    paste::{self, NotRecognised, Provider, parse_pasted},
};
use sandbook_sandbox::SecretUrl;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::{
    accounts::is_account,
    clouds::{kind_of, taken_apart},
    runtimes::label,
};

/// How many texts are held; the oldest goes first.
const MOST: usize = 16;

/// A pasted server address.
#[derive(Debug, Clone)]
pub(crate) struct Pasted {
    pub(crate) kind: RuntimeKind,
    /// Without its secret.
    pub(crate) server: SecretUrl,
    pub(crate) token: Option<SecretString>,
    /// The kernel, where it is a cloud's.
    pub(crate) kernel_id: Option<String>,
}

/// The texts that are held.
#[derive(Debug, Default)]
pub(crate) struct PastedTexts(Mutex<IndexMap<PastedId, Pasted>>);

impl PastedTexts {
    /// Says what a text is, and holds it.
    pub(crate) fn read(&self, text: &SecretString) -> Result<Recognised, ProtocolError> {
        let id = PastedId(Uuid::new_v4().simple().to_string());
        let found = parse_pasted(text.expose_secret()).map_err(|error| not_recognised(&error))?;
        let found = match found {
            paste::Pasted::Notebook(path) => return notebook(id, &path),
            paste::Pasted::Server(found) if found.provider == Provider::OpenSandbox => {
                return Ok(opensandbox(id, &found));
            }
            paste::Pasted::Server(found) => *found,
            other => return Err(not_yet(&other)),
        };
        let recognised = describe(&id, &found);
        let pasted = taken_apart(found);
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

/// What was pasted is nothing that can be used.
pub(crate) fn not_recognised(error: &NotRecognised) -> ProtocolError {
    ProtocolError::new(ErrorCode::NotRecognised, error.message.clone(), error.hint)
}

/// It is recognised, and this build has no use for it here.
fn not_yet(pasted: &paste::Pasted) -> ProtocolError {
    if let Some(kind) = pasted.runtime().and_then(RuntimeKind::named).filter(|kind| is_account(*kind)) {
        let cloud = label(kind).0;
        return ProtocolError::new(
            ErrorCode::NotRecognised,
            format!("This is {}. It was not kept.", pasted.name()),
            format!("Choose {cloud} among the clouds, and paste it as the key there."),
        );
    }
    ProtocolError::new(
        ErrorCode::NotRecognised,
        format!("This is {}, which Sandbook cannot use here yet.", pasted.name()),
        "Paste the address of a Jupyter server, or the path of a notebook.",
    )
}

/// A notebook on this computer.
fn notebook(id: PastedId, path: &str) -> Result<Recognised, ProtocolError> {
    let full = match path.strip_prefix("~/") {
        Some(rest) => std::env::home_dir().map(|home| home.join(rest)),
        None => Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
    };
    let missing = |why: &str| {
        let message = format!("The notebook {path} {why}.");
        ProtocolError::new(ErrorCode::NotRecognised, message, "Paste its whole path, beginning with / or ~.")
    };
    let full = full.ok_or_else(|| missing("is named without its folder"))?;
    if !full.is_file() {
        return Err(missing("is not on this computer"));
    }
    let text = full.display().to_string();
    Ok(Recognised {
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
    })
}

/// The address of an OpenSandbox server. Nothing of it is a secret, so nothing is held: it leads to the screen of its own.
fn opensandbox(id: PastedId, found: &paste::Recognised) -> Recognised {
    let url = found.server.expose();
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut facts = vec![
        fact("Host", &host, true),
        fact("Key", "None in an address. A server may need one; it is asked for next.", true),
    ];
    facts.push(if found.is_plain_http_elsewhere() {
        fact("Check", "Not encrypted: others on the network can read along", false)
    } else {
        fact("Check", "Complete: host and address are all there", true)
    });
    let gets = [
        ("Run cells", "yes, with images"),
        ("Input", "yes"),
        ("Interrupt", "yes"),
        ("Reconnect", "output is replayed, but for what was on its way"),
        ("Time left", "exact, and can be put off"),
    ];
    Recognised {
        pasted: id,
        kind: Some(RuntimeKind::Opensandbox),
        title: "OpenSandbox server".into(),
        display_text: found.display_url.clone(),
        display_url: Some(found.server.masked()),
        facts,
        gets: gets.iter().map(|(name, note)| ((*name).to_owned(), (*note).to_owned())).collect(),
        notebook: None,
        complete: true,
        has_secret: false,
    }
}

fn describe(id: &PastedId, found: &paste::Recognised) -> Recognised {
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
    let secret = match found.provider {
        Provider::Kaggle => separated(found.server.expose()).1,
        _ => found.token.clone(),
    };
    facts.push(match &secret {
        Some(token) => {
            let length = token.expose_secret().chars().count();
            fact(
                "Token",
                &format!("Found, {length} characters. Goes to your system keyring and is not shown again."),
                true,
            )
        }
        None if kind_of(found.provider).is_some() => fact("Token", "None in this link.", false),
        None => fact("Token", "None in this address. A server without one can be used as it is.", true),
    });
    let kind = kind_of(found.provider);
    let missing = missing(found);
    if let Some(missing) = missing {
        facts.push(fact("Check", missing, false));
    } else if found.is_plain_http_elsewhere() {
        facts.push(fact("Check", "Not encrypted: others on the network can read along", false));
    } else {
        facts.push(fact("Check", "Complete: host and address are all there", true));
    }
    let gets = [
        ("Run cells", "yes, with images"),
        ("Input", "yes"),
        ("Interrupt", "yes"),
        ("Reconnect", if kind.is_none() { "missed output is replayed" } else { "missed output may be lost" }),
        ("Time left", if kind == Some(RuntimeKind::Colab) { "an hour at most" } else { "not reported" }),
    ];
    Recognised {
        pasted: id.clone(),
        kind: Some(kind.unwrap_or(RuntimeKind::Jupyter)),
        title: match kind {
            Some(RuntimeKind::Colab) => "Google Colab kernel".into(),
            Some(RuntimeKind::Kaggle) => "Kaggle session".into(),
            _ => "Jupyter server".into(),
        },
        display_text: found.display_url.clone(),
        display_url: Some(found.server.masked()),
        facts,
        gets: gets.iter().map(|(name, note)| ((*name).to_owned(), (*note).to_owned())).collect(),
        notebook: None,
        complete: missing.is_none(),
        has_secret: found.has_secret(),
    }
}

/// What a cloud's link lacks.
fn missing(found: &paste::Recognised) -> Option<&'static str> {
    match found.provider {
        Provider::Colab if found.kernel_id.is_none() => {
            Some("The link names no kernel: copy the one that ends in channels")
        }
        Provider::Colab if found.token.is_none() => Some("The link holds no token: copy all of it"),
        _ => None,
    }
}

fn fact(label: &str, value: &str, good: bool) -> RecognisedFact {
    RecognisedFact { label: label.into(), value: value.into(), good }
}
