//! Conversations over HTTP: which one a request belongs to, and what it is answered with.
//!
//! Everything that HTTP alone can say was said by the endpoint in `switchboard-transport`;
//! the messages of one conversation are in `conversation`, the streams that they go
//! out on in `lane`.
//!
//! Specification: basic/transports of each revision.

mod conversation;
mod lane;
#[cfg(test)]
mod tests;
mod waiting;

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Instant;

use http::{HeaderName, Response};
use switchboard_protocol::Method;
use switchboard_protocol::http::header;
use switchboard_protocol::http::negotiate::Format;
use switchboard_protocol::http::server::{Admission, Refusal};
use switchboard_protocol::http::session::{SessionError, SessionId};
use switchboard_protocol::jsonrpc::{Frame, Message};
use switchboard_protocol::machine::Wire;
use switchboard_protocol::machine::server::{ServerConfig, ServerMachine};
use switchboard_transport::http::{
    Body, Delete, Full, Get, Host, HttpSettings, OldGet, OldPost, Post, Principal, SessionLimits,
    Sessions, accepted, event_stream, events, no_content, refuse,
};
use tokio::sync::Semaphore;

use crate::audience::Audience;
use crate::clock;
use crate::context::Visitor;
use crate::core::Site;

use conversation::{Conversation, Kind};
use waiting::{Later, Taken};

/// The conversations behind one endpoint. When it is dropped, they end.
pub(crate) struct Conversations {
    home: Arc<Home>,
    configs: RwLock<Arc<Configs>>,
    idle: Mutex<Idle>,
    sessions: Sessions<Conversation>,
}

/// What machines are set up with, until a list changes.
struct Configs {
    http: Arc<ServerConfig>,
    /// For the transport of 2024-11-05, whose one stream is like a pipe.
    pipe: Arc<ServerConfig>,
    /// How often a list had changed when they were made.
    list_changes: u64,
}

/// Conversations of one request that are over, for the next ones.
#[derive(Default)]
struct Idle {
    conversations: Vec<Arc<Conversation>>,
    /// How often a list had changed when their machines were set up.
    list_changes: u64,
}

impl Configs {
    fn new(home: &Home) -> Self {
        let list_changes = home.site.audience.list_changes();
        let mut config = home.site.config();
        let revisions = &home.settings.endpoint.revisions;
        config.revisions.clone_from(revisions);
        let pipe = Arc::new(config.clone());
        config.wire = Wire::Http;
        Self {
            http: Arc::new(config),
            pipe,
            list_changes,
        }
    }
}

impl Idle {
    /// One whose machine is set up as it would be after so many changes.
    fn take(&mut self, list_changes: u64) -> Option<Arc<Conversation>> {
        match self.list_changes == list_changes {
            true => self.conversations.pop(),
            false => None,
        }
    }

    /// Keeps one whose machine was set up after so many changes. Gives back those that are too many, or
    /// too old.
    fn keep(
        &mut self,
        list_changes: u64,
        conversation: Arc<Conversation>,
    ) -> Vec<Arc<Conversation>> {
        let mut old = Vec::new();
        if self.list_changes < list_changes {
            self.list_changes = list_changes;
            old = std::mem::take(&mut self.conversations);
        }
        match self.list_changes == list_changes && self.conversations.len() < MOST_IDLE {
            true => self.conversations.push(conversation),
            false => old.push(conversation),
        }
        old
    }
}

/// What every conversation needs. It does not know the conversations: they know it.
struct Home {
    site: Arc<Site>,
    settings: HttpSettings,
    /// Those of this endpoint that have streams to end when it stops.
    streams: Audience,
    /// Those that stand alone and have a call that waits.
    waiting: Audience,
    /// Places for requests of the handshake era without a session: their handlers go on when
    /// the client is gone, and no session counts them.
    alone: Arc<Semaphore>,
}

impl Conversations {
    pub(crate) fn new(site: Arc<Site>, settings: HttpSettings) -> Self {
        let mut limits = SessionLimits::default();
        limits.total = site.limits.sessions;
        limits.per_principal = site.limits.sessions_per_caller;
        limits.idle = site.limits.session_idle;
        limits.life = site.limits.session_life;
        let alone = Arc::new(Semaphore::new(limits.total.min(Semaphore::MAX_PERMITS)));
        let home = Arc::new(Home {
            streams: Audience::default(),
            waiting: Audience::default(),
            alone,
            site,
            settings,
        });
        Self {
            configs: RwLock::new(Arc::new(Configs::new(&home))),
            idle: Mutex::default(),
            sessions: Sessions::new(limits),
            home,
        }
    }

    /// Ends sessions that nobody has used for long.
    pub(crate) fn sweep(&self) {
        let now = clock::now();
        if self.sessions.next_sweep().is_some_and(|due| due <= now) {
            for lapsed in self.sessions.sweep(now) {
                self.home.site.refusals.note("sessionTime");
                lapsed.close();
            }
        }
    }

    /// When sweeping is wanted next.
    pub(crate) fn next_sweep(&self) -> Option<Instant> {
        self.sessions.next_sweep()
    }

