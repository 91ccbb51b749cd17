//! Which requests a peer runs as tasks of 2025-11-25, and the name of the extension.
//!
//! Specification: 2025-11-25 basic/utilities/tasks (capabilities); tasks extension.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::Extra;

/// The peer runs requests as tasks (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TasksCapability {
    /// It lists tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Map<String, Value>>,
    /// It cancels tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Map<String, Value>>,
    /// Which requests it runs as tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<TaskRequestsCapability>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TasksCapability {
    /// May its tasks be listed?
    pub fn accepts_list(&self) -> bool {
        self.list.is_some()
    }

    /// May its tasks be cancelled?
    pub fn accepts_cancel(&self) -> bool {
        self.cancel.is_some()
    }

    /// May `tools/call` be a task?
    pub fn accepts_tool_calls(&self) -> bool {
        self.request("tools", "call")
    }

    /// May `sampling/createMessage` be a task?
    pub fn accepts_sampling(&self) -> bool {
        self.request("sampling", "createMessage")
    }

    /// May `elicitation/create` be a task?
    pub fn accepts_elicitation(&self) -> bool {
        self.request("elicitation", "create")
    }

    fn request(&self, feature: &str, request: &str) -> bool {
        let requests = self.requests.as_ref();
        let feature = requests.and_then(|r| match feature {
            "tools" => r.tools.as_ref(),
            "sampling" => r.sampling.as_ref(),
            _ => r.elicitation.as_ref(),
        });
        feature.is_some_and(|f| f.get(request).is_some_and(|value| !value.is_null()))
    }
}

/// Which requests the peer runs as tasks (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRequestsCapability {
    /// Server: tool requests, as `call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Map<String, Value>>,
    /// Client: sampling requests, as `createMessage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Map<String, Value>>,
    /// Client: elicitation requests, as `create`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<Map<String, Value>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The identifier of the tasks extension.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_declared_apart() {
        let check = |requests: &str, expected: [bool; 3]| {
            let text = format!(r#"{{"requests":{requests}}}"#);
            let tasks: TasksCapability = serde_json::from_str(&text).unwrap();
            let accepted = [
                tasks.accepts_tool_calls(),
                tasks.accepts_sampling(),
                tasks.accepts_elicitation(),
            ];
            assert_eq!(accepted, expected, "{requests}");
        };
        check("{}", [false, false, false]);
        check(r#"{"tools":{"call":{}}}"#, [true, false, false]);
        check(r#"{"sampling":{"createMessage":{}}}"#, [false, true, false]);
        check(r#"{"elicitation":{"create":{}}}"#, [false, false, true]);
        check(r#"{"tools":{"call":null}}"#, [false, false, false]);
    }
}
