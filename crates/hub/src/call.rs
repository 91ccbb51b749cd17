//! One call through the hub: found, allowed, sent to its server, its result made to fit.
//!
//! What can be called is in `operation`; the tools that the hub answers itself are in `own_tools`.

use std::any::Any;
use std::fmt;
use std::future::{Future, IntoFuture, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use switchboard_client::types::ProgressNotificationParams;
use switchboard_client::{Call, Class, Payload, State};
use tokio::time::{Instant, sleep_until};
use tracing::Instrument;

use crate::error::HubError;
use crate::event::Event;
use crate::hub::Hub;
use crate::member::InUse;
use crate::registry::Absence;
use crate::trace::{CallTrace, Outcome, Subject, TraceContext};

mod operation;
mod own_tools;
mod passed_on;

pub use operation::{CallTool, Complete, GetPrompt, Operation, Raw, RawRequest, ReadResource};
pub use passed_on::{PassedOn, Whom};

use operation::Target;

/// A call that is made when it is awaited. Dropping its future cancels it at the server.
#[must_use = "a call is made when it is awaited"]
pub struct HubCall<O = CallTool> {
    hub: Hub,
    operation: O,
    options: Options,
}

/// What every call can be told.
#[derive(Default)]
struct Options {
    idle: Option<Option<Duration>>,
    total: Option<Option<Duration>>,
    progress: Option<Box<dyn FnMut(ProgressNotificationParams) + Send>>,
    cancel: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    begin: Option<Box<Begin>>,
    parent: Option<TraceContext>,
}

/// Told when a call is sent; what it gives back is kept until the call ends.
type Begin = dyn FnOnce(&Arc<str>, u64) -> Box<dyn Any + Send> + Send;

impl HubCall<CallTool> {
    /// One argument.
    pub fn arg(mut self, name: &str, value: impl Serialize) -> Self {
        self.operation.set_argument(name, value);
        self
    }

    /// All arguments.
    pub fn args(mut self, arguments: &(impl Serialize + ?Sized)) -> Self {
        self.operation.set_arguments(arguments);
        self
    }
}

impl<O: Operation> HubCall<O> {
    pub(crate) fn new(hub: &Hub, operation: O) -> Self {
        Self {
            hub: hub.clone(),
            operation,
            options: Options::default(),
        }
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

    /// Told when it is about to be sent: to which server, and under which number, by which the
    /// server's questions name it ([`Asked::call`](switchboard_client::Asked)). What is given back
    /// is kept until the call ends.
    pub fn on_begin<G: Send + 'static>(
        mut self,
        begin: impl FnOnce(&Arc<str>, u64) -> G + Send + 'static,
    ) -> Self {
        self.options.begin = Some(Box::new(|server, call| Box::new(begin(server, call))));
        self
    }

    /// The span below which the call is, of a trace that began elsewhere.
    pub fn parent(mut self, parent: TraceContext) -> Self {
        self.options.parent = Some(parent);
        self
    }

    /// Cancels the call when this is ready: a token of yours, a signal, a timer.
    pub fn cancel_on(mut self, token: impl Future<Output = ()> + Send + 'static) -> Self {
        self.options.cancel = Some(Box::pin(token));
        self
    }

    /// The result as the server wrote it, but for URIs that are called otherwise here.
    pub fn raw(self) -> HubCall<Raw<O>> {
        HubCall {
            hub: self.hub,
            operation: Raw(self.operation),
            options: self.options,
        }
    }

    async fn make(mut self) -> Result<O::Output, HubError> {
        let mut limits = Limits {
            cancel: self.options.cancel.take(),
            until: self
                .options
                .total
                .flatten()
                .and_then(|total| Instant::now().checked_add(total)),
        };
        if let Some(answer) = self.operation.answer_here(&self.hub) {
            return limits.wait_for(answer).await;
        }
        let found = limits.wait_for(reach(&self.hub, &self.operation)).await;
        let (target, client) = found?;
        let method = self.operation.method();
        let subject = Subject::of(&method, &target.name);
        let parent = self.options.parent.as_ref();
        let mut trace = CallTrace::begin(&client.member().meter, subject, parent);
        let span = trace.span().clone();
        let sending = self.send(&target, &client, limits, &mut trace);
        match sending.instrument(span).await {
            Ok((outcome, output)) => {
                trace.end(&outcome);
                Ok(output)
            }
            Err(error) => {
                trace.end(&Outcome::from(&error));
                Err(error)
            }
        }
    }

    async fn send(
        mut self,
        target: &Target,
        client: &InUse,
        limits: Limits,
        trace: &mut CallTrace,
    ) -> Result<(Outcome, O::Output), HubError> {
        let Target { server, name } = target;
        if let State::Ready(ready) = client.state() {
            trace.sent(ready.revision);
        }
        let config = client.member().config();
        let call = trace.write_to(self.operation.call(client, name));
        let mut call = self.options.apply(call, &self.hub, server);
        let begin = self.options.begin.take();
        let _begun = begin.map(|begin| begin(server, call.id()));
        let usual = config.call_timeouts();
        call = call.idle_timeout(self.options.idle.unwrap_or(usual.idle));
        call = call.deadline(match limits.until {
            Some(until) => Some(until.saturating_duration_since(Instant::now())),
            None => self.options.total.unwrap_or(usual.total),
        });
        if let Some(cancel) = limits.cancel {
            call = call.cancel_on(cancel);
        }
        let payload = match call.await {
            Ok(payload) => payload,
            Err(error) => {
                match error.class() {
                    Class::Timeout | Class::Connection => client.suspect(),
                    _ => client.note_answer(),
                }
                return Err(error.into());
            }
        };
        client.note_answer();
        let size = payload.text().len();
        if let Some(limit) = config.limits.result.filter(|limit| size > *limit) {
            return Err(HubError::ResultTooLarge {
                server: server.to_string(),
                name: name.clone(),
                size,
                limit,
            });
        }
        let catalog = self.hub.catalog();
        match O::read(&payload, &catalog, server) {
            Ok(output) => Ok((Outcome::from(&payload), output)),
            Err(error) => Err(HubError::Unreadable {
                server: server.to_string(),
                name: name.clone(),
                error,
            }),
        }
    }
}

/// How long a caller waits for what comes before the call itself.
struct Limits {
    cancel: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    until: Option<Instant>,
}

impl Limits {
    async fn wait_for<T>(
        &mut self,
        waited: impl Future<Output = Result<T, HubError>>,
    ) -> Result<T, HubError> {
        let until = self.until;
        let late = async move {
            match until {
                Some(until) => sleep_until(until).await,
                None => pending().await,
            }
        };
        let cancel = self.cancel.as_mut();
        let cancelled = async {
            match cancel {
                Some(cancel) => cancel.await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = waited => outcome,
            () = cancelled => Err(HubError::Cancelled),
            () = late => Err(HubError::TooLate),
        }
    }
}

/// Where it goes to, and the client to call there. What may be used can change while a server is
/// waited for, so it is looked at again then.
async fn reach<O: Operation>(hub: &Hub, operation: &O) -> Result<(Target, InUse), HubError> {
    let target = find(hub, operation).await?;
    let client = hub.client(&target.server).await?;
    let target = match operation.find(&hub.catalog()) {
        Ok(again) if again.server == target.server => again,
        Err(missing) if matches!(missing.absence, Absence::Denied(_)) => return Err(missing.into()),
        _ => target,
    };
    Ok((target, client))
}

/// Where it goes to. What is not there may be offered by a server that is not ready yet.
pub(crate) async fn find<O: Operation>(hub: &Hub, operation: &O) -> Result<Target, HubError> {
    let missing = match operation.find(&hub.catalog()) {
        Ok(target) => return Ok(target),
        Err(missing) => missing,
    };
    if !matches!(missing.absence, Absence::Unknown { .. }) {
        return Err(missing.into());
    }
    let mut reason = None;
    let fits = |server: &str, prefix: &str, is_starting: bool| {
        operation.could_be_on(server, prefix, is_starting)
    };
    for server in hub.unlisted(fits) {
        if let Err(error) = hub.wait_until_listed(&server).await {
            reason.get_or_insert(error);
        }
    }
    let found = operation.find(&hub.catalog());
    found.map_err(|missing| reason.unwrap_or_else(|| missing.into()))
}

impl Options {
    /// Hears of progress, if anybody wants to.
    fn apply(&mut self, call: Call<Payload>, hub: &Hub, server: &Arc<str>) -> Call<Payload> {
        let mut hear = self.progress.take();
        if hear.is_none() && !hub.shared().has_listeners() {
            return call;
        }
        let (shared, server) = (Arc::downgrade(hub.shared()), Arc::clone(server));
        let call_id = call.id();
        call.on_progress(move |progress| {
            if let Some(shared) = shared.upgrade() {
                shared.tell(Event::Progress {
                    server: Arc::clone(&server),
                    call: call_id,
                    progress: Arc::new(progress.clone()),
                });
            }
            if let Some(hear) = &mut hear {
                hear(progress);
            }
        })
    }
}

impl<O: Operation> IntoFuture for HubCall<O> {
    type Output = Result<O::Output, HubError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.make())
    }
}

impl<O: fmt::Debug> fmt::Debug for HubCall<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubCall")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
