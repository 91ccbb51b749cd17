//! What reading a resource gives.

use std::fmt;

use bytes::Bytes;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{ReadResourceResult, ResourceContents};

use crate::failure::Failure;

/// What reading a resource has given.
#[derive(Debug)]
#[non_exhaustive]
pub enum Read {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Bytes),
    /// A result that is made already.
    Result(Box<ReadResourceResult>),
    /// There is no such resource.
    NotFound,
    /// It could not be read.
    Failed(ErrorObject),
}

/// What can be the contents of a resource.
///
/// Text, bytes, [`ResourceContents`] and lists of them; of an [`Option`], none means that
/// there is no such resource.
pub trait IntoContents {
    /// The contents.
    fn into_contents(self) -> Read;
}

impl Read {
    /// The result, for the resource at this URI.
    pub(crate) fn into_result(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<ReadResourceResult, ErrorObject> {
        let contents = match self {
            Self::Text(text) => ResourceContents::text(uri, text),
            Self::Bytes(bytes) => ResourceContents::blob(uri, &bytes),
            Self::Result(result) => return Ok(*result),
            Self::NotFound => return Err(not_found(uri)),
            Self::Failed(error) => return Err(error),
        };
        let contents = match mime_type {
            Some(mime_type) => contents.with_mime_type(mime_type),
            None => contents,
        };
        Ok(ReadResourceResult::new(vec![contents]))
    }
}

/// There is no such resource.
pub(crate) fn not_found(uri: &str) -> ErrorObject {
    #[derive(serde::Serialize)]
    struct Data<'a> {
        uri: &'a str,
    }
    ErrorObject::new(
        switchboard_protocol::jsonrpc::ErrorCode::RESOURCE_NOT_FOUND,
        format!("Resource not found: {uri}"),
    )
    .with_data(&Data { uri })
}

impl IntoContents for Read {
    fn into_contents(self) -> Read {
        self
    }
}

impl IntoContents for String {
    fn into_contents(self) -> Read {
        Read::Text(self)
    }
}

impl IntoContents for &'static str {
    fn into_contents(self) -> Read {
        Read::Text(self.to_owned())
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self) -> Read {
        Read::Bytes(self.into())
    }
}

impl IntoContents for Bytes {
    fn into_contents(self) -> Read {
        Read::Bytes(self)
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self) -> Read {
        vec![self].into_contents()
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self) -> Read {
        ReadResourceResult::new(self).into_contents()
    }
}

impl IntoContents for ReadResourceResult {
    fn into_contents(self) -> Read {
        Read::Result(Box::new(self))
    }
}

impl<T: IntoContents> IntoContents for Option<T> {
    fn into_contents(self) -> Read {
        self.map_or(Read::NotFound, IntoContents::into_contents)
    }
}

impl<T: IntoContents, E: fmt::Display + 'static> IntoContents for Result<T, E> {
    fn into_contents(self) -> Read {
        match self {
            Ok(contents) => contents.into_contents(),
            Err(error) => Read::Failed(match Failure::of(&error) {
                Failure::Refused(error) => error,
                Failure::Failed(reason) => ErrorObject::internal(reason),
            }),
        }
    }
}
