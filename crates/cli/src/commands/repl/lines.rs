//! The lines that a person types: an editor with the kernel behind it, in a thread of its own.
//!
//! Only code is read here, and only while none runs; answers to code are read as anywhere else. The editor keeps the
//! terminal in a mode in which Ctrl-C is a key and no signal. What was typed is kept in a file that only its person can
//! read; a text in which something looks like a secret is not kept.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::Duration,
};

use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler,
    Helper, KeyCode, KeyEvent, Modifiers, RepeatCount,
    completion::{Completer, Pair},
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::FileHistory,
    validate::Validator,
};
use sandbook_sandbox::{BoxFuture, Completeness, Sandbox, SandboxError};
use sandbook_store::redact::redact;
use tokio::{runtime::Handle, sync::oneshot};

use super::enter::{AtEnter, at_enter};
use crate::error::CommandError;

const PROMPT: &str = ">>> ";
/// How many texts are remembered.
const MOST_REMEMBERED: usize = 1_000;
/// How long Enter waits for the kernel's word.
const ENTER_PATIENCE: Duration = Duration::from_secs(2);
/// How long Tab does: the first answer of a kernel can take some time.
const TAB_PATIENCE: Duration = Duration::from_secs(10);

/// What a person typed.
#[derive(Debug)]
pub(super) enum Typed {
    /// Code, or a word.
    Text(String),
    /// Ctrl-C: what was typed so far is dropped.
    Dropped,
    /// Ctrl-D, or the terminal is gone.
    Ended,
    /// The terminal cannot be read.
    Failed(String),
}

/// A wish for the next text: with this in it already.
struct Wish(String, oneshot::Sender<Typed>);

/// The editor's thread. It ends when this is dropped, or with the process while it waits for a key.
pub(super) struct Lines(mpsc::Sender<Wish>);

impl Lines {
    /// Starts it, with the memory of a file.
    pub(super) fn start(sandbox: Arc<dyn Sandbox>, memory: PathBuf) -> Result<Self, CommandError> {
        let (wish, wishes) = mpsc::channel();
        let kernel = Kernel { sandbox, handle: Handle::current() };
        let run = move || match editor(kernel, &memory) {
            Ok(editor) => serve(editor, &memory, &wishes),
            Err(error) => {
                for Wish(_, answer) in wishes {
                    let _ = answer.send(Typed::Failed(error.to_string()));
                }
            }
        };
        let started = std::thread::Builder::new().name("lines".into()).spawn(run);
        started.map_err(|error| {
            CommandError::infrastructure("internal", format!("The terminal cannot be read: {error}."), "")
        })?;
        Ok(Self(wish))
    }

    /// The next text, which begins with what is given.
    pub(super) async fn next(&self, given: String) -> Typed {
        let (answer, typed) = oneshot::channel();
        if self.0.send(Wish(given, answer)).is_err() {
            return Typed::Failed("the editor has ended".into());
        }
        typed.await.unwrap_or_else(|_| Typed::Failed("the editor has ended".into()))
    }
}

type Lined = Editor<Behind, FileHistory>;

fn editor(kernel: Kernel, memory: &Path) -> rustyline::Result<Lined> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .max_history_size(MOST_REMEMBERED)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .build();
    let mut editor = Editor::with_config(config)?;
    // There is none before the first session.
    let _ = editor.load_history(memory);
    let enter = |kernel: &Kernel| EventHandler::Conditional(Box::new(Enter(kernel.clone())));
    for key in [
        KeyEvent(KeyCode::Enter, Modifiers::NONE),
        KeyEvent(KeyCode::Char('J'), Modifiers::CTRL),
        KeyEvent(KeyCode::Char('M'), Modifiers::CTRL),
    ] {
        editor.bind_sequence(key, enter(&kernel));
    }
    let tab = EventHandler::Conditional(Box::new(Tab));
    editor.bind_sequence(KeyEvent(KeyCode::Tab, Modifiers::NONE), tab);
    editor.set_helper(Some(Behind(kernel)));
    Ok(editor)
}

fn serve(mut editor: Lined, memory: &Path, wishes: &mpsc::Receiver<Wish>) {
    while let Ok(Wish(given, answer)) = wishes.recv() {
        let typed = match editor.readline_with_initial(PROMPT, (&given, "")) {
            Ok(text) => {
                remember(&mut editor, &text, memory);
                Typed::Text(text)
            }
            Err(ReadlineError::Interrupted) => Typed::Dropped,
            Err(ReadlineError::Eof | ReadlineError::Io(_)) => Typed::Ended,
            Err(error) => Typed::Failed(error.to_string()),
        };
        if answer.send(typed).is_err() {
            return;
        }
    }
}

/// Keeps a text for other sessions, unless something in it looks like a secret.
fn remember(editor: &mut Lined, text: &str, memory: &Path) {
    if text.trim().is_empty() || redact(text) != text {
        return;
    }
    let kept = editor
        .add_history_entry(text.trim_end())
        .and_then(|is_new| if is_new { editor.append_history(memory) } else { Ok(()) });
    if let Err(error) = kept {
        tracing::warn!(%error, "what was typed could not be kept for later sessions");
    }
}

/// The kernel, asked from a thread that waits.
#[derive(Clone)]
struct Kernel {
    sandbox: Arc<dyn Sandbox>,
    handle: Handle,
}

impl Kernel {
    fn ask<T>(&self, patience: Duration, question: BoxFuture<'_, Result<T, SandboxError>>) -> Option<T> {
        self.handle.block_on(async { tokio::time::timeout(patience, question).await }).ok()?.ok()
    }

    fn completeness(&self, text: &str) -> Completeness {
        self.ask(ENTER_PATIENCE, self.sandbox.is_complete(text)).unwrap_or(Completeness::Unknown)
    }
}

/// Enter runs what is complete.
struct Enter(Kernel);

impl ConditionalEventHandler for Enter {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        Some(match at_enter(context.line(), context.pos(), |text| self.0.completeness(text)) {
            AtEnter::Run => Cmd::AcceptLine,
            AtEnter::Line(indent) => Cmd::Insert(1, format!("\n{indent}")),
        })
    }
}

/// Tab indents where nothing stands before it; elsewhere it completes.
struct Tab;

impl ConditionalEventHandler for Tab {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let before = context.line().get(..context.pos()).unwrap_or_default();
        let of_line = before.rsplit('\n').next().unwrap_or_default();
        of_line.trim().is_empty().then(|| Cmd::Insert(1, "    ".into()))
    }
}

/// What stands behind the editor.
struct Behind(Kernel);

impl Helper for Behind {}
impl Highlighter for Behind {}
impl Validator for Behind {}
impl Hinter for Behind {
    type Hint = String;
}

impl Completer for Behind {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let position = line.get(..at).unwrap_or(line).chars().count();
        let asked = self.0.ask(TAB_PATIENCE, self.0.sandbox.complete(line, position));
        let Some(found) = asked.filter(|found| found.start <= position) else { return Ok((at, Vec::new())) };
        let start = line.char_indices().nth(found.start).map_or(line.len(), |(start, _)| start);
        let pair = |text: String| Pair { display: text.clone(), replacement: text };
        Ok((start, found.matches.into_iter().map(|found| pair(found.text)).collect()))
    }
}
