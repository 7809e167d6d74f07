//! `sandbook web`: opens the owner's door for browsers, and keeps it open.

use sandbook_client::Owner;
use sandbook_protocol::{ClientKind, Command, Reply};
use serde_json::json;

use crate::{Ended, arguments::Web, error::CommandError, home, logging, output, signals::Signals};

pub(crate) async fn web(web: Web) -> Ended {
    let folders = home::folders()?;
    let _logging = logging::begin(&folders, "command", None);
    let open = web.file.as_deref().map(home::existing).transpose()?;
    // Before the address is printed: whoever reads it may end this at once.
    let mut signals = Signals::watch()?;
    let place = home::place(&folders);
    let (owner, mut pushes) =
        Owner::connect_or_start(&place, ClientKind::CommandLine, &home::this_program()?).await?;
    let Reply::WebDoor { address, token } = owner.request(Command::OpenWebDoor { port: web.port }).await?
    else {
        return Err(CommandError::infrastructure("internal", "The owner gave no address.", ""));
    };
    let url = to_open(&address, open.as_deref(), token.expose());
    if web.json {
        output::line(&json!({ "type": "web_door", "url": url, "address": address }));
    } else {
        output::text(&format!(
            "Sandbook is served at\n\n    {url}\n\nThe address works once, in a browser on this computer. Ctrl-C ends it.\n"
        ));
    }
    let ended = async { while pushes.next().await.is_some() {} };
    tokio::select! {
        _ = signals.next() => Ok(0),
        () = ended => Err(CommandError::infrastructure(
            "unreachable",
            "The owner process has ended, so the page is not served any more.",
            "Notebooks and their journals are kept. Start `sandbook web` again.",
        )),
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