    /// Ends everything.
    pub(crate) fn close(&self) {
        for session in self.sessions.drain() {
            session.close();
        }
    }

    /// How many sessions there are.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// What a new machine is set up with.
    fn configs(&self) -> Arc<Configs> {
        let known = self.configs.read().unwrap_or_else(PoisonError::into_inner);
        if known.list_changes == self.home.site.audience.list_changes() {
            return Arc::clone(&known);
        }
        drop(known);
        // This asks the service, so it is done without the lock.
        let configs = Arc::new(Configs::new(&self.home));
        let mut known = self.configs.write().unwrap_or_else(PoisonError::into_inner);
        if known.list_changes <= configs.list_changes {
            known.clone_from(&configs);
        }
        configs
    }

    fn unknown_session(&self) -> Response<Body> {
        self.refuse(&SessionError::Unknown.into())
    }

    fn no_session(&self, full: &Full) -> Response<Body> {
        if let Some(limit) = full.limit() {
            self.home.site.refusals.note(limit);
        }
        full.response()
    }

    fn refuse(&self, refusal: &Refusal) -> Response<Body> {
        refuse(refusal, &self.home.settings.endpoint, None)
    }

    /// Finds who answers a POST, and has it taken in.
    fn take(&self, post: Post) -> Result<(Taken, After), Box<Response<Body>>> {
        let endpoint = &self.home.settings.endpoint;
        let now = clock::now();
        match &post.admission {
            Admission::Stateless if !can_be_answered(&post) => {
                let wanted = Format::EventStream.media_type();
                let refusal = Refusal::NotAcceptable { wanted };
                Err(refuse(&refusal, endpoint, Some(&post.frame)).into())
            }
            Admission::Stateless => Ok(self.take_alone(now, post)),
            Admission::Sessionless { revision } => {
                let Ok(place) = Arc::clone(&self.home.alone).try_acquire_owned() else {
                    let limit = self.home.site.limits.sessions;
                    return Err(self.no_session(&Full::Total { limit }).into());
                };
                let config = Arc::clone(&self.configs().http);
                let machine = ServerMachine::sessionless(config, *revision);
                let home = Arc::clone(&self.home);
                let alone = Conversation::new(home, machine, Kind::Sessionless).taking(place);
                Ok((Arc::new(alone).take(now, post), After::Nothing))
            }
            Admission::Opening => self.open(now, post),
            Admission::Session { id, .. } => match self.find(now, id, post.principal.as_deref()) {
                Some(conversation) => Ok((conversation.take(now, post), After::Nothing)),
                None => {
                    let unknown = SessionError::Unknown.into();
                    Err(refuse(&unknown, endpoint, Some(&post.frame)).into())
                }
            },
            _ => Err(self.unknown_session().into()),
        }
    }

    /// A handshake: if it succeeds, there is a session.
    fn open(&self, now: Instant, post: Post) -> Result<(Taken, After), Box<Response<Body>>> {
        self.sweep();
        let machine = ServerMachine::new(Arc::clone(&self.configs().http));
        let conversation = Conversation::new(Arc::clone(&self.home), machine, Kind::Session);
        let inserted = self
            .sessions
            .insert(now, conversation, post.principal.clone());
        let (id, conversation) = inserted.map_err(|full| self.no_session(&full))?;
        let opened = Opened {
            id,
            principal: post.principal.clone(),
            conversation: Arc::clone(&conversation),
        };
        let after = After::Opened(Box::new(opened));
        Ok((conversation.take(now, post), after))
    }

    /// A request that stands alone, of the stateless era.
    ///
    /// A machine that has served one serves the next: it knows already what the caller says
    /// of itself in every request, and how results begin.
    fn take_alone(&self, now: Instant, post: Post) -> (Taken, After) {
        let mut list_changes = self.home.site.audience.list_changes();
        let known = self.idle().take(list_changes);
        let conversation = known.unwrap_or_else(|| {
            let configs = self.configs();
            list_changes = configs.list_changes;
            let machine = ServerMachine::stateless(Arc::clone(&configs.http));
            let home = Arc::clone(&self.home);
            Arc::new(Conversation::new(home, machine, Kind::Stateless))
        });
        let after = After::Alone { list_changes };
        (conversation.take(now, post), after)
    }

