//! Prompts: templates of messages that a server offers.
//!
//! Specification: server/prompts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::RawJson;
use crate::method::Method;
use crate::types::caching::to_milliseconds;
use crate::types::{
    CacheScope, Cacheable, ContentBlock, Extra, Icon, Meta, Notification, NotificationParams,
    PaginatedRequestParams, Request, ResultType, Role,
};

/// `prompts/list`
#[derive(Clone, Copy, Debug)]
pub struct ListPrompts;

impl Request for ListPrompts {
    const METHOD: Method = Method::PromptsList;
    type Params = PaginatedRequestParams;
    type Result = ListPromptsResult;
}

/// `prompts/get`
#[derive(Clone, Copy, Debug)]
pub struct GetPrompt;

impl Request for GetPrompt {
    const METHOD: Method = Method::PromptsGet;
    type Params = GetPromptRequestParams;
    type Result = GetPromptResult;
}

/// `notifications/prompts/list_changed`
#[derive(Clone, Copy, Debug)]
pub struct PromptListChangedNotification;

impl Notification for PromptListChangedNotification {
    const METHOD: Method = Method::PromptListChanged;
    type Params = NotificationParams;
}

/// A template of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// Its name for programs.
    pub name: String,
    /// Its name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it can be filled with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
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

impl Prompt {
    /// A prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: None,
            icons: None,
            meta: None,
            extra: Extra::default(),
        }
    }

    /// The name to show: the title, else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// Something that a prompt can be filled with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptArgument {
    /// Its name for programs.
    pub name: String,
    /// Its name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PromptArgument {
    /// An argument that is not required.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            required: None,
            extra: Extra::default(),
        }
    }

    /// Must it be given?
    pub fn is_required(&self) -> bool {
        self.required == Some(true)
    }
}

/// One page of prompts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListPromptsResult {
    /// The prompts.
    pub prompts: Vec<Prompt>,
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

impl ListPromptsResult {
    /// A last page with these prompts.
    pub fn new(prompts: Vec<Prompt>) -> Self {
        Self {
            prompts,
            next_cursor: None,
            result_type: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

impl Cacheable for ListPromptsResult {
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

/// Which prompt to fill, and with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptRequestParams {
    /// The prompt.
    pub name: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
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

impl GetPromptRequestParams {
    /// Fills a prompt with nothing.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            input_responses: None,
            request_state: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// A prompt that was filled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its messages.
    pub messages: Vec<PromptMessage>,
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

impl GetPromptResult {
    /// These messages.
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self {
            description: None,
            messages,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: ContentBlock,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PromptMessage {
    /// Lets someone say something.
    pub fn new(role: Role, content: ContentBlock) -> Self {
        Self {
            role,
            content,
            extra: Extra::default(),
        }
    }

    /// Lets the user say this text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, ContentBlock::text(text))
    }

    /// Lets the model say this text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, ContentBlock::text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_shown_by_its_title_and_needs_what_it_says() {
        let text = r#"{"name":"n","title":"t","arguments":[{"name":"a"},{"name":"b","required":false},{"name":"c","required":true}]}"#;
        let prompt: Prompt = serde_json::from_str(text).unwrap();
        assert_eq!(prompt.display_name(), "t");
        assert_eq!(Prompt::new("n").display_name(), "n");
        let arguments = prompt.arguments.unwrap();
        let required: Vec<_> = arguments.iter().map(PromptArgument::is_required).collect();
        assert_eq!(required, [false, false, true]);
    }
}
