//! The answer to a request, from its status and headers.
//!
//! Nothing here says "again": a request that may have been executed is repeated
//! by nobody who cannot know that it is safe.
//!
//! Specification: basic/transports of each revision; RFC 9110, section 10.2.3.

use std::fmt;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};

use crate::http::excerpt;
use crate::http::negotiate::{self, Format};
use crate::jsonrpc::ErrorObject;
use crate::machine::client::LaneEnd;

/// What was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Whether it holds a request, so that an answer must come.
    pub wants_answer: bool,
    /// Whether it named a session.
    pub has_session: bool,
}

/// What an answer turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// One message, or a batch: read the body to its end. Empty is an error.
    Json,
    /// Messages: read events until the answer.
    EventStream,
    /// Taken, and there is nothing to read.
    Accepted,
}

/// Reads the answer to a POST.
///
/// # Errors
/// Whatever is not an answer, by who must act on it.
pub fn read_answer(
    sent: Sent,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Answer, AnswerError> {
    check_status(status, headers, sent.has_session)?;
    if !sent.wants_answer {
        return Ok(Answer::Accepted);
    }
    let is_empty = headers
        .get(CONTENT_LENGTH)
        .is_some_and(|length| length == "0");
    let has_no_content = [
        StatusCode::ACCEPTED,
        StatusCode::NO_CONTENT,
        StatusCode::RESET_CONTENT,
    ];
    if is_empty || has_no_content.contains(&status) {
        return Err(AnswerError::NoAnswer { status });
    }
    match Format::of(headers) {
        Some(Format::Json) => Ok(Answer::Json),
        Some(Format::EventStream) => Ok(Answer::EventStream),
        None => Err(AnswerError::ContentType {
            status,
            found: negotiate::found(headers),
        }),
    }
}

/// Reads the answer to a GET that opens or resumes a stream.
///
/// `Ok(false)` says that the server has none, which is its right.
///
/// # Errors
/// Whatever is not a stream.
pub fn read_stream(
    has_session: bool,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<bool, AnswerError> {
    if status == StatusCode::METHOD_NOT_ALLOWED {
        return Ok(false);
    }
    check_status(status, headers, has_session)?;
    match Format::of(headers) {
        Some(Format::EventStream) if status == StatusCode::OK => Ok(true),
        _ => Err(AnswerError::ContentType {
            status,
            found: negotiate::found(headers),
        }),
    }
}

/// What became of a session that a DELETE was to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It has ended, now or before.
    Ended,
    /// The server ends sessions by itself.
    NotAllowed,
    /// Unknown. There is nothing a client could do about it.
    Unclear,
}

/// Reads the answer to a DELETE.
pub fn read_ending(status: StatusCode) -> Ending {
    match status {
        StatusCode::NOT_FOUND => Ending::Ended,
        StatusCode::METHOD_NOT_ALLOWED => Ending::NotAllowed,
        status if status.is_success() => Ending::Ended,
        _ => Ending::Unclear,
    }
}

/// Why a response holds no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// The caller must authorise, or ask for more scope: the response has a challenge
    /// or is 401.
    Unauthorised {
        /// 401 or 403.
        status: StatusCode,
    },
    /// The session is gone: `initialize` again, without a session id, once.
    SessionLost,
    /// The server cannot now. It says nothing about whether the request was executed.
    Unavailable {
        /// 408, 429 or 5xx.
        status: StatusCode,
        /// When it might again.
        retry_after: Option<RetryAfter>,
        /// Whether the body is JSON, so that it may hold a JSON-RPC error.
        has_json: bool,
    },
    /// The server refused this request.
    Refused {
        /// Any other 4xx.
        status: StatusCode,
        /// Whether the body is JSON, so that it may hold a JSON-RPC error.
        has_json: bool,
    },
    /// The server sends us elsewhere, see [`follow_redirect`](super::follow_redirect).
    Redirected {
        /// The status.
        status: StatusCode,
    },
    /// The server broke the protocol: a request, and nothing that answers it.
    NoAnswer {
        /// The status.
        status: StatusCode,
    },
    /// The server broke the protocol: neither JSON nor an event stream.
    ContentType {
        /// The status.
        status: StatusCode,
        /// What it is said to be.
        found: Option<String>,
    },
}

