//! The window: a web view that shows the page, and the wire between that page and the owner process.
//!
//! Nothing lives here. Documents, runs and connections are the owner's, so a window that crashes or is closed loses
//! nothing, and a second one shows the same. What this program adds is what a page cannot do by itself: it finds or
//! starts the owner, passes messages on without reading them ([`conversation`]), serves outputs under an address of
//! their own ([`outputs`]), and keeps the page from going anywhere else ([`window`]).
//!
//! Deliberately absent: plugins that reach files, processes or the clipboard. What the page wants of the computer it
//! asks of the owner, over the contract that web mode uses too.

#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

mod again;
mod conversation;
mod gather;
mod opening;
mod outputs;
mod owner;
mod window;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tauri::Manager;

use crate::conversation::Conversation;
use crate::opening::Opening;
use crate::owner::OwnerLink;

/// Sandbook: a workbench for notebooks and code sandboxes.
#[derive(Parser)]
#[command(name = "sandbook-window", version)]
struct Arguments {
    /// The notebook to open.
    notebook: Option<PathBuf>,
    /// How often this start began anew.
    #[arg(long, hide = true, default_value_t = 0)]
    started_anew: u32,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let folder = std::env::current_dir().unwrap_or_default();
    let notebook = arguments.notebook.map(|notebook| folder.join(notebook));
    let address = opening::address(notebook.as_deref());
    let window = tauri::Builder::default()
        // First, so that a second start hands over its notebook before it opens anything.
        .plugin(tauri_plugin_single_instance::init(opening::second_start))
        .plugin(tauri_plugin_window_state::Builder::default().build())
        .manage(Opening::default())
        .manage(OwnerLink::default())
        .manage(Conversation::default())
        .register_asynchronous_uri_scheme_protocol(outputs::SCHEME, outputs::serve)
        .invoke_handler(tauri::generate_handler![
            conversation::converse,
            conversation::say,
            conversation::end_conversation,
            window::open_external,
            outputs::read_resource,
        ])
        .setup(move |app| {
            let handle = app.handle().clone();
            tauri::async_runtime::spawn(async move { handle.state::<OwnerLink>().meet().await });
            Ok(window::open(app.handle(), address)?)
        });
    match window.run(tauri::generate_context!()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let again = again::helps(&error, arguments.started_anew)
                .then(|| again::start(arguments.started_anew, notebook.as_deref()));
            let error =
                again.map_or_else(|| error.to_string(), |cause| format!("{error}, and not anew: {cause}"));
            eprintln!(
                "Sandbook cannot open its window: {error}. Your notebooks are untouched. On a machine without a display, `sandbook web` serves the same page to a browser."
            );
            ExitCode::FAILURE
        }
    }
}
