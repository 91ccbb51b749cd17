//! Messages of a conversation with a model.
//!
//! Specification: client/sampling (messages), schema `SamplingMessage`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::RawJson;
use crate::types::tagged;
use crate::types::{
    AudioContent, Extra, ImageContent, Meta, Role, TextContent, ToolResultContent, ToolUseContent,
};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: OneOrMany<SamplingMessageContentBlock>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SamplingMessage {
    /// Lets someone say something.
    pub fn new(role: Role, content: OneOrMany<SamplingMessageContentBlock>) -> Self {
        Self {
            role,
            content,
            meta: None,
            extra: Extra::default(),
        }
    }

    /// Lets the user say this text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, SamplingMessageContentBlock::text(text).into())
    }

    /// Lets the model say this text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(
            Role::Assistant,
            SamplingMessageContentBlock::text(text).into(),
        )
    }
}

/// One value or a list of them, and which of the two it was.
///
/// Until 2025-06-18 a message holds exactly one block.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOrMany<T> {
    /// One value, not in a list.
    One(T),
    /// A list.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

impl<T> From<T> for OneOrMany<T> {
    fn from(value: T) -> Self {
        Self::One(value)
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Many(values)
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(value) => value.serialize(serializer),
            Self::Many(values) => values.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if raw.as_str().starts_with('[') {
            tagged::decode(&raw).map(Self::Many)
        } else {
            tagged::decode(&raw).map(Self::One)
        }
    }
}

/// One block of a sampling message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingMessageContentBlock {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Sound (since 2025-03-26).
    Audio(AudioContent),
    /// The model uses a tool (since 2025-11-25).
    ToolUse(ToolUseContent),
    /// What the tool returned (since 2025-11-25).
    ToolResult(ToolResultContent),
    /// A kind that this crate does not know.
    Unknown(RawJson),
}

impl SamplingMessageContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Its text, if it is a block of text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

impl Serialize for SamplingMessageContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(block) => block.serialize(serializer),
            Self::Image(block) => block.serialize(serializer),
            Self::Audio(block) => block.serialize(serializer),
            Self::ToolUse(block) => block.serialize(serializer),
            Self::ToolResult(block) => block.serialize(serializer),
            Self::Unknown(block) => block.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingMessageContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = tagged::object(deserializer)?;
        Ok(match &*tagged::kind(&raw)? {
            "text" => Self::Text(tagged::decode(&raw)?),
            "image" => Self::Image(tagged::decode(&raw)?),
            "audio" => Self::Audio(tagged::decode(&raw)?),
            "tool_use" => Self::ToolUse(tagged::decode(&raw)?),
            "tool_result" => Self::ToolResult(tagged::decode(&raw)?),
            _ => Self::Unknown(raw),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_and_a_list_of_one_are_told_apart() {
        for text in [
            r#"{"role":"user","content":{"type":"text","text":"a"}}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#,
        ] {
            let read: SamplingMessage = serde_json::from_str(text).unwrap();
            assert_eq!(read.content.as_slice().len(), 1);
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }
}