impl AnswerError {
    /// What a client machine hears of it, if nobody can mend it: authorise, follow, wait.
    ///
    /// `error` is the JSON-RPC error of the body, where it holds one.
    pub fn lane_end(&self, error: Option<ErrorObject>) -> LaneEnd {
        match self {
            Self::Unauthorised { status }
            | Self::Unavailable { status, .. }
            | Self::Refused { status, .. }
            | Self::NoAnswer { status }
            | Self::ContentType { status, .. } => LaneEnd::Refused {
                status: status.as_u16(),
                error,
            },
            Self::SessionLost => LaneEnd::SessionLost,
            Self::Redirected { .. } => LaneEnd::Broken(self.to_string()),
        }
    }
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthorised { status } => {
                write!(
                    f,
                    "the server wants authorization (status {})",
                    status.as_u16()
                )
            }
            Self::SessionLost => f.write_str("the server no longer knows the session"),
            Self::Unavailable {
                status,
                retry_after,
                ..
            } => {
                write!(f, "the server is unavailable (status {})", status.as_u16())?;
                match retry_after {
                    Some(RetryAfter::Seconds(wait)) => {
                        write!(f, ", it asks to wait {} s", wait.as_secs())
                    }
                    Some(RetryAfter::Date(date)) => write!(f, ", it asks to wait until {date:?}"),
                    None => Ok(()),
                }
            }
            Self::Refused { status, .. } => {
                write!(
                    f,
                    "the server refused the request (status {})",
                    status.as_u16()
                )
            }
            Self::Redirected { status } => {
                write!(f, "the server redirects (status {})", status.as_u16())
            }
            Self::NoAnswer { status } => {
                write!(
                    f,
                    "the server answered a request with nothing (status {})",
                    status.as_u16()
                )
            }
            Self::ContentType { found, .. } => {
                f.write_str("the server answered with ")?;
                match found {
                    Some(found) => write!(f, "content type {found:?}")?,
                    None => f.write_str("no content type")?,
                }
                write!(f, ", expected {} or {}", Format::Json, Format::EventStream)
            }
        }
    }
}

impl std::error::Error for AnswerError {}

/// When a server wants to be asked again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryAfter {
    /// After this time.
    Seconds(Duration),
    /// At this HTTP date, as it was sent: only whoever has a clock can use it.
    Date(String),
}

impl RetryAfter {
    /// Reads `Retry-After`. What is neither a number nor printable is not there.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        if text.is_empty() {
            None
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number too large to hold means "not in this life", which a century does too.
            let seconds = text.parse().unwrap_or(u64::from(u32::MAX));
            Some(Self::Seconds(Duration::from_secs(seconds)))
        } else {
            Some(Self::Date(excerpt(text)))
        }
    }
}

/// Lets only success through.
fn check_status(
    status: StatusCode,
    headers: &HeaderMap,
    has_session: bool,
) -> Result<(), AnswerError> {
    let has_json = Format::of(headers) == Some(Format::Json);
    if status.is_success() {
        Ok(())
    } else if is_challenge(status, headers.contains_key(WWW_AUTHENTICATE)) {
        Err(AnswerError::Unauthorised { status })
    } else if status == StatusCode::NOT_FOUND && has_session {
        Err(AnswerError::SessionLost)
    } else if is_unavailable(status) {
        Err(AnswerError::Unavailable {
            status,
            retry_after: RetryAfter::read(headers),
            has_json,
        })
    } else if status.is_client_error() {
        Err(AnswerError::Refused { status, has_json })
    } else if status.is_redirection() {
        Err(AnswerError::Redirected { status })
    } else {
        Err(AnswerError::NoAnswer { status })
    }
}

/// Must the client authorise? 401 always says so, 403 with a challenge.
fn is_challenge(status: StatusCode, has_challenge: bool) -> bool {
    status == StatusCode::UNAUTHORIZED || (status == StatusCode::FORBIDDEN && has_challenge)
}

