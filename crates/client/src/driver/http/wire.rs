//! What goes to a server over HTTP: which headers, in which session, one after the other
//! where the order counts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Uri};
use switchboard_protocol::envelope::Envelope;
use switchboard_protocol::http::client::{
    handshake_headers, old_post_headers, opening_headers, stateless_headers,
};
use switchboard_protocol::http::session::SessionId;
use switchboard_protocol::jsonrpc::{Message, MethodName};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::client::{Agreed, Departure};
use switchboard_protocol::{Era, Method, Payload, RawJson, Revision};
use switchboard_transport::http::client::Content;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::desk::Wire;
use crate::error::{HttpFailure, HttpProblem};
use crate::report::Report;
use crate::shared::Shared;
use crate::slots::Spread;

use super::event::Event;
use super::exchange::{self, Place, Post};
use super::{old, stream};

/// The way to a server over HTTP.
pub(super) struct HttpWire {
    place: Arc<Place>,
    events: mpsc::Sender<Event>,
    shared: Arc<Shared>,
    agreed: Option<Revision>,
    session: Option<SessionId>,
    /// The headers that all requests of the session have, once they are known.
    usual: Option<HeaderMap>,
    /// Counts the sessions, so that what is said of an older one is known as such.
    epoch: u64,
    /// Exchanges under way, to be ended when nobody wants them.
    lanes: HashMap<Lane, AbortHandle, Spread>,
    /// What is told and not answered, under way.
    told: JoinSet<()>,
    /// The stream that belongs to no request.
    stream: Option<AbortHandle>,
    /// Where the old transport wants its messages.
    endpoint: Option<Uri>,
    is_old: bool,
    /// How the newer transport was refused, before the older one was tried.
    refusal: Option<HttpFailure>,
    /// `notifications/initialized`, until it is known which revision was agreed on.
    initialized: Option<Message>,
    /// That message is not taken yet, and nothing may overtake it.
    is_holding: bool,
    held: VecDeque<(Lane, Message)>,
    failures: VecDeque<(Lane, HttpFailure)>,
}

impl HttpWire {
    pub(super) fn new(place: Arc<Place>, events: mpsc::Sender<Event>, shared: Arc<Shared>) -> Self {
        Self {
            place,
            events,
            shared,
            agreed: None,
            session: None,
            usual: None,
            epoch: 0,
            lanes: HashMap::default(),
            told: JoinSet::new(),
            stream: None,
            endpoint: None,
            is_old: false,
            refusal: None,
            initialized: None,
            is_holding: false,
            held: VecDeque::new(),
            failures: VecDeque::new(),
        }
    }

    /// An exchange is over.
    pub(super) fn forget(&mut self, lane: Lane) {
        self.lanes.remove(&lane);
    }

    /// The server has opened a session. The first id counts, whatever comes later.
    pub(super) fn enter(&mut self, session: SessionId) {
        self.session.get_or_insert(session);
        self.usual = None;
    }

    /// Is this the session that stands now?
    pub(super) const fn is_current(&self, epoch: u64) -> bool {
        self.epoch == epoch
    }

    /// `notifications/initialized` was taken, or refused: the rest may follow.
    pub(super) fn posted(&mut self, epoch: u64) {
        if !self.is_current(epoch) || !self.is_holding {
            return;
        }
        self.is_holding = false;
        self.open_stream();
        for (lane, message) in std::mem::take(&mut self.held) {
            self.send(lane, message);
        }
    }

    /// The old transport says where to post.
    pub(super) fn post_to(&mut self, endpoint: Uri) {
        self.endpoint = Some(endpoint);
    }

    /// A request has no answer: during the opening that may be why the old transport is tried.
    pub(super) fn note_refusal(&mut self, failure: &HttpFailure) {
        if self.agreed.is_none() && !self.is_old {
            self.refusal = Some(failure.clone());
        }
    }

    /// Why there is no stream of the old transport. A server that has none at all was not one of
    /// the old transport: how it refused the newer one says more.
    pub(super) fn why_gone(&mut self, failure: HttpFailure) -> HttpFailure {
        let has_none = matches!(failure.problem(), HttpProblem::Answer(_));
        match self.refusal.take() {
            Some(refusal) if has_none && self.endpoint.is_none() => refusal,
            _ => failure,
        }
    }

