//! What goes into a client machine and what comes out of it.

use std::fmt;
use std::time::Duration;

use crate::jsonrpc::{
    ErrorObject, Frame, Limits as MessageLimits, Malformed, Message, Notification, Problem,
    RequestId,
};
use crate::machine::allowance::Timeouts;
use crate::machine::client::call::{CallKey, CallRequest};
use crate::machine::client::call_error::CallError;
use crate::machine::client::question::{Question, QuestionKey};
use crate::machine::{Lane, Wire};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::{Era, Revision};
use crate::types::{
    ClientCapabilities, Implementation, LoggingLevel, ServerCapabilities, SubscriptionFilter,
};

/// What a client machine is set up with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// Who we are.
    pub info: Implementation,
    /// What our host can do. Nothing else is declared, and nothing else is asked of it.
    pub capabilities: ClientCapabilities,
    /// Which revisions to try.
    pub mode: Mode,
    /// The era that the server was found to speak before. If that is the handshake, it is tried
    /// without asking for the era first; a server that has learned better says so.
    pub remembered: Option<Era>,
    /// What kind of transport this is.
    pub wire: Wire,
    /// Whether to say who we are with each request of the stateless era.
    pub sends_info: bool,
    /// How long the era probe waits before `initialize` is tried as well.
    pub probe_timeout: Duration,
    /// How long the opening may take in all.
    pub open_timeout: Duration,
    /// How long calls may take that say nothing else.
    pub call_timeouts: Timeouts,
    /// How long a question may stay with the host.
    pub question_timeout: Duration,
    /// Calls that may be in flight together.
    pub max_calls: usize,
    /// Questions that may be open about one call. On a pipe, where nothing tells which call they are
    /// about, this many and one more for each call.
    pub max_questions: usize,
    /// Bytes of what they ask, if there is more than one.
    pub max_question_bytes: usize,
    /// How often one call may come back for more input.
    pub max_rounds: u32,
}

impl ClientConfig {
    /// The defaults, for a client of this name.
    pub fn new(info: Implementation) -> Self {
        Self {
            info,
            capabilities: ClientCapabilities::default(),
            mode: Mode::Auto,
            remembered: None,
            wire: Wire::Pipe,
            sends_info: true,
            // A server that speaks the stateless era answers in milliseconds once it runs, and a
            // later answer is still understood: waiting longer only delays the others.
            probe_timeout: Duration::from_secs(2),
            // Package runners download before they start anything.
            open_timeout: Duration::from_secs(30),
            call_timeouts: Timeouts::default(),
            question_timeout: Duration::from_secs(600),
            max_calls: 1024,
            max_questions: 64,
            // As one message may have.
            max_question_bytes: MessageLimits::default().bytes,
            max_rounds: 10,
        }
    }
}

/// Which revisions a client tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// The stateless era first, then the handshake.
    Auto,
    /// The handshake only.
    Legacy,
    /// This revision or none.
    Pinned(Revision),
}

/// What client and server have agreed on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Agreed {
    /// The revision.
    pub revision: Revision,
    /// Who the server says it is. Unverified: for display and logs.
    pub server: Option<Implementation>,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// What it wants a model to know.
    pub instructions: Option<String>,
}

