//! `sandbook web`: opens the owner's door for browsers, and keeps it open.
//!
//! An owner that was killed is started again behind the same port: the page that is open connects again by itself, with
//! the session it has, and sends what was not acknowledged.

use std::time::{Duration, Instant};

use sandbook_client::{Owner, Place, Pushes};
use sandbook_protocol::{ClientKind, Command, Reply, Secret};
use serde_json::json;

use crate::{Ended, arguments::Web, error::CommandError, home, logging, output, signals::Signals};

/// An owner that ends sooner than this ends again and again.
const SOON: Duration = Duration::from_secs(10);

/// How many owners may end soon, one after the other.
const MOST_SOON: u32 = 3;

pub(crate) async fn web(web: Web) -> Ended {
    let folders = home::folders()?;
    let _logging = logging::begin(&folders, "command", None);
    let open = web.file.as_deref().map(home::existing).transpose()?;
    // Before the address is printed: whoever reads it may end this at once.
    let mut signals = Signals::watch()?;
    let place = home::place(&folders);
    let mut door = Door::open(&place, web.port).await?;
    let url = to_open(&door.address, open.as_deref(), door.token.expose());
    if web.json {
        output::line(&json!({ "type": "web_door", "url": url, "address": door.address }));
    } else {
        output::text(&format!(
            "Sandbook is served at\n\n    {url}\n\nThe address works once, in a browser on this computer. Ctrl-C ends it; \
             what runs goes on for a while, and `sandbook quit` ends that as well.\n"
        ));
    }
    let mut ended_soon = 0;
    loop {
        let opened = Instant::now();
        tokio::select! {
            _ = signals.next() => return Ok(0),
            () = door.closed() => {}
        }
        ended_soon = if opened.elapsed() < SOON { ended_soon + 1 } else { 0 };
        if !place.is_left_behind() || ended_soon >= MOST_SOON {
            return Err(CommandError::infrastructure(
                "unreachable",
                "The owner process has ended, so the page is not served any more.",
                "Notebooks and their journals are kept. Start `sandbook web` again.",
            ));
        }
        let port = door.port();
        door = tokio::select! {
            _ = signals.next() => return Ok(0),
            opened = Door::open(&place, port) => opened?,
        };
        tell_restarted(&door.address, web.json);
    }
}

fn tell_restarted(address: &str, json: bool) {
    if json {
        output::line(&json!({ "type": "owner_restarted", "address": address }));
    } else {
        eprintln!(
            "The owner process was killed, or crashed. Another serves the page at the same port; a page that is open \
             connects again by itself. Notebooks are as they were; kernels that ran on this computer are lost."
        );
    }
}

/// The owner's door, open as long as this is kept.
struct Door {
    address: String,
    token: Secret,
    _owner: Owner,
    pushes: Pushes,
}

impl Door {
    async fn open(place: &Place, port: Option<u16>) -> Result<Self, CommandError> {
        let program = home::this_program()?;
        let (owner, pushes) = Owner::connect_or_start(place, ClientKind::CommandLine, &program).await?;
        match owner.request(Command::OpenWebDoor { port }).await? {
            Reply::WebDoor { address, token } => Ok(Self { address, token, _owner: owner, pushes }),
            _ => Err(CommandError::infrastructure("internal", "The owner gave no address.", "")),
        }
    }

    fn port(&self) -> Option<u16> {
        url::Url::parse(&self.address).ok()?.port_or_known_default()
    }

    /// Waits until the owner is gone.
    async fn closed(&mut self) {
        while self.pushes.next().await.is_some() {}
    }
}

/// The address for a browser. The notebook stands in the query, so that a browser which is here already loads the page
/// anew for another one; the token behind the `#`, which no browser sends anywhere.
fn to_open(address: &str, notebook: Option<&str>, token: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let query = notebook.map(|notebook| query.append_pair("open", notebook).finish());
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{address}{query}#token={token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_stands_in_the_query_whatever_its_name_is() {
        assert_eq!(to_open("http://h:1/", None, "T"), "http://h:1/#token=T");
        for path in ["/a/b.ipynb", "/with space/é#?&=+%41.ipynb", "C:\\x\\y.ipynb"] {
            let url: url::Url = to_open("http://h:1/", Some(path), "T").parse().unwrap();
            let pairs: Vec<_> = url.query_pairs().into_owned().collect();
            assert_eq!(pairs, [("open".to_owned(), path.to_owned())]);
            assert_eq!((url.path(), url.fragment()), ("/", Some("token=T")));
        }
    }
}
