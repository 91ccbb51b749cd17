//! One call: what it asks for, how long it may take, who hears of its progress.
//!
//! Dropping the future of a call cancels it at the server. What makes a call of a tool
//! special is in `tool_call`.

use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_protocol::jsonrpc::MethodName;
use switchboard_protocol::machine::client::{
    CallKey, CallRequest, OnBehalf, Timeouts as CallTimeouts,
};
use switchboard_protocol::types::{CallToolResult, ProgressNotificationParams};
use switchboard_protocol::{Era, Method, Payload};
use tokio::time::Instant;

use crate::call_future::CallFuture;
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::inbox::Command;
use crate::shared::Shared;
use crate::slot::{Found, Outcome};
use crate::spec::Timeouts;
use crate::tool_call::ToolCall;
use crate::words::plain;

/// A call that is made when it is awaited.
///
/// ```
/// # use std::time::Duration;
/// # use switchboard_client::{Client, Error};
/// # async fn example(client: Client) -> Result<(), Error> {
/// let result = client
///     .call("build")
///     .arg("target", "release")
///     .idle_timeout(Duration::from_secs(10))
///     .on_progress(|progress| println!("{}", progress.progress))
///     .await?;
/// # let _ = result;
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is made when it is awaited"]
pub struct Call<T = CallToolResult> {
    pub(crate) options: Options,
    pub(crate) body: Body,
    read: fn(Payload) -> Result<T, ErrorKind>,
}

/// What all calls can be told.
pub(crate) struct Options {
    pub(crate) client: Client,
    pub(crate) key: CallKey,
    /// What few calls are told.
    special: Option<Box<Special>>,
    /// For whom it is made, if not for our user himself.
    on_behalf: Option<Arc<OnBehalf>>,
    /// Whether progress is asked for although nobody listens: it keeps the call alive.
    asks_for_progress: bool,
    /// Whether anything of it went to the server.
    was_sent: bool,
    /// The request that is out. Given up before its outcome, it is cancelled at the server.
    sent: Option<CallKey>,
}

/// What few calls are told. In a box, so that the others are small: a call is moved several times
/// before it is made.
#[derive(Default)]
struct Special {
    idle: Option<Option<Duration>>,
    total: Option<Option<Duration>>,
    /// Since when `total` is counted, if that is not when a request is made.
    began: Option<Instant>,
    sent: Option<Box<dyn FnOnce(i64) + Send>>,
    progress: Option<Box<dyn FnMut(ProgressNotificationParams) + Send>>,
    cancel: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// What the caller adds to the `_meta` of its requests.
    meta: Map<String, Value>,
}

/// What a call asks for.
pub(crate) enum Body {
    /// A method with its parameters.
    Plain(Plain),
    /// A tool.
    Tool(ToolCall),
}

/// One request and its answer, of any method.
pub(crate) struct Plain {
    method: MethodName,
    params: Result<Option<Payload>, Arc<serde_json::Error>>,
}

impl<T> Call<T> {
    #[inline]
    pub(crate) fn new(
        client: Client,
        body: Body,
        read: fn(Payload) -> Result<T, ErrorKind>,
    ) -> Self {
        let key = Shared::next_key();
        Self {
            options: Options {
                client,
                key,
                special: None,
                on_behalf: None,
                asks_for_progress: matches!(body, Body::Tool(_)),
                was_sent: false,
                sent: None,
            },
            body,
            read,
        }
    }

    /// The number of this call, as [`Asked::call`](crate::Asked) names it. No other call of the
    /// process has it, whichever client makes it.
    pub const fn id(&self) -> u64 {
        self.options.key.0
    }