/// What happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input {
    /// The transport is up: the process runs, the address is known.
    Opened,
    /// A frame came.
    Received {
        /// On which stream. Over HTTP, the number of the request whose answer this is.
        lane: Lane,
        /// What was read.
        frame: Result<Frame, Malformed>,
    },
    /// The stream of a request ended without an answer. HTTP only.
    LaneClosed {
        /// The number of the request.
        lane: Lane,
        /// Why.
        end: LaneEnd,
    },
    /// The server no longer knows the session in which something was sent that has no lane, or
    /// to which a stream belonged: a notification, an answer of ours, the GET stream. HTTP only.
    ///
    /// To be said of the session that stands now, not of one before it. While one is opened
    /// anew it says nothing new.
    SessionLost,
    /// Our user makes a call.
    Call(CallRequest),
    /// Our user wants to hear of changes, in either era.
    Listen {
        /// The key under which the subscription is known from now on.
        key: CallKey,
        /// Which changes.
        filter: SubscriptionFilter,
    },
    /// Our user wants log messages from this level on, in either era.
    SetLogLevel {
        /// The key under which this ends.
        key: CallKey,
        /// The level.
        level: LoggingLevel,
    },
    /// Our user tells the server something. What its revision does not have, what we did
    /// not declare, and what this machine says itself is not sent; nor is anything while no
    /// session stands.
    Notify(Notification),
    /// Our user no longer wants a call, or a subscription.
    Cancel {
        /// Which.
        key: CallKey,
        /// Why, for the server's log.
        reason: Option<String>,
    },
    /// The host has answered a question.
    Answer {
        /// Which.
        question: QuestionKey,
        /// With what; an error refuses it.
        outcome: Result<Payload, ErrorObject>,
    },
    /// The time that `deadline()` named has come.
    Tick,
    /// The connection is gone.
    PeerClosed {
        /// Why, as far as is known: an exit status, a network error.
        reason: String,
    },
    /// We are done.
    Close,
}

/// How the stream of a request ended without an answer.
///
/// Over HTTP [`AnswerError::lane_end`](crate::http::client::AnswerError::lane_end) gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneEnd {
    /// The POST was answered by this HTTP status and not by a result: what else it says is
    /// an error at most. A body of 2xx that is no message counts as well.
    Refused {
        /// The status code.
        status: u16,
        /// The JSON-RPC error in the body, if it has one.
        error: Option<ErrorObject>,
    },
    /// The server no longer knows the session, and refused the request itself for that, so it
    /// did not run. In the handshake era the session is opened anew and the request sent again.
    ///
    /// Not for a stream whose request was accepted and that cannot be resumed: that one broke,
    /// and [`Input::SessionLost`] says the rest.
    SessionLost,
    /// The server ended it, or it broke.
    Broken(String),
}

impl fmt::Display for LaneEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { status, error } => {
                write!(f, "HTTP status {status}")?;
                match error {
                    Some(error) => write!(f, ": {error}"),
                    None => f.write_str(" without an answer"),
                }
            }
            Self::SessionLost => f.write_str("the server no longer knows the session"),
            Self::Broken(reason) => f.write_str(reason),
        }
    }
}

/// What must happen next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Output {
    /// Send a message. Over HTTP, a request's lane is the number that its answer's stream gets.
    Send {
        /// The stream.
        lane: Lane,
        /// The message.
        message: Message,
    },
    /// Close the stream of a request: over HTTP, in the stateless era, that cancels it.
    /// In the handshake era it belongs to a lost session, where nothing else can.
    CloseLane(Lane),
    /// Start the server anew and say [`Input::Opened`] again: it left at the era probe.
    Restart,
    /// Try the transport of 2024-11-05 at the same address and say [`Input::Opened`] again.
    UseOldTransport,
    /// Calls can be made.
    Opened(Box<Agreed>),
    /// The server has lost the session: forget its id and close its GET stream. What follows
    /// is sent without a session, until the answer to `initialize` names a new one. The streams of
    /// requests stay: they may still bring answers.
    Reopening,
    /// A new session stands, with what was agreed this time; the GET stream can be opened again.
    /// Changes may have been missed.
    Reopened(Box<Agreed>),
    /// It is over; drop the connection.
    Failed(Failure),
    /// It is over, as we wished; drop the connection.
    Closed,
    /// The one outcome of a call.
    Finished {
        /// Which call.
        key: CallKey,
        /// The result, or why there is none.
        outcome: Result<Payload, CallError>,
    },
    /// The first request of a call goes out, if its user [wants](CallRequest::tells_id) to know.
    Sent {
        /// Which call.
        key: CallKey,
        /// The id of its request.
        id: i64,
    },
    /// A call reports progress.
    Progress {
        /// Which call.
        key: CallKey,
        /// The parameters of the notification.
        params: Payload,
    },
    /// A subscription stands, or stands again after a lost session.
    Listening {
        /// Which.
        key: CallKey,
        /// What the server agreed to.
        granted: SubscriptionFilter,
    },
    /// The server asks the host something.
    Asked(Question),
    /// A question has become pointless.
    Withdrawn(QuestionKey),
    /// The server tells something.
    Told {
        /// The subscription that it belongs to, if it names one.
        listener: Option<CallKey>,
        /// The call whose answer it came ahead of, if it came on the same way.
        call: Option<CallKey>,
        /// What.
        notification: Notification,
    },
    /// Something came that has no place; worth counting, not worth failing.
    Ignored(Ignored),
}

