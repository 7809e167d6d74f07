//! What a session asks before it begins: where the code shall run, and what that place needs. Whatever may hold a secret is
//! not shown while it is typed.

use std::{path::Path, time::Duration};

use sandbook_protocol::RuntimeKind;
use sandbook_runtimes::{
    Runtimes,
    paste::{Pasted, Recognised, parse_pasted},
};
use sandbook_sandbox::{Readiness, SandboxSettings};
use sandbook_store::folders::Folders;
use sandbook_workbench::own;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::{
    arguments::Place,
    error::{CommandError, INTERRUPTED},
    home, input,
    sandbox::takes_link,
    server,
    signals::Signals,
};

/// How long a place may take to say whether it can be used, before the question is asked without its word.
const PATIENCE: Duration = Duration::from_secs(3);

/// The choice that is no runtime of its own.
const SERVER: &str = "server";

/// A place to choose.
struct Offer {
    name: &'static str,
    about: String,
}

/// Completes what the arguments say.
pub(super) async fn place(
    mut place: Place,
    folders: &Folders,
    folder: &Path,
    signals: &mut Signals,
) -> Result<Place, CommandError> {
    let says_nothing = place.runtime.is_none() && place.server.is_none() && place.kernel.is_none();
    if says_nothing && place.settings.is_empty() {
        let name = choose(&offers(folders, folder).await?, signals).await?;
        place.runtime = RuntimeKind::named(name);
        if name == SERVER {
            place.runtime = Some(RuntimeKind::Jupyter);
            which_server(&mut place, folders, signals).await?;
        }
    }
    let knows_address = place.settings.iter().any(|(name, _)| name == "url");
    let has_credential = place.credential.is_some() || server::token_from_environment().is_some();
    if place.runtime.is_some_and(takes_link) && !knows_address && !has_credential {
        link(&mut place, signals).await?;
    }
    Ok(place)
}

/// The places of this build, with what each says of itself.
async fn offers(folders: &Folders, folder: &Path) -> Result<Vec<Offer>, CommandError> {
    let runtimes = Runtimes::new(&own::surrounding(folders, Some(home::this_program()?)));
    let mut asked = Vec::new();
    for runtime in runtimes.iter() {
        let runtime = runtime.clone();
        let Some(kind) = RuntimeKind::named(runtime.variant()) else { continue };
        let working_directory = kind.has_folder(&Value::Null).then(|| folder.to_owned());
        let settings = SandboxSettings { working_directory, ..SandboxSettings::default() };
        let answer = tokio::spawn(async move {
            tokio::time::timeout(PATIENCE, runtime.readiness(&settings, None)).await.ok()
        });
        asked.push((kind, answer));
    }
    let mut offers = Vec::new();
    for (kind, answer) in asked {
        let about = if takes_link(kind) {
            "by the channels link of an open page".into()
        } else {
            about(answer.await.ok().flatten())
        };
        offers.push(Offer { name: kind.name(), about });
        if kind == RuntimeKind::Jupyter {
            offers
                .push(Offer { name: SERVER, about: "a Jupyter server, by its address or saved name".into() });
        }
    }
    Ok(offers)
}

fn about(readiness: Option<Readiness>) -> String {
    match readiness {
        Some(Readiness::Ready(what)) => what,
        Some(Readiness::NeedsSetup(why)) => format!("not ready: {why}"),
        Some(Readiness::NeedsCredential(why)) => format!("asks for a credential: {why}"),
        Some(Readiness::NotReachable(why)) => format!("not reachable: {why}"),
        None => "no answer yet".into(),
    }
}

/// Asks until a place is named. An empty answer is the first.
async fn choose(offers: &[Offer], signals: &mut Signals) -> Result<&'static str, CommandError> {
    let first = offers.first().map_or("jupyter", |offer| offer.name);
    eprintln!("Where shall the code run?");
    for (number, offer) in (1..).zip(offers) {
        eprintln!("{number:>3}  {:<12} {}", offer.name, offer.about);
    }
    loop {
        let answer = asked(&format!("Name or number [{first}]"), false, signals).await?;
        let answer = answer.expose_secret();
        match chosen(offers, answer) {
            Some(name) => return Ok(name),
            None => eprintln!("`{answer}` is none of them."),
        }
    }
}

fn chosen(offers: &[Offer], answer: &str) -> Option<&'static str> {
    if answer.is_empty() {
        return offers.first().map(|offer| offer.name);
    }
    let by_number = answer.parse::<usize>().ok().and_then(|number| offers.get(number.checked_sub(1)?));
    by_number.or_else(|| offers.iter().find(|offer| offer.name == answer)).map(|offer| offer.name)
}

