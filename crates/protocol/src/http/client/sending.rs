//! The headers of each kind of request.
//!
//! Authorization is added by whoever holds the credentials.
//!
//! Specification: 2025-11-25 basic/transports (sending, listening, sessions,
//! protocol version header); 2026-07-28 basic/transports/streamable-http, request
//! metadata.

use std::fmt;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::http::negotiate::Format;
use crate::http::session::SessionId;
use crate::http::{excerpt, header, mirror};
use crate::revision::Revision;

/// For a POST of the stateless era.
///
/// `name` is the parameter that [`Rule::mirrored`](crate::method::Rule) names,
/// `parameters` comes from
/// [`Parameters::headers_for`](crate::http::parameter::Parameters::headers_for).
///
/// # Errors
/// When the method's name cannot stand in a header, which has no encoded form for it.
pub fn stateless_headers(
    revision: Revision,
    method: &str,
    name: Option<&str>,
    parameters: Vec<(HeaderName, HeaderValue)>,
) -> Result<HeaderMap, Unsendable> {
    let mut headers = opening_headers();
    headers.insert(header::PROTOCOL_VERSION, version(revision));
    let is_plain = method.bytes().all(|byte| byte.is_ascii_graphic());
    let value = Some(method)
        .filter(|method| is_plain && !method.is_empty())
        .and_then(|method| HeaderValue::from_str(method).ok())
        .ok_or_else(|| Unsendable::Method(excerpt(method)))?;
    headers.insert(header::METHOD, value);
    if let Some(name) = name {
        headers.insert(header::NAME, mirror::encode(name));
    }
    headers.extend(parameters);
    Ok(headers)
}

/// For the POST of `initialize`: nothing is agreed yet, so nothing is named.
pub fn opening_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, Format::Json.header_value());
    headers.insert(ACCEPT, BOTH);
    headers
}

/// For every other POST of the handshake era.
pub fn handshake_headers(agreed: Revision, session: Option<&SessionId>) -> HeaderMap {
    let mut headers = opening_headers();
    add_agreed(&mut headers, agreed, session);
    headers
}

/// For a GET that opens a stream of the handshake era, or resumes one.
///
/// A stream is always resumed by GET, whatever opened it. Before anything is
/// agreed, as when HTTP+SSE is tried, `agreed` is `None`.
///
/// # Errors
/// When the event id cannot stand in a header.
pub fn stream_headers(
    agreed: Option<Revision>,
    session: Option<&SessionId>,
    last_event_id: Option<&str>,
) -> Result<HeaderMap, Unsendable> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, Format::EventStream.header_value());
    if let Some(agreed) = agreed {
        add_agreed(&mut headers, agreed, session);
    }
    if let Some(id) = last_event_id {
        let value =
            HeaderValue::from_bytes(id.as_bytes()).map_err(|_| Unsendable::EventId(excerpt(id)))?;
        headers.insert(header::LAST_EVENT_ID, value);
    }
    Ok(headers)
}

/// For the DELETE that ends a session.
pub fn ending_headers(agreed: Revision, session: &SessionId) -> HeaderMap {
    let mut headers = HeaderMap::new();
    add_agreed(&mut headers, agreed, Some(session));
    headers
}

/// For a POST to the endpoint of HTTP+SSE: the answer comes on the stream.
pub fn old_post_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, Format::Json.header_value());
    headers
}

/// A text that cannot stand in the header it belongs in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsendable {
    /// The name of a method.
    Method(String),
    /// The id of an event.
    EventId(String),
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(text) => write!(
                f,
                "method {text:?} cannot stand in the header mcp-method, expected visible ASCII"
            ),
            Self::EventId(text) => write!(
                f,
                "event id {text:?} cannot stand in the header last-event-id, expected no control \
                 characters"
            ),
        }
    }
}

impl std::error::Error for Unsendable {}

fn add_agreed(headers: &mut HeaderMap, agreed: Revision, session: Option<&SessionId>) {
    if agreed.requires_version_header() {
        headers.insert(header::PROTOCOL_VERSION, version(agreed));
    }
    if let Some(session) = session {
        headers.insert(header::SESSION_ID, session.header_value());
    }
}

