//! `Mcp-Session-Id`: the session of the handshake era.
//!
//! What an id may look like and where it may come from. Making one is for the
//! server's transport, which has randomness; so is knowing which ones live.
//!
//! Specification: 2025-11-25 basic/transports, session management. Gone in
//! 2026-07-28, where the header is ignored.

use std::fmt;

use http::{HeaderMap, HeaderValue, StatusCode};

use super::fields::Field;
use super::header;

/// A session id. Whoever knows it can speak for the session, so it is not printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(HeaderValue);

impl SessionId {
    /// Takes visible ASCII of at most 1 KiB.
    ///
    /// # Errors
    /// When it is empty, too long or holds anything else.
    pub fn new(text: impl Into<String>) -> Result<Self, SessionError> {
        let text = text.into();
        if !is_id(text.as_bytes()) {
            return Err(SessionError::Malformed);
        }
        let value = HeaderValue::try_from(text).map_err(|_| SessionError::Malformed)?;
        Ok(Self::secret(value))
    }

    /// The id that a request carries, or that a server mints.
    ///
    /// A client asks this of the answer that holds the `InitializeResult` and of
    /// no other: the first id is kept, a later one is not adopted.
    ///
    /// # Errors
    /// When there are several or it is malformed.
    pub fn read(headers: &HeaderMap) -> Result<Option<Self>, SessionError> {
        let found = Self::of(Field::of(headers, &header::SESSION_ID))?;
        // It may be kept for long, and the other headers need not.
        found.map(|id| Self::new(id.as_str())).transpose()
    }

    /// The same of the header alone, whose memory it shares.
    pub(super) fn of(field: Field<'_>) -> Result<Option<Self>, SessionError> {
        let value = match field {
            Field::Absent => return Ok(None),
            Field::Once(value) => value,
            Field::Repeated => return Err(SessionError::Repeated),
        };
        if is_id(value.as_bytes()) {
            return Ok(Some(Self::secret(value.clone())));
        }
        // There may be blanks around it.
        let text = value.to_str().map_err(|_| SessionError::Malformed)?;
        Self::new(text.trim_matches([' ', '\t'])).map(Some)
    }

    fn secret(mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        Self(value)
    }

    /// The id itself.
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The same, as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The value of the header, marked as a secret.
    pub fn header_value(&self) -> HeaderValue {
        self.0.clone()
    }
}

/// May an id look like this?
fn is_id(text: &[u8]) -> bool {
    // Without a way out in between, so that many bytes are looked at in one go.
    let is_visible = |all: bool, byte: &u8| all & (0x21..=0x7E).contains(byte);
    (1..=MAX_LENGTH).contains(&text.len()) && text.iter().fold(true, is_visible)
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(***)")
    }
}

/// What is wrong with the session of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// The server wants one on everything but `initialize`.
    Missing,
    /// The header is there more than once.
    Repeated,
    /// It is not visible ASCII of 1 to 1024 characters.
    Malformed,
    /// It has ended, never was, or is another user's. The client starts over.
    Unknown,
    /// It has a stream already, which a second one would take over.
    StreamTaken,
}

impl SessionError {
    /// The status a server answers with.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Missing | Self::Repeated | Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Unknown => StatusCode::NOT_FOUND,
            Self::StreamTaken => StatusCode::CONFLICT,
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => {
                "header mcp-session-id is missing, expected the id that initialize returned"
            }
            Self::Repeated => "header mcp-session-id is repeated, expected exactly one",
            Self::Malformed => {
                "header mcp-session-id is malformed, expected 1 to 1024 visible ASCII characters"
            }
            Self::Unknown => {
                "header mcp-session-id names no session here, expected a new initialize"
            }
            Self::StreamTaken => {
                "header mcp-session-id names a session whose stream is open, expected no second"
            }
        })
    }
}

impl std::error::Error for SessionError {}

// Room for a signed token; more would only be carried around on every request.
const MAX_LENGTH: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, is_valid: bool) {
        assert_eq!(SessionId::new(text).is_ok(), is_valid, "{text:?}");
    }

    #[test]
    fn ids_are_visible_ascii_of_bounded_length() {
        check("1868a90c-cafe", true);
        check("!~", true);
        check(&"a".repeat(1024), true);
        check(&"a".repeat(1025), false);
        check("", false);
        check("a b", false);
        check("a\tb", false);
        check("a\r\nb", false);
        check("a\0", false);
        check("\u{7f}", false);
        check("é", false);
    }

    #[test]
    fn a_header_is_read_once_and_its_name_in_any_case() {
        let mut headers = HeaderMap::new();
        assert_eq!(SessionId::read(&headers), Ok(None));
        headers.append("MCP-Session-Id", HeaderValue::from_static(" abc "));
        assert_eq!(SessionId::read(&headers).unwrap().unwrap().as_str(), "abc");
        headers.append("Mcp-Session-Id", HeaderValue::from_static("abc"));
        assert_eq!(SessionId::read(&headers), Err(SessionError::Repeated));
        headers.insert(header::SESSION_ID, HeaderValue::from_static("a b"));
        assert_eq!(SessionId::read(&headers), Err(SessionError::Malformed));
        headers.insert(header::SESSION_ID, HeaderValue::from_static(""));
        assert_eq!(SessionId::read(&headers), Err(SessionError::Malformed));
    }

    #[test]
    fn a_missing_id_is_400_and_an_unknown_one_404() {
        assert_eq!(SessionError::Missing.status(), 400);
        assert_eq!(SessionError::Malformed.status(), 400);
        assert_eq!(SessionError::Repeated.status(), 400);
        assert_eq!(SessionError::Unknown.status(), 404);
        assert_eq!(SessionError::StreamTaken.status(), 409);
    }

    #[test]
    fn an_id_is_never_printed() {
        let id = SessionId::new("very-secret").unwrap();
        assert_eq!(format!("{id:?}"), "SessionId(***)");
        assert!(!format!("{:?}", id.header_value()).contains("secret"));
    }
}
