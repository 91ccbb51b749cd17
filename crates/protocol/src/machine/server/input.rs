//! What goes into a server machine and what comes out of it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::jsonrpc::{ErrorObject, Frame, Malformed, Message, MethodName, Notification, Response};
use crate::machine::server::asking::{AskError, AskKey};
use crate::machine::server::modern::ResultText;
use crate::machine::serving::ServeKey;
use crate::machine::{Lane, Wire};
use crate::method::Method;
use crate::payload::Payload;
use crate::refusals::Refusals;
use crate::revision::{Era, Revision};
use crate::types::{
    CacheScope, ClientCapabilities, Implementation, LoggingLevel, ServerCapabilities,
    SubscriptionFilter,
};

/// What a server machine is set up with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Who we are.
    pub info: Implementation,
    /// What we can do. What is not declared is not served.
    pub capabilities: ServerCapabilities,
    /// What a model should know about us.
    pub instructions: Option<String>,
    /// Which revisions we serve, oldest first.
    pub revisions: Vec<Revision>,
    /// What kind of transport this is.
    pub wire: Wire,
    /// How long results of the stateless era may be cached that do not say it themselves.
    pub default_ttl: Duration,
    /// Who may share them.
    pub default_scope: CacheScope,
    /// Requests that may be in flight together.
    pub max_calls: usize,
    /// Resources that one client of the handshake era may subscribe to; resources and tasks
    /// that one stream of changes may name in the stateless era.
    pub max_subscriptions: usize,
    /// Streams of changes that one connection may hold open in the stateless era.
    pub max_streams: usize,
    /// How often a handler may ask a client of the handshake era for input in one call.
    pub max_rounds: u32,
    /// How long a handler may take, if there is a limit.
    pub handler_timeout: Option<Duration>,
    /// How long the client may take to answer a question.
    pub ask_timeout: Duration,
    /// Where is counted what was over a limit.
    pub refusals: Refusals,
    pub(super) result_text: ResultTextOnce,
}

/// What every result of the stateless era carries, written when it is first needed and shared
/// by the machines of one configuration. A copy may be changed, so it begins without.
#[derive(Debug, Default)]
pub(super) struct ResultTextOnce(OnceLock<Arc<ResultText>>);

impl Clone for ResultTextOnce {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl ServerConfig {
    /// The defaults, for a server of this name.
    pub fn new(info: Implementation, capabilities: ServerCapabilities) -> Self {
        Self {
            info,
            capabilities,
            instructions: None,
            revisions: Revision::ALL.to_vec(),
            wire: Wire::Pipe,
            // Without a word from the author nothing is assumed to keep, and nothing is shared.
            default_ttl: Duration::ZERO,
            default_scope: CacheScope::Private,
            max_calls: 256,
            max_subscriptions: 1_000,
            max_streams: 16,
            max_rounds: 10,
            handler_timeout: None,
            ask_timeout: Duration::from_secs(600),
            refusals: Refusals::default(),
            result_text: ResultTextOnce::default(),
        }
    }

    /// What every result of the stateless era carries.
    pub(super) fn result_text(&self) -> Arc<ResultText> {
        let made = self
            .result_text
            .0
            .get_or_init(|| Arc::new(ResultText::new(self)));
        Arc::clone(made)
    }

    pub(super) fn serves(&self, era: Era) -> bool {
        self.revisions.iter().any(|revision| revision.era() == era)
    }
}

/// What happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input {
    /// A frame came.
    Received {
        /// On which stream.
        lane: Lane,
        /// What was read.
        frame: Result<Frame, Malformed>,
    },
    /// A handler has an answer.
    Answered {
        /// To which call.
        key: ServeKey,
        /// The answer.
        answer: Answer,
    },
    /// The client is asked something, in the handshake era.
    Ask {
        /// For which call, if for one. The question goes when its call goes.
        key: Option<ServeKey>,
        /// What whoever asks knows the question by.
        ask: AskKey,
        /// Elicitation, sampling, roots, a task that the client runs for us, or `ping`.
        method: Method,
        /// With what.
        params: Option<Payload>,
    },
    /// A handler reports progress.
    Progress {
        /// Of which call.
        key: ServeKey,
        /// `progress`, `total`, `message`; the token is added here.
        params: Payload,
    },
    /// Something is worth a log message to the client.
    Log {
        /// The call that it belongs to, if any.
        key: Option<ServeKey>,
        /// How much it matters.
        level: LoggingLevel,
        /// The parameters of the notification.
        params: Payload,
    },
    /// Something changed that clients may have subscribed to.
    Changed(Change),
    /// The client is told something that has no input of its own: that an elicitation by url
    /// is complete, how a task of 2025-11-25 stands, or what an extension has to say.
    /// What the client's revision does not have, or nobody declared, is not sent.
    Notify {
        /// The call that it belongs to, if any. In the stateless era there is no other way.
        key: Option<ServeKey>,
        /// What.
        notification: Notification,
    },
    /// The stream of a POST is gone. HTTP only.
    LaneClosed {
        /// Which.
        lane: Lane,
    },
    /// The time that `deadline()` named has come.
    Tick,
    /// The client is gone.
    PeerClosed,
    /// We go.
    Close,
}

