//! `sandbook serve`: the owner process.

use std::time::Duration;

use sandbook_client::Listener;
use sandbook_gateway::{Gateway, PageSource};
use sandbook_sandbox::sentence;
use sandbook_workbench::{LogLines, Workbench, WorkbenchOptions};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Ended, arguments::Serve, error::CommandError, home, logging, signals::Signals};

/// How long an owner without clients waits for one.
const LEAVE_AFTER: Duration = Duration::from_secs(10);

/// How long it waits while a kernel lives: a window that crashed comes back to its variables.
const LEAVE_KERNELS_AFTER: Duration = Duration::from_mins(10);

/// How long an owner that ends may take for it, before the next gives up waiting.
const LONGEST_END: Duration = Duration::from_secs(30);

/// How often an owner without clients looks whether what it keeps has ended.
const LOOK: Duration = Duration::from_secs(2);

pub(crate) async fn serve(serve: Serve) -> Ended {
    if serve.detached {
        platform::leave_terminal();
    }
    let mut signals = Signals::watch()?;
    let folders = home::folders()?;
    let lines = LogLines::default();
    let _logging = logging::begin(&folders, "owner", Some(lines.clone()));
    // The place first: two owners must never open the same store.
    let listener = Listener::bind_after(&home::place(&folders), LONGEST_END).await?;
    let runtime_folder = folders.runtime.clone();
    let options = WorkbenchOptions {
        folders,
        supervisor: Some(home::this_program()?),
        logs: lines,
        working_directory: home::working_directory(serve.detached),
    };
    let workbench = Workbench::open(options).await.map_err(|error| {
        CommandError::infrastructure(
            "damaged_state",
            sentence(&error.to_string()),
            "`sandbook config path` says where the state is. Nothing in it was changed.",
        )
    })?;
    let page = serve.page.map_or(PageSource::Embedded, PageSource::Folder);
    let gateway = Gateway::new(workbench.clone(), page, runtime_folder);
    let (leaving, stop) = (CancellationToken::new(), CancellationToken::new());
    let doors = tokio::spawn({
        let (gateway, leaving, stop) = (gateway.clone(), leaving.clone(), stop.clone());
        async move { gateway.serve(listener, leaving, stop).await }
    });
    tracing::info!(version = env!("CARGO_PKG_VERSION"), process = std::process::id(), "the owner listens");
    announce(serve.detached);

    let quit = workbench.quit_requested();
    tokio::select! {
        () = quit.cancelled() => tracing::info!("a client asked to end"),
        _ = signals.next() => tracing::info!("the system asked to end"),
        () = nothing_to_do(gateway.connected(), &workbench, serve.leave_after), if !serve.stay => {
            tracing::info!("nobody is connected and nothing is to be kept");
        }
    }
    // Who comes now waits for the next owner; who is here can still be told what becomes of what runs.
    leaving.cancel();
    workbench.shut_down().await;
    stop.cancel();
    let _ = doors.await;
    tracing::info!("the owner ends");
    Ok(0)
}

/// Tells a starter that it can connect.
fn announce(detached: bool) {
    if detached {
        crate::output::text(&format!("{}\n", sandbook_client::READY));
    } else {
        eprintln!("Sandbook's owner process listens. Ctrl-C ends it.");
    }
}

/// Waits until nobody was connected for a while and nothing has to be kept.
async fn nothing_to_do(
    mut connected: watch::Receiver<usize>,
    workbench: &Workbench,
    leave_after: Option<Duration>,
) {
    loop {
        if connected.wait_for(|count| *count == 0).await.is_err() {
            return;
        }
        let usual = if workbench.has_kernels() { LEAVE_KERNELS_AFTER } else { LEAVE_AFTER };
        let leave_after = leave_after.unwrap_or(usual);
        // Somebody comes, or the time is over.
        let came = tokio::time::timeout(leave_after, connected.wait_for(|count| *count > 0)).await;
        if came.is_ok() {
            continue;
        }
        if !workbench.busy() {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

mod platform {
    /// Makes this process independent of the terminal it was started from.
    #[cfg(unix)]
    pub(super) fn leave_terminal() {
        if let Err(error) = nix::unistd::setsid() {
            eprintln!("the owner stays in its starter's session: {error}");
        }
    }

    /// The starter has seen to it.
    #[cfg(not(unix))]
    pub(super) fn leave_terminal() {}
}
