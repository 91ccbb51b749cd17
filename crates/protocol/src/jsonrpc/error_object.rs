//! The error of a JSON-RPC answer, and the codes that MCP gives a meaning.
//!
//! Specification: 2026-07-28 basic (error codes); JSON-RPC 2.0 section 5.1.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;

use super::ExtraMembers;
use crate::payload::Payload;
use crate::revision::Revision;
use crate::types::{
    ClientCapabilities, MissingRequiredClientCapabilityData, UnsupportedProtocolVersionData,
};

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorObject {
    /// What kind of error.
    pub code: ErrorCode,
    /// One sentence for people.
    pub message: String,
    /// More for programs.
    pub data: Option<Payload>,
    /// Members that JSON-RPC does not name.
    pub extra: ExtraMembers,
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            extra: ExtraMembers::default(),
        }
    }

    /// Adds data; data that has no JSON form is left out.
    #[must_use]
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.data = Payload::encode(data).ok();
        self
    }

    /// The method is not known, or not served here.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("Method not found: {method}"),
        )
    }

    /// The parameters do not fit the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// The message is JSON but not a valid request, or not valid now.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// The revision that a request names is not served.
    pub fn unsupported_version(served: &[Revision], requested: &str) -> Self {
        let served = served.iter().map(|r| r.as_str().to_owned()).collect();
        Self::new(
            ErrorCode::UNSUPPORTED_VERSION,
            "Unsupported protocol version",
        )
        .with_data(&UnsupportedProtocolVersionData::new(served, requested))
    }

    /// The client did not declare what the answer needs.
    pub fn missing_capabilities(required: ClientCapabilities) -> Self {
        Self::new(
            ErrorCode::MISSING_CLIENT_CAPABILITY,
            "Missing required client capability",
        )
        .with_data(&MissingRequiredClientCapabilityData::new(required))
    }

    /// A limit is reached, mostly of all ([`ErrorCode::BUSY`]) or of this caller
    /// ([`ErrorCode::TOO_MANY`]): its name is in the data, and in how many milliseconds there may
    /// be room again, where that is known.
    pub fn over_limit(
        code: ErrorCode,
        message: impl Into<String>,
        limit: &str,
        retry_after_ms: Option<u64>,
    ) -> Self {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data<'a> {
            limit: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            retry_after_ms: Option<u64>,
        }
        let data = Data {
            limit,
            retry_after_ms,
        };
        Self::new(code, message).with_data(&data)
    }

    /// Something broke on our side.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.0)
    }
}

impl std::error::Error for ErrorObject {}

impl Serialize for ErrorObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = String::from_utf8(super::write::error_text(self)).map_err(ser::Error::custom)?;
        RawValue::from_string(text)
            .map_err(ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ErrorObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = Bytes::copy_from_slice(raw.get().as_bytes());
        super::read::read_error(&text, 0..text.len())
            .ok_or_else(|| de::Error::custom("an error needs an integer code and a message"))
    }
}

/// The number of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// The frame is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The JSON is not a valid request, or not valid now.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The method is not known or not served.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The parameters do not fit.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// Something broke inside.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The resource does not exist; handshake era only.
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// An HTTP header does not repeat what the body says; stateless era.
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The client lacks a capability that the answer needs; stateless era.
    pub const MISSING_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The revision is not served; stateless era.
    pub const UNSUPPORTED_VERSION: Self = Self(-32022);
    /// A page must be visited first; 2025-11-25 only.
    pub const URL_ELICITATION_REQUIRED: Self = Self(-32042);
    /// The user refused; a client's answer to sampling in the handshake era.
    pub const USER_REJECTED: Self = Self(-1);
    /// More requests in flight than we serve. Ours: outside of the reserved range.
    pub const BUSY: Self = Self(-31_001);
    /// This caller asks for more than it may, others may still be served. Ours too.
    pub const TOO_MANY: Self = Self(-31_002);

    /// Does a server of the stateless era alone send this code?
    ///
    /// An era probe that is answered so has found such a server.
    pub const fn is_stateless_only(self) -> bool {
        matches!(
            self,
            Self::HEADER_MISMATCH | Self::MISSING_CLIENT_CAPABILITY | Self::UNSUPPORTED_VERSION
        )
    }
}
