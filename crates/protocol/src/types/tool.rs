//! A tool as a server describes it.
//!
//! Its schemas stay the text that was sent. `x-mcp-header` inside them is read
//! in `http`; listing and calling are in `tools`.
//!
//! Specification: server/tools (data types), schema `Tool`, `ToolAnnotations`.

use serde::{Deserialize, Serialize};

use crate::RawJson;
use crate::types::{Extra, Icon, Meta};

/// Something that a server does when it is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// Its name for programs.
    pub name: String,
    /// Its name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, byte for byte.
    pub input_schema: RawJson,
    /// The JSON Schema of its structured result, byte for byte (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// What it says of its behaviour (since 2025-03-26); untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Whether it may run as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Its icons (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Tool {
    /// A tool that takes arguments of this schema.
    pub fn new(name: impl Into<String>, input_schema: RawJson) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            annotations: None,
            execution: None,
            icons: None,
            meta: None,
            extra: Extra::default(),
        }
    }

    /// The name to show: the title, else that of the annotations, else the name.
    pub fn display_name(&self) -> &str {
        let annotated = self.annotations.as_ref().and_then(|a| a.title.as_deref());
        self.title.as_deref().or(annotated).unwrap_or(&self.name)
    }

    /// What it says of its behaviour; if it is silent, the worst.
    pub fn hints(&self) -> ToolAnnotations {
        self.annotations.clone().unwrap_or_default()
    }

    /// May, must or must not a call run as a task of 2025-11-25?
    pub fn task_support(&self) -> TaskSupport {
        self.execution
            .as_ref()
            .and_then(|e| e.task_support)
            .unwrap_or_default()
    }
}

/// Is the name one that every peer can use?
///
/// 1 to 128 of the characters `A-Z a-z 0-9 _ . -`; a SHOULD of 2025-11-25.
pub fn is_valid_tool_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// What a tool says of its behaviour. Hints: untrusted unless the server is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy; means something only if it is not read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice is calling it once; means something only if it is not read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It deals with things outside the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolAnnotations {
    /// Does it say that it changes nothing? If it is silent: no.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// May it destroy? If it is silent: yes.
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Is calling it twice calling it once? If it is silent: no.
    pub fn is_idempotent(&self) -> bool {
        self.is_read_only() || self.idempotent_hint.unwrap_or(false)
    }

    /// Does it deal with things outside the server? If it is silent: yes.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

/// How a tool may be run (2025-11-25 only).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// Whether it may run as a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Whether a call may run as a task (2025-11-25 only).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// It must not; also when nothing is said.
    #[default]
    Forbidden,
    /// It may.
    Optional,
    /// It must.
    Required,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(text: &str) -> Tool {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_name_to_show_is_title_then_annotation_then_name() {
        let check = |text, expected| assert_eq!(tool(text).display_name(), expected);
        check(r#"{"name":"n","inputSchema":{}}"#, "n");
        check(
            r#"{"name":"n","inputSchema":{},"annotations":{"title":"a"}}"#,
            "a",
        );
        check(
            r#"{"name":"n","title":"t","inputSchema":{},"annotations":{"title":"a"}}"#,
            "t",
        );
    }

    #[test]
    fn a_silent_tool_is_taken_for_the_worst() {
        let silent = tool(r#"{"name":"n","inputSchema":{}}"#).hints();
        assert!(!silent.is_read_only());
        assert!(silent.is_destructive());
        assert!(!silent.is_idempotent());
        assert!(silent.is_open_world());
    }

    #[test]
    fn a_tool_that_is_not_silent_is_taken_at_its_word() {
        let hints = tool(
            r#"{"name":"n","inputSchema":{},"annotations":{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#,
        )
        .hints();
        assert!(!hints.is_read_only());
        assert!(!hints.is_destructive());
        assert!(hints.is_idempotent());
        assert!(!hints.is_open_world());
    }

    #[test]
    fn a_read_only_tool_destroys_nothing() {
        let read_only: ToolAnnotations =
            serde_json::from_str(r#"{"readOnlyHint":true,"destructiveHint":true}"#).unwrap();
        assert!(!read_only.is_destructive());
        assert!(read_only.is_idempotent());
    }

    #[test]
    fn tasks_are_forbidden_unless_the_tool_says_otherwise() {
        let check = |text, expected| assert_eq!(tool(text).task_support(), expected);
        check(r#"{"name":"n","inputSchema":{}}"#, TaskSupport::Forbidden);
        check(
            r#"{"name":"n","inputSchema":{},"execution":{}}"#,
            TaskSupport::Forbidden,
        );
        check(
            r#"{"name":"n","inputSchema":{},"execution":{"taskSupport":"required"}}"#,
            TaskSupport::Required,
        );
    }

    #[test]
    fn names_of_tools_are_short_and_plain() {
        for good in [
            "a",
            "get_user",
            "DATA_EXPORT_v2",
            "admin.tools-list",
            &"x".repeat(128),
        ] {
            assert!(is_valid_tool_name(good), "{good}");
        }
        for bad in ["", "a b", "a,b", "a/b", "é", &"x".repeat(129)] {
            assert!(!is_valid_tool_name(bad), "{bad}");
        }
    }
}
