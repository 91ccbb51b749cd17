//! What an incoming request is, and whether it may come in.
//!
//! A server asks in this order, and the first refusal is the answer:
//!
//! 1. Origin and Host: [`Guard::check`](super::origin::Guard::check), 403
//! 2. verb, content type and accept: [`check_head`], 405, 415, 406
//! 3. who is it? (the authorization layer), 401 or 403
//! 4. parse the body: -32700 or -32600, 400
//! 5. [`admit`]: era, envelope (-32602), mirrors (-32020), version (-32022),
//!    method (-32601, 404)
//! 6. [`Parameters::check`](super::parameter::Parameters::check): -32020
//! 7. capabilities of the client (-32021), then the parameters themselves
//!
//! The status must be known before an event stream begins, since it is 200 from
//! then on: [`status_for`].
//!
//! Specification: 2025-11-25 basic/transports; 2026-07-28
//! basic/transports/streamable-http; basic/versioning.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::mirror::{self, Mismatch};
use super::negotiate::Format;
use super::session::{SessionError, SessionId};
use super::{excerpt, header};
use crate::jsonrpc::ErrorCode;
use crate::method::Method;
use crate::revision::{Era, Revision};
use crate::types::meta_key;

mod head;
mod refusal;

pub use head::{Endpoint, Head, check_head};
pub use refusal::Refusal;

/// What a parsed body says that the headers must agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body<'a> {
    /// What kind of message it is.
    pub shape: Shape,
    /// Its `method`; empty for a response or a batch.
    pub method: &'a str,
    /// `params._meta["io.modelcontextprotocol/protocolVersion"]`.
    pub version: Member<'a>,
    /// Whether `params._meta["io.modelcontextprotocol/clientCapabilities"]` is an object.
    pub has_capabilities: bool,
    /// The parameter that `Mcp-Name` repeats, see [`Rule::mirrored`](crate::method::Rule).
    pub name: Member<'a>,
    /// `params.protocolVersion`, which `initialize` offers.
    pub offered: Member<'a>,
}

/// What kind of message a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Wants an answer.
    Request,
    /// Is answered with 202 and nothing else.
    Notification,
    /// As a notification; only the handshake era has it.
    Response,
    /// Several messages; only 2025-03-26 has it.
    Batch,
}

/// A member of the body that should be a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Member<'a> {
    /// Not there.
    #[default]
    Absent,
    /// There, but not a string.
    NotText,
    /// There.
    Text(&'a str),
}

/// How a message is to be treated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Admission {
    /// It stands alone. A session id, if one was sent, is ignored.
    Stateless {
        /// Its revision.
        revision: Revision,
    },
    /// It is `initialize`: open a conversation.
    Opening,
    /// It belongs to a conversation. If that has ended or never was, or is another
    /// user's: 404 ([`SessionError::Unknown`]).
    Session {
        /// Which one.
        id: SessionId,
        /// What the header names; what was agreed counts where it is absent.
        revision: Option<Revision>,
    },
    /// It belongs to the handshake era, but to no session.
    Sessionless {
        /// What the header names; 2025-03-26 where it is absent.
        revision: Revision,
    },
}

/// Decides how a posted message is to be treated; the first rule that fits wins.
///
/// | | the message | is |
/// |---|---|---|
/// | 1 | is an array | of 2025-03-26, or refused |
/// | 2 | names its version in the envelope | stateless |
/// | 3 | names a stateless version in the header only | stateless and malformed |
/// | 4 | is `initialize` | an opening |
/// | 5 | has a session id | of that session |
/// | 6 | names an unknown version in the header | refused |
/// | 7 | none of these | session-less, 2025-03-26 unless the header says otherwise |
///
/// # Errors
/// The refusal, with status, code and message.
pub fn admit(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    body: &Body<'_>,
) -> Result<Admission, Refusal> {
    if body.shape != Shape::Batch {
        if body.version != Member::Absent {
            return admit_stateless(endpoint, headers, body);
        }
        if let Some(revision) = stateless_header(headers)? {
            return admit_without_envelope(endpoint, revision, headers, body);
        }
        if body.shape == Shape::Request && body.method == Method::Initialize.name() {
            return admit_opening(endpoint, body);
        }
    }
    admit_handshake(endpoint, headers, body)
}

