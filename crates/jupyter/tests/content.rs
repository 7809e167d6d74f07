//! What kernels really send, read without a refusal.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bytes::Bytes;
use proptest::prelude::*;
use sandbook_jupyter::{Channel, Content, Message, RawJson};

fn message(msg_type: &str, content: &str) -> Message {
    let header = RawJson::from_bytes(Bytes::from(format!(r#"{{"msg_type":"{msg_type}","x":null}}"#)));
    let content = RawJson::from_bytes(Bytes::copy_from_slice(content.as_bytes()));
    let empty = RawJson::empty_object;
    Message::from_parts(Channel::Iopub, header, empty(), empty(), content, Vec::new()).unwrap()
}

#[test]
fn nulls_lists_and_missing_fields_read_as_what_was_meant() {
    let text = |content| match message("stream", content).content() {
        Content::Stream(stream) => (stream.name, stream.text),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(r#"{"name":"weird","text":["a","b"]}"#), ("weird".into(), "ab".into()));
    assert_eq!(text(r#"{"text":null}"#), (String::new(), String::new()));
    let Content::Error(error) =
        message("error", r#"{"ename":"E","evalue":null,"traceback":"one"}"#).content()
    else {
        panic!()
    };
    assert_eq!((error.value.as_str(), error.traceback), ("", vec!["one".to_owned()]));
    let Content::ExecuteReply(reply) =
        message("execute_reply", r#"{"status":"error","execution_count":null,"ename":"E","payload":null}"#)
            .content()
    else {
        panic!()
    };
    assert_eq!((reply.count, reply.error.name.as_str(), reply.payload.len()), (None, "E", 0));
    let Content::Result(result) = message(
        "execute_result",
        r#"{"data":{"text/plain":["1","2"],"a/b":{"c":null}},"metadata":null,"execution_count":null}"#,
    )
    .content() else {
        panic!()
    };
    assert_eq!((result.data.text("text/plain").as_deref(), result.count), (Some("12"), None));
    assert_eq!(result.data.get("a/b").and_then(RawJson::as_str), Some(r#"{"c":null}"#));
    let Content::InputRequest(request) = message("input_request", r#"{"prompt":"?"}"#).content() else {
        panic!()
    };
    assert!(!request.password);
    assert!(matches!(message("clear_output", "{}").content(), Content::Clear { wait: false }));
    assert!(
        matches!(message("comm_msg", r#"{"comm_id":"c","data":[1]}"#).content(), Content::Comm(comm) if comm.data.is_some())
    );
}

#[test]
fn a_display_id_is_found_and_a_large_value_shares_its_buffer() {
    let image = "A".repeat(1_000_000);
    let message = message(
        "update_display_data",
        &format!(r#"{{"transient":{{"display_id":"d"}},"data":{{"image/png":"{image}"}}}}"#),
    );
    let Content::UpdateDisplay(display) = message.content() else { panic!() };
    assert_eq!(display.display_id.as_deref(), Some("d"));
    let value = display.data.get("image/png").unwrap().bytes().as_ptr_range();
    let whole = message.content.bytes().as_ptr_range();
    assert!(whole.start <= value.start && value.end <= whole.end);
}

#[test]
fn python_s_nan_and_lone_surrogates_do_not_lose_an_output() {
    let display =
        message("display_data", r#"{"data":{"application/json":{"a":NaN},"text/plain":"\ud800!"}}"#);
    let Content::Display(display) = display.content() else { panic!() };
    assert_eq!(display.data.text("text/plain").as_deref(), Some("\u{fffd}!"));
    assert_eq!(display.data.get("application/json").unwrap().to_value(), serde_json::json!({"a": null}));
}

const TYPES: &[&str] = &[
    "stream",
    "display_data",
    "execute_result",
    "error",
    "status",
    "execute_reply",
    "input_request",
    "complete_reply",
    "inspect_reply",
    "history_reply",
    "kernel_info_reply",
    "comm_open",
    "clear_output",
    "is_complete_reply",
    "execute_input",
];

proptest! {
    #[test]
    fn any_content_gives_a_view(index in 0..TYPES.len(), content in ".{0,80}") {
        message(TYPES[index], &content).content();
    }

    #[test]
    fn any_json_of_the_right_keys_gives_a_view(index in 0..TYPES.len(), key in 0..8_usize, value in 0..6_usize) {
        let key = ["data", "text", "name", "traceback", "payload", "metadata", "transient", "execution_count"][key];
        let value = ["null", "[1,null,\"x\"]", "{\"a\":{}}", "1e999", "\"s\"", "true"][value];
        message(TYPES[index], &format!("{{\"{key}\":{value}}}")).content();
    }
}
