//! What a server may ask of the application behind a client, and what it may tell it.
//!
//! Asked by a request or by a result that needs input: a host cannot tell, and need not.
//! What a host does not say it can do is neither declared nor ever asked.
//!
//! Specification: client/elicitation, client/sampling, client/roots; 2026-07-28
//! basic/patterns/mrtr.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Notification};
use switchboard_protocol::types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestUrlParams, ElicitResult, ElicitationCapability, ListRootsResult,
    LoggingMessageNotificationParams, RootsCapability, SamplingCapability,
};

/// An answer in the making. Dropped when nobody wants it any more.
pub type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// The application behind a client.
///
/// Every method has a default. Override what the application can do, and say so in
/// [`abilities`](Self::abilities); or put closures together with
/// [`Handlers`](crate::Handlers), which says it by itself.
///
/// What is *told* is told from within the task that owns the connection: take note and return.
pub trait Host: Send + Sync + 'static {
    /// What this host can be asked. Read once, before the connection is opened.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// The server wants the user to fill in a form.
    fn fill_form(
        &self,
        form: ElicitRequestFormParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        let _ = form;
        refuse(asked)
    }

    /// The server wants the user to visit a URL. Show the whole URL and ask before opening it.
    fn visit_url(
        &self,
        visit: ElicitRequestUrlParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        let _ = visit;
        refuse(asked)
    }

    /// The server wants a model to go on with a conversation.
    fn sample(
        &self,
        request: CreateMessageRequestParams,
        asked: Asked,
    ) -> Answering<'_, CreateMessageResult> {
        let _ = request;
        refuse(asked)
    }

    /// The server wants to know which folders it may work in.
    fn list_roots(&self, asked: Asked) -> Answering<'_, ListRootsResult> {
        refuse(asked)
    }

    /// The server logs something; in the midst of this call, if that is known: its number in
    /// [`Call::id`](crate::Call::id).
    fn hear_log(&self, message: LoggingMessageNotificationParams, call: Option<u64>) {
        let _ = (message, call);
    }

    /// Something at the server has changed.
    fn hear_change(&self, change: Change) {
        let _ = change;
    }

    /// The server says something else.
    fn hear(&self, notification: Notification) {
        let _ = notification;
    }

    /// A line that the server's process wrote to its standard error, safe to print.
    fn hear_stderr(&self, line: &str) {
        let _ = line;
    }

    /// A line that the server's process wrote to its standard output and that is no message; the
    /// beginning of it, safe to print. It was passed over.
    fn hear_noise(&self, line: &str) {
        let _ = line;
    }

    /// How the server's process ended when it was closed, if it ended by itself and not well:
    /// `exited with status 1`. The connection is closed all the same.
    fn hear_bad_end(&self, end: &str) {
        let _ = end;
    }
}

fn refuse<'a, T>(asked: Asked) -> Answering<'a, T> {
    Box::pin(async move { Err(Refusal::unable(asked.method)) })
}

/// A host that can do nothing and listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {}

/// Who asks, and on whose behalf.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The server, by the name it is configured under.
    pub server: Arc<str>,
    /// The method that asks.
    pub method: &'static str,
    /// The call that it belongs to, if that is known: its number in
    /// [`Call::id`](crate::Call::id). On a pipe it is not if there are several, or one was given up
    /// lately: the server may not have heard of that when it asked.
    pub call: Option<u64>,
    /// A call was given up, and the server has answered nothing since that was sent later: it may
    /// not have heard of it, and ask about that call.
    pub is_unheard: bool,
    /// The task that it says it belongs to, by the server's id (2025-11-25).
    pub task: Option<String>,
}

impl Asked {
    /// Asked by this server, about nothing in particular: for whoever tests a host of its own.
    pub fn by(server: &str, method: &'static str) -> Self {
        Self {
            server: Arc::from(server),
            method,
            call: None,
            is_unheard: false,
            task: None,
        }
    }
}

/// What a host can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abilities {
    /// To show a form.
    pub forms: bool,
    /// To send its user to a URL.
    pub urls: bool,
    /// To sample from a model.
    pub sampling: bool,
    /// To offer tools to that model.
    pub sampling_tools: bool,
    /// To add context of servers to a sampling request.
    pub sampling_context: bool,
    /// To list roots.
    pub roots: bool,
    /// Whether it tells when its roots change, see
    /// [`Client::roots_changed`](crate::Client::roots_changed).
    pub root_changes: bool,
    /// Extensions by identifier, with their settings.
    pub extensions: Map<String, Value>,
}

impl Abilities {
    /// What is declared to servers.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut declared = ClientCapabilities::default();
        if self.forms || self.urls {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = self.forms.then(Map::new);
            elicitation.url = self.urls.then(Map::new);
            declared.elicitation = Some(elicitation);
        }
        if self.sampling {
            let mut sampling = SamplingCapability::default();
            sampling.tools = self.sampling_tools.then(Map::new);
            sampling.context = self.sampling_context.then(Map::new);
            declared.sampling = Some(sampling);
        }
        if self.roots {
            let mut roots = RootsCapability::default();
            roots.list_changed = self.root_changes.then_some(true);
            declared.roots = Some(roots);
        }
        if !self.extensions.is_empty() {
            declared.extensions = Some(self.extensions.clone());
        }
        declared
    }
}

/// Something at a server has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The lists of resources and of resource templates.
    Resources,
    /// The resource with this URI.
    Resource(String),
    /// The task with this id.
    Task(String),
    /// The visit to a URL with this elicitation id is over.
    Visit(String),
}

/// Why a host does not answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal(ErrorObject);

impl Refusal {
    /// The user does not want to.
    pub fn by_user(reason: impl Into<String>) -> Self {
        Self(ErrorObject::new(ErrorCode::USER_REJECTED, reason))
    }

    /// What is asked for cannot be read, or makes no sense.
    pub fn bad_question(reason: impl Into<String>) -> Self {
        Self(ErrorObject::invalid_params(reason))
    }

    /// The host could not do it.
    pub fn broken(reason: impl Into<String>) -> Self {
        Self(ErrorObject::internal(reason))
    }

    pub(crate) fn unable(method: &str) -> Self {
        Self(ErrorObject::method_not_found(method))
    }

    pub(crate) fn into_error(self) -> ErrorObject {
        self.0
    }
}

impl From<ErrorObject> for Refusal {
    fn from(error: ErrorObject) -> Self {
        Self(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refusal {}
