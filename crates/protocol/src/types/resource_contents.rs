//! What is inside a resource: text or bytes.
//!
//! Specification: server/resources (contents), schema `ResourceContents`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::RawJson;
use crate::types::tagged;
use crate::types::{Extra, Meta};

/// The contents of a resource or of one of its parts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
    /// Neither text nor bytes.
    Unknown(RawJson),
}

impl ResourceContents {
    /// Text at a URI.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents::new(uri, text))
    }

    /// Bytes at a URI, encoded here.
    pub fn blob(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::Blob(BlobResourceContents::new(uri, STANDARD.encode(bytes)))
    }

    /// The same, said to be of this type. Contents of an unknown kind stay as they are.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        match &mut self {
            Self::Text(contents) => contents.mime_type = Some(mime_type.into()),
            Self::Blob(contents) => contents.mime_type = Some(mime_type.into()),
            Self::Unknown(_) => {}
        }
        self
    }

    /// Where the contents are, unless they are of an unknown kind.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.uri),
            Self::Blob(contents) => Some(&contents.uri),
            Self::Unknown(_) => None,
        }
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
            Self::Unknown(contents) => contents.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            text: Option<IgnoredAny>,
            blob: Option<IgnoredAny>,
        }
        let raw = tagged::object(deserializer)?;
        let head: Head = raw.decode().map_err(D::Error::custom)?;
        Ok(match (head.text, head.blob) {
            (Some(_), _) => Self::Text(tagged::decode(&raw)?),
            (None, Some(_)) => Self::Blob(tagged::decode(&raw)?),
            (None, None) => Self::Unknown(raw),
        })
    }
}

/// Text at a URI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextResourceContents {
    /// Where it is.
    pub uri: String,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    pub text: String,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TextResourceContents {
    /// This text at this URI.
    pub fn new(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            text: text.into(),
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// Bytes at a URI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlobResourceContents {
    /// Where it is.
    pub uri: String,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The bytes in base64.
    pub blob: String,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl BlobResourceContents {
    /// Bytes already in base64.
    pub fn new(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            blob: blob.into(),
            meta: None,
            extra: Extra::default(),
        }
    }

    /// The bytes, unless the text is not base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.blob).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_their_encoding() {
        let ResourceContents::Blob(contents) = ResourceContents::blob("file:///a", b"\0\xff")
        else {
            panic!("expected a blob");
        };
        assert_eq!(contents.bytes().as_deref(), Some(b"\0\xff".as_slice()));
        assert_eq!(BlobResourceContents::new("file:///a", "*").bytes(), None);
    }

    #[test]
    fn contents_that_are_known_can_be_given_a_type() {
        let text = ResourceContents::text("file:///a", "a").with_mime_type("text/plain");
        let text = serde_json::to_string(&text).unwrap();
        assert_eq!(
            text,
            r#"{"uri":"file:///a","mimeType":"text/plain","text":"a"}"#
        );
        let blob = ResourceContents::blob("file:///a", b"").with_mime_type("image/png");
        let blob = serde_json::to_string(&blob).unwrap();
        assert_eq!(
            blob,
            r#"{"uri":"file:///a","mimeType":"image/png","blob":""}"#
        );
    }

    #[test]
    fn empty_text_is_text() {
        let read: ResourceContents =
            serde_json::from_str(r#"{"uri":"file:///a","text":""}"#).unwrap();
        assert_eq!(read, ResourceContents::text("file:///a", ""));
    }

    #[test]
    fn contents_that_are_known_say_where_they_are() {
        let check = |text, expected| {
            let read: ResourceContents = serde_json::from_str(text).unwrap();
            assert_eq!(read.uri(), expected, "{text}");
        };
        check(r#"{"uri":"file:///a","text":"a"}"#, Some("file:///a"));
        check(r#"{"uri":"file:///b","blob":""}"#, Some("file:///b"));
        check(r#"{"uri":"file:///c","new":1}"#, None);
    }
}
