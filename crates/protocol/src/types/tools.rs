//! Listing and calling tools.
//!
//! The tool itself is in `tool`. Arguments and structured results stay the text
//! that was sent; checking them against a schema is the host's affair.
//!
//! Specification: server/tools.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::json_string;
use crate::method::Method;
use crate::types::caching::to_milliseconds;
use crate::types::tagged;
use crate::types::{
    CacheScope, Cacheable, ContentBlock, Extra, Meta, Notification, NotificationParams,
    PaginatedRequestParams, Request, ResultType, TaskMetadata, Tool,
};
use crate::{Payload, RawJson};

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

    /// The same, as it goes out: in every revision, and without the way through the type.
    pub fn text_payload(text: &str) -> Payload {
        // Exactly as much as a text takes that needs no escapes, as most short ones do: then
        // the memory becomes that of the payload. In long ones something is always escaped.
        let escapes = if text.len() < LONG_TEXT {
            0
        } else {
            text.len() / 16
        };
        let around = Self::AROUND_TEXT + 2;
        let mut written = Vec::with_capacity(around + text.len() + escapes);
        written.push(b'{');
        Self::write_text(text, &mut written);
        written.push(b'}');
        Payload::from_own_plain(written)
    }

    /// What stands before the first text of a result, as most servers write it and we do.
    pub(crate) const BEFORE_TEXT: &[u8] = br#""content":[{"type":"text","text":"#;

    /// How much [`write_text`](Self::write_text) appends besides the text itself.
    pub(crate) const AROUND_TEXT: usize = Self::BEFORE_TEXT.len() + AFTER_TEXT.len() + 2;

    /// Appends the members of a result that is one text.
    pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(Self::BEFORE_TEXT);
        json_string::write(text, out);
        out.extend_from_slice(AFTER_TEXT);
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

    /// Its texts, one below the other; what is not text is left out.
    pub fn joined_text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Could the tool not do its work?
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }
}

const AFTER_TEXT: &[u8] = b"}]";

/// From here on it is not worth the trouble that room is exact.
const LONG_TEXT: usize = 1024;

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
    fn a_text_is_written_as_its_type_would_be() {
        for text in ["", "a", "quote \" and \\ and \n and \u{1} and é\u{2028}"] {
            let typed = Payload::encode(&CallToolResult::text(text)).unwrap();
            let direct = CallToolResult::text_payload(text);
            assert_eq!(direct.text(), typed.text());
            assert_eq!(direct.meta(), None);
            assert!(direct.is_one_line());
        }
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

    #[test]
    fn a_payload_of_one_text_holds_little_more_than_the_text() {
        let held = |text: &str| {
            let payload = CallToolResult::text_payload(text);
            let written = payload.text().clone();
            drop(payload);
            (written.len(), written.try_into_mut().unwrap().capacity())
        };
        for length in [0, 1, 100, LONG_TEXT - 1] {
            let (length, capacity) = held(&"a".repeat(length));
            assert_eq!(capacity, length);
        }
        let (length, capacity) = held(&"a line of a long text with its end\n".repeat(100));
        assert!(capacity < length + length / 8, "{capacity} for {length}");
    }

    #[test]
    fn a_tool_that_could_not_do_its_work_says_so_and_why() {
        let check = |result: &CallToolResult, is_error, text: &str| {
            assert_eq!(result.is_error(), is_error, "{text}");
            assert_eq!(result.joined_text(), text);
        };
        check(&CallToolResult::error("why"), true, "why");
        check(&CallToolResult::text("done"), false, "done");
        let read = serde_json::from_str(r#"{"content":[],"isError":false}"#);
        check(&read.unwrap(), false, "");
    }

    #[test]
    fn texts_are_joined_line_by_line_without_what_is_no_text() {
        let text =
            r#"{"content":[{"type":"text","text":"a"},{"type":"new"},{"type":"text","text":"b"}]}"#;
        let read: CallToolResult = serde_json::from_str(text).unwrap();
        assert_eq!(read.joined_text(), "a\nb");
    }

    #[test]
    fn a_structured_result_says_the_same_as_text() {
        let result = CallToolResult::structured(RawJson::parse(r#"{"a": 1}"#).unwrap());
        assert_eq!(
            serde_json::to_string(&result).unwrap(),
            r#"{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a": 1}}"#
        );
    }
}