/// Checks that a conversation of this revision may hold this kind of message.
///
/// For [`Admission::Session`], whose revision only the session knows.
///
/// # Errors
/// For a batch outside 2025-03-26: 400 and -32600.
pub fn check_batch(revision: Revision, shape: Shape) -> Result<(), Refusal> {
    if shape == Shape::Batch && !revision.accepts_batches() {
        Err(Refusal::Batch {
            revision: Some(revision),
        })
    } else {
        Ok(())
    }
}

/// When an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Before the message was given to anyone.
    Admission,
    /// As the answer of whoever it was given to.
    Answer,
}

/// The status of an answer that is this error.
pub const fn status_for(error: ErrorCode, era: Era, stage: Stage) -> StatusCode {
    match (era, stage, error) {
        (Era::Stateless, _, ErrorCode::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        (_, Stage::Admission, _)
        | (
            Era::Stateless,
            _,
            ErrorCode::PARSE_ERROR
            | ErrorCode::INVALID_REQUEST
            | ErrorCode::HEADER_MISMATCH
            | ErrorCode::MISSING_CLIENT_CAPABILITY
            | ErrorCode::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        // Unstated for the stateless era; the handshake era answers a request so.
        (_, Stage::Answer, _) => StatusCode::OK,
    }
}

/// The status of a message that was taken: 202 for one that wants no answer.
pub const fn accepted_status(shape: Shape, wants_answer: bool) -> StatusCode {
    match shape {
        Shape::Request => StatusCode::OK,
        Shape::Batch if wants_answer => StatusCode::OK,
        Shape::Batch | Shape::Notification | Shape::Response => StatusCode::ACCEPTED,
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

/// Rule 2.
fn admit_stateless(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    body: &Body<'_>,
) -> Result<Admission, Refusal> {
    let Member::Text(version) = body.version else {
        return Err(Refusal::Envelope {
            field: meta_key::PROTOCOL_VERSION,
        });
    };
    if !endpoint.serves(Era::Stateless) {
        return Err(Refusal::Version {
            requested: excerpt(version),
        });
    }
    let is_request = body.shape == Shape::Request;
    if is_request && !body.has_capabilities {
        return Err(Refusal::Envelope {
            field: meta_key::CLIENT_CAPABILITIES,
        });
    }
    check_mirrors(headers, body, Some(version)).map_err(Refusal::Header)?;
    let revision = known(endpoint, version)?;
    // Revisions with a handshake are served after it, never by an envelope.
    if revision.era() != Era::Stateless {
        return Err(Refusal::Version {
            requested: excerpt(version),
        });
    }
    if is_request && !endpoint.has_method(body.method, revision) {
        return Err(Refusal::Method {
            method: excerpt(body.method),
        });
    }
    Ok(Admission::Stateless { revision })
}

/// Rule 3. Only a notification may do without an envelope.
fn admit_without_envelope(
    endpoint: &Endpoint,
    revision: Revision,
    headers: &HeaderMap,
    body: &Body<'_>,
) -> Result<Admission, Refusal> {
    match body.shape {
        Shape::Request if endpoint.serves(Era::Stateless) => Err(Refusal::Envelope {
            field: meta_key::PROTOCOL_VERSION,
        }),
        Shape::Response if endpoint.serves(Era::Stateless) => Err(Refusal::Response),
        Shape::Notification if endpoint.revisions.contains(&revision) => {
            check_mirrors(headers, body, None).map_err(Refusal::Header)?;
            Ok(Admission::Stateless { revision })
        }
        _ => Err(Refusal::Version {
            requested: revision.to_string(),
        }),
    }
}

/// Rule 4.
fn admit_opening(endpoint: &Endpoint, body: &Body<'_>) -> Result<Admission, Refusal> {
    if endpoint.serves(Era::Handshake) {
        return Ok(Admission::Opening);
    }
    // An old client can show nothing but this error, so it names what is served.
    let requested = match body.offered {
        Member::Text(version) => excerpt(version),
        Member::Absent | Member::NotText => String::new(),
    };
    Err(Refusal::Version { requested })
}

/// Rules 1, 5, 6 and 7.
fn admit_handshake(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    body: &Body<'_>,
) -> Result<Admission, Refusal> {
    if body.shape == Shape::Batch && !endpoint.revisions.iter().any(|r| r.accepts_batches()) {
        return Err(Refusal::Batch { revision: None });
    }
    let revision = match version_header(headers)? {
        Some(version) => Some(known(endpoint, version)?),
        None => None,
    };
    if let Some(revision) = revision {
        check_batch(revision, body.shape)?;
    }
    if !endpoint.serves(Era::Handshake) {
        return Err(Refusal::Header(Mismatch::missing(
            &header::PROTOCOL_VERSION,
            Revision::LATEST.as_str(),
        )));
    }
    if let Some(id) = SessionId::read(headers).map_err(Refusal::Session)? {
        return Ok(Admission::Session { id, revision });
    }
    if endpoint.requires_session {
        return Err(Refusal::Session(SessionError::Missing));
    }
    let revision = revision.unwrap_or(ASSUMED);
    if endpoint.revisions.contains(&revision) {
        Ok(Admission::Sessionless { revision })
    } else {
        Err(Refusal::Header(Mismatch::missing(
            &header::PROTOCOL_VERSION,
            Revision::LATEST_HANDSHAKE.as_str(),
        )))
    }
}

/// Checks version, method and name. `version` is the envelope's.
fn check_mirrors(
    headers: &HeaderMap,
    body: &Body<'_>,
    version: Option<&str>,
) -> Result<(), Mismatch> {
    // What headers a notification has is undefined, so none is missed; but one
    // that is there and lies would mislead a proxy all the same.
    let is_request = body.shape == Shape::Request;
    let wanted = |name: HeaderName| is_request || headers.contains_key(name);
    if let Some(version) = version
        && wanted(header::PROTOCOL_VERSION)
    {
        mirror::check_literal(headers, &header::PROTOCOL_VERSION, version)?;
    }
    if wanted(header::METHOD) {
        mirror::check_literal(headers, &header::METHOD, body.method)?;
    }
    let mirrored = Method::from_name(body.method).and_then(|method| method.rule().mirrored);
    match (mirrored, body.name) {
        (Some(_), Member::Text(name)) => mirror::check_encoded(headers, &header::NAME, name),
        (Some(parameter), Member::Absent | Member::NotText) => {
            match mirror::one(headers, &header::NAME)? {
                Some(_) => Err(Mismatch::Unexpected {
                    header: header::NAME,
                }),
                None => Err(Mismatch::missing(
                    &header::NAME,
                    &format!("params.{parameter}"),
                )),
            }
        }
        // A name that nothing asks for repeats nothing.
        (None, _) => Ok(()),
    }
}

/// The version that the header names, if it is one of the stateless era.
fn stateless_header(headers: &HeaderMap) -> Result<Option<Revision>, Refusal> {
    let named = version_header(headers)?.and_then(|version| version.parse::<Revision>().ok());
    Ok(named.filter(|revision| revision.era() == Era::Stateless))
}

/// The version that the header names.
fn version_header(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let name = &header::PROTOCOL_VERSION;
    let Some(value) = mirror::one(headers, name).map_err(Refusal::Header)? else {
        return Ok(None);
    };
    mirror::plain_text(value)
        .map(Some)
        .map_err(|reason| Refusal::Header(Mismatch::malformed(name, reason)))
}

/// The revision with this name, if the endpoint serves it.
fn known(endpoint: &Endpoint, version: &str) -> Result<Revision, Refusal> {
    version
        .parse()
        .ok()
        .filter(|revision| endpoint.revisions.contains(revision))
        .ok_or_else(|| Refusal::Version {
            requested: excerpt(version),
        })
}

// Handshake era: what a client speaks that says nothing; the header came later.
const ASSUMED: Revision = Revision::V2025_03_26;

#[cfg(test)]
mod tests;
