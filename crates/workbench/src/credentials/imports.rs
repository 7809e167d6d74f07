//! Credentials of other programs on this computer. They are looked for when a person asks, shown without their secrets, and
//! taken over one by one, never by themselves.
//!
//! Nothing is started for it: a Jupyter server writes its address and token into a file of its person, which is what
//! `jupyter server list` reads too.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use sandbook_protocol::CredentialKind;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

/// The variables that are looked at.
const VARIABLES: [&str; 10] = [
    "KAGGLE_CONFIG_DIR",
    "KAGGLE_USERNAME",
    "KAGGLE_KEY",
    "KAGGLE_API_TOKEN",
    "MODAL_CONFIG_PATH",
    "MODAL_TOKEN_ID",
    "MODAL_TOKEN_SECRET",
    "DATALAYER_API_KEY",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTER_DATA_DIR",
];

/// Where credentials of other programs are looked for.
#[derive(Debug, Default)]
pub(crate) struct Places {
    variables: BTreeMap<&'static str, SecretString>,
    home: PathBuf,
    /// Where Jupyter keeps its own data.
    jupyter: PathBuf,
}

/// One that was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its name, as long as the place does not change.
    pub(crate) id: String,
    pub(crate) kind: CredentialKind,
    /// What it would be called.
    pub(crate) name: String,
    /// The place, for a person.
    pub(crate) place: String,
    /// The secret in a form that a person could paste; or why it cannot be taken.
    pub(crate) secret: Result<SecretString, String>,
    /// The server that it is of, where it is a server's.
    pub(crate) server: Option<Url>,
}

impl Found {
    fn new(kind: CredentialKind, name: impl Into<String>, place: impl Into<String>) -> Self {
        let place = place.into();
        let secret = Err("It holds nothing that can be read".into());
        Self { id: place.clone(), kind, name: name.into(), place, secret, server: None }
    }

    fn with(self, secret: Result<SecretString, String>) -> Self {
        Self { secret, ..self }
    }
}

#[derive(Deserialize)]
struct KaggleFile {
    #[serde(default)]
    username: String,
    key: Option<SecretString>,
}

#[derive(Deserialize)]
struct ModalProfile {
    token_id: Option<SecretString>,
    token_secret: Option<SecretString>,
}

#[derive(Deserialize)]
struct JupyterFile {
    url: String,
    #[serde(default)]
    token: Option<SecretString>,
    pid: u32,
}

