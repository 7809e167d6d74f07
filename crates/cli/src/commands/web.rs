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
    let Reply::WebDoor { address, token } =
        owner.request(Command::OpenWebDoor { port: web.port, open }).await?
    else {
        return Err(CommandError::infrastructure("internal", "The owner gave no address.", ""));
    };
    let url = format!("{address}#token={}", token.expose());
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
