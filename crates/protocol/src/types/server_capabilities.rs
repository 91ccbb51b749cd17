//! What a server offers.
//!
//! What a missing capability forbids is in the method table and the machines.
//!
//! Specification: basic/lifecycle (capability negotiation), schema `ServerCapabilities`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::client_capabilities::has_key;
use crate::types::{Extra, TasksCapability};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> ServerCapabilities {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_flag_that_is_false_or_absent_announces_nothing() {
        assert!(!server(r#"{"tools":{}}"#).announces_tool_changes());
        assert!(!server(r#"{"tools":{"listChanged":false}}"#).announces_tool_changes());
        assert!(server(r#"{"tools":{"listChanged":true}}"#).announces_tool_changes());
        assert!(server(r#"{"resources":{"subscribe":true}}"#).accepts_resource_subscriptions());
    }
}