/// Is it a state of the server, rather than something about the request?
fn is_unavailable(status: StatusCode) -> bool {
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || passing.contains(&status)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const REQUEST: Sent = Sent {
        wants_answer: true,
        has_session: false,
    };
    const IN_SESSION: Sent = Sent {
        wants_answer: true,
        has_session: true,
    };
    const NOTIFICATION: Sent = Sent {
        wants_answer: false,
        has_session: true,
    };

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    fn read(
        sent: Sent,
        status: u16,
        pairs: &[(&'static str, &str)],
    ) -> Result<Answer, AnswerError> {
        read_answer(sent, StatusCode::from_u16(status).unwrap(), &headers(pairs))
    }

    const JSON: (&str, &str) = ("content-type", "Application/JSON; charset=utf-8");
    const STREAM: (&str, &str) = ("content-type", "text/event-stream");

    #[test]
    fn a_request_is_answered_with_json_or_a_stream() {
        assert_eq!(read(REQUEST, 200, &[JSON]), Ok(Answer::Json));
        assert_eq!(read(REQUEST, 200, &[STREAM]), Ok(Answer::EventStream));
    }

    #[test]
    fn an_empty_answer_to_a_request_is_an_error() {
        for (status, pairs) in [(202, &[][..]), (204, &[]), (202, &[JSON])] {
            let error = read(REQUEST, status, pairs).unwrap_err();
            assert!(matches!(error, AnswerError::NoAnswer { .. }), "{status}");
        }
        let empty = [JSON, ("content-length", "0")];
        assert!(matches!(
            read(REQUEST, 200, &empty),
            Err(AnswerError::NoAnswer { .. })
        ));
    }

    #[test]
    fn html_and_a_missing_content_type_are_errors_that_name_it() {
        let error = read(REQUEST, 200, &[("content-type", "text/html")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the server answered with content type \"text/html\", expected application/json or \
             text/event-stream"
        );
        let error = read(REQUEST, 200, &[]).unwrap_err();
        assert_eq!(
            error,
            AnswerError::ContentType {
                status: StatusCode::OK,
                found: None
            }
        );
    }

    #[test]
    fn a_notification_is_taken_by_any_success() {
        for status in [200, 202, 204] {
            assert_eq!(read(NOTIFICATION, status, &[]), Ok(Answer::Accepted));
        }
        assert!(read(NOTIFICATION, 400, &[]).is_err());
    }

    #[test]
    fn a_challenge_wants_authorization() {
        let challenge = ("www-authenticate", "Bearer");
        for (status, pairs) in [(401, &[][..]), (401, &[challenge]), (403, &[challenge])] {
            let error = read(IN_SESSION, status, pairs).unwrap_err();
            assert!(
                matches!(error, AnswerError::Unauthorised { .. }),
                "{status}"
            );
        }
        let error = read(REQUEST, 403, &[]).unwrap_err();
        assert!(matches!(
            error,
            AnswerError::Refused {
                has_json: false,
                ..
            }
        ));
    }

    // the forty: 28
    #[test]
    fn not_found_in_a_session_says_that_it_is_lost() {
        assert_eq!(
            read(IN_SESSION, 404, &[JSON]),
            Err(AnswerError::SessionLost)
        );
        assert_eq!(read(NOTIFICATION, 404, &[]), Err(AnswerError::SessionLost));
        let error = read(REQUEST, 404, &[JSON]).unwrap_err();
        assert!(matches!(error, AnswerError::Refused { has_json: true, .. }));
        let error = read(IN_SESSION, 400, &[JSON]).unwrap_err();
        assert!(matches!(error, AnswerError::Refused { has_json: true, .. }));
    }

    #[test]
    fn an_unavailable_server_says_when_to_come_back() {
        let check = |status, value: &str, expected| {
            let error = read(REQUEST, status, &[("retry-after", value)]).unwrap_err();
            let AnswerError::Unavailable { retry_after, .. } = error else {
                panic!("{status}: {error}");
            };
            assert_eq!(retry_after, expected, "{value}");
        };
        let seconds = |count| Some(RetryAfter::Seconds(Duration::from_secs(count)));
        check(429, "120", seconds(120));
        check(503, " 0 ", seconds(0));
        check(500, "99999999999999999999999", seconds(u64::from(u32::MAX)));
        check(502, "-1", Some(RetryAfter::Date("-1".into())));
        check(408, "", None);
        let date = "Wed, 21 Oct 2026 07:28:00 GMT";
        check(504, date, Some(RetryAfter::Date(date.into())));
    }

    #[test]
    fn redirects_and_odd_statuses_are_no_answers() {
        for status in [301, 302, 303, 307, 308] {
            let error = read(REQUEST, status, &[]).unwrap_err();
            assert!(matches!(error, AnswerError::Redirected { .. }), "{status}");
        }
        assert!(matches!(
            read(REQUEST, 100, &[]),
            Err(AnswerError::NoAnswer { .. })
        ));
    }

    #[test]
    fn a_machine_hears_the_status_unless_the_connection_itself_is_in_doubt() {
        let hears = |sent, status, pairs| read(sent, status, pairs).unwrap_err().lane_end(None);
        for status in [200, 202, 400, 401, 404, 429, 503] {
            let refused = LaneEnd::Refused {
                status,
                error: None,
            };
            assert_eq!(hears(REQUEST, status, &[]), refused);
        }
        assert_eq!(hears(IN_SESSION, 404, &[]), LaneEnd::SessionLost);
        assert!(matches!(hears(REQUEST, 307, &[]), LaneEnd::Broken(_)));
    }

    #[test]
    fn a_server_may_have_no_stream_to_open() {
        let read = |status, pairs: &[(&'static str, &str)]| {
            read_stream(true, StatusCode::from_u16(status).unwrap(), &headers(pairs))
        };
        assert_eq!(read(200, &[STREAM]), Ok(true));
        assert_eq!(read(405, &[]), Ok(false));
        assert_eq!(read(404, &[]), Err(AnswerError::SessionLost));
        assert!(matches!(
            read(500, &[]),
            Err(AnswerError::Unavailable { .. })
        ));
        assert!(matches!(
            read(200, &[JSON]),
            Err(AnswerError::ContentType { .. })
        ));
        assert!(read(204, &[]).is_err());
        assert!(read(202, &[STREAM]).is_err());
    }

    #[test]
    fn a_session_ends_or_the_server_keeps_it() {
        assert_eq!(read_ending(StatusCode::OK), Ending::Ended);
        assert_eq!(read_ending(StatusCode::NO_CONTENT), Ending::Ended);
        assert_eq!(read_ending(StatusCode::NOT_FOUND), Ending::Ended);
        assert_eq!(
            read_ending(StatusCode::METHOD_NOT_ALLOWED),
            Ending::NotAllowed
        );
        assert_eq!(read_ending(StatusCode::BAD_GATEWAY), Ending::Unclear);
    }
}
