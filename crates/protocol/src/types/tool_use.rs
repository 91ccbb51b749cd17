//! A model that uses tools while it is sampled: the call and its result.
//!
//! That every use is answered before anything else is said is the host's rule.
//!
//! Specification: 2025-11-25 and later, client/sampling (tools).

use serde::{Deserialize, Serialize};

use crate::RawJson;
use crate::types::tagged;
use crate::types::{ContentBlock, Extra, Meta};

/// The model uses a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolUseContent {
    #[serde(rename = "type")]
    kind: ToolUseKind,
    /// Links the result to this use.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, byte for byte.
    pub input: RawJson,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolUseContent {
    /// Uses a tool.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: RawJson) -> Self {
        Self {
            kind: ToolUseKind::default(),
            id: id.into(),
            name: name.into(),
            input,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What the tool returned to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultContent {
    #[serde(rename = "type")]
    kind: ToolResultKind,
    /// The use that this is the result of.
    pub tool_use_id: String,
    /// The result as blocks. Read as empty when a peer leaves it out.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The result as JSON, byte for byte; `null` is a value.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "tagged::present"
    )]
    pub structured_content: Option<RawJson>,
    /// Whether the tool could not do its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolResultContent {
    /// The result of a use.
    pub fn new(tool_use_id: impl Into<String>, content: Vec<ContentBlock>) -> Self {
        Self {
            kind: ToolResultKind::default(),
            tool_use_id: tool_use_id.into(),
            content,
            structured_content: None,
            is_error: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum ToolUseKind {
    #[default]
    #[serde(rename = "tool_use")]
    ToolUse,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum ToolResultKind {
    #[default]
    #[serde(rename = "tool_result")]
    ToolResult,
}