impl Output {
    pub(super) fn send(lane: Lane, message: impl Into<Message>) -> Self {
        Self::Send {
            lane,
            message: message.into(),
        }
    }
}

/// What was left aside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// An answer to nothing we wait for: late, twice, or never asked.
    UnknownAnswer(Option<RequestId>),
    /// Not a message.
    Malformed(Problem),
    /// A batch where none is allowed.
    Batch,
    /// Progress for no call of ours, or that does not grow.
    StrayProgress,
    /// A notification without the parameters that it must have.
    BadNotification(Method),
    /// A request in an era in which servers send none.
    ServerRequest,
    /// A request with the id of a question that is still open.
    RepeatedRequest(RequestId),
    /// A request in a session that the server has lost: no answer would find it.
    LostSession(RequestId),
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// No revision is spoken by both.
    NoCommonRevision {
        /// What we would have spoken.
        ours: Vec<Revision>,
        /// What the server speaks, in its own words.
        theirs: Vec<String>,
    },
    /// The server refused the opening.
    Refused(ErrorObject),
    /// The opening took too long.
    TimedOut(Duration),
    /// The server broke the protocol while opening.
    Violation(Violation),
    /// The stream of the opening ended.
    Unreachable(LaneEnd),
    /// The connection is gone.
    PeerClosed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommonRevision { ours, theirs } => {
                let theirs = theirs.iter().map(String::as_str);
                write!(
                    f,
                    "no common protocol revision: the server speaks {}; we speak {}",
                    list(theirs),
                    list(ours.iter().map(|revision| revision.as_str())),
                )
            }
            Self::Refused(error) => write!(f, "the server refused the connection: {error}"),
            Self::TimedOut(limit) => write!(f, "the connection was not open within {limit:?}"),
            Self::Violation(violation) => write!(f, "the server broke the protocol: {violation}"),
            Self::Unreachable(end) => write!(f, "the server cannot be reached: {end}"),
            Self::PeerClosed(reason) => write!(f, "the server closed the connection: {reason}"),
        }
    }
}

impl std::error::Error for Failure {}

fn list<'a>(revisions: impl Iterator<Item = &'a str>) -> String {
    let named: Vec<&str> = revisions.collect();
    if named.is_empty() {
        return "none".to_owned();
    }
    named.join(", ")
}

/// How a server broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The answer is not a message.
    Malformed(Problem),
    /// The answer came in a batch where none is allowed.
    BatchNotAllowed,
    /// A result does not have its shape.
    BadResult(&'static str),
    /// A `resultType` that nobody declared.
    UnknownResultType(String),
    /// More input is asked for where that is not allowed.
    InputNotAllowed(Method),
    /// A task came back where none was declared.
    TaskNotAllowed,
    /// Something is asked of the host that it never declared.
    NotDeclared(String),
}

impl std::error::Error for Violation {}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(problem) => problem.fmt(f),
            Self::BatchNotAllowed => f.write_str("a batch is not allowed in this revision"),
            Self::BadResult(what) => write!(f, "bad result: {what}"),
            Self::UnknownResultType(kind) => write!(f, "unknown resultType {kind:?}"),
            Self::InputNotAllowed(method) => write!(f, "{method} may not ask for input"),
            Self::TaskNotAllowed => f.write_str("a task was not allowed here"),
            Self::NotDeclared(method) => write!(f, "{method} was asked for but never declared"),
        }
    }
}
