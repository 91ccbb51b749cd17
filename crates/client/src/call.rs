//! One call: what it asks for, how long it may take, who hears of its progress.
//!
//! Dropping the future of a call cancels it at the server. What makes a call of a tool
//! special is in `tool_call`.

use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use switchboard_protocol::jsonrpc::MethodName;
use switchboard_protocol::machine::client::{CallKey, CallRequest, Timeouts as CallTimeouts};
use switchboard_protocol::types::{CallToolResult, ProgressNotificationParams};
use switchboard_protocol::{Era, Payload};

use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::inbox::Command;
use crate::shared::Shared;
use crate::slot::{Found, Slot};
use crate::tool_call::ToolCall;
use crate::words::plain;

/// The future of a call.
pub type CallFuture<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

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
    read: fn(&Payload) -> Result<T, ErrorKind>,
}

/// What all calls can be told.
pub(crate) struct Options {
    pub(crate) client: Client,
    pub(crate) key: CallKey,
    idle: Option<Option<Duration>>,
    total: Option<Option<Duration>>,
    progress: Option<Box<dyn FnMut(ProgressNotificationParams) + Send>>,
    cancel: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Whether progress is asked for although nobody listens: it keeps the call alive.
    asks_for_progress: bool,
    /// Whether anything of it went to the server.
    was_sent: bool,
}

/// What a call asks for.
pub(crate) enum Body {
    /// A method with its parameters.
    Plain(MethodName, Result<Option<Payload>, Arc<serde_json::Error>>),
    /// A tool.
    Tool(ToolCall),
}

impl<T> Call<T> {
    pub(crate) fn new(
        client: Client,
        body: Body,
        read: fn(&Payload) -> Result<T, ErrorKind>,
    ) -> Self {
        let key = client.shared().next_key();
        Self {
            options: Options {
                client,
                key,
                idle: None,
                total: None,
                progress: None,
                cancel: None,
                asks_for_progress: matches!(body, Body::Tool(_)),
                was_sent: false,
            },
            body,
            read,
        }
    }

    /// The number of this call, as [`Asked::call`](crate::Asked) names it.
    pub const fn id(&self) -> u64 {
        self.options.key.0
    }

    /// How long there may be neither an answer nor progress.
    pub fn idle_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.options.idle = Some(limit.into());
        self
    }

    /// How long it may take in all, whatever progress it makes.
    pub fn deadline(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.options.total = Some(limit.into());
        self
    }

    /// Hears of progress, in the task that awaits the call.
    pub fn on_progress(
        mut self,
        hear: impl FnMut(ProgressNotificationParams) + Send + 'static,
    ) -> Self {
        self.options.progress = Some(Box::new(hear));
        self
    }

    /// Cancels the call when this is ready: a token of yours, a signal, a timer.
    pub fn cancel_on(mut self, token: impl Future<Output = ()> + Send + 'static) -> Self {
        self.options.cancel = Some(Box::pin(token));
        self
    }

    /// The result as the server wrote it.
    pub fn raw(self) -> Call<Payload> {
        Call {
            options: self.options,
            body: self.body,
            read: |payload| Ok(payload.clone()),
        }
    }

    pub(crate) fn read_as<U>(self, read: fn(&Payload) -> Result<U, ErrorKind>) -> Call<U> {
        Call {
            options: self.options,
            body: self.body,
            read,
        }
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
        Self::new(client, Body::Plain(method.into(), params), decode)
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

    fn into_future(mut self) -> CallFuture<T> {
        Box::pin(async move {
            let outcome = self.body.run(&mut self.options).await;
            let result = outcome.and_then(|payload| (self.read)(&payload));
            result.map_err(|kind| {
                let server = &self.options.client.shared().name;
                let error = Error::new(server, self.body.operation(), kind);
                if self.options.was_sent {
                    error
                } else {
                    error.unsent()
                }
            })
        })
    }
}

impl Body {
    async fn run(&mut self, options: &mut Options) -> Result<Payload, ErrorKind> {
        match self {
            Self::Plain(method, params) => {
                let params = std::mem::replace(params, Ok(None));
                let params = params.map_err(ErrorKind::BadArguments)?;
                options.send(method.clone(), params).await
            }
            Self::Tool(tool) => tool.run(options).await,
        }
    }

