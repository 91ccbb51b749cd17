//! From a request to its response: the order of questions, and who answers.
//!
//! Path, Origin and Host, verb and formats, caller, body, message: the first that refuses
//! answers; what passes goes to the host. The answers to the questions are elsewhere.
//!
//! Specification: 2025-11-25 basic/transports; 2026-07-28
//! basic/transports/streamable-http.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::ALLOW;
use http::request::Parts;
use http::{HeaderValue, Method as Verb, Request, Response, StatusCode};
use switchboard_protocol::http::negotiate::{Accepted, check_content_type};
use switchboard_protocol::http::server::{
    self as rules, Admission, Fields, Head, KnownFields, LastMeta, Refusal,
};
use switchboard_protocol::http::session::{SessionError, SessionId};
use switchboard_protocol::jsonrpc::{
    ErrorCode, ErrorObject, Frame, FrameReader, Limits, Malformed,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

use super::answer::{self, bare, json, refuse};
use super::receive::{Whole, receive};
use super::request_head::{Checked, RequestHead};
use super::room::{Rooms, SMALL};
use super::route::{Route, Routes, session_in_query};
use super::{
    Body, Delete, Get, Host, HttpSettings, Incoming, OldGet, OldPost, Post, Principal, cross_origin,
};
use crate::turn::Turn;

/// One MCP endpoint. It is cheap to clone and mounts wherever a `tower` service does.
///
/// It needs a Tokio runtime with timers.
pub struct Endpoint<H> {
    shared: Arc<Shared<H>>,
}

struct Shared<H> {
    /// By which it is known where several are asked about one request.
    number: u64,
    host: Arc<H>,
    settings: HttpSettings,
    limits: Limits,
    routes: Routes,
    rooms: Rooms,
    /// The metadata document, where there is one.
    metadata: Option<Bytes>,
    /// One for each of so many requests at once.
    memories: [Mutex<Memory>; MEMORIES],
}

/// What spares reading again what clients say in every request.
struct Memory {
    reader: FrameReader,
    last_meta: LastMeta,
}

impl Memory {
    fn new(limits: Limits) -> Self {
        Self {
            reader: FrameReader::new(limits),
            last_meta: LastMeta::default(),
        }
    }
}

impl<H: Host> Endpoint<H> {
    /// Puts an endpoint in front of a host.
    pub fn new(host: Arc<H>, settings: HttpSettings) -> Self {
        let mut limits = settings.limits;
        limits.bytes = limits.bytes.min(settings.body_limit);
        let metadata = settings.access.as_ref().and_then(|a| a.metadata());
        let routes = Routes::new(&settings, metadata.is_some());
        Self {
            shared: Arc::new(Shared {
                number: LAST_NUMBER.fetch_add(1, Ordering::Relaxed),
                host,
                rooms: Rooms::new(limits.bytes, settings.answers),
                settings,
                limits,
                routes,
                metadata,
                memories: std::array::from_fn(|_| Mutex::new(Memory::new(limits))),
            }),
        }
    }

    /// How it was set up.
    pub fn settings(&self) -> &HttpSettings {
        &self.shared.settings
    }

    /// What stands behind it.
    pub fn host(&self) -> &Arc<H> {
        &self.shared.host
    }

    /// Answers one request. As a [`Service`] it does the same, in a box.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        let (head, body) = request.into_parts();
        self.shared.answer(head.into(), body, false).await
    }

    /// The same for a request that came on a connection of [`serve`](super::serve), as a part of the
    /// future of [`Front::answer`](super::Front::answer).
    pub async fn answer<S>(&self, head: RequestHead, mut body: Incoming<S>) -> Response<Body>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let shared = &*self.shared;
        // Step by step, and what takes more in a box: what is large is moved with every call that waits.
        match shared.admit_at_once(&head, &mut body) {
            Some(Ok((accepted, admission, frame))) => {
                let post = Post {
                    admission,
                    frame,
                    accepted,
                    head,
                    principal: None,
                    is_asked_again: true,
                };
                let response = shared.host.post(post).await;
                shared.hold(response, None)
            }
            Some(Err(refused)) => *refused,
            None => Box::pin(shared.answer(head, body, true)).await,
        }
    }
}

impl<H> Clone for Endpoint<H> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<H> fmt::Debug for Endpoint<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}

impl<H, B> Service<Request<B>> for Endpoint<H>
where
    H: Host,
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.handle(request).await) })
    }
}

/// How the way through the questions ends early.
type Refused = Box<Response<Body>>;

/// What was posted, as far as it can be read.
type Read = Result<Frame, Malformed>;

