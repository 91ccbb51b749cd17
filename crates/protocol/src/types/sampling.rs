//! Sampling: a server asks the client's model.
//!
//! A request of its own in the handshake era, an entry of `inputRequests` in
//! the stateless era; the payload is the same. Messages are in `sampling_message`.
//!
//! Specification: client/sampling.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::method::Method;
use crate::types::{
    Extra, Meta, OneOrMany, Request, ResultType, Role, SamplingMessage,
    SamplingMessageContentBlock, TaskMetadata, Tool,
};

/// `sampling/createMessage`
#[derive(Clone, Copy, Debug)]
pub struct CreateMessage;

impl Request for CreateMessage {
    const METHOD: Method = Method::SamplingCreateMessage;
    type Params = CreateMessageRequestParams;
    type Result = CreateMessageResult;
}

/// What to ask the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageRequestParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// Which model is wanted; the client decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// A system prompt; the client may change or drop it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whether to add context of servers; all but `none` are deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// How varied the answer may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// How long the answer may be; the client must respect it.
    pub max_tokens: Number,
    /// Where the answer stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// For the provider of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Tools that the model may use (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// How the model uses them (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Asks that the request run as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateMessageRequestParams {
    /// Asks for an answer of at most this many tokens.
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Self {
        Self {
            messages,
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens: max_tokens.into(),
            stop_sequences: None,
            metadata: None,
            tools: None,
            tool_choice: None,
            task: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What the model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: OneOrMany<SamplingMessageContentBlock>,
    /// The model that was used.
    pub model: String,
    /// Why it stopped, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
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

impl CreateMessageResult {
    /// An answer of this model.
    pub fn new(
        role: Role,
        content: OneOrMany<SamplingMessageContentBlock>,
        model: impl Into<String>,
    ) -> Self {
        Self {
            role,
            content,
            model: model.into(),
            stop_reason: None,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }

    /// What the model says, if it says something: the first text.
    pub fn text(&self) -> Option<&str> {
        let mut blocks = self.content.as_slice().iter();
        blocks.find_map(SamplingMessageContentBlock::as_text)
    }
}

/// Which model is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Names to look for, the first match wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// From 0 to 1: how much the price matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<Number>,
    /// From 0 to 1: how much the time matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<Number>,
    /// From 0 to 1: how much the quality matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<Number>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A part of the name of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelHint {
    /// The part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ModelHint {
    /// A part of a name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            extra: Extra::default(),
        }
    }
}

/// Whether to add context of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IncludeContext {
    /// None.
    None,
    /// Of the server that asks.
    ThisServer,
    /// Of all servers.
    AllServers,
}

/// How the model uses tools (since 2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolChoice {
    /// Absent means `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolChoice {
    /// Uses tools in this way.
    pub fn new(mode: ToolChoiceMode) -> Self {
        Self {
            mode: Some(mode),
            extra: Extra::default(),
        }
    }
}

/// Whether the model uses tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoiceMode {
    /// It decides.
    Auto,
    /// It must use one at least.
    Required,
    /// It must not.
    None,
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It came to a stop sequence.
    StopSequence,
    /// It reached the limit.
    MaxTokens,
    /// It wants to use a tool (since 2025-11-25).
    ToolUse,
    /// A reason of the provider.
    #[serde(untagged)]
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_answer_is_its_first_text() {
        let text = |content: &str| {
            let answer = format!(r#"{{"role":"assistant","model":"m","content":{content}}}"#);
            let answer: CreateMessageResult = serde_json::from_str(&answer).unwrap();
            answer.text().map(str::to_owned)
        };
        let image = r#"{"type":"image","data":"","mimeType":"image/png"}"#;
        let words = r#"{"type":"text","text":"Paris"}"#;
        assert_eq!(text(words).as_deref(), Some("Paris"));
        assert_eq!(
            text(&format!("[{image},{words}]")).as_deref(),
            Some("Paris")
        );
        assert_eq!(text(image), None);
    }

    #[test]
    fn an_unknown_stop_reason_is_kept() {
        let read: StopReason = serde_json::from_str("\"refusal\"").unwrap();
        assert_eq!(read, StopReason::Other("refusal".into()));
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"refusal\"");
        let known: StopReason = serde_json::from_str("\"endTurn\"").unwrap();
        assert_eq!(known, StopReason::EndTurn);
        assert!(serde_json::from_str::<StopReason>("1").is_err());
    }
}
