//! Blocks of content: what tools return and prompts are made of.
//!
//! A kind that is not known is kept as it was sent. What a block becomes for an
//! older peer is in `revision`.
//!
//! Specification: server/tools (content types), schema `ContentBlock`, `Annotations`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

use crate::RawJson;
use crate::types::tagged;
use crate::types::{Extra, Meta, Resource, ResourceContents};

/// One block of content.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Sound (since 2025-03-26).
    Audio(AudioContent),
    /// A resource that can be read (since 2025-06-18).
    ResourceLink(ResourceLink),
    /// A resource with its contents.
    Resource(EmbeddedResource),
    /// A kind that this crate does not know.
    Unknown(RawJson),
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A block with an image, encoded here.
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(STANDARD.encode(bytes), mime_type))
    }

    /// A block with sound, encoded here.
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(STANDARD.encode(bytes), mime_type))
    }

    /// A block that points to a resource.
    pub fn resource_link(resource: Resource) -> Self {
        Self::ResourceLink(ResourceLink::new(resource))
    }

    /// A block that holds a resource.
    pub fn resource(contents: ResourceContents) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }

    /// Its text, if it is a block of text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(block) => block.serialize(serializer),
            Self::Image(block) => block.serialize(serializer),
            Self::Audio(block) => block.serialize(serializer),
            Self::ResourceLink(block) => block.serialize(serializer),
            Self::Resource(block) => block.serialize(serializer),
            Self::Unknown(block) => block.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = tagged::object(deserializer)?;
        Ok(match &*tagged::kind(&raw)? {
            "text" => Self::Text(tagged::decode(&raw)?),
            "image" => Self::Image(tagged::decode(&raw)?),
            "audio" => Self::Audio(tagged::decode(&raw)?),
            "resource_link" => Self::ResourceLink(tagged::decode(&raw)?),
            "resource" => Self::Resource(tagged::decode(&raw)?),
            _ => Self::Unknown(raw),
        })
    }
}

/// A block of text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextContent {
    #[serde(rename = "type")]
    kind: TextKind,
    /// The text.
    pub text: String,
    /// For whom and how important.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TextContent {
    /// A block with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            kind: TextKind::default(),
            text: text.into(),
            annotations: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// An image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    #[serde(rename = "type")]
    kind: ImageKind,
    /// The image in base64.
    pub data: String,
    /// Its type.
    pub mime_type: String,
    /// For whom and how important.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ImageContent {
    /// An image already in base64.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            kind: ImageKind::default(),
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// Sound (since 2025-03-26).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    #[serde(rename = "type")]
    kind: AudioKind,
    /// The sound in base64.
    pub data: String,
    /// Its type.
    pub mime_type: String,
    /// For whom and how important.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl AudioContent {
    /// Sound already in base64.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            kind: AudioKind::default(),
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// A resource that can be read (since 2025-06-18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceLink {
    #[serde(rename = "type")]
    kind: ResourceLinkKind,
    /// The resource; it need not be in the list of resources.
    #[serde(flatten)]
    pub resource: Resource,
}

impl ResourceLink {
    /// Points to a resource.
    pub fn new(resource: Resource) -> Self {
        Self {
            kind: ResourceLinkKind::default(),
            resource,
        }
    }
}

/// A resource with its contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmbeddedResource {
    #[serde(rename = "type")]
    kind: EmbeddedKind,
    /// The contents.
    pub resource: ResourceContents,
    /// For whom and how important.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EmbeddedResource {
    /// Holds these contents.
    pub fn new(resource: ResourceContents) -> Self {
        Self {
            kind: EmbeddedKind::default(),
            resource,
            annotations: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// For whom something is and how important it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// For whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// From 0, optional, to 1, required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Number>,
    /// When it last changed, in ISO 8601 (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Who speaks in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum TextKind {
    #[default]
    #[serde(rename = "text")]
    Text,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum ImageKind {
    #[default]
    #[serde(rename = "image")]
    Image,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum AudioKind {
    #[default]
    #[serde(rename = "audio")]
    Audio,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum ResourceLinkKind {
    #[default]
    #[serde(rename = "resource_link")]
    ResourceLink,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum EmbeddedKind {
    #[default]
    #[serde(rename = "resource")]
    Resource,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_base64() {
        let ContentBlock::Image(image) = ContentBlock::image(&[0xff, 0x00], "image/png") else {
            panic!("expected an image");
        };
        assert_eq!(image.data, "/wA=");
    }

    #[test]
    fn a_known_kind_without_its_members_is_refused() {
        for bad in [
            r#"{"type":"text"}"#,
            r#"{"text":"x"}"#,
            r#"{"type":1}"#,
            "[]",
            r#"["hologram"]"#,
            "\"x\"",
        ] {
            assert!(serde_json::from_str::<ContentBlock>(bad).is_err(), "{bad}");
        }
    }
}
