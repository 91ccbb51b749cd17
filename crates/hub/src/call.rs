//! One call through the hub: found, allowed, sent to its server, its result made to fit.
//!
//! What can be called is in `operation`, how a call is followed in `future`; the tools that the hub answers itself are in `own_tools`.

use std::fmt;
use std::future::{Future, IntoFuture, pending};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use switchboard_client::types::ProgressNotificationParams;
use switchboard_client::{Call, Payload};
use tokio::time::{Instant, sleep_until};

use crate::error::HubError;
use crate::event::Event;
use crate::hub::Hub;
use crate::member::InUse;
use crate::registry::Absence;
use crate::trace::{CallTrace, Subject, TraceContext};

mod future;
mod operation;
mod own_tools;
mod passed_on;

pub use future::HubCallFuture;
pub use operation::{CallTool, Complete, GetPrompt, Operation, Raw, RawRequest, ReadResource};
pub use passed_on::PassedOn;

use future::{Seen, Sent};
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
    witness: Option<Arc<dyn Witness>>,
    special: Option<Box<Special>>,
}

/// What few calls are told. In a box, so that the others are small: a call is moved several times
/// before it is made.
#[derive(Default)]
struct Special {
    idle: Option<Option<Duration>>,
    total: Option<Option<Duration>>,
    progress: Option<Hear>,
    cancel: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    parent: Option<TraceContext>,
}

/// Hears of progress.
type Hear = Box<dyn FnMut(ProgressNotificationParams) + Send>;

/// Sees when a call begins and when it ends.
pub trait Witness: Send + Sync + 'static {
    /// It is about to be sent: to which server, and under which number, by which the server's
    /// questions name it ([`Asked::call`](switchboard_client::Asked)). Gives back who is told of its
    /// end.
    fn begins(self: Arc<Self>, server: &Arc<str>, call: u64) -> Arc<dyn Witness>;

    /// It has an outcome, or was given up. Unless it was answered, the server may still be at it.
    fn ends(&self, is_answered: bool);
}

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
        self.options.special().idle = Some(limit.into());
        self
    }

    /// How long it may take in all, whatever progress it makes.
    pub fn deadline(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.options.special().total = Some(limit.into());
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

    /// Has somebody see when it begins and when it ends.
    pub fn seen_by(mut self, witness: Arc<dyn Witness>) -> Self {
        self.options.witness = Some(witness);
        self
    }

    /// The span below which the call is, of a trace that began elsewhere.
    pub fn parent(mut self, parent: TraceContext) -> Self {
        self.options.special().parent = Some(parent);
        self
    }

    /// Cancels the call when this is ready: a token of yours, a signal, a timer.
    pub fn cancel_on(mut self, token: impl Future<Output = ()> + Send + 'static) -> Self {
        self.options.special().cancel = Some(Box::pin(token));
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

    /// Sends it, if its server is ready and the name is known. Gives it back otherwise.
    fn begin(mut self) -> Result<Box<Sent<O>>, Self> {
        if self.operation.is_answered_here(&self.hub) {
            return Err(self);
        }
        let found = self.operation.found_in(self.hub.catalog_version());
        let found = found.or_else(|| self.operation.find(&self.hub.catalog()).ok());
        let Some(target) = found else {
            return Err(self);
        };
        let Some(client) = self.hub.client_now(target.server()) else {
            return Err(self);
        };
        let limits = self.options.limits();
        Ok(self.send(target, client, limits))
    }

    /// The whole of it, whatever must be waited for.
    async fn make(mut self) -> Result<O::Output, HubError> {
        let mut limits = self.options.limits();
        limits.began = Some(Instant::now());
        if let Some(answer) = self.operation.answer_here(&self.hub) {
            return limits.wait_for(answer).await;
        }
        let found = limits.wait_for(reach(&self.hub, &self.operation)).await;
        let (target, client) = found?;
        self.send(target, client, limits).await
    }

    /// In a box: it is moved often before it is where it stays.
    fn send(mut self, target: Target, client: InUse, limits: Limits) -> Box<Sent<O>> {
        let (server, name) = (target.server(), target.name());
        let special = self.options.special.take();
        let mut special = special.map(|special| *special).unwrap_or_default();
        let method = self.operation.method();
        let subject = Subject::of(&method, name);
        let meter = &client.member().meter;
        let timed = match &target {
            Target::Tool(entry) => meter.begin_known(subject, &entry.row),
            Target::Other { .. } => meter.begin(subject),
        };
        let trace = CallTrace::begin_timed(meter, subject, special.parent.as_ref(), timed);
        let call = client.with_ready(|ready| {
            if let Some(ready) = ready {
                trace.speaks(ready.revision);
            }
            self.operation.call(&client, ready, name)
        });
        let call = trace.write_to(call);
        let mut call = listened(call, special.progress.take(), &self.hub, server);
        let witness = self.options.witness.take();
        let seen = witness.map(|witness| Seen::begin(witness, server, call.id()));
        let (usual, most) = client
            .member()
            .with_config(|config| (config.call_timeouts(), config.limits.result));
        call = call.idle_timeout(special.idle.unwrap_or(usual.idle));
        call = call.deadline(special.total.unwrap_or(usual.total));
        if let Some(began) = limits.began {
            call = call.since(began.into_std());
        }
        if let Some(cancel) = limits.cancel {
            call = call.cancel_on(cancel);
        }
        Box::new(Sent {
            call: call.into_future(),
            seen,
            client,
            trace: Some(trace),
            most,
            target,
            hub: self.hub,
            operation: PhantomData,
        })
    }
}

/// How long a caller waits for what comes before the call itself.
#[derive(Default)]
struct Limits {
    cancel: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    total: Option<Duration>,
    /// If it has waited for anything.
    began: Option<Instant>,
}

impl Limits {
    async fn wait_for<T>(
        &mut self,
        waited: impl Future<Output = Result<T, HubError>>,
    ) -> Result<T, HubError> {
        let limits = self.began.zip(self.total);
        let until = limits.and_then(|(began, total)| began.checked_add(total));
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
    let client = hub.client(target.server()).await?;
    let target = match operation.find(&hub.catalog()) {
        Ok(again) if again.server() == target.server() => again,
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
    for server in hub.unlisted(missing.kind, fits) {
        if let Err(error) = hub.wait_until_listed(&server, missing.kind).await {
            reason.get_or_insert(error);
        }
    }
    let found = operation.find(&hub.catalog());
    found.map_err(|missing| reason.unwrap_or_else(|| missing.into()))
}

impl Options {
    fn special(&mut self) -> &mut Special {
        self.special.get_or_insert_default()
    }

    /// For what comes before it is sent.
    fn limits(&mut self) -> Limits {
        let Some(special) = &mut self.special else {
            return Limits::default();
        };
        Limits {
            cancel: special.cancel.take(),
            total: special.total.flatten(),
            ..Limits::default()
        }
    }
}

/// The call, with its progress told to whoever wants to hear of it.
#[inline]
fn listened(
    call: Call<Payload>,
    mut hear: Option<Hear>,
    hub: &Hub,
    server: &Arc<str>,
) -> Call<Payload> {
    if hear.is_none() && !hub.shared().tells_progress() {
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

impl<O: Operation> IntoFuture for HubCall<O> {
    type Output = Result<O::Output, HubError>;
    type IntoFuture = HubCallFuture<O>;

    fn into_future(self) -> HubCallFuture<O> {
        HubCallFuture::new(self)
    }
}

impl<O: fmt::Debug> fmt::Debug for HubCall<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubCall")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
