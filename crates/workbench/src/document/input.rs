//! Questions of running code: asked, answered, and kept among the outputs.
//!
//! An answer goes to the kernel, and with its question into the run's log as text of the stream `stdin`, so every page,
//! a page that comes later and the saved notebook have it. Only dots stand for a password.

use sandbook_notebook::CellKey;
use sandbook_protocol::{ErrorCode, InputRequest, Patch, ProtocolError, RunState};
use sandbook_sandbox::{Event, EventKind, StreamName};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::mpsc;

use super::{
    Document,
    state::{State, inner, outer},
};
use crate::time::millis;

/// What stands for a password, however long it is.
const HIDDEN: &str = "········";

/// Where an answer goes.
#[derive(Debug)]
pub(super) struct InputDoor {
    kernel: mpsc::UnboundedSender<SecretString>,
    log: mpsc::UnboundedSender<Event>,
}

impl InputDoor {
    /// A door of a run, and what has to be put into its log.
    pub(super) fn new(kernel: mpsc::UnboundedSender<SecretString>) -> (Self, mpsc::UnboundedReceiver<Event>) {
        let (log, answered) = mpsc::unbounded_channel();
        (Self { kernel, log }, answered)
    }

    /// The log hears of an answer before the kernel does, so that it stands before what the code makes of it. Answers
    /// whether the run still listens.
    fn answer(&self, request: &InputRequest, value: SecretString) -> bool {
        let kind = EventKind::Stream { name: StreamName::Stdin, text: exchange(request, &value) };
        self.log.send(Event { at: Document::now(), late: false, kind }).is_ok()
            && self.kernel.send(value).is_ok()
    }
}

/// A question and its answer, on a line as a terminal would show them.
fn exchange(request: &InputRequest, value: &SecretString) -> String {
    let prompt = &request.prompt;
    let gap = if prompt.is_empty() || prompt.ends_with(char::is_whitespace) { "" } else { " " };
    let answer = if request.password { HIDDEN } else { value.expose_secret() };
    format!("{prompt}{gap}{answer}\n")
}

impl Document {
    /// Answers what the code asks.
    pub(crate) fn answer_input(&self, value: SecretString) -> Result<(), ProtocolError> {
        let mut state = self.state();
        let asked = state.input.as_ref().zip(state.input_door.as_ref());
        let sent = asked.is_some_and(|(request, door)| door.answer(request, value));
        if !sent {
            return Err(ProtocolError::new(
                ErrorCode::NotFound,
                "Nothing waits for input. What was typed was not sent.",
                "Run the cell again if it should ask.",
            ));
        }
        state.close_input();
        drop(state);
        (self.surroundings.workspace_changed)();
        Ok(())
    }
}

impl State {
    pub(super) fn open_input(&mut self, key: &CellKey, prompt: &str, password: bool, event: &Event) {
        let input = InputRequest {
            cell: outer(key),
            prompt: prompt.to_owned(),
            password,
            asked_at: millis(event.at),
        };
        self.input = Some(input.clone());
        self.push(&Patch::Input { input: Some(input) });
        if let Some(run) = self.runs.get_mut(key) {
            run.state = RunState::Input;
        }
        if let Some(sandbox) = &self.sandbox {
            sandbox.waits_for_input(true);
        }
        self.show_run(key);
    }

    pub(super) fn close_input(&mut self) {
        if let Some(input) = self.input.take() {
            self.push(&Patch::Input { input: None });
            let key = inner(&input.cell);
            if let Some(run) = self.runs.get_mut(&key).filter(|run| run.state == RunState::Input) {
                run.state = RunState::Running;
                self.show_run(&key);
            }
        }
        if let Some(sandbox) = &self.sandbox {
            sandbox.waits_for_input(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(prompt: &str, password: bool, value: &str) -> String {
        let request = InputRequest { cell: "a".into(), prompt: prompt.into(), password, asked_at: 0 };
        exchange(&request, &SecretString::from(value))
    }

    #[test]
    fn a_question_and_its_answer_stand_on_one_line() {
        assert_eq!(said("name? ", false, "Ada"), "name? Ada\n");
        assert_eq!(said("name:", false, "Ada"), "name: Ada\n");
        assert_eq!(said("", false, "Ada"), "Ada\n");
    }

    #[test]
    fn a_password_leaves_neither_its_letters_nor_its_length() {
        assert_eq!(said("key: ", true, "secret"), "key: ········\n");
        assert_eq!(said("key: ", true, "x"), said("key: ", true, "another"));
    }
}