    /// Keeps a conversation whose request is answered for the next one, if it can serve it.
    fn keep(&self, list_changes: u64, conversation: Arc<Conversation>) {
        if conversation.is_spotless() {
            let rest = self.idle().keep(list_changes, conversation);
            // Without the lock.
            drop(rest);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a POST that waited, and does what is to be done after that.
    fn poll_answer(
        &self,
        later: &mut Later,
        after: &After,
        task: &mut TaskContext<'_>,
    ) -> Poll<Response<Body>> {
        let (mut response, conversation) = ready!(later.poll_answer(task));
        match after {
            After::Nothing => {}
            After::Opened(opened) if opened.conversation.is_open() => {
                let headers = response.headers_mut();
                headers.insert(SESSION_ID, opened.id.header_value());
                opened.conversation.join_audience();
            }
            After::Opened(opened) => {
                self.sessions
                    .remove(&opened.id, opened.principal.as_deref());
            }
            After::Alone { list_changes } => {
                if let Some(conversation) = conversation {
                    self.keep(*list_changes, conversation);
                }
            }
        }
        Poll::Ready(response)
    }

    fn find(
        &self,
        now: Instant,
        id: &SessionId,
        principal: Option<&Principal>,
    ) -> Option<Arc<Conversation>> {
        self.sessions.find(now, id, principal)
    }
}

/// What is to be done when a POST is answered.
enum After {
    Nothing,
    /// It was a handshake. In a box, since it is large and rare.
    Opened(Box<Opened>),
    /// Its conversation is over, and may serve the next request.
    Alone {
        /// How often a list had changed when its machine was set up.
        list_changes: u64,
    },
}

/// A session of which it is not yet known whether its handshake succeeds.
struct Opened {
    id: SessionId,
    principal: Option<Arc<Principal>>,
    conversation: Arc<Conversation>,
}

/// A POST that was taken in, until it is answered.
enum Posted {
    /// None: it was answered.
    Answered(Option<Response<Body>>),
    Waiting(Later, After),
}

impl Drop for Conversations {
    fn drop(&mut self) {
        // Handlers that work for a session hold it, and would go on for nobody.
        self.close();
    }
}

impl Host for Conversations {
    fn post(self: &Arc<Self>, post: Post) -> impl Future<Output = Response<Body>> + Send {
        // It is taken in at once: a future that waits is smaller, and moved at less cost,
        // without it.
        let mut posted = match self.take(post) {
            Ok((Taken::Waiting(later), after)) => Posted::Waiting(later, after),
            Ok((Taken::Answered(response, conversation), after)) => {
                if let After::Alone { list_changes } = after {
                    self.keep(list_changes, conversation);
                }
                Posted::Answered(Some(response))
            }
            Err(refused) => Posted::Answered(Some(*refused)),
        };
        poll_fn(move |task| match &mut posted {
            Posted::Waiting(later, after) => self.poll_answer(later, after, task),
            // Nobody asks again who was answered.
            Posted::Answered(response) => response.take().map_or(Poll::Pending, Poll::Ready),
        })
    }

    async fn get(self: Arc<Self>, get: Get) -> Response<Body> {
        let session = get.session.as_ref();
        match session.and_then(|id| self.find(clock::now(), id, get.principal.as_deref())) {
            Some(conversation) => conversation.listen(get.last_event_id.as_deref()),
            None => self.unknown_session(),
        }
    }

    async fn delete(self: Arc<Self>, delete: Delete) -> Response<Body> {
        match self
            .sessions
            .remove(&delete.session, delete.principal.as_deref())
        {
            Some(conversation) => {
                conversation.close();
                no_content()
            }
            None => self.unknown_session(),
        }
    }

    async fn old_get(self: Arc<Self>, get: OldGet) -> Response<Body> {
        self.sweep();
        let machine = ServerMachine::new(Arc::clone(&self.configs().pipe));
        let conversation = Conversation::new(Arc::clone(&self.home), machine, Kind::Old);
        let inserted = self
            .sessions
            .insert(clock::now(), conversation, get.principal.clone());
        let (id, conversation) = match inserted {
            Ok(inserted) => inserted,
            Err(full) => return self.no_session(&full),
        };
        let (sender, body) = events(&self.home.settings.stream);
        // There is room in a new stream.
        let _ = sender.send_event(&get.endpoint_event(&id));
        conversation.join_audience();
        conversation.take_stream(&sender);
        // The stream is the connection: when it ends, so does the session. While it is read,
        // the session is in use.
        let (sessions, principal) = (Arc::downgrade(&self), get.principal);
        sender.on_closed(move || {
            drop(conversation);
            if let Some(conversations) = sessions.upgrade()
                && let Some(gone) = conversations.sessions.remove(&id, principal.as_deref())
            {
                gone.close();
            }
        });
        event_stream(body)
    }

    async fn old_post(self: Arc<Self>, post: OldPost) -> Response<Body> {
        match self.find(clock::now(), &post.session, post.principal.as_deref()) {
            Some(conversation) => {
                let visitor = Visitor {
                    principal: post.principal,
                    head: Some(post.head),
                };
                conversation.receive_shared(post.frame, visitor);
                accepted()
            }
            None => self.unknown_session(),
        }
    }

    fn stopping(&self) {
        self.home.streams.stopping();
    }

    fn closing(&self) {
        self.home.streams.closing();
        self.home.waiting.closing();
    }
}

/// Does the client take what it will be answered with? A stream of changes is nothing else,
/// so whoever does not take one would wait for ever.
fn can_be_answered(post: &Post) -> bool {
    let is_listening = matches!(
        &post.frame,
        Ok(Frame::Single(Message::Request(request)))
            if request.method == Method::SubscriptionsListen
    );
    !is_listening || post.accepted.accepts(Format::EventStream)
}

const SESSION_ID: HeaderName = header::SESSION_ID;

/// As many as are busy at once on a busy server; each is about a kilobyte.
const MOST_IDLE: usize = 64;
