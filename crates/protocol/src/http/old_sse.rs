//! The two endpoints of 2024-11-05: events come from one, posts go to the other.
//!
//! The server's first event names where to post. Everything else is the event
//! stream's and the transport's business: every message of the server is a
//! `message` event, every message of the client a POST that is answered without
//! content.
//!
//! Specification: 2024-11-05 basic/transports, HTTP with SSE.

use std::fmt;

use http::Uri;

use super::location::{ReferenceError, resolve_same_origin};

/// Where to post, from the first event of a stream.
///
/// `event` is the event's type, `data` its data, `stream` the URI of the stream.
///
/// # Errors
/// When the event is not `endpoint`, or names a place outside the stream's origin.
/// Nothing must be posted then.
pub fn read_endpoint(stream: &Uri, event: &str, data: &str) -> Result<Uri, EndpointError> {
    if event != ENDPOINT {
        return Err(EndpointError::NotEndpoint(super::excerpt(event)));
    }
    if data.is_empty() {
        return Err(EndpointError::Empty);
    }
    resolve_same_origin(stream, data).map_err(EndpointError::Unusable)
}

/// Why a stream did not say where to post.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointError {
    /// The first event is another one.
    NotEndpoint(String),
    /// The event names nothing.
    Empty,
    /// The event names a place that must not be posted to.
    Unusable(ReferenceError),
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEndpoint(event) => {
                write!(f, "the first event is {event:?}, expected {ENDPOINT:?}")
            }
            Self::Empty => f.write_str("the endpoint event is empty, expected a URI"),
            Self::Unusable(_) => f.write_str("the endpoint event names no usable place to post"),
        }
    }
}

impl std::error::Error for EndpointError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unusable(reason) => Some(reason),
            Self::NotEndpoint(_) | Self::Empty => None,
        }
    }
}

/// The type of the first event.
pub const ENDPOINT: &str = "endpoint";

/// The type of every other event.
pub const MESSAGE: &str = "message";

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    fn read(event: &str, data: &str) -> Result<String, EndpointError> {
        let stream = "https://host/v1/sse".parse().unwrap();
        read_endpoint(&stream, event, data).map(|uri| uri.to_string())
    }

    #[test]
    fn the_endpoint_may_be_relative_or_absolute() {
        assert_eq!(
            read("endpoint", "/post?s=1").unwrap(),
            "https://host/post?s=1"
        );
        assert_eq!(read("endpoint", "post").unwrap(), "https://host/v1/post");
        assert_eq!(
            read("endpoint", "https://host/p").unwrap(),
            "https://host/p"
        );
    }

    #[test]
    fn the_first_event_is_the_endpoint() {
        assert!(matches!(
            read("message", "/post"),
            Err(EndpointError::NotEndpoint(_))
        ));
        assert!(matches!(
            read("Endpoint", "/post"),
            Err(EndpointError::NotEndpoint(_))
        ));
        assert_eq!(read("endpoint", ""), Err(EndpointError::Empty));
    }

    #[test]
    fn another_origin_or_scheme_is_not_posted_to() {
        for data in [
            "https://evil.example/",
            "http://host/",
            "//evil.example",
            "file:///tmp/x",
            "https://host:8443/",
        ] {
            assert!(
                matches!(read("endpoint", data), Err(EndpointError::Unusable(_))),
                "{data}"
            );
        }
    }

    #[test]
    fn an_endpoint_that_is_none_says_why() {
        for (event, data, expected, cause) in [
            (
                "message",
                "/post",
                "the first event is \"message\", expected \"endpoint\"",
                None,
            ),
            (
                "endpoint",
                "",
                "the endpoint event is empty, expected a URI",
                None,
            ),
            (
                "endpoint",
                "//evil.example",
                "the endpoint event names no usable place to post",
                Some("\"//evil.example\" leads to another origin"),
            ),
        ] {
            let error = read(event, data).unwrap_err();
            assert_eq!(error.to_string(), expected);
            let found = error.source().map(ToString::to_string);
            assert_eq!(found.as_deref(), cause, "{expected}");
        }
    }
}
