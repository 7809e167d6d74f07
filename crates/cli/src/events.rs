//! What `--json` prints, one object a line. `docs/command-line.md` describes every field; a name there is never
//! changed, new ones may come.

use std::time::{SystemTime, UNIX_EPOCH};

use sandbook_sandbox::{CodeError, Event, EventKind, MimeBundle, Outcome, Payload, StreamName};
use serde_json::{Map, Value, json, value::RawValue};

use crate::error::CommandError;

/// An event as a line. Nothing for the end, whose line is the outcome, and for what has no meaning outside a page.
pub(crate) fn line(event: &Event) -> Option<Value> {
    let (kind, fields) = match &event.kind {
        EventKind::Started { execution_count } => ("started", json!({ "execution_count": execution_count })),
        EventKind::Stream { name, text } => ("stream", json!({ "name": stream(*name), "text": text })),
        EventKind::Display { data, metadata, display_id } => {
            ("display", json!({ "data": bundle(data), "metadata": raw(metadata), "display_id": display_id }))
        }
        EventKind::DisplayUpdate { data, metadata, display_id } => (
            "display_update",
            json!({ "data": bundle(data), "metadata": raw(metadata), "display_id": display_id }),
        ),
        EventKind::Result { data, metadata, display_id, execution_count } => (
            "result",
            json!({
                "data": bundle(data), "metadata": raw(metadata), "display_id": display_id,
                "execution_count": execution_count,
            }),
        ),
        EventKind::Error(error) => ("code_error", code_error(error)),
        EventKind::Clear { wait } => ("clear", json!({ "wait": wait })),
        EventKind::InputRequest { prompt, password } => {
            ("input_request", json!({ "prompt": prompt, "password": password }))
        }
        EventKind::Payload(Payload::Page { data }) => {
            ("page", json!({ "data": serde_json::from_str::<Value>(data).unwrap_or_default() }))
        }
        EventKind::Gap { away_ms, replayed } => ("gap", json!({ "away_ms": away_ms, "replayed": replayed })),
        _ => return None,
    };
    let mut object = object(kind);
    object.insert("at".into(), milliseconds(event.at).into());
    if event.late {
        object.insert("late".into(), true.into());
    }
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Some(Value::Object(object))
}

/// The last line of a run.
pub(crate) fn outcome(outcome: &Outcome, status: u8) -> Value {
    let infrastructure = outcome.infrastructure.as_ref().map(CommandError::from);
    let results: Vec<Value> = outcome
        .results
        .iter()
        .map(|result| {
            json!({
                "main": result.main, "data": bundle(&result.data), "metadata": raw(&result.metadata),
                "display_id": result.display_id,
            })
        })
        .collect();
    json!({
        "type": "outcome",
        "success": outcome.success(),
        "exit_status": status,
        "stdout": outcome.stdout.text(),
        "stderr": outcome.stderr.text(),
        "text": outcome.text(),
        "results": results,
        "code_error": outcome.code_error.as_ref().map(code_error),
        "infrastructure_error": infrastructure,
        "exit_code": outcome.exit_code,
        "interrupted": outcome.interrupted,
        "timed_out": outcome.timed_out,
        "execution_count": outcome.execution_count,
        "started_at": outcome.started_at.map(milliseconds),
        "duration_ms": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
    })
}

/// An object of a type.
pub(crate) fn object(kind: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from(kind))])
}

fn code_error(error: &CodeError) -> Value {
    json!({ "name": error.name, "value": error.value, "traceback": error.traceback })
}

fn stream(name: StreamName) -> &'static str {
    match name {
        StreamName::Stdout => "stdout",
        StreamName::Stderr | StreamName::Owner => "stderr",
        StreamName::Stdin => "stdin",
    }
}

fn bundle(data: &MimeBundle) -> Value {
    Value::Object(data.iter().map(|(media_type, value)| (media_type.clone(), raw(value))).collect())
}

fn raw(value: &RawValue) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}

fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbook_sandbox::End;

    fn event(kind: EventKind) -> Event {
        Event { at: UNIX_EPOCH + std::time::Duration::from_millis(5), late: false, kind }
    }

    #[test]
    fn a_line_has_a_type_and_a_time_before_anything_else() {
        let stream = event(EventKind::Stream { name: StreamName::Stderr, text: "a\n".into() });
        assert_eq!(
            serde_json::to_string(&line(&stream)).unwrap(),
            r#"{"type":"stream","at":5,"name":"stderr","text":"a\n"}"#
        );
        assert!(line(&event(EventKind::End(End::default()))).is_none());
    }

    #[test]
    fn the_outcome_keeps_the_five_kinds_of_failure_apart() {
        let fine = outcome(&Outcome { ended: true, ..Outcome::default() }, 0);
        assert_eq!(fine["success"], true);
        for field in ["code_error", "infrastructure_error", "exit_code", "text"] {
            assert_eq!(fine[field], Value::Null, "{field}");
        }
        let died = sandbook_sandbox::SandboxError::Died { cause: "signal 9".into() };
        let dead = outcome(&Outcome { ended: true, infrastructure: Some(died), ..Outcome::default() }, 125);
        assert_eq!(dead["success"], false);
        assert_eq!(dead["infrastructure_error"]["code"], "kernel_died");
    }
}
