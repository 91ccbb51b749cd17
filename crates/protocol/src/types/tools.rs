//! Tools: what a server does when it is called.
//!
//! Schemas, arguments and structured results stay the text that was sent.
//! `x-mcp-header` inside schemas is read in `http`.
//!
//! Specification: server/tools.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::RawJson;
use crate::method::Method;
use crate::types::caching::to_milliseconds;
use crate::types::tagged;
use crate::types::{
    CacheScope, Cacheable, ContentBlock, Extra, Icon, Meta, Notification, NotificationParams,
    PaginatedRequestParams, Request, ResultType, TaskMetadata,
};

/// `tools/list`
#[derive(Clone, Copy, Debug)]
pub struct ListTools;

impl Request for ListTools {
    const METHOD: Method = Method::ToolsList;
    type Params = PaginatedRequestParams;
    type Result = ListToolsResult;
}

/// `tools/call`
#[derive(Clone, Copy, Debug)]
pub struct CallTool;

impl Request for CallTool {
    const METHOD: Method = Method::ToolsCall;
    type Params = CallToolRequestParams;
    type Result = CallToolResult;
}

/// `notifications/tools/list_changed`
#[derive(Clone, Copy, Debug)]
pub struct ToolListChangedNotification;

impl Notification for ToolListChangedNotification {
    const METHOD: Method = Method::ToolListChanged;
    type Params = NotificationParams;
}

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

/// One page of tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListToolsResult {
    /// The tools.
    pub tools: Vec<Tool>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// How long it stays fresh, in milliseconds; read it with [`Cacheable::time_to_live`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<Number>,
    /// Who may share it; read it with [`Cacheable::scope`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListToolsResult {
    /// A last page with these tools.
    pub fn new(tools: Vec<Tool>) -> Self {
        Self {
            tools,
            next_cursor: None,
            result_type: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::default(),
        }
    }

    /// Reads a page and keeps the good tools when others are malformed.
    ///
    /// One careless tool of a server should not hide all its others.
    ///
    /// # Errors
    /// When the page itself does not have its shape.
    pub fn from_json_lenient(text: &str) -> Result<(Self, Vec<RejectedTool>), serde_json::Error> {
        let page: LoosePage = serde_json::from_str(text)?;
        let mut result = Self {
            tools: Vec::with_capacity(page.tools.len()),
            next_cursor: page.next_cursor,
            result_type: page.result_type,
            ttl_ms: page.ttl_ms,
            cache_scope: page.cache_scope,
            meta: page.meta,
            extra: page.extra,
        };
        let mut rejected = Vec::new();
        for (index, raw) in page.tools.iter().enumerate() {
            match read_tool(raw) {
                Ok(tool) => result.tools.push(tool),
                Err(reason) => rejected.push(RejectedTool { index, reason }),
            }
        }
        Ok((result, rejected))
    }
}

impl Cacheable for ListToolsResult {
    fn ttl_ms(&self) -> Option<&Number> {
        self.ttl_ms.as_ref()
    }

    fn cache_scope(&self) -> Option<CacheScope> {
        self.cache_scope
    }

    fn set_cache(&mut self, time_to_live: Duration, scope: CacheScope) {
        self.ttl_ms = Some(to_milliseconds(time_to_live));
        self.cache_scope = Some(scope);
    }
}

/// A tool that was left out of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedTool {
    /// Its place in the page as it was sent.
    pub index: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// Which tool to call, and with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolRequestParams {
    /// The tool.
    pub name: String,
    /// Its arguments, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Asks that the call run as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Answers to what the server asked (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<BTreeMap<String, RawJson>>,
    /// What the server gave with its questions, byte for byte (2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CallToolRequestParams {
    /// Calls a tool without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            task: None,
            input_responses: None,
            request_state: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What a tool returned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The result as blocks. Read as empty when a server leaves it out.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The result as JSON, byte for byte (since 2025-06-18); `null` is a value.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "tagged::present"
    )]
    pub structured_content: Option<RawJson>,
    /// Whether the tool could not do its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CallToolResult {
    /// A result of these blocks.
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }

    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// The tool could not do its work; the model is told why.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text(text)
        }
    }

    /// A structured result, with the same JSON as text for clients that know no other.
    pub fn structured(value: RawJson) -> Self {
        Self {
            structured_content: Some(value.clone()),
            ..Self::text(value.as_str())
        }
    }

    /// Could the tool not do its work?
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }
}

/// A page whose tools are not read yet.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoosePage {
    tools: Vec<RawJson>,
    next_cursor: Option<String>,
    result_type: Option<ResultType>,
    ttl_ms: Option<Number>,
    cache_scope: Option<CacheScope>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
    #[serde(flatten)]
    extra: Extra,
}

fn read_tool(raw: &RawJson) -> Result<Tool, String> {
    let tool: Tool = raw.decode().map_err(|error| error.to_string())?;
    if tool.name.is_empty() {
        return Err("the name is empty".to_owned());
    }
    if !tool.input_schema.is_object() {
        return Err(format!(
            "inputSchema of tool {:?} is not an object",
            tool.name
        ));
    }
    Ok(tool)
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
        let silent = ToolAnnotations::default();
        assert!(!silent.is_read_only());
        assert!(silent.is_destructive());
        assert!(!silent.is_idempotent());
        assert!(silent.is_open_world());
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

    #[test]
    fn one_malformed_tool_does_not_hide_the_others() {
        let (page, rejected) = ListToolsResult::from_json_lenient(
            r#"{"tools":[{"name":"a","inputSchema":{}},{"name":"b"},{"name":"c","inputSchema":[]},7,
                {"name":"d","inputSchema":{}}],"nextCursor":"","ttlMs":5,"x":1}"#,
        )
        .unwrap();
        let names: Vec<_> = page.tools.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["a", "d"]);
        let places: Vec<_> = rejected.iter().map(|r| r.index).collect();
        assert_eq!(places, [1, 2, 3]);
        assert!(
            rejected[0].reason.contains("inputSchema"),
            "{}",
            rejected[0].reason
        );
        assert_eq!(page.next_cursor.as_deref(), Some(""));
        assert_eq!(page.time_to_live(), Duration::from_millis(5));
        assert_eq!(page.extra.member("x"), Some(&1.into()));
    }

    #[test]
    fn structured_null_differs_from_absent() {
        let check = |text: &str| {
            let read: CallToolResult = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
            read.structured_content
        };
        assert_eq!(check(r#"{"content":[]}"#), None);
        let null = check(r#"{"content":[],"structuredContent":null}"#).unwrap();
        assert!(null.is_null());
    }
}