impl Places {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let held = VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
        let home = std::env::home_dir().unwrap_or_default();
        Self {
            variables: held
                .filter(|(_, value)| !value.trim().is_empty())
                .map(|(name, value)| (name, value.trim().to_owned().into()))
                .collect(),
            jupyter: platform::jupyter_data(&home),
            home,
        }
    }

    /// Everything that is found.
    pub(crate) fn look(&self) -> Vec<Found> {
        let mut found: Vec<_> = self.kaggle_file().into_iter().collect();
        found.extend(self.kaggle_variables());
        found.extend(self.modal_file());
        found.extend(self.modal_variables());
        found.extend(self.datalayer());
        found.extend(self.jupyter_servers());
        found
    }

    fn secret(&self, name: &str) -> Option<SecretString> {
        self.variables.get(name).cloned()
    }

    fn plain(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| value.expose().to_owned())
    }

    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    fn kaggle_file(&self) -> Option<Found> {
        let folder = self.plain("KAGGLE_CONFIG_DIR").map(PathBuf::from);
        let folders = match folder {
            Some(folder) => vec![folder],
            None => vec![self.home.join(".kaggle"), self.home.join(".config/kaggle")],
        };
        let path =
            folders.into_iter().map(|folder| folder.join("kaggle.json")).find(|path| path.is_file())?;
        // what stands in it is secret, so the words of the parser are not passed on
        let file: Option<KaggleFile> =
            std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let KaggleFile { username, key } = file.unwrap_or(KaggleFile { username: String::new(), key: None });
        Some(Found::new(CredentialKind::KaggleToken, kaggle_name(&username), self.shown(&path)).with(
            match key {
                Some(key) if !username.is_empty() => Ok(kaggle(&username, &key)),
                _ => Err("The file has no user name or no key".into()),
            },
        ))
    }

    fn kaggle_variables(&self) -> Vec<Found> {
        let kind = CredentialKind::KaggleToken;
        let mut found = Vec::new();
        if let Some(token) = self.secret("KAGGLE_API_TOKEN") {
            found.push(Found::new(kind, "Kaggle", "KAGGLE_API_TOKEN").with(Ok(token)));
        }
        let (user, key) = (self.plain("KAGGLE_USERNAME"), self.secret("KAGGLE_KEY"));
        if user.is_some() || key.is_some() {
            let name = kaggle_name(user.as_deref().unwrap_or_default());
            let secret = match (user, key) {
                (Some(user), Some(key)) => Ok(kaggle(&user, &key)),
                (None, _) => Err("KAGGLE_KEY is set and KAGGLE_USERNAME is not".into()),
                (_, None) => Err("KAGGLE_USERNAME is set and KAGGLE_KEY is not".into()),
            };
            found.push(Found::new(kind, name, "KAGGLE_USERNAME, KAGGLE_KEY").with(secret));
        }
        found
    }

    fn modal_file(&self) -> Vec<Found> {
        let path = self.plain("MODAL_CONFIG_PATH").map(PathBuf::from);
        let path = path.unwrap_or_else(|| self.home.join(".modal.toml"));
        let Ok(text) = std::fs::read_to_string(&path) else { return Vec::new() };
        let place = self.shown(&path);
        let Ok(profiles) = toml::from_str::<BTreeMap<String, ModalProfile>>(&text) else {
            return vec![Found::new(CredentialKind::ModalPair, "Modal", place)];
        };
        let of_profile = |(name, profile): (String, ModalProfile)| {
            let secret = modal(profile.token_id, profile.token_secret, "token_id", "token_secret");
            Found::new(
                CredentialKind::ModalPair,
                format!("Modal, {name}"),
                format!("{place}, profile {name}"),
            )
            .with(secret)
        };
        profiles.into_iter().map(of_profile).collect()
    }

    fn modal_variables(&self) -> Option<Found> {
        let (id, secret) = (self.secret("MODAL_TOKEN_ID"), self.secret("MODAL_TOKEN_SECRET"));
        (id.is_some() || secret.is_some()).then(|| {
            let pair = modal(id, secret, "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET");
            Found::new(CredentialKind::ModalPair, "Modal", "MODAL_TOKEN_ID, MODAL_TOKEN_SECRET").with(pair)
        })
    }

    fn datalayer(&self) -> Option<Found> {
        let key = self.secret("DATALAYER_API_KEY")?;
        Some(Found::new(CredentialKind::DatalayerKey, "Datalayer", "DATALAYER_API_KEY").with(Ok(key)))
    }

    /// The running servers that have a token.
    fn jupyter_servers(&self) -> Vec<Found> {
        let data = self.plain("JUPYTER_DATA_DIR").map_or_else(|| self.jupyter.clone(), PathBuf::from);
        let folder = self.plain("JUPYTER_RUNTIME_DIR").map_or_else(|| data.join("runtime"), PathBuf::from);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(|path| is_server(path)).collect();
        files.sort();
        files.iter().filter_map(|path| server(path)).collect()
    }
}

fn is_server(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.extension().is_some_and(|extension| extension == "json")
        && (name.starts_with("jpserver-") || name.starts_with("nbserver-"))
}

fn server(path: &Path) -> Option<Found> {
    let file: JupyterFile = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let token = file.token.filter(|token| !token.expose().is_empty())?;
    if !platform::is_running(file.pid) {
        return None;
    }
    let url = Url::parse(&file.url).ok()?;
    let host = format!("{}:{}", url.host_str()?, url.port_or_known_default()?);
    let found = Found::new(CredentialKind::JupyterToken, host, format!("Jupyter server at {url}"));
    Some(Found { server: Some(url), ..found.with(Ok(token)) })
}

fn kaggle_name(user: &str) -> String {
    if user.is_empty() { "Kaggle".into() } else { format!("Kaggle, {user}") }
}

fn kaggle(user: &str, key: &SecretString) -> SecretString {
    serde_json::json!({ "username": user, "key": key.expose() }).to_string().into()
}

fn modal(
    id: Option<SecretString>,
    secret: Option<SecretString>,
    id_name: &str,
    secret_name: &str,
) -> Result<SecretString, String> {
    match (id, secret) {
        (Some(id), Some(secret)) => Ok(format!("{} {}", id.expose(), secret.expose()).into()),
        (None, _) => Err(format!("Half of a pair: {id_name} is missing")),
        (_, None) => Err(format!("Half of a pair: {secret_name} is missing")),
    }
}

