//! A file of a skill, read: its bytes, its digest and what lists say of it.
//!
//! Specification: SEP-2640 (resource metadata, integrity).

use switchboard_protocol::types::{Resource, ResourceContents};

use crate::skills::media_type;

/// A file, read.
#[derive(Debug)]
pub(super) struct StoredFile {
    /// What lists say of it.
    pub(super) resource: Resource,
    digest: String,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Text(String),
    Bytes(Vec<u8>),
}

impl StoredFile {
    pub(super) fn new(uri: &str, name: &str, bytes: Vec<u8>) -> Self {
        let named = media_type::of(name);
        let body = if named.is_some_and(media_type::is_binary) {
            Body::Bytes(bytes)
        } else {
            String::from_utf8(bytes)
                .map_or_else(|not_text| Body::Bytes(not_text.into_bytes()), Body::Text)
        };
        let media_type = named.unwrap_or(match body {
            Body::Text(_) => media_type::PLAIN_TEXT,
            Body::Bytes(_) => media_type::BYTES,
        });
        let mut resource = Resource::new(uri, name);
        resource.mime_type = Some(media_type.to_owned());
        resource.size = Some(body.as_bytes().len().into());
        Self {
            resource,
            digest: switchboard_skills::digest(body.as_bytes()),
            body,
        }
    }

    /// What `resources/read` gives.
    pub(super) fn contents(&self) -> ResourceContents {
        let uri = &self.resource.uri;
        let mut contents = match &self.body {
            Body::Text(text) => ResourceContents::text(uri, text),
            Body::Bytes(bytes) => ResourceContents::blob(uri, bytes),
        };
        match &mut contents {
            ResourceContents::Text(text) => text.mime_type.clone_from(&self.resource.mime_type),
            ResourceContents::Blob(blob) => blob.mime_type.clone_from(&self.resource.mime_type),
            _ => {}
        }
        contents
    }

    /// `sha256:` and the digest of its bytes.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// Its text, unless it is bytes.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            Body::Bytes(_) => None,
        }
    }

    /// How many bytes it has.
    pub(super) fn size(&self) -> u64 {
        self.body.as_bytes().len() as u64
    }
}

impl Body {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}