/// What a handler gives back.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// A result.
    Result(Payload),
    /// The result of a tool that is one text, as most are: it is written where it is sent.
    Text(String),
    /// An error of the protocol. A tool that ran and failed gives a result instead.
    Error(ErrorObject),
    /// More input is needed before it can go on.
    ///
    /// In the stateless era this goes to the client as it is; in the handshake
    /// era the client is asked and the call comes back as [`Output::Serve`] with the answers.
    InputRequired(Payload),
}

/// Something that clients may have subscribed to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or templates.
    Resources,
    /// One resource.
    Resource {
        /// Which.
        uri: String,
    },
    /// A task of the extension, with the parameters of the notification.
    Task {
        /// Which.
        id: String,
        /// What it looks like now.
        params: Payload,
    },
}

/// What must happen next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Output {
    /// Send a message. Over HTTP an answer ends its stream.
    Send {
        /// The stream.
        lane: Lane,
        /// The message.
        message: Message,
    },
    /// Send the answers of a batch as one array.
    SendBatch {
        /// The stream.
        lane: Lane,
        /// The answers.
        responses: Vec<Response>,
    },
    /// Nothing more is to be answered on this stream: what came wants no answer, or the
    /// client has cancelled it. Over HTTP that is a status 202, or the end of the stream if
    /// it has begun.
    Accepted {
        /// The stream.
        lane: Lane,
    },
    /// Have a request handled.
    Serve(Serve),
    /// Drop a handler: nobody waits for it any more.
    Stop {
        /// Whose.
        key: ServeKey,
    },
    /// The one outcome of an [`Input::Ask`], unless its call is stopped before.
    Reply {
        /// The call, if it belongs to one.
        key: Option<ServeKey>,
        /// The question.
        ask: AskKey,
        /// The answer.
        outcome: Result<Payload, AskError>,
    },
    /// The client tells something.
    Told(Notification),
    /// The client of the handshake era changed the level of log messages it wants.
    LogLevel(LoggingLevel),
    /// A client subscribed: to what, and under which key its end is told.
    Listening {
        /// The key.
        key: ServeKey,
        /// What was granted.
        filter: SubscriptionFilter,
        /// Who listens.
        caller: Arc<Caller>,
    },
    /// A subscription has ended.
    ListeningEnded {
        /// The key.
        key: ServeKey,
        /// What had been granted.
        filter: SubscriptionFilter,
    },
    /// The handshake is done.
    Opened(Arc<Caller>),
    /// It is over.
    ShutDown,
}

impl Output {
    pub(super) fn send(lane: Lane, message: impl Into<Message>) -> Self {
        Self::Send {
            lane,
            message: message.into(),
        }
    }
}

/// A request that is to be handled.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Serve {
    /// What its answer must carry.
    pub key: ServeKey,
    /// What is asked for.
    pub method: MethodName,
    /// With what.
    pub params: Option<Payload>,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// From which level on the caller wants log messages for this request.
    pub log_level: Option<LoggingLevel>,
    /// Whether the caller wants progress.
    pub wants_progress: bool,
}

/// Who asks, and what he speaks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Caller {
    /// The revision.
    pub revision: Revision,
    /// Who he says he is. Unverified: for display and logs.
    pub info: Option<Implementation>,
    /// What he can do.
    pub capabilities: ClientCapabilities,
}
