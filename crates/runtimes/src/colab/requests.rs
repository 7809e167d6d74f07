//! Requests of `google.colab` to the tab: mounting Drive, signing in, secrets, uploads, scripts.
//!
//! They are messages of the type `colab_request` on iopub; the code waits on stdin until a `colab_reply` with the same
//! number comes. Only the tab can meet them, so here each is answered at once, and the code goes on with an error.

use sandbook_jupyter::{Channel, Message, SessionId};
use serde_json::{Value, json};

use crate::jupyter::host::Refusal;

/// The refusal of a message that is such a request.
pub(super) fn refuse(message: &Message, session: &SessionId) -> Option<Refusal> {
    if message.msg_type() != "colab_request" {
        return None;
    }
    let metadata = message.metadata.to_value();
    let kind = metadata.get("colab_request_type").and_then(Value::as_str).unwrap_or("something");
    let said = format!(
        "Only the Colab tab can do this ({}). Run the cell there once, then go on here in the same kernel.",
        what(kind)
    );
    let value = json!({
        "type": "colab_reply",
        "colab_msg_id": metadata.get("colab_msg_id"),
        "error": said,
    });
    let reply =
        Message::new(Channel::Stdin, "input_reply", session, &json!({ "status": "ok", "value": value }));
    Some(Refusal { reply: reply.in_reply_to(message), said })
}

/// A request in words.
fn what(kind: &str) -> &str {
    match kind {
        "request_auth" => "signing in or mounting Drive",
        "GetSecret" => "reading a secret",
        "upload_file" | "file_upload" => "choosing a file",
        "eval_js" | "call_js" => "a script in the page",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_to_the_tab_is_refused_and_with_its_own_number() {
        let session = SessionId::from_kept("s");
        let mut request = Message::new(Channel::Iopub, "colab_request", &session, &json!({}));
        request.metadata = sandbook_jupyter::RawJson::encode(
            &json!({"colab_request_type": "request_auth", "colab_msg_id": 7}),
        );
        let refusal = refuse(&request, &session).unwrap();
        let content = refusal.reply.content.to_value();
        assert_eq!(
            (&content["value"]["type"], &content["value"]["colab_msg_id"]),
            (&json!("colab_reply"), &json!(7))
        );
        assert_eq!((refusal.reply.channel, refusal.reply.msg_type()), (Channel::Stdin, "input_reply"));
        assert!(refusal.said.contains("mounting Drive"), "{}", refusal.said);
        let other = Message::new(Channel::Iopub, "stream", &session, &json!({}));
        assert!(refuse(&other, &session).is_none());
    }
}
