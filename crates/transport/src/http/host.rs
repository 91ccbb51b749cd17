//! What stands behind an endpoint: the conversations.
//!
//! The endpoint has asked everything that HTTP can ask; from here on it is about messages.
//! A future given out here is dropped when the client goes away before there is a response;
//! after that, [`EventSender::on_closed`](super::EventSender::on_closed) says so. In the
//! stateless era either cancels the call. In the handshake era neither does, so a host lets
//! such a call run elsewhere.
//!
//! Specification: 2025-11-25 basic/transports; 2026-07-28
//! basic/transports/streamable-http; 2024-11-05 basic/transports.

use std::fmt::Write as _;
use std::future::{Future, ready};
use std::sync::Arc;

use http::{Response, StatusCode};
use switchboard_protocol::framing::Event;
use switchboard_protocol::http::negotiate::Accepted;
use switchboard_protocol::http::old_sse;
use switchboard_protocol::http::server::Admission;
use switchboard_protocol::http::session::SessionId;
use switchboard_protocol::jsonrpc::{Frame, Malformed};

use super::answer::bare;
use super::{Body, Principal, RequestHead};

/// Serves what an [`Endpoint`](super::Endpoint) lets in.
pub trait Host: Send + Sync + 'static {
    /// A message, or a batch.
    fn post(self: &Arc<Self>, post: Post) -> impl Future<Output = Response<Body>> + Send;

    /// Opens a stream of a session, or resumes one. Only called where the endpoint offers
    /// streams.
    fn get(self: Arc<Self>, get: Get) -> impl Future<Output = Response<Body>> + Send;

    /// Ends a session. Only called where the endpoint lets clients do so.
    fn delete(self: Arc<Self>, delete: Delete) -> impl Future<Output = Response<Body>> + Send;

    /// Opens a stream as of 2024-11-05, whose first event says where to post. Only called
    /// where that transport is switched on.
    fn old_get(self: Arc<Self>, _: OldGet) -> impl Future<Output = Response<Body>> + Send {
        ready(bare(StatusCode::NOT_FOUND, Body::empty()))
    }

    /// A message to a stream as of 2024-11-05, on which it is answered. Only called where
    /// that transport is switched on.
    fn old_post(self: Arc<Self>, _: OldPost) -> impl Future<Output = Response<Body>> + Send {
        ready(bare(StatusCode::NOT_FOUND, Body::empty()))
    }

    /// No more requests will come, and the connections wait for their responses to end:
    /// streams that would stay open should be closed.
    fn stopping(&self) {}

    /// The time for that is over: whatever is still under way must be answered now.
    fn closing(&self) {}
}

/// A message that was posted and may come in.
#[derive(Debug)]
#[non_exhaustive]
pub struct Post {
    /// Which machine it is for.
    pub admission: Admission,
    /// What was posted. Malformed only where it may be a broken answer to a question.
    pub frame: Result<Frame, Malformed>,
    /// The formats the answer may have.
    pub accepted: Accepted,
    /// The head of the request, with what layers in front of the endpoint left there.
    pub head: RequestHead,
    /// Who sent it, where that is asked.
    pub principal: Option<Arc<Principal>>,
    /// Whoever waits for the response asks again by himself, several times within
    /// [`StreamSettings::keep_alive`](super::StreamSettings::keep_alive): the host needs no timer.
    pub is_asked_again: bool,
}

/// A client that wants to listen.
#[derive(Debug)]
#[non_exhaustive]
pub struct Get {
    /// To which session; none only where the endpoint requires none.
    pub session: Option<SessionId>,
    /// The last event it has seen, as it was sent.
    pub last_event_id: Option<String>,
    /// The head of the request, with what layers in front of the endpoint left there.
    pub head: RequestHead,
    /// Who it is, where that is asked.
    pub principal: Option<Arc<Principal>>,
}

/// A client that ends its session.
#[derive(Debug)]
#[non_exhaustive]
pub struct Delete {
    /// Which one.
    pub session: SessionId,
    /// Who it is, where that is asked.
    pub principal: Option<Arc<Principal>>,
}

/// A client of 2024-11-05 that wants to begin.
#[derive(Debug)]
#[non_exhaustive]
pub struct OldGet {
    /// Where its messages will go, without the session.
    pub(super) post_to: String,
    /// The head of the request, with what layers in front of the endpoint left there.
    pub head: RequestHead,
    /// Who it is, where that is asked.
    pub principal: Option<Arc<Principal>>,
}

impl OldGet {
    /// The event that says where the messages of this session go. It must come first.
    pub fn endpoint_event(&self, session: &SessionId) -> Event {
        let mut place = self.post_to.clone();
        // Writing to a string does not fail. The ids we make need no escaping.
        let _ = write!(place, "?{SESSION_PARAMETER}={}", session.as_str());
        Event {
            name: Some(old_sse::ENDPOINT.into()),
            data: place.into(),
            ..Event::default()
        }
    }
}

/// A message from a client of 2024-11-05.
#[derive(Debug)]
#[non_exhaustive]
pub struct OldPost {
    /// For which session.
    pub session: SessionId,
    /// What was posted.
    pub frame: Result<Frame, Malformed>,
    /// The head of the request, with what layers in front of the endpoint left there.
    pub head: RequestHead,
    /// Who sent it, where that is asked.
    pub principal: Option<Arc<Principal>>,
}

/// The parameter of the query that names the session of a post.
pub(super) const SESSION_PARAMETER: &str = "sessionId";
