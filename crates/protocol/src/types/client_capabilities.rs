//! What a client can do for servers.
//!
//! What a missing capability forbids is in the method table and the machines.
//!
//! Specification: basic/lifecycle (capability negotiation), schema `ClientCapabilities`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::{Extra, TasksCapability};

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

    /// Does it tell when its roots change?
    pub fn announces_root_changes(&self) -> bool {
        self.roots
            .as_ref()
            .is_some_and(|roots| roots.list_changed == Some(true))
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

pub(crate) fn has_key(map: Option<&Map<String, Value>>, key: &str) -> bool {
    map.is_some_and(|map| map.contains_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TASKS_EXTENSION;

    fn client(text: &str) -> ClientCapabilities {
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
        assert!(!client(r#"{"sampling":{}}"#).accepts_sampling_context());
        assert!(client(r#"{"sampling":{"tools":{}}}"#).accepts_sampling_tools());
        assert!(client(r#"{"sampling":{"context":{}}}"#).accepts_sampling_context());
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
