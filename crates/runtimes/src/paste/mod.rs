//! What a pasted text means.
//!
//! People paste what they have: the line a server printed, an address bar, a channels link from a browser's tools, the
//! fields of another program's settings, the name of an image, a path, the line with which a cloud's command takes its
//! token. One function says what it is; secrets are taken out of it, and nothing that shows the result shows one. Pure:
//! nothing is looked up or connected to. What is recognised is not always what this build can use.

mod address;
mod fields;
mod image;
mod notebook;
mod page;
mod token;

use std::fmt;

pub use self::{
    address::{Provider, Recognised, is_loopback, is_plain_http_elsewhere},
    image::Image,
    token::TokenLine,
};

/// What a pasted text is.
#[derive(Debug, Clone)]
pub enum Pasted {
    /// The address of a server, or of a kernel on one.
    Server(Box<Recognised>),
    /// A container image.
    Image(Image),
    /// A notebook, by its path.
    Notebook(String),
    /// A token of a cloud, as its own tools take it.
    Token(TokenLine),
}

impl Pasted {
    /// The name of the runtime it is for; none for a path.
    pub const fn runtime(&self) -> Option<&'static str> {
        match self {
            Self::Server(server) => Some(server.provider.runtime()),
            Self::Image(_) => Some("docker"),
            Self::Notebook(_) => None,
            Self::Token(token) => Some(token.runtime),
        }
    }

    /// Whether a secret was in it.
    pub fn has_secret(&self) -> bool {
        match self {
            Self::Server(server) => server.has_secret(),
            Self::Token(_) => true,
            Self::Image(_) | Self::Notebook(_) => false,
        }
    }

    /// What it is, for a person, without its secret.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Server(server) => match server.provider {
                Provider::Jupyter => "a Jupyter server",
                Provider::Colab => "a Google Colab runtime",
                Provider::Kaggle => "a Kaggle session",
                Provider::OpenSandbox => "an OpenSandbox server",
            },
            Self::Image(_) => "a container image",
            Self::Notebook(_) => "a notebook",
            Self::Token(token) => token.name,
        }
    }

    /// The server, where it is one; else what it is instead.
    pub fn into_server(self) -> Result<Recognised, NotRecognised> {
        match self {
            Self::Server(server) => Ok(*server),
            other => Err(NotRecognised {
                code: "not_a_server_url",
                message: format!("This is {}, not the address of a server.", other.name()),
                hint: NOT_A_URL.hint,
            }),
        }
    }
}

/// The text with every secret as `***`.
impl fmt::Display for Pasted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(server) => formatter.write_str(&server.display_url),
            Self::Image(image) => formatter.write_str(&image.name),
            Self::Notebook(path) => formatter.write_str(path),
            Self::Token(token) => formatter.write_str(&token.shown),
        }
    }
}

/// Why a pasted text is nothing that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotRecognised {
    /// Stable: `not_a_url`, `not_a_server_url`, `hub_page`, `page_not_socket`, `notebook_on_the_web` or `half_a_token`.
    pub code: &'static str,
    /// What it is, without quoting a secret.
    pub message: String,
    /// What to paste instead.
    pub hint: &'static str,
}

const NOT_A_URL: NotRecognised = NotRecognised {
    code: "not_a_url",
    message: String::new(),
    hint: "Paste the line that the server printed, such as http://localhost:8888/lab?token=…",
};

/// The longest text that is looked at. A pasted file is none of these.
const LONGEST: usize = 64 * 1024;

/// Recognises a pasted text.
pub fn parse_pasted(text: &str) -> Result<Pasted, NotRecognised> {
    let nothing = || NotRecognised { message: "This is no address of a server.".into(), ..NOT_A_URL };
    let text = unwrapped(text);
    if text.is_empty() || text.len() > LONGEST {
        return Err(nothing());
    }
    if let Some(token) = token::read(text) {
        return token.map(Pasted::Token);
    }
    if let Some(server) = address::opensandbox(text) {
        return server.map(Box::new).map(Pasted::Server);
    }
    if let Some(fields) = fields::Fields::read(text) {
        return fields.recognise().map(Box::new).map(Pasted::Server);
    }
    if let Some(image) = image::of_command(text) {
        return Ok(Pasted::Image(image));
    }
    if let Some(path) = notebook::path(text) {
        return Ok(Pasted::Notebook(path));
    }
    if let Some(image) = image::named(text) {
        return Ok(Pasted::Image(image));
    }
    let found = address::find(text).ok_or_else(nothing)?;
    if let Some(page) = page::instead(&found) {
        return Err(page);
    }
    address::recognise(&found, None).map(Box::new).map(Pasted::Server)
}

/// Without the white space, quotes and brackets that come along when something is copied.
fn unwrapped(text: &str) -> &str {
    let around =
        |c: char| c.is_whitespace() || c == '\u{feff}' || c == '\u{200b}' || "\"'<>`“”‘’«»".contains(c);
    text.trim_matches(around)
}

#[cfg(test)]
mod tests;