    /// What could not be sent at all.
    pub(super) fn next_failure(&mut self) -> Option<(Lane, HttpFailure)> {
        self.failures.pop_front()
    }

    /// Opens the one stream of the old transport.
    pub(super) fn open_old_stream(&mut self) {
        self.is_old = true;
        let task = tokio::spawn(old::run(Arc::clone(&self.place), self.events.clone()));
        self.stream = Some(task.abort_handle());
    }

    /// Ends all exchanges. Gives the session that is to be ended too.
    pub(super) fn leave(mut self) -> Option<(Revision, SessionId)> {
        self.end_all();
        self.agreed.zip(self.session)
    }

    fn end_all(&mut self) {
        for (_, task) in self.lanes.drain() {
            task.abort();
        }
        self.told.abort_all();
        if let Some(stream) = self.stream.take() {
            stream.abort();
        }
        self.held.clear();
    }

    /// Opens the stream of what belongs to no request, where there is such a stream.
    fn open_stream(&mut self) {
        let Some(revision) = self.agreed else {
            return;
        };
        if self.is_old || revision.era() == Era::Stateless {
            return;
        }
        let listener = stream::Listener {
            place: Arc::clone(&self.place),
            events: self.events.clone(),
            revision,
            session: self.session.clone(),
            epoch: self.epoch,
            silence: self.shared.timeouts.silence,
        };
        let task = tokio::spawn(listener.run());
        if let Some(before) = self.stream.replace(task.abort_handle()) {
            before.abort();
        }
    }

    fn post(&mut self, lane: Lane, letter: Letter<'_>) {
        if let Err(problem) = self.try_post(lane, letter) {
            let failure = HttpFailure::new(&self.place.url, problem);
            self.failures.push_back((lane, failure));
        }
    }

    fn try_post(&mut self, lane: Lane, letter: Letter<'_>) -> Result<(), HttpProblem> {
        let (headers, uri) = match self.endpoint.clone() {
            Some(endpoint) if self.is_old => (old_post_headers(), endpoint),
            _ => (self.headers(&letter)?, self.place.uri.clone()),
        };
        let is_request = letter.is_request;
        let is_initialize = letter.is(Method::Initialize);
        let is_stateless = self.is_stateless(&letter);
        // An answer and a cancel: the second of either means nothing.
        let may_repeat = letter.method.is_none() || letter.is(Method::Cancelled);
        let post = Post {
            place: Arc::clone(&self.place),
            events: self.events.clone(),
            lane,
            request: self.place.post(uri, headers, letter.content),
            wants_answer: is_request && !self.is_old,
            may_repeat,
            revision: (!is_stateless).then_some(self.agreed).flatten(),
            session: self
                .session
                .clone()
                .filter(|_| !is_stateless && !is_initialize),
            opens_session: is_initialize && !self.is_old,
            releases: self.is_holding && !is_request,
            epoch: self.epoch,
        };
        if is_request {
            // In a box: a task moves its future several times before it has a place.
            let task = tokio::spawn(Box::pin(exchange::run(post)));
            self.lanes.insert(lane, task.abort_handle());
        } else {
            while self.told.try_join_next().is_some() {}
            self.told.spawn(Box::pin(exchange::run(post)));
        }
        Ok(())
    }

    fn is_stateless(&self, letter: &Letter<'_>) -> bool {
        let is_agreed = || {
            self.agreed
                .is_some_and(|revision| revision.era() == Era::Stateless)
        };
        letter.is(Method::ServerDiscover) || !letter.is(Method::Initialize) && is_agreed()
    }

    fn headers(&mut self, letter: &Letter<'_>) -> Result<HeaderMap, HttpProblem> {
        match letter.method {
            Some(method) if self.is_stateless(letter) => self.stateless(method, letter.params),
            Some(method) if *method == Method::Initialize => Ok(opening_headers()),
            _ => Ok(match self.agreed {
                Some(revision) => {
                    let usual = self.usual.get_or_insert_with(|| {
                        let own = handshake_headers(revision, self.session.as_ref());
                        self.place.with_users(own)
                    });
                    usual.clone()
                }
                // An answer to what a server asks before anything is agreed.
                None => opening_headers(),
            }),
        }
    }

