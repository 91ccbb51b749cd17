//! How an answer begins: its status, its format, its headers.
//!
//! The machine says what is answered, and a refusal has its status by itself; here the
//! errors of the machine and of handlers get theirs.
//!
//! Specification: basic/transports of each revision, sending messages; 2026-07-28
//! basic/transports/streamable-http, basic (error codes).

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::http::header;
use crate::http::negotiate::{Accepted, Format};
use crate::jsonrpc::{ErrorCode, Message};
use crate::revision::Era;

/// When an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The machine answered by itself: the answer came out as the message went in.
    Admission,
    /// As the answer of whoever the message was given to.
    Answer,
}

/// The status of an answer that is this error.
pub const fn status_for(error: ErrorCode, era: Era, stage: Stage) -> StatusCode {
    match (era, stage, error) {
        // Whoever is between may try another instance, and the client later.
        (_, _, ErrorCode::BUSY) => StatusCode::SERVICE_UNAVAILABLE,
        (_, _, ErrorCode::TOO_MANY) => StatusCode::TOO_MANY_REQUESTS,
        (Era::Stateless, _, ErrorCode::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        // Before a handler has it, what is wrong with the parameters is the envelope.
        (Era::Stateless, Stage::Admission, ErrorCode::INVALID_PARAMS)
        | (
            Era::Stateless,
            _,
            ErrorCode::PARSE_ERROR
            | ErrorCode::INVALID_REQUEST
            | ErrorCode::HEADER_MISMATCH
            | ErrorCode::MISSING_CLIENT_CAPABILITY
            | ErrorCode::UNSUPPORTED_VERSION,
        )
        | (
            Era::Handshake,
            Stage::Admission,
            ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST | ErrorCode::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        // Unstated for the stateless era; the handshake era answers a request so.
        _ => StatusCode::OK,
    }
}

/// How an answer begins: by the first message that is sent on the stream of its POST.
///
/// If that is the answer itself, it can be JSON, and an error still has its status; only if
/// something comes before must it be an event stream. None where the client accepts no
/// format that could carry the message: then the message is not sent.
///
/// A message that gets no answer has the status 202 and no body.
pub fn begin_answer(
    first: &Message,
    era: Era,
    stage: Stage,
    accepted: Accepted,
) -> Option<(StatusCode, Format)> {
    let status = match first {
        Message::Response(response) => match &response.outcome {
            Ok(_) => StatusCode::OK,
            Err(error) => status_for(error.code, era, stage),
        },
        Message::Request(_) | Message::Notification(_) => {
            return Some((StatusCode::OK, accepted.choose(true)?));
        }
    };
    if status == StatusCode::OK {
        Some((status, accepted.choose(false)?))
    } else {
        // What a refusal looks like does not depend on what was hoped for.
        Some((status, Format::Json))
    }
}

/// The headers of an answer in this format.
///
/// An event stream must reach the client as it is written, so no proxy may hold
/// it back or keep it.
pub fn answer_headers(format: Format) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, format.header_value());
    if format == Format::EventStream {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::ACCEL_BUFFERING, HeaderValue::from_static("no"));
    }
    headers
}