    /// How long there may be neither an answer nor progress.
    #[inline]
    pub fn idle_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        let limit = limit.into();
        if self.options.special.is_some() || limit != self.options.usual().idle {
            self.options.special().idle = Some(limit);
        }
        self
    }

    /// How long it may take in all, whatever progress it makes: also the time until its connection
    /// is ready. Of a call that its server has made a task of, the time until it said so is not
    /// counted, but has the same limit.
    #[inline]
    pub fn deadline(mut self, limit: impl Into<Option<Duration>>) -> Self {
        let limit = limit.into();
        if self.options.special.is_some() || limit != self.options.usual().total {
            self.options.special().total = Some(limit);
        }
        self
    }

    /// When it began, if something was waited for before it is made: its deadline is counted from
    /// then.
    pub fn since(mut self, began: std::time::Instant) -> Self {
        self.options.special().began = Some(Instant::from_std(began));
        self
    }

    /// Hears of progress, in the task that awaits the call.
    pub fn on_progress(
        mut self,
        hear: impl FnMut(ProgressNotificationParams) + Send + 'static,
    ) -> Self {
        self.options.special().progress = Some(Box::new(hear));
        self
    }

    /// Hears under which JSON-RPC id the call went out, for logs and traces. It hears when the call
    /// ends or is given up, if not before; of several requests that a call may take, the first counts.
    pub fn on_sent(mut self, hear: impl FnOnce(i64) + Send + 'static) -> Self {
        self.options.special().sent = Some(Box::new(hear));
        self
    }

    /// Cancels the call when this is ready: a token of yours, a signal, a timer.
    pub fn cancel_on(mut self, token: impl Future<Output = ()> + Send + 'static) -> Self {
        self.options.special().cancel = Some(Box::pin(token));
        self
    }

    /// Adds a member to the `_meta` of the request, such as a trace context. The keys of the
    /// protocol itself stay ours.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let meta = &mut self.options.special().meta;
        meta.insert(key.into(), value.into());
        self
    }

    /// The result as the server wrote it.
    pub fn raw(self) -> Call<Payload> {
        Call {
            options: self.options,
            body: self.body,
            read: Ok,
        }
    }

    /// Makes it for somebody else, of whom the server hears in our place: for whoever stands
    /// between clients and servers. A server of the handshake era knows only us.
    pub fn on_behalf(mut self, whom: impl Into<Arc<OnBehalf>>) -> Self {
        self.options.on_behalf = Some(whom.into());
        self
    }

    pub(crate) fn read_as<U>(self, read: fn(Payload) -> Result<U, ErrorKind>) -> Call<U> {
        Call {
            options: self.options,
            body: self.body,
            read,
        }
    }

    /// Checks and reads what came of it.
    pub(crate) fn finish(&self, outcome: Result<Payload, ErrorKind>) -> Result<T, Error> {
        match outcome {
            Ok(payload) => self.read_result(payload),
            Err(kind) => Err(self.fail(kind)),
        }
    }

    /// Checks and reads its result.
    #[inline]
    pub(crate) fn read_result(&self, payload: Payload) -> Result<T, Error> {
        if let Body::Tool(tool) = &self.body
            && let Err(kind) = tool.check_output(&self.options.client, &payload)
        {
            return Err(self.fail(kind));
        }
        (self.read)(payload).map_err(|kind| self.fail(kind))
    }

    #[cold]
    pub(crate) fn fail(&self, kind: ErrorKind) -> Error {
        let server = &self.options.client.shared().name;
        let error = Error::new(server, self.body.operation(), kind);
        if self.options.was_sent {
            error
        } else {
            error.unsent()
        }
    }
}

impl Call<Payload> {
    /// A call with parameters that were written elsewhere.
    #[inline]
    pub(crate) fn passed_on(client: Client, method: MethodName, params: Option<Payload>) -> Self {
        let body = match (method.known(), params) {
            (Some(Method::ToolsCall), Some(params)) => Body::Tool(ToolCall::passed_on(params)),
            (_, params) => Body::Plain(Plain {
                method,
                params: Ok(params),
            }),
        };
        Self::new(client, body, Ok)
    }
}

impl<T: DeserializeOwned> Call<T> {
    /// A call of any method.
    pub(crate) fn plain(
        client: Client,
        method: impl Into<MethodName>,
        params: Option<&(impl Serialize + ?Sized)>,
    ) -> Self {
        let params = params.map(Payload::encode).transpose().map_err(Arc::new);
        let method = method.into();
        Self::new(client, Body::Plain(Plain { method, params }), |result| {
            decode(&result)
        })
    }
}

/// Reads a result as its type.
pub(crate) fn decode<T: DeserializeOwned>(payload: &Payload) -> Result<T, ErrorKind> {
    read_text(payload).map_err(|error| unreadable(&error, payload.text()))
}

/// Reads the text of a payload, looking once and not string by string whether it is UTF-8.
pub(crate) fn read_text<'a, T: Deserialize<'a>>(payload: &'a Payload) -> serde_json::Result<T> {
    let text = std::str::from_utf8(payload.text()).map_err(serde::de::Error::custom)?;
    serde_json::from_str(text)
}

/// Why a text has not the shape that it should have, and what stands there: a line and a column
/// say little to somebody who has not seen the text.
fn unreadable(error: &serde_json::Error, text: &[u8]) -> ErrorKind {
    let mut lines = text.split(|byte| *byte == b'\n');
    let line = lines.nth(error.line().saturating_sub(1));
    let before = line.and_then(|line| line.get(..error.column().min(line.len())));
    let before = before.unwrap_or_default();
    let near = before.get(before.len().saturating_sub(NEAR)..);
    let near = plain(&String::from_utf8_lossy(near.unwrap_or_default()), NEAR);
    let words = format!("{error}, behind {near:?}");
    ErrorKind::Unreadable(Arc::new(serde::de::Error::custom(words)))
}

