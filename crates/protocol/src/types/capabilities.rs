//! What a client or a server can do.
//!
//! What a missing capability forbids is in the method table and the machines.
//!
//! Specification: basic/lifecycle (capability negotiation), schema
//! `ClientCapabilities`, `ServerCapabilities`; 2025-11-25 basic/utilities/tasks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::Extra;

/// What a client can do for servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// What no specification describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<String, Value>>,
    /// It lists roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// It samples from a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It asks its user (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// It runs requests as tasks (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// Extensions by identifier, with their settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<String, Value>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ClientCapabilities {
    /// May it be asked for its roots?
    pub fn accepts_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// May it be asked to sample?
    pub fn accepts_sampling(&self) -> bool {
        self.sampling.is_some()
    }

    /// May a sampling request carry tools?
    pub fn accepts_sampling_tools(&self) -> bool {
        self.sampling.as_ref().is_some_and(|s| s.tools.is_some())
    }

    /// May a sampling request ask for context of servers?
    pub fn accepts_sampling_context(&self) -> bool {
        self.sampling.as_ref().is_some_and(|s| s.context.is_some())
    }

    /// May its user be shown a form? An empty capability means form only.
    pub fn accepts_form(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|e| e.form.is_some() || e.url.is_none())
    }

    /// May its user be sent to a URL?
    pub fn accepts_url(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|e| e.url.is_some())
    }

    /// Has it declared the extension?
    pub fn has_extension(&self, identifier: &str) -> bool {
        has_key(self.extensions.as_ref(), identifier)
    }
}

/// What a server offers to clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// What no specification describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<String, Value>>,
    /// It sends log messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<Map<String, Value>>,
    /// It completes arguments (declared since 2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<Map<String, Value>>,
    /// It has prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptsCapability>,
    /// It has resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// It has tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsCapability>,
    /// It runs requests as tasks (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// Extensions by identifier, with their settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<String, Value>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ServerCapabilities {
    /// Has it tools?
    pub fn has_tools(&self) -> bool {
        self.tools.is_some()
    }

    /// Has it resources?
    pub fn has_resources(&self) -> bool {
        self.resources.is_some()
    }

    /// Has it prompts?
    pub fn has_prompts(&self) -> bool {
        self.prompts.is_some()
    }

    /// Does it complete arguments?
    pub fn has_completions(&self) -> bool {
        self.completions.is_some()
    }

    /// Does it send log messages?
    pub fn has_logging(&self) -> bool {
        self.logging.is_some()
    }

    /// Does it tell when a resource changes?
    pub fn accepts_resource_subscriptions(&self) -> bool {
        self.resources
            .as_ref()
            .is_some_and(|r| r.subscribe == Some(true))
    }

    /// Does it tell when its list of tools changes?
    pub fn announces_tool_changes(&self) -> bool {
        self.tools
            .as_ref()
            .is_some_and(|t| t.list_changed == Some(true))
    }

    /// Does it tell when its list of resources changes?
    pub fn announces_resource_changes(&self) -> bool {
        self.resources
            .as_ref()
            .is_some_and(|r| r.list_changed == Some(true))
    }

    /// Does it tell when its list of prompts changes?
    pub fn announces_prompt_changes(&self) -> bool {
        self.prompts
            .as_ref()
            .is_some_and(|p| p.list_changed == Some(true))
    }

    /// Has it declared the extension?
    pub fn has_extension(&self, identifier: &str) -> bool {
        has_key(self.extensions.as_ref(), identifier)
    }
}

/// The client lists roots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RootsCapability {
    /// It tells when the list changes (until 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The client samples from a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingCapability {
    /// It can add context of servers (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Value>>,
    /// It takes tools (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Map<String, Value>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The client asks its user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// It shows forms (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Map<String, Value>>,
    /// It sends its user to a URL (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Map<String, Value>>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The server has prompts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptsCapability {
    /// It tells when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The server has resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// It tells when a resource changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// It tells when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The server has tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolsCapability {
    /// It tells when the list changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

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

fn has_key(map: Option<&Map<String, Value>>, key: &str) -> bool {
    map.is_some_and(|map| map.contains_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> ClientCapabilities {
        serde_json::from_str(text).unwrap()
    }

    fn server(text: &str) -> ServerCapabilities {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_empty_elicitation_capability_means_form_only() {
        let check = |text, form, url| {
            assert_eq!(client(text).accepts_form(), form, "{text}");
            assert_eq!(client(text).accepts_url(), url, "{text}");
        };
        check("{}", false, false);
        check(r#"{"elicitation":{}}"#, true, false);
        check(r#"{"elicitation":{"form":{}}}"#, true, false);
        check(r#"{"elicitation":{"url":{}}}"#, false, true);
        check(r#"{"elicitation":{"form":{},"url":{}}}"#, true, true);
    }

    #[test]
    fn sampling_with_tools_and_context_is_declared_apart() {
        assert!(client(r#"{"sampling":{}}"#).accepts_sampling());
        assert!(!client(r#"{"sampling":{}}"#).accepts_sampling_tools());
        assert!(client(r#"{"sampling":{"tools":{}}}"#).accepts_sampling_tools());
        assert!(client(r#"{"sampling":{"context":{}}}"#).accepts_sampling_context());
    }

    #[test]
    fn a_flag_that_is_false_or_absent_announces_nothing() {
        assert!(!server(r#"{"tools":{}}"#).announces_tool_changes());
        assert!(!server(r#"{"tools":{"listChanged":false}}"#).announces_tool_changes());
        assert!(server(r#"{"tools":{"listChanged":true}}"#).announces_tool_changes());
        assert!(server(r#"{"resources":{"subscribe":true}}"#).accepts_resource_subscriptions());
    }

    #[test]
    fn extensions_and_task_requests_are_found_by_name() {
        let both = client(
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"tasks":{"list":{},"requests":{"sampling":{"createMessage":{}}}}}"#,
        );
        assert!(both.has_extension(TASKS_EXTENSION));
        let tasks = both.tasks.unwrap();
        assert!(tasks.accepts_list() && !tasks.accepts_cancel());
        assert!(tasks.accepts_sampling() && !tasks.accepts_elicitation());
    }
}
