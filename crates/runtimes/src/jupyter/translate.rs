//! From a kernel's messages to the contract's events. State only.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use sandbook_jupyter::{Content, ExecutionEvent, Message, RawJson, content};
use sandbook_sandbox::{CodeError, End, EventKind, MimeBundle, Payload, StreamName};
use serde_json::{Value, value::RawValue};

/// What is known of one execution so far.
#[derive(Debug, Default)]
pub(super) struct Translator {
    started: bool,
    count: Option<u32>,
    error: Option<CodeError>,
    /// Asked for by `exit(4)`, which IPython makes a payload of, not an error.
    exit: Option<i32>,
    status: String,
}

impl Translator {
    /// The events of a message, in order. The end is not among them.
    pub(super) fn events(&mut self, event: &ExecutionEvent) -> Vec<EventKind> {
        match event {
            ExecutionEvent::Output(message) | ExecutionEvent::InputRequest(message) => {
                self.output(message).into_iter().collect()
            }
            ExecutionEvent::Reply(message) => self.reply(message),
            ExecutionEvent::Missed | ExecutionEvent::Ended(_) => Vec::new(),
        }
    }

    /// The event of a message on iopub or stdin.
    pub(super) fn output(&mut self, message: &Message) -> Option<EventKind> {
        Some(match message.content() {
            Content::Stream(stream) => {
                let name = if stream.name == "stderr" { StreamName::Stderr } else { StreamName::Stdout };
                EventKind::Stream { name, text: stream.text }
            }
            Content::Display(display) => EventKind::Display {
                data: bundle(display.data),
                metadata: metadata(&display.metadata),
                display_id: display.display_id,
            },
            Content::UpdateDisplay(display) => EventKind::DisplayUpdate {
                data: bundle(display.data),
                metadata: metadata(&display.metadata),
                display_id: display.display_id?,
            },
            Content::Result(result) => {
                self.count = number(result.count).or(self.count);
                EventKind::Result {
                    data: bundle(result.data),
                    metadata: metadata(&result.metadata),
                    display_id: result.display_id,
                    execution_count: number(result.count),
                }
            }
            Content::Error(error) => {
                let error = code_error(error);
                self.error = Some(error.clone());
                EventKind::Error(error)
            }
            Content::Clear { wait } => EventKind::Clear { wait },
            Content::InputRequest(request) => {
                EventKind::InputRequest { prompt: request.prompt, password: request.password }
            }
            Content::ExecuteInput { count, .. } if !self.started => {
                self.started = true;
                self.count = number(count);
                EventKind::Started { execution_count: self.count }
            }
            Content::Comm(_) => EventKind::Comm(whole(message)?),
            _ => return None,
        })
    }

    fn reply(&mut self, message: &Message) -> Vec<EventKind> {
        let Content::ExecuteReply(reply) = message.content() else { return Vec::new() };
        self.count = number(reply.count).or(self.count);
        if reply.status == "error" && !reply.error.name.is_empty() {
            self.error = Some(code_error(reply.error));
        }
        self.status = reply.status;
        let payloads: Vec<Value> = reply.payload.iter().map(RawJson::to_value).collect();
        self.exit = payloads.iter().find_map(asked_exit);
        payloads.iter().filter_map(read_payload).map(EventKind::Payload).collect()
    }

    /// The end as the kernel told it. `asked_to_interrupt` says whether somebody interrupted here while it ran.
    pub(super) fn end(&self, asked_to_interrupt: bool) -> End {
        let failed = self.error.is_some() || !matches!(self.status.as_str(), "" | "ok");
        let interrupted = asked_to_interrupt && failed
            || self.error.as_ref().is_some_and(|error| error.name == "KeyboardInterrupt");
        End {
            execution_count: self.count,
            exit_code: self.error.as_ref().and_then(exit_code).or(self.exit),
            code_error: self.error.clone(),
            interrupted,
            aborted: matches!(self.status.as_str(), "aborted" | "abort") && !interrupted,
            ..End::default()
        }
    }
}

fn number(count: Option<i64>) -> Option<u32> {
    count.and_then(|count| count.try_into().ok())
}

fn code_error(error: content::CodeError) -> CodeError {
    CodeError { name: error.name, value: error.value, traceback: error.traceback }
}

/// The exit code of a `SystemExit`: none and an empty one mean 0; a text is a failure, as Python has it.
fn exit_code(error: &CodeError) -> Option<i32> {
    if error.name != "SystemExit" {
        return None;
    }
    Some(match error.value.trim() {
        "" | "None" | "False" => 0,
        "True" => 1,
        value => value.parse().unwrap_or(1),
    })
}