/// So much of a text is shown.
const NEAR: usize = 40;

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T, Error>;
    type IntoFuture = CallFuture<T>;

    #[inline]
    fn into_future(self) -> CallFuture<T> {
        CallFuture::new(self)
    }
}

impl Body {
    /// Fills in the request that this is, if it is no more than one.
    #[inline]
    pub(crate) fn fill(
        &mut self,
        request: &mut CallRequest,
        shared: &Shared,
        era: Era,
    ) -> Option<Result<(), ErrorKind>> {
        match self {
            Self::Plain(plain) => Some(plain.take().map(|(method, params)| {
                request.method = method;
                request.params = params;
            })),
            Self::Tool(tool) => {
                request.method = Method::ToolsCall.into();
                tool.fill(request, shared, era)
            }
        }
    }

    /// Is this result of the first request all there is?
    #[inline]
    pub(crate) fn is_all(&self, era: Era, result: &Payload) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tool(_) => ToolCall::is_all(era, result),
        }
    }

    /// Is there no more to be done after this came of the first request?
    pub(crate) fn is_over(
        &self,
        shared: &Shared,
        era: Era,
        outcome: &Result<Payload, ErrorKind>,
    ) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tool(_) => ToolCall::is_over(shared, era, outcome),
        }
    }

    pub(crate) async fn run(&mut self, options: &mut Options) -> Result<Payload, ErrorKind> {
        match self {
            Self::Plain(plain) => {
                let (method, params) = plain.take()?;
                options.send(method, params).await
            }
            Self::Tool(tool) => tool.run(options).await,
        }
    }

    /// Goes on after the first request.
    pub(crate) async fn run_on(
        &self,
        options: &mut Options,
        era: Era,
        outcome: Result<Payload, ErrorKind>,
    ) -> Result<Payload, ErrorKind> {
        match self {
            Self::Plain(_) => outcome,
            Self::Tool(tool) => tool.run_on(options, era, false, outcome).await,
        }
    }

    /// What an error says was done.
    fn operation(&self) -> String {
        match self {
            Self::Plain(plain) => plain.method.as_str().to_owned(),
            Self::Tool(tool) => format!("tools/call {}", tool.name()),
        }
    }
}

impl Plain {
    /// What is sent. It is sent once.
    fn take(&mut self) -> Result<(MethodName, Option<Payload>), ErrorKind> {
        let params = std::mem::replace(&mut self.params, Ok(None));
        let params = params.map_err(ErrorKind::BadArguments)?;
        Ok((self.method.clone(), params))
    }
}

impl Options {
    fn special(&mut self) -> &mut Special {
        self.special.get_or_insert_default()
    }

    /// The limits of all calls that say nothing else.
    fn usual(&self) -> &Timeouts {
        &self.client.shared().timeouts
    }

    /// The limits of this call.
    pub(crate) fn timeouts(&self) -> CallTimeouts {
        let usual = self.usual();
        let Some(special) = &self.special else {
            return usual.call();
        };
        let idle = special.idle.unwrap_or(usual.idle);
        let total = special.total.unwrap_or(usual.total);
        let spent = special
            .began
            .map_or(Duration::ZERO, |began| began.elapsed());
        CallTimeouts::new(idle, total).after(spent)
    }

    /// Its time is counted from now on at the latest, whatever it still sends.
    pub(crate) fn begin(&mut self) {
        self.special().began.get_or_insert_with(Instant::now);
    }

    /// Makes one request of this call and waits for what comes of it.
    pub(crate) async fn send(
        &mut self,
        method: MethodName,
        params: Option<Payload>,
    ) -> Result<Payload, ErrorKind> {
        self.era().await?;
        let mut request = Some((method, params));
        poll_fn(|cx| {
            if let Some((method, params)) = request.take() {
                self.depart(cx, |request, _| {
                    request.method = method;
                    request.params = params;
                    Ok::<_, ErrorKind>(())
                })?;
            }
            self.poll_outcome(cx).map_err(ErrorKind::from)
        })
        .await
    }

