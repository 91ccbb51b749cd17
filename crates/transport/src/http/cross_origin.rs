//! Tells a browser that a page may read the answers.
//!
//! Only asked for pages that the guard has let in: here nothing is allowed, it is only said.
//!
//! Specification: Fetch Standard, section 3.2 "CORS protocol".

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderValue, Method as Verb, Response};

use super::Body;
use super::answer::no_content;

/// Does a browser ask beforehand whether a page may send a request?
pub(super) fn is_preflight(verb: &Verb, headers: &HeaderMap) -> bool {
    verb == Verb::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Yes, it may: with these verbs, and with the headers that it asked for.
pub(super) fn preflight(allow: &'static str, headers: &HeaderMap) -> Response<Body> {
    let mut response = no_content();
    let answer = response.headers_mut();
    answer.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(allow),
    );
    // Annotated parameters have headers of any name.
    if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Lets pages of this origin read the response.
pub(super) fn share(origin: HeaderValue, response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("mcp-session-id, www-authenticate, retry-after"),
    );
    headers.append(VARY, HeaderValue::from_static("origin"));
}