    /// The headers of a request of the stateless era repeat parts of its body.
    fn stateless(
        &self,
        method: &MethodName,
        params: Option<&Payload>,
    ) -> Result<HeaderMap, HttpProblem> {
        let revision = Envelope::of(params)
            .protocol_version()
            .and_then(|version| version.parse().ok())
            .or(self.agreed)
            .unwrap_or(Revision::LATEST);
        let mirrored = method.known().and_then(|method| method.rule().mirrored);
        let name = mirrored.and_then(|member| params?.string_member(member));
        let mut repeated = Vec::new();
        if *method == Method::ToolsCall
            && let Some(tool) = name.as_deref()
            && let Some(tools) = self.shared.lists.last_tools()
            && let Some(parameters) = tools.parameters(tool)
        {
            let arguments = params
                .and_then(Payload::arguments)
                .and_then(|text| std::str::from_utf8(text).ok())
                .and_then(|text| RawJson::parse(text).ok());
            repeated = parameters
                .headers_for(arguments.as_ref())
                .map_err(|error| HttpProblem::Unsendable(error.to_string()))?;
        }
        stateless_headers(revision, method.as_str(), name.as_deref(), repeated)
            .map_err(|error| HttpProblem::Unsendable(error.to_string()))
    }
}

/// What is posted, and what its headers are made of.
struct Letter<'a> {
    method: Option<&'a MethodName>,
    params: Option<&'a Payload>,
    is_request: bool,
    content: Content,
}

impl Letter<'_> {
    fn is(&self, method: Method) -> bool {
        self.method.is_some_and(|name| *name == method)
    }
}

impl<'a> From<&'a Message> for Letter<'a> {
    fn from(message: &'a Message) -> Self {
        Self {
            method: message.method(),
            params: match message {
                Message::Request(request) => request.params.as_ref(),
                Message::Notification(told) => told.params.as_ref(),
                Message::Response(_) => None,
            },
            is_request: matches!(message, Message::Request(_)),
            content: message.into(),
        }
    }
}

impl<'a> From<&'a Departure<'a>> for Letter<'a> {
    fn from(request: &'a Departure<'a>) -> Self {
        let content = if request.length() < Content::LARGE {
            let mut text = Vec::with_capacity(request.length());
            request.write(&mut text);
            Bytes::from(text).into()
        } else {
            Content::from(&request.request().into())
        };
        Self {
            method: Some(request.method()),
            params: request.params(),
            is_request: true,
            content,
        }
    }
}

impl Wire for HttpWire {
    fn send(&mut self, lane: Lane, message: Message) {
        if self.is_holding {
            self.held.push_back((lane, message));
            return;
        }
        let is_initialized = message
            .method()
            .is_some_and(|name| *name == Method::Initialized);
        if is_initialized {
            self.is_holding = true;
            self.initialized = Some(message);
            return;
        }
        self.post(lane, Letter::from(&message));
    }

    fn depart(&mut self, request: &Departure<'_>) {
        if self.is_holding {
            let held = (request.lane(), request.request().into());
            self.held.push_back(held);
        } else {
            self.post(request.lane(), Letter::from(request));
        }
    }

    fn close_lane(&mut self, lane: Lane) {
        if let Some(task) = self.lanes.remove(&lane) {
            task.abort();
        }
    }

    // Only said on a pipe.
    fn restart(&mut self) {}

    fn use_old_transport(&mut self) {
        self.end_all();
        self.session = None;
        self.usual = None;
        self.open_old_stream();
    }

    fn agreed(&mut self, agreed: &Agreed) {
        self.agreed = Some(agreed.revision);
        self.usual = None;
        if let Some(message) = self.initialized.take() {
            self.post(Lane::SHARED, Letter::from(&message));
        }
    }

    fn forget_session(&mut self) {
        self.session = None;
        self.usual = None;
        self.epoch += 1;
        self.is_holding = false;
        self.initialized = None;
        if let Some(stream) = self.stream.take() {
            stream.abort();
        }
    }

    fn describe(&mut self, _: &mut Report) {}
}
