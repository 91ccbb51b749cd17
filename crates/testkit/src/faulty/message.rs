//! The messages that servers of both transports write.

use serde_json::{Value, json};

use switchboard_protocol::types::meta_key;

/// A result of a tool that is one text.
pub(super) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// An error object.
pub(super) fn error(code: i32, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// An answer that is an error.
pub(super) fn failure(id: &Value, error: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// An answer with this result.
pub(super) fn success(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A request.
pub(super) fn request(id: &Value, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification.
pub(super) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// A log message.
pub(super) fn log(text: &str) -> Value {
    notification(
        "notifications/message",
        json!({"level": "info", "data": text}),
    )
}

/// That the tools have changed; in the stateless era, to the subscription of this id.
pub(super) fn tools_changed(subscription: Option<&Value>) -> Value {
    let params = match subscription {
        Some(id) => json!({"_meta": {meta_key::SUBSCRIPTION_ID: id}}),
        None => json!({}),
    };
    notification("notifications/tools/list_changed", params)
}

/// The parameters of a question with an empty form.
pub(super) fn form(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    json!({"message": message, "requestedSchema": schema})
}