    /// Makes one request of this call, for the task that polls it.
    ///
    /// A call may take several requests; each has a key of its own, but for the first. What is
    /// asked for is filled in where the request is made: it is dear to move.
    #[inline]
    pub(crate) fn depart<E: From<ErrorKind>>(
        &mut self,
        cx: &Context<'_>,
        fill: impl FnOnce(&mut CallRequest, &Shared) -> Result<(), E>,
    ) -> Result<(), E> {
        self.give_up();
        let shared = self.client.shared();
        let mut request = CallRequest::new(self.key, Method::ToolsCall, None);
        fill(&mut request, shared)?;
        if self.was_sent {
            request.key = shared.key_of_later(self.key);
        }
        request.progress = self.asks_for_progress;
        request.on_behalf.clone_from(&self.on_behalf);
        if let Some(special) = &self.special {
            request.timeouts = Some(self.timeouts());
            request.progress |= special.progress.is_some();
            request.tells_id = special.sent.is_some();
            if !special.meta.is_empty() {
                let params = request.params.as_ref();
                request.params = Some(Payload::with_meta(params, &special.meta));
            }
        }
        let key = request.key;
        if !shared.inbox.ask(key, request, cx) {
            shared.forget_later(key, self.key);
            return Err(shared.why_over().into());
        }
        self.was_sent = true;
        self.sent = Some(key);
        Ok(())
    }

    /// What comes of the request that is out.
    #[inline(always)]
    pub(crate) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        if let Some(special) = &mut self.special
            && let Some(token) = &mut special.cancel
            && token.as_mut().poll(cx).is_ready()
        {
            special.cancel = None;
            self.cancel_request();
        }
        let Some(key) = self.sent else {
            return Poll::Pending;
        };
        loop {
            match ready!(self.client.shared().inbox.poll_outcome(key, cx)) {
                Found::Sent(id) => self.tell_id(id),
                Found::Progress(params) => {
                    if let Some(special) = &mut self.special
                        && let Some(hear) = &mut special.progress
                        && let Ok(report) = decode(&params)
                    {
                        hear(report);
                    }
                }
                Found::Outcome(outcome) => {
                    self.sent = None;
                    self.client.shared().forget_later(key, self.key);
                    return Poll::Ready(outcome);
                }
            }
        }
    }

    /// Is there nothing beside the outcome that could end the wait for it?
    pub(crate) fn waits_for_outcome_only(&self) -> bool {
        let special = self.special.as_ref();
        special.is_none_or(|special| special.cancel.is_none())
    }

    /// Is it made for somebody who hears himself what the server wants?
    pub(crate) fn is_for_another(&self) -> bool {
        let whom = self.on_behalf.as_ref();
        whom.is_some_and(|whom| whom.is_asked_himself)
    }

    /// Tells whoever wants to know it.
    fn tell_id(&mut self, id: i64) {
        if let Some(special) = &mut self.special
            && let Some(hear) = special.sent.take()
        {
            hear(id);
        }
    }

    /// Nobody waits any more for the request that is out.
    fn give_up(&mut self) {
        if let Some(key) = self.sent.take() {
            self.client.shared().forget_later(key, self.key);
            if self
                .special
                .as_ref()
                .is_some_and(|special| special.sent.is_some())
                && let Some(id) = self.client.shared().inbox.take_id(key)
            {
                self.tell_id(id);
            }
            let inbox = &self.client.shared().inbox;
            if inbox.forget(key) {
                // If nobody takes it, the connection is over and the call with it.
                inbox.push(Command::Cancel(key, None));
            }
        }
    }

    /// Cancels the request that is out. Its outcome says so.
    fn cancel_request(&self) {
        if let Some(key) = self.sent {
            // If nobody takes it, the outcome has come already.
            let shared = self.client.shared();
            shared.inbox.push(Command::Cancel(key, None));
        }
    }

    /// The era that was agreed on. Waits until calls can be made, as long as this one may take.
    pub(crate) async fn era(&mut self) -> Result<Era, ErrorKind> {
        if let Some(era) = self.client.shared().era_now() {
            return Ok(era);
        }
        self.begin();
        let limits = self.timeouts();
        Box::pin(wait_until_ready(&self.client, &limits)).await
    }

    /// Waits, unless the call is cancelled meanwhile.
    pub(crate) async fn pause(&mut self, time: Duration) -> Result<(), ErrorKind> {
        let mut sleep = std::pin::pin!(tokio::time::sleep(time));
        poll_fn(|cx| {
            if let Some(special) = &mut self.special
                && let Some(cancel) = &mut special.cancel
                && cancel.as_mut().poll(cx).is_ready()
            {
                return Poll::Ready(Err(ErrorKind::Cancelled));
            }
            sleep.as_mut().poll(cx).map(Ok)
        })
        .await
    }
}

async fn wait_until_ready(client: &Client, limits: &CallTimeouts) -> Result<Era, ErrorKind> {
    let ready = client.shared().ready();
    let ready = match (limits.left(), limits.total) {
        (Some(left), Some(total)) => tokio::time::timeout(left, ready)
            .await
            .map_err(|_| ErrorKind::from(total))??,
        _ => ready.await?,
    };
    Ok(ready.revision.era())
}

/// Dropping the future of a call is cancelling.
impl Drop for Options {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