fn version(revision: Revision) -> HeaderValue {
    HeaderValue::from_static(revision.as_str())
}

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &HeaderMap, expected: &[(&str, &str)]) {
        assert_eq!(headers.len(), expected.len(), "{headers:?}");
        for (name, value) in expected {
            assert_eq!(headers[*name], *value, "{name}");
        }
    }

    const JSON: (&str, &str) = ("Content-Type", "application/json");
    const EITHER: (&str, &str) = ("Accept", "application/json, text/event-stream");
    const STREAM: (&str, &str) = ("Accept", "text/event-stream");

    // the forty: 30
    #[test]
    fn a_stateless_call_carries_all_mirrors() {
        let parameters = vec![(
            HeaderName::from_static("mcp-param-region"),
            HeaderValue::from_static("us-west1"),
        )];
        let latest = Revision::V2026_07_28;
        let headers = stateless_headers(latest, "tools/call", Some("execute_sql"), parameters);
        check(
            &headers.unwrap(),
            &[
                JSON,
                EITHER,
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", "tools/call"),
                ("Mcp-Name", "execute_sql"),
                ("Mcp-Param-Region", "us-west1"),
            ],
        );
        let headers = stateless_headers(latest, "tools/call", Some("世"), Vec::new()).unwrap();
        assert_eq!(headers[header::NAME], "=?base64?5LiW?=");
        let headers = stateless_headers(latest, "tools/list", None, Vec::new()).unwrap();
        assert!(!headers.contains_key(header::NAME));
    }

    #[test]
    fn a_method_that_no_header_carries_is_not_sent() {
        for method in ["", "a b", "é", "a\r\nb", "a\0"] {
            assert!(stateless_headers(Revision::LATEST, method, None, Vec::new()).is_err());
        }
    }

    #[test]
    fn initialize_carries_no_mirrors_and_no_session() {
        check(&opening_headers(), &[JSON, EITHER]);
    }

    #[test]
    fn a_conversation_names_its_session_and_since_2025_06_18_its_version() {
        let session = SessionId::new("s1").unwrap();
        let named = ("Mcp-Session-Id", "s1");
        let headers = handshake_headers(Revision::V2025_03_26, Some(&session));
        check(&headers, &[JSON, EITHER, named]);
        let headers = handshake_headers(Revision::V2025_06_18, Some(&session));
        check(
            &headers,
            &[JSON, EITHER, named, ("MCP-Protocol-Version", "2025-06-18")],
        );
        let headers = handshake_headers(Revision::V2025_11_25, None);
        check(
            &headers,
            &[JSON, EITHER, ("MCP-Protocol-Version", "2025-11-25")],
        );
        let headers = ending_headers(Revision::V2025_11_25, &session);
        check(&headers, &[named, ("MCP-Protocol-Version", "2025-11-25")]);
    }

    // the forty: 26
    #[test]
    fn a_stream_is_opened_or_resumed_by_get() {
        let session = SessionId::new("s1").unwrap();
        let agreed = Some(Revision::V2025_11_25);
        let headers = stream_headers(agreed, Some(&session), Some("e-7")).unwrap();
        check(
            &headers,
            &[
                STREAM,
                ("Mcp-Session-Id", "s1"),
                ("MCP-Protocol-Version", "2025-11-25"),
                ("Last-Event-ID", "e-7"),
            ],
        );
        check(&stream_headers(None, None, None).unwrap(), &[STREAM]);
        assert!(stream_headers(agreed, None, Some("a\r\nb")).is_err());
        assert!(stream_headers(agreed, None, Some("a\0")).is_err());
        assert!(stream_headers(agreed, None, Some("é")).is_ok());
    }

    #[test]
    fn what_no_header_carries_is_named() {
        let method = stateless_headers(Revision::LATEST, "a b", None, Vec::new());
        assert_eq!(
            method.unwrap_err().to_string(),
            "method \"a b\" cannot stand in the header mcp-method, expected visible ASCII"
        );
        let event = stream_headers(None, None, Some("a\0"));
        assert_eq!(
            event.unwrap_err().to_string(),
            "event id \"a\\0\" cannot stand in the header last-event-id, expected no control \
             characters"
        );
    }

    #[test]
    fn the_old_endpoint_is_posted_json() {
        check(&old_post_headers(), &[JSON]);
    }
}