/// Short for what is done often here.
trait Expose {
    fn expose(&self) -> &str;
}

impl Expose for SecretString {
    fn expose(&self) -> &str {
        secrecy::ExposeSecret::expose_secret(self)
    }
}

mod platform {
    use std::path::{Path, PathBuf};

    /// Where Jupyter keeps its data by itself.
    pub(super) fn jupyter_data(home: &Path) -> PathBuf {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if cfg!(target_os = "macos") {
            home.join("Library/Jupyter")
        } else if cfg!(windows) {
            variable("APPDATA").unwrap_or_else(|| home.to_owned()).join("jupyter")
        } else {
            variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")).join("jupyter")
        }
    }

    /// Whether a process is there. Where that cannot be seen without asking, its server is asked when it is taken over.
    pub(super) fn is_running(process: u32) -> bool {
        !cfg!(target_os = "linux") || Path::new(&format!("/proc/{process}")).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(home: &Path, variables: &[(&'static str, &str)]) -> Places {
        Places {
            variables: variables.iter().map(|(name, value)| (*name, (*value).to_owned().into())).collect(),
            home: home.to_owned(),
            jupyter: home.join("jupyter"),
        }
    }

    fn told(found: &[Found]) -> Vec<(String, String, String)> {
        let told = found.iter().map(|found| {
            let secret = match &found.secret {
                Ok(secret) => secret.expose().to_owned(),
                Err(problem) => format!("! {problem}"),
            };
            (found.place.clone(), found.name.clone(), secret)
        });
        told.collect()
    }

    #[test]
    fn files_and_variables_of_other_programs_are_found_where_those_keep_them() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".kaggle/kaggle.json", r#"{"username":"ana","key":"kkk"}"#);
        write(
            ".modal.toml",
            "[work]\ntoken_id = \"ak-1\"\ntoken_secret = \"as-1\"\nactive = true\n[half]\ntoken_id = \"ak-2\"\n",
        );
        let own = std::process::id();
        let server = |port: u16, token: &str, pid: u32| {
            format!(r#"{{"url":"http://localhost:{port}/","token":"{token}","pid":{pid},"root_dir":"/"}}"#)
        };
        write("jupyter/runtime/jpserver-1.json", &server(8888, "ttt", own));
        write("jupyter/runtime/jpserver-2.json", &server(8889, "", own));
        write("jupyter/runtime/jpserver-3.json", &server(8890, "gone", u32::MAX));
        write("jupyter/runtime/kernel-1.json", r#"{"key":"not this"}"#);
        let variables = [
            ("KAGGLE_KEY", "half"),
            ("KAGGLE_API_TOKEN", "KGAT_1"),
            ("MODAL_TOKEN_ID", "ak-3"),
            ("MODAL_TOKEN_SECRET", "as-3"),
            ("DATALAYER_API_KEY", "ddd"),
        ];
        let of =
            |place: &str, name: &str, secret: &str| (place.to_owned(), name.to_owned(), secret.to_owned());
        assert_eq!(
            told(&places(home.path(), &variables).look()),
            [
                of("~/.kaggle/kaggle.json", "Kaggle, ana", r#"{"username":"ana","key":"kkk"}"#),
                of("KAGGLE_API_TOKEN", "Kaggle", "KGAT_1"),
                of("KAGGLE_USERNAME, KAGGLE_KEY", "Kaggle", "! KAGGLE_KEY is set and KAGGLE_USERNAME is not"),
                of("~/.modal.toml, profile half", "Modal, half", "! Half of a pair: token_secret is missing"),
                of("~/.modal.toml, profile work", "Modal, work", "ak-1 as-1"),
                of("MODAL_TOKEN_ID, MODAL_TOKEN_SECRET", "Modal", "ak-3 as-3"),
                of("DATALAYER_API_KEY", "Datalayer", "ddd"),
                of("Jupyter server at http://localhost:8888/", "localhost:8888", "ttt"),
            ]
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_without_what_stands_in_it() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".kaggle")).unwrap();
        std::fs::write(home.path().join(".kaggle/kaggle.json"), "{\"key\": \"s3cret").unwrap();
        std::fs::write(home.path().join(".modal.toml"), "token_secret = \"s3cret\nx").unwrap();
        let found = places(home.path(), &[]).look();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|found| found.secret.is_err()), "{found:?}");
        assert!(!format!("{found:?}").contains("s3cret"), "{found:?}");
        assert!(places(&home.path().join("nowhere"), &[]).look().is_empty());
    }
}
