//! A host put together from closures. What has a closure is declared, nothing else.

use std::fmt;
use std::future::Future;

use serde_json::{Map, Value};
use switchboard_protocol::jsonrpc::Notification;
use switchboard_protocol::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestUrlParams, ElicitResult, ListRootsResult, LoggingMessageNotificationParams, Root,
};

use crate::host::{Abilities, Answering, Asked, Change, Host, Refusal};

type Ask<P, R> = Box<dyn Fn(P, Asked) -> Answering<'static, R> + Send + Sync>;
type Tell<T> = Box<dyn Fn(T) + Send + Sync>;
type Read = Box<dyn Fn(&str) + Send + Sync>;

/// A host put together from closures.
///
/// ```
/// use switchboard_client::Handlers;
/// use switchboard_client::types::{ElicitAction, ElicitResult};
///
/// let host = Handlers::new()
///     .on_form(|form, _| async move {
///         println!("{}", form.message);
///         Ok(ElicitResult::new(ElicitAction::Decline))
///     })
///     .on_log(|message| println!("{:?}", message.data));
/// ```
#[derive(Default)]
pub struct Handlers {
    form: Option<Ask<ElicitRequestFormParams, ElicitResult>>,
    visit: Option<Ask<ElicitRequestUrlParams, ElicitResult>>,
    sample: Option<Ask<CreateMessageRequestParams, CreateMessageResult>>,
    sampling_tools: bool,
    roots: Option<Ask<(), ListRootsResult>>,
    log: Option<Tell<LoggingMessageNotificationParams>>,
    change: Option<Tell<Change>>,
    other: Option<Tell<Notification>>,
    stderr: Option<Read>,
    noise: Option<Read>,
    bad_end: Option<Read>,
    extensions: Map<String, Value>,
}

impl Handlers {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a form.
    #[must_use]
    pub fn on_form<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(ElicitRequestFormParams, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<ElicitResult, Refusal>> + Send + 'static,
    {
        self.form = Some(boxed(answer));
        self
    }

    /// Sends the user to a URL.
    #[must_use]
    pub fn on_url<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(ElicitRequestUrlParams, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<ElicitResult, Refusal>> + Send + 'static,
    {
        self.visit = Some(boxed(answer));
        self
    }

    /// Samples from a model.
    #[must_use]
    pub fn on_sample<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(CreateMessageRequestParams, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CreateMessageResult, Refusal>> + Send + 'static,
    {
        self.sample = Some(boxed(answer));
        self
    }

    /// Samples from a model that can be given tools.
    #[must_use]
    pub fn on_sample_with_tools<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(CreateMessageRequestParams, Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CreateMessageResult, Refusal>> + Send + 'static,
    {
        self.sampling_tools = true;
        self.on_sample(answer)
    }

    /// Lists roots that never change.
    #[must_use]
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let result = ListRootsResult::new(roots.into_iter().collect());
        self.roots = Some(boxed(move |(), _| {
            let result = result.clone();
            async move { Ok(result) }
        }));
        self
    }

    /// Lists roots that may change: say [`Client::roots_changed`](crate::Client::roots_changed).
    #[must_use]
    pub fn on_roots<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(Asked) -> A + Send + Sync + 'static,
        A: Future<Output = Result<ListRootsResult, Refusal>> + Send + 'static,
    {
        self.roots = Some(boxed(move |(), asked| answer(asked)));
        self
    }

    /// Hears log messages. Which, [`Client::set_log_level`](crate::Client::set_log_level) says.
    #[must_use]
    pub fn on_log(
        mut self,
        hear: impl Fn(LoggingMessageNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.log = Some(Box::new(hear));
        self
    }

    /// Hears of changes.
    #[must_use]
    pub fn on_change(mut self, hear: impl Fn(Change) + Send + Sync + 'static) -> Self {
        self.change = Some(Box::new(hear));
        self
    }

    /// Hears what else the server says.
    #[must_use]
    pub fn on_notification(mut self, hear: impl Fn(Notification) + Send + Sync + 'static) -> Self {
        self.other = Some(Box::new(hear));
        self
    }

    /// Hears what the server's process writes to its standard error.
    #[must_use]
    pub fn on_stderr(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.stderr = Some(Box::new(hear));
        self
    }

    /// Hears what the server's process writes to its standard output that is no message.
    #[must_use]
    pub fn on_noise(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.noise = Some(Box::new(hear));
        self
    }

    /// Hears how the server's process ended when it was closed, if it did not end well.
    #[must_use]
    pub fn on_bad_end(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.bad_end = Some(Box::new(hear));
        self
    }

    /// Declares an extension, with its settings.
    #[must_use]
    pub fn extension(
        mut self,
        identifier: impl Into<String>,
        settings: Map<String, Value>,
    ) -> Self {
        self.extensions
            .insert(identifier.into(), Value::Object(settings));
        self
    }
}

fn boxed<P, R, A>(answer: impl Fn(P, Asked) -> A + Send + Sync + 'static) -> Ask<P, R>
where
    A: Future<Output = Result<R, Refusal>> + Send + 'static,
{
    Box::new(move |params, asked| Box::pin(answer(params, asked)))
}

fn ask<P, R>(handler: Option<&Ask<P, R>>, params: P, asked: Asked) -> Answering<'static, R> {
    match handler {
        Some(answer) => answer(params, asked),
        None => Box::pin(async move { Err(Refusal::unable(asked.method)) }),
    }
}

impl Host for Handlers {
    fn abilities(&self) -> Abilities {
        Abilities {
            forms: self.form.is_some(),
            urls: self.visit.is_some(),
            sampling: self.sample.is_some(),
            sampling_tools: self.sampling_tools,
            sampling_context: false,
            roots: self.roots.is_some(),
            root_changes: self.roots.is_some(),
            extensions: self.extensions.clone(),
        }
    }

    fn fill_form(
        &self,
        form: ElicitRequestFormParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        ask(self.form.as_ref(), form, asked)
    }

    fn visit_url(
        &self,
        visit: ElicitRequestUrlParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        ask(self.visit.as_ref(), visit, asked)
    }

    fn sample(
        &self,
        request: CreateMessageRequestParams,
        asked: Asked,
    ) -> Answering<'_, CreateMessageResult> {
        ask(self.sample.as_ref(), request, asked)
    }

    fn list_roots(&self, asked: Asked) -> Answering<'_, ListRootsResult> {
        ask(self.roots.as_ref(), (), asked)
    }

    fn hear_log(&self, message: LoggingMessageNotificationParams, _call: Option<u64>) {
        if let Some(hear) = &self.log {
            hear(message);
        }
    }

    fn hear_change(&self, change: Change) {
        if let Some(hear) = &self.change {
            hear(change);
        }
    }

    fn hear(&self, notification: Notification) {
        if let Some(hear) = &self.other {
            hear(notification);
        }
    }

    fn hear_stderr(&self, line: &str) {
        if let Some(hear) = &self.stderr {
            hear(line);
        }
    }

    fn hear_noise(&self, line: &str) {
        if let Some(hear) = &self.noise {
            hear(line);
        }
    }

    fn hear_bad_end(&self, end: &str) {
        if let Some(hear) = &self.bad_end {
            hear(end);
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("abilities", &self.abilities())
            .finish_non_exhaustive()
    }
}