/// The server: a saved one, or one by its address, whose token is taken out of it.
async fn which_server(
    place: &mut Place,
    folders: &Folders,
    signals: &mut Signals,
) -> Result<(), CommandError> {
    let saved = own::saved_servers(folders)?;
    if !saved.is_empty() {
        let names: Vec<&str> = saved.iter().map(|saved| saved.name.as_str()).collect();
        eprintln!("Saved: {}", names.join(", "));
    }
    let answer = asked("Address or saved name (not shown, for it may hold a token)", true, signals).await?;
    let answer = answer.expose_secret();
    if saved.iter().any(|saved| saved.id == answer || saved.name == answer) {
        place.server = Some(answer.to_owned());
        return Ok(());
    }
    let found = recognised(answer)?;
    place.server = Some(match &found.kernel_id {
        Some(kernel) => format!("{}api/kernels/{kernel}/channels", found.server.expose()),
        None => found.server.expose().to_string(),
    });
    place.credential = found.token;
    Ok(())
}

/// A cloud's link: whole, or in its parts.
async fn link(place: &mut Place, signals: &mut Signals) -> Result<(), CommandError> {
    let whole = asked(
        "Channels link of the page (not shown; Enter to give its address, kernel and token one by one)",
        true,
        signals,
    )
    .await?;
    if !whole.expose_secret().is_empty() {
        place.credential = Some(whole);
        return Ok(());
    }
    let address = asked("Address of the server (not shown, for it may hold a secret)", true, signals).await?;
    let found = recognised(address.expose_secret())?;
    let kernel = match &found.kernel_id {
        Some(kernel) => kernel.clone(),
        None => asked("Id of the kernel", false, signals).await?.expose_secret().to_owned(),
    };
    let token = match &found.token {
        Some(token) => token.clone(),
        None => asked("Token (not shown; Enter if the address holds it)", true, signals).await?,
    };
    put_together(place, &found, &kernel, token);
    Ok(())
}

/// Where the address holds a secret, all of it stays one. Else address and kernel are settings, the token the credential.
fn put_together(place: &mut Place, found: &Recognised, kernel: &str, token: SecretString) {
    let has_token = !token.expose_secret().is_empty();
    if !found.server.has_secret() {
        place.settings.push(("url".into(), found.server.expose().to_string().into()));
        if !kernel.is_empty() {
            place.settings.push(("kernel_id".into(), kernel.into()));
        }
        place.credential = has_token.then_some(token);
        return;
    }
    let mut link = found.server.expose().clone();
    if !kernel.is_empty()
        && let Ok(mut segments) = link.path_segments_mut()
    {
        segments.pop_if_empty().extend(["api", "kernels", kernel, "channels"]);
    }
    if has_token {
        link.query_pairs_mut().append_pair("token", token.expose_secret());
    }
    place.credential = Some(String::from(link).into());
}

fn recognised(text: &str) -> Result<Recognised, CommandError> {
    parse_pasted(text)
        .and_then(Pasted::into_server)
        .map_err(|error| CommandError::usage(error.code, error.message, error.hint))
}

/// An answer without the space around it. Who ends the input instead leaves.
async fn asked(question: &str, secret: bool, signals: &mut Signals) -> Result<SecretString, CommandError> {
    match input::ask_line(question, secret, signals).await? {
        Some(answer) => Ok(answer.expose_secret().trim().to_owned().into()),
        None => {
            Err(CommandError::infrastructure("cancelled", "Nothing was started.", "")
                .with_status(INTERRUPTED))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_chosen_by_its_name_or_number_and_the_first_by_nothing() {
        let offer = |name| Offer { name, about: String::new() };
        let offers = [offer("jupyter"), offer("server"), offer("eval")];
        for (answer, expected) in [
            ("", Some("jupyter")),
            ("2", Some("server")),
            ("eval", Some("eval")),
            ("0", None),
            ("4", None),
            ("Eval", None),
        ] {
            assert_eq!(chosen(&offers, answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn an_address_with_a_secret_stays_whole_and_one_without_is_a_setting() {
        let mut place_of = Place::nowhere();
        let found = recognised("https://h/k/17/s3cret/proxy/").unwrap();
        put_together(&mut place_of, &found, "abc", SecretString::from(""));
        assert!(place_of.settings.is_empty());
        let link = place_of.credential.unwrap();
        assert_eq!(link.expose_secret(), "https://h/k/17/s3cret/proxy/api/kernels/abc/channels");

        let mut place_of = Place::nowhere();
        let found = recognised("https://8080-m-s-abc.us-west1-0.prod.colab.dev/").unwrap();
        put_together(&mut place_of, &found, "abc", SecretString::from("s3cret"));
        let names: Vec<&str> = place_of.settings.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["url", "kernel_id"]);
        assert!(!place_of.settings.iter().any(|(_, value)| value.to_string().contains("s3cret")));
        assert_eq!(place_of.credential.unwrap().expose_secret(), "s3cret");
    }
}