/// The exit code of IPython's `exit(…)`. Its only parameter says whether the kernel is kept, but who writes a number or
/// a text there means what Python does by it.
fn asked_exit(payload: &Value) -> Option<i32> {
    if payload.get("source").and_then(Value::as_str) != Some("ask_exit") {
        return None;
    }
    match payload.get("keepkernel")? {
        Value::Number(code) => code.as_i64().and_then(|code| code.try_into().ok()).or(Some(1)),
        Value::String(_) => Some(1),
        _ => None,
    }
}

fn read_payload(payload: &Value) -> Option<Payload> {
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    match text("source")? {
        "set_next_input" => Some(Payload::SetNextInput {
            text: text("text")?.to_owned(),
            replace: payload.get("replace").and_then(Value::as_bool).unwrap_or(false),
        }),
        "page" => Some(Payload::Page { data: payload.get("data")?.to_string() }),
        _ => None,
    }
}

/// JSON that arrived, for the contract; what is no JSON after all becomes null.
pub(super) fn raw_value(raw: &RawJson) -> Arc<RawValue> {
    raw.view::<Box<RawValue>>().map_or_else(|| RawValue::NULL.to_owned().into(), Arc::from)
}

pub(super) fn bundle(data: content::MimeBundle) -> MimeBundle {
    data.into_iter().map(|(mime, value)| (mime, raw_value(&value))).collect()
}

fn metadata(raw: &RawJson) -> Arc<RawValue> {
    raw_value(raw)
}

/// A whole message as JSON, buffers in base64.
fn whole(message: &Message) -> Option<Arc<RawValue>> {
    let text = |raw: &RawJson| raw_value(raw).get().to_owned();
    let parent = message.parent.as_ref().map_or_else(|| "{}".to_owned(), |parent| text(parent.raw()));
    let buffers: Vec<String> = message.buffers.iter().map(|buffer| BASE64_STANDARD.encode(buffer)).collect();
    let json = format!(
        r#"{{"header":{},"parent_header":{parent},"metadata":{},"content":{},"buffers":{}}}"#,
        text(message.header.raw()),
        text(&message.metadata),
        text(&message.content),
        serde_json::to_string(&buffers).ok()?,
    );
    RawValue::from_string(json).ok().map(Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, value: &str) -> CodeError {
        CodeError { name: name.into(), value: value.into(), traceback: Vec::new() }
    }

    #[test]
    fn a_system_exit_gives_its_exit_code_and_no_other_error_does() {
        let codes = [("", 0), ("0", 0), ("3", 3), ("None", 0), ("went wrong", 1), ("True", 1), ("-1", -1)];
        for (value, code) in codes {
            assert_eq!(exit_code(&error("SystemExit", value)), Some(code), "{value}");
        }
        assert_eq!(exit_code(&error("ValueError", "3")), None);
    }

    #[test]
    fn an_interrupt_an_error_and_a_dropped_run_are_told_apart() {
        let end = |error: Option<CodeError>, status: &str, asked| {
            Translator { error, status: status.into(), ..Translator::default() }.end(asked)
        };
        assert!(end(Some(error("KeyboardInterrupt", "")), "error", false).interrupted);
        assert!(!end(Some(error("ValueError", "")), "error", false).interrupted);
        assert!(!end(None, "ok", true).interrupted);
        let bash_interrupted = end(None, "abort", true);
        assert!(bash_interrupted.interrupted && !bash_interrupted.aborted);
        assert!(end(None, "aborted", false).aborted);
    }

    #[test]
    fn exit_with_a_number_or_a_text_is_what_python_means_by_it() {
        for (kept, code) in
            [("4", Some(4)), ("0", Some(0)), ("\"why\"", Some(1)), ("false", None), ("true", None)]
        {
            let payload = format!(r#"{{"source":"ask_exit","keepkernel":{kept}}}"#);
            assert_eq!(asked_exit(&serde_json::from_str(&payload).unwrap()), code, "{kept}");
        }
        assert_eq!(asked_exit(&serde_json::json!({ "source": "page", "keepkernel": 4 })), None);
    }

    #[test]
    fn payloads_are_read_and_unknown_ones_left() {
        let read = |json: &str| read_payload(&serde_json::from_str(json).unwrap());
        let next = Payload::SetNextInput { text: "x".into(), replace: true };
        assert_eq!(read(r#"{"source":"set_next_input","text":"x","replace":true}"#), Some(next));
        assert!(matches!(
            read(r#"{"source":"page","data":{"text/plain":"h"},"start":0}"#),
            Some(Payload::Page { .. })
        ));
        assert_eq!(read(r#"{"source":"ask_exit"}"#), None);
    }
}