    /// What an error says was done.
    fn operation(&self) -> String {
        match self {
            Self::Plain(method, _) => method.as_str().to_owned(),
            Self::Tool(tool) => format!("tools/call {}", tool.name()),
        }
    }
}

impl Options {
    /// The limits of this call.
    pub(crate) fn timeouts(&self) -> CallTimeouts {
        let usual = &self.client.shared().timeouts;
        CallTimeouts::new(
            self.idle.unwrap_or(usual.idle),
            self.total.unwrap_or(usual.total),
        )
    }

    /// Makes one request of this call and waits for what comes of it.
    ///
    /// A call may take several requests; each has a key of its own, but for the first.
    pub(crate) async fn send(
        &mut self,
        method: MethodName,
        params: Option<Payload>,
    ) -> Result<Payload, ErrorKind> {
        self.era().await?;
        let mut request = CallRequest::new(self.key, method, params);
        request.timeouts = Some(self.timeouts());
        request.progress = self.progress.is_some() || self.asks_for_progress;
        let shared = self.client.shared();
        self.key = shared.next_key();
        let mut sent = Sent::new(shared, request)?;
        self.was_sent = true;
        let (cancel, progress) = (&mut self.cancel, &mut self.progress);
        poll_fn(|cx| {
            if let Some(token) = cancel
                && token.as_mut().poll(cx).is_ready()
            {
                *cancel = None;
                sent.cancel();
            }
            loop {
                return match sent.slot.poll(cx) {
                    Poll::Ready(Found::Progress(params)) => {
                        if let (Some(hear), Ok(report)) = (&mut *progress, decode(&params)) {
                            hear(report);
                        }
                        continue;
                    }
                    Poll::Ready(Found::Outcome(outcome)) => {
                        sent.is_over = true;
                        Poll::Ready(outcome.map_err(ErrorKind::from))
                    }
                    Poll::Pending => Poll::Pending,
                };
            }
        })
        .await
    }

    /// The era that was agreed on. Waits until calls can be made, as long as this one may take.
    pub(crate) async fn era(&mut self) -> Result<Era, ErrorKind> {
        match self.client.shared().era_now() {
            Some(era) => Ok(era),
            None => Box::pin(wait_until_ready(&self.client, self.timeouts().total)).await,
        }
    }

    /// Waits, unless the call is cancelled meanwhile.
    pub(crate) async fn pause(&mut self, time: Duration) -> Result<(), ErrorKind> {
        let mut sleep = std::pin::pin!(tokio::time::sleep(time));
        poll_fn(|cx| {
            if let Some(cancel) = &mut self.cancel
                && cancel.as_mut().poll(cx).is_ready()
            {
                return Poll::Ready(Err(ErrorKind::Cancelled));
            }
            sleep.as_mut().poll(cx).map(Ok)
        })
        .await
    }
}

async fn wait_until_ready(client: &Client, limit: Option<Duration>) -> Result<Era, ErrorKind> {
    let ready = client.shared().ready();
    let ready = match limit {
        Some(limit) => tokio::time::timeout(limit, ready)
            .await
            .map_err(|_| ErrorKind::from(limit))??,
        None => ready.await?,
    };
    Ok(ready.revision.era())
}

/// A request that is out. Dropped before its outcome, it is cancelled at the server.
struct Sent<'a> {
    shared: &'a Shared,
    key: CallKey,
    slot: Arc<Slot>,
    is_over: bool,
}

impl<'a> Sent<'a> {
    fn new(shared: &'a Shared, request: CallRequest) -> Result<Self, ErrorKind> {
        let slot = Arc::new(Slot::default());
        let key = request.key;
        if !shared.inbox.push(Command::Call(request, Arc::clone(&slot))) {
            return Err(shared.why_over());
        }
        Ok(Self {
            shared,
            key,
            slot,
            is_over: false,
        })
    }

    fn cancel(&self) {
        // If nobody takes it, the slot has its outcome already.
        self.shared.inbox.push(Command::Cancel(self.key, None));
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.cancel();
        }
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