impl<H: Host> Shared<H> {
    /// Asks what a POST says whose head is known, whose body is there, and of which nobody asks who
    /// sent it: nearly all are like that where callers are not known. None if this one is not.
    fn admit_at_once<S>(
        &self,
        head: &RequestHead,
        body: &mut Incoming<S>,
    ) -> Option<Result<(Accepted, Admission, Read), Refused>> {
        let checked = head.checked(self.number)?;
        if self.settings.access.is_some() {
            return None;
        }
        let text = body.take_whole(self.limits.bytes.min(SMALL))?;
        let text = Whole::Small(text);
        let admitted = self.admit(&checked.fields.within(&head.headers), text);
        Some(admitted.map(|(admission, frame)| (checked.accepted, admission, frame)))
    }

    /// Answers any request.
    async fn answer<B>(&self, head: RequestHead, body: B, is_asked_again: bool) -> Response<Body>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        let Some(route) = self.routes.find(head.uri.path()) else {
            return bare(StatusCode::NOT_FOUND, Body::empty());
        };
        let fields = Fields::of(&head.headers);
        if let Err(foreign) = self.settings.guard.check(&head.uri, &fields) {
            return self.refuse(&Refusal::Foreign(foreign));
        }
        let page = fields.origin().filter(|_| self.settings.cross_origin);
        let page = page.cloned();
        let endpoint = &self.settings.endpoint;
        let mut response = match route {
            _ if page.is_some() && cross_origin::is_preflight(&head.method, &head.headers) => {
                cross_origin::preflight(route.allow(endpoint), &head.headers)
            }
            Route::Endpoint => match rules::check_head(endpoint, &head.method, &fields) {
                Ok(Head::Post { accepted }) => {
                    if page.is_none() {
                        head.keep(Checked {
                            by: self.number,
                            accepted,
                            fields: KnownFields::of(&fields),
                        });
                    }
                    match self.receive_from(&head, body).await {
                        Ok((principal, mut turn, text)) => match self.admit(&fields, text) {
                            Ok((admission, frame)) => {
                                let caller = principal.clone();
                                let post = Post {
                                    admission,
                                    frame,
                                    accepted,
                                    head: head.clone(),
                                    principal,
                                    is_asked_again,
                                };
                                let response = self.host.post(post).await;
                                turn.wait_beside_others().await;
                                self.hold(response, caller.as_deref())
                            }
                            Err(refused) => *refused,
                        },
                        Err(refused) => *refused,
                    }
                }
                Ok(Head::Get {
                    session,
                    last_event_id,
                }) => self.get(head, session, last_event_id).await,
                Ok(Head::Delete { session }) => self.delete(head, session).await,
                Ok(_) => self.wrong_verb(route),
                Err(refusal) => self.refuse(&refusal),
            },
            Route::Metadata | Route::OldStream | Route::OldMessage => {
                self.answer_beside(route, head, body).await
            }
        };
        if let Some(page) = page {
            cross_origin::share(page, &mut response);
        }
        response
    }

    /// Asks who it is, waits for its turn, then reads the body.
    async fn receive_from<B>(
        &self,
        head: &RequestHead,
        body: B,
    ) -> Result<(Option<Arc<Principal>>, Turn, Whole), Refused>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        let principal = self.identify(head).await?;
        let mut turn = self.turn_of(head, principal.as_deref());
        turn.wait_beside_others().await;
        let settings = &self.settings;
        let (limits, timeout) = (&self.limits, settings.body_timeout);
        let caller = principal.as_deref();
        match receive(body, limits, timeout, &self.rooms, caller).await {
            Ok(text) => Ok((principal, turn, text)),
            Err(unread) => {
                if let Some(limit) = unread.limit() {
                    settings.refusals.note(limit);
                }
                Err(answer::error(unread.status(), unread.answer()).into())
            }
        }
    }

    /// That of a caller. Those who are not known are one.
    fn turn_of(&self, head: &RequestHead, caller: Option<&Principal>) -> Turn {
        if caller.is_none() {
            return Turn::default();
        }
        let room = head.room(self.number, || self.rooms.of(caller));
        Turn::of(room.party())
    }

    /// Asks what a POST says, and whether it may come in.
    fn admit(&self, fields: &Fields<'_>, text: Whole) -> Result<(Admission, Read), Refused> {
        // If other requests are at all of them, that is no reason to wait.
        let mut memory = self.memories.iter().find_map(|one| one.try_lock().ok());
        let frame = match &mut memory {
            Some(memory) => text.read(&mut memory.reader),
            None => text.read(&mut FrameReader::new(self.limits)),
        };
        let body = match &mut memory {
            Some(memory) => rules::Body::of_next(&frame, &mut memory.last_meta),
            None => rules::Body::of(&frame),
        };
        drop(memory);
        let endpoint = &self.settings.endpoint;
        match rules::admit(endpoint, fields, &body) {
            Ok(admission) => Ok((admission, frame)),
            Err(refusal) => {
                if let Refusal::Malformed(malformed) = &refusal
                    && let Some(limit) = malformed.limit()
                {
                    self.settings.refusals.note(limit);
                }
                Err(refuse(&refusal, endpoint, Some(&frame)).into())
            }
        }
    }

    /// Answers what is not for the endpoint itself.
    async fn answer_beside<B>(&self, route: Route, head: RequestHead, body: B) -> Response<Body>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        match route {
            Route::Metadata if head.method == Verb::GET => self.metadata(),
            Route::OldStream if head.method == Verb::GET => self.old_get(head).await,
            Route::OldMessage if head.method == Verb::POST => self.old_post(head, body).await,
            _ => self.wrong_verb(route),
        }
    }

    /// Has what is large of a response count until its caller has taken it.
    fn hold(&self, response: Response<Body>, caller: Option<&Principal>) -> Response<Body> {
        if self.settings.answers.is_none() || !response.body().may_be_large() {
            return response;
        }
        let (head, body) = response.into_parts();
        match body.held_in(self.rooms.of(caller)) {
            Some(body) => Response::from_parts(head, body),
            None => {
                self.settings.refusals.note(ANSWERS);
                let error = ErrorObject::over_limit(
                    ErrorCode::TOO_MANY,
                    "so many large answers to this caller were not taken yet that this one was dropped",
                    ANSWERS,
                    u64::try_from(SOON.as_millis()).ok(),
                );
                answer::busy(StatusCode::TOO_MANY_REQUESTS, error, SOON)
            }
        }
    }

    async fn get(
        &self,
        head: RequestHead,
        session: Option<SessionId>,
        last_event_id: Option<String>,
    ) -> Response<Body> {
        let principal = match self.identify(&head).await {
            Ok(principal) => principal,
            Err(refused) => return *refused,
        };
        let caller = principal.clone();
        let get = Get {
            session,
            last_event_id,
            head,
            principal,
        };
        let response = Arc::clone(&self.host).get(get).await;
        self.hold(response, caller.as_deref())
    }

    async fn delete(&self, head: RequestHead, session: SessionId) -> Response<Body> {
        match self.identify(&head).await {
            Ok(principal) => {
                let delete = Delete { session, principal };
                Arc::clone(&self.host).delete(delete).await
            }
            Err(refused) => *refused,
        }
    }

    async fn old_get(&self, head: RequestHead) -> Response<Body> {
        let principal = match self.identify(&head).await {
            Ok(principal) => principal,
            Err(refused) => return *refused,
        };
        let caller = principal.clone();
        let get = OldGet {
            post_to: self.routes.post_to(),
            head,
            principal,
        };
        let response = Arc::clone(&self.host).old_get(get).await;
        self.hold(response, caller.as_deref())
    }

    async fn old_post<B>(&self, head: RequestHead, body: B) -> Response<Body>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        if let Err(wrong) = check_content_type(&head.headers) {
            return self.refuse(&Refusal::Content(wrong));
        }
        let Some(session) = head.uri.query().and_then(session_in_query) else {
            return self.refuse(&SessionError::Missing.into());
        };
        match self.receive_from(&head, body).await {
            Ok((principal, _, text)) => {
                let post = OldPost {
                    session,
                    frame: text.read(&mut FrameReader::new(self.limits)),
                    head,
                    principal,
                };
                Arc::clone(&self.host).old_post(post).await
            }
            Err(refused) => *refused,
        }
    }

    async fn identify(&self, head: &Parts) -> Result<Option<Arc<Principal>>, Refused> {
        match &self.settings.access {
            None => Ok(None),
            Some(access) => match access.identify(head).await {
                Ok(principal) => Ok(Some(Arc::new(principal))),
                Err(denied) => Err(denied.response().into()),
            },
        }
    }

    fn metadata(&self) -> Response<Body> {
        match &self.metadata {
            Some(document) => json(StatusCode::OK, document.clone()),
            None => bare(StatusCode::NOT_FOUND, Body::empty()),
        }
    }

    fn refuse(&self, refusal: &Refusal) -> Response<Body> {
        refuse(refusal, &self.settings.endpoint, None)
    }

    fn wrong_verb(&self, route: Route) -> Response<Body> {
        let mut response = bare(StatusCode::METHOD_NOT_ALLOWED, Body::empty());
        let allow = HeaderValue::from_static(route.allow(&self.settings.endpoint));
        response.headers_mut().insert(ALLOW, allow);
        response
    }
}

/// How many endpoints there were.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

/// The name of the limit of all large answers to one caller that were not taken.
const ANSWERS: &str = "answers";

/// When whoever takes answers slowly may ask again.
const SOON: Duration = Duration::from_secs(1);

// About as many as threads read requests at once; each is a kilobyte or two.
const MEMORIES: usize = 8;
