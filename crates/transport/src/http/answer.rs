//! Responses, with their headers.
//!
//! Which one to give is decided elsewhere; nothing here depends on a message's meaning.
//!
//! Specification: basic/transports of each revision, sending messages.

use std::sync::LazyLock;
use std::time::Duration;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use switchboard_protocol::http::header::ACCEL_BUFFERING;
use switchboard_protocol::http::server::{self, Refusal};
use switchboard_protocol::jsonrpc::{self, ErrorObject, Frame, Malformed, Message};

use super::Body;

/// A JSON text.
pub fn json(status: StatusCode, text: impl Into<Body>) -> Response<Body> {
    // What nearly all answers say is copied, which is cheaper than to find its place each time.
    static HEADERS: LazyLock<HeaderMap> =
        LazyLock::new(|| HeaderMap::from_iter([(CONTENT_TYPE, JSON)]));
    let mut response = bare(status, text.into());
    *response.headers_mut() = HEADERS.clone();
    response
}

/// 202: what was sent wants no answer.
pub fn accepted() -> Response<Body> {
    bare(StatusCode::ACCEPTED, Body::empty())
}

/// 204: it is done, as after DELETE.
pub fn no_content() -> Response<Body> {
    bare(StatusCode::NO_CONTENT, Body::empty())
}

/// An event stream that reaches the client as it is written: no proxy may hold it back or
/// keep it.
pub fn event_stream(body: Body) -> Response<Body> {
    let mut response = bare(StatusCode::OK, body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// The answer to a request that may not come in, with the id of its message if it had one.
pub fn refuse(
    refusal: &Refusal,
    endpoint: &server::Endpoint,
    frame: Option<&Result<Frame, Malformed>>,
) -> Response<Body> {
    let answer = match frame {
        Some(frame) => refusal.response(endpoint, &server::Body::of(frame)),
        None => jsonrpc::Response::without_id(refusal.error(&endpoint.revisions)),
    };
    let mut response = error(refusal.status(), answer);
    if let Some(allow) = refusal.allow() {
        let headers = response.headers_mut();
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    }
    response
}

/// There is too much to do: 503 for everyone, 429 for this caller. It may try again later.
pub fn busy(status: StatusCode, reason: ErrorObject, retry_after: Duration) -> Response<Body> {
    let mut response = error(status, jsonrpc::Response::without_id(reason));
    let seconds = HeaderValue::from(retry_after.as_secs().max(1));
    response.headers_mut().insert(RETRY_AFTER, seconds);
    response
}

/// An error of JSON-RPC.
pub(super) fn error(status: StatusCode, answer: jsonrpc::Response) -> Response<Body> {
    json(status, &Message::Response(answer))
}

pub(super) fn bare(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
