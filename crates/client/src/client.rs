//! A connection to one server, as its users have it.

use std::sync::Arc;
use std::task::Poll;

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use switchboard_protocol::jsonrpc::{MethodName, Notification};
use switchboard_protocol::machine::client::CallKey;
use switchboard_protocol::types::{
    CallToolResult, CancelTask, Complete, CompleteRequestParams, CompleteResult, GetPrompt,
    GetPromptRequestParams, GetPromptResult, GetTask, LoggingLevel, Prompt, ReadResource,
    ReadResourceRequestParams, ReadResourceResult, Request, Resource, ResourceTemplate,
    SubscriptionFilter, Task, TaskRequestParams,
};
use switchboard_protocol::{Era, Method, Payload};
use switchboard_transport::memory::End;

use crate::call::{Body, Call};
use crate::driver;
use crate::error::{Error, ErrorKind};
use crate::host::{Host, NoHost};
use crate::inbox::Command;
use crate::listing;
use crate::lists::ListHints;
use crate::shared::Shared;
use crate::slot::Found;
use crate::spec::{BadSpec, Spec};
use crate::state::{Ready, State, States};
use crate::subscription::{Channel, Subscription};
use crate::tool_call::{self, ToolCall};
use crate::tools::Tools;

/// A connection to one server. Cheap to clone; all clones are the same connection.
///
/// When the last one is gone, and no call of it is under way any more, the connection is
/// closed and the server's process is ended. [`close`](Self::close) does it now and waits.
///
/// ```no_run
/// use switchboard_client::Client;
///
/// # async fn example() -> Result<(), switchboard_client::Error> {
/// let client = Client::connect("npx -y @modelcontextprotocol/server-everything").await?;
/// let sum = client.call("get-sum").arg("a", 2).arg("b", 3).await?;
/// println!("{}", sum.joined_text());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // If nobody takes it, it is closed already.
        self.shared.inbox.push(Command::Close);
    }
}

impl Client {
    /// Connects to a server, for a host that can be asked nothing.
    ///
    /// # Errors
    /// When the server cannot be reached: the error says how far it came and what was seen.
    pub async fn connect<S>(spec: S) -> Result<Self, Error>
    where
        S: TryInto<Spec>,
        BadSpec: From<S::Error>,
    {
        Self::connect_with(spec, NoHost).await
    }

    /// Connects to a server, for a host that can be asked what it says.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn connect_with<S>(spec: S, host: impl Host) -> Result<Self, Error>
    where
        S: TryInto<Spec>,
        BadSpec: From<S::Error>,
    {
        let spec = spec.try_into().map_err(|error| {
            let error = BadSpec::from(error);
            Error::new(&Arc::from("?"), "connect", ErrorKind::BadSpec(error.0))
        })?;
        let client = Self::start(spec, host);
        client.ready().await?;
        Ok(client)
    }

    /// Begins to connect and does not wait for it. Calls that are made meanwhile wait.
    ///
    /// Needs a tokio runtime, in which the connection then lives.
    pub fn start(spec: Spec, host: impl Host) -> Self {
        let shared = Arc::new(Shared::new(&spec, Arc::new(host)));
        driver::start(spec, Arc::clone(&shared));
        Self(Arc::new(Handle { shared }))
    }

    /// Connects to a server at the other end of a pipe in memory: for tests, and for servers
    /// that live in the same process.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn connect_in_memory(end: End, host: impl Host) -> Result<Self, Error> {
        Self::connect_in_memory_as(end, Spec::in_memory(), host).await
    }

    /// The same with settings of one's own, see [`Spec::in_memory`].
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn connect_in_memory_as(
        end: End,
        spec: Spec,
        host: impl Host,
    ) -> Result<Self, Error> {
        let client = Self::start_in_memory(end, spec, host);
        client.ready().await?;
        Ok(client)
    }

    /// The same without waiting for it, see [`start`](Self::start).
    pub fn start_in_memory(end: End, spec: Spec, host: impl Host) -> Self {
        let shared = Arc::new(Shared::new(&spec, Arc::new(host)));
        driver::start_in_memory(spec, end, Arc::clone(&shared));
        Self(Arc::new(Handle { shared }))
    }

    /// Waits until calls can be made.
    ///
    /// # Errors
    /// When they never can.
    pub async fn ready(&self) -> Result<Arc<Ready>, Error> {
        let shared = self.shared();
        shared
            .ready()
            .await
            .map_err(|kind| Error::new(&shared.name, "connect", kind).unsent())
    }

    /// The state now.
    pub fn state(&self) -> State {
        self.shared().state.borrow().clone()
    }

    /// What was agreed on when the connection opened, read where it lies. None if it is not open.
    /// The state does not change meanwhile: whoever reads is to be quick.
    pub fn with_ready<T>(&self, read: impl FnOnce(Option<&Ready>) -> T) -> T {
        match &*self.shared().state.borrow() {
            State::Ready(ready) => read(Some(ready)),
            _ => read(None),
        }
    }

    /// The states from now on.
    pub fn states(&self) -> States {
        States::new(self.shared().state.subscribe())
    }

    /// The server, by the name it is configured under.
    pub fn name(&self) -> &str {
        &self.shared().name
    }

    /// Closes the connection: calls in flight end, the session is ended, the process stopped.
    /// Returns when nothing is left of it, in bounded time.
    pub async fn close(&self) {
        let shared = self.shared();
        let mut is_gone = shared.is_gone.subscribe();
        // If nobody takes it, it is closed or about to be.
        shared.inbox.push(Command::Close);
        // The sender lives as long as we do.
        let _ = is_gone.wait_for(|is_gone| *is_gone).await;
    }

    /// Calls a tool.
    #[inline]
    pub fn call(&self, tool: impl Into<String>) -> Call<CallToolResult> {
        Call::new(self.clone(), Body::Tool(ToolCall::new(tool)), |result| {
            tool_call::read_result(&result)
        })
    }

    /// Reads a resource.
    pub fn read(&self, uri: impl Into<String>) -> Call<ReadResourceResult> {
        self.request::<ReadResource>(&ReadResourceRequestParams::new(uri))
    }

    /// Has a prompt filled in with its arguments.
    pub fn prompt<K: Into<String>, V: Into<String>>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Call<GetPromptResult> {
        let mut params = GetPromptRequestParams::new(name);
        let arguments = arguments
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        params.arguments = Some(arguments.collect());
        self.request::<GetPrompt>(&params)
    }

    /// Has an argument completed.
    pub fn complete(&self, params: &CompleteRequestParams) -> Call<CompleteResult> {
        self.request::<Complete>(params)
    }

    /// How a task stands.
    pub fn task(&self, id: impl Into<String>) -> Call<Task> {
        self.request::<GetTask>(&TaskRequestParams::new(id))
    }

    /// Cancels a task at the server.
    pub fn cancel_task(&self, id: impl Into<String>) -> Call<Payload> {
        self.request::<CancelTask>(&TaskRequestParams::new(id))
            .raw()
    }

    /// Makes any request of the protocol.
    pub fn request<R: Request>(&self, params: &R::Params) -> Call<R::Result>
    where
        R::Result: DeserializeOwned,
    {
        Call::plain(self.clone(), R::METHOD, Some(params))
    }

    /// Makes any request at all, for extensions. The result is what the server wrote.
    pub fn raw(&self, method: &str, params: Option<&(impl Serialize + ?Sized)>) -> Call<Payload> {
        Call::<IgnoredAny>::plain(self.clone(), MethodName::new(method), params).raw()
    }

    /// Passes on a request that somebody else wrote, for whoever stands between clients and
    /// servers. The result is what the server wrote; it is held to no schema.
    pub fn pass_on(&self, method: MethodName, params: Option<Payload>) -> Call<Payload> {
        Call::passed_on(self.clone(), method, params)
    }

    /// All tools, from the last list if it still holds.
    ///
    /// # Errors
    /// When the list cannot be had, or is longer than the limits.
    pub async fn tools(&self) -> Result<Arc<Tools>, Error> {
        listing::tools(self, false).await
    }

    /// All tools, asked for anew.
    ///
    /// # Errors
    /// As for [`tools`](Self::tools).
    pub async fn refresh_tools(&self) -> Result<Arc<Tools>, Error> {
        listing::tools(self, true).await
    }

    /// All prompts, from the last list if it still holds.
    ///
    /// # Errors
    /// When the list cannot be had, or is longer than the limits.
    pub async fn prompts(&self) -> Result<Arc<Vec<Prompt>>, Error> {
        listing::prompts(self).await
    }

    /// All resources, from the last list if it still holds.
    ///
    /// # Errors
    /// When the list cannot be had, or is longer than the limits.
    pub async fn resources(&self) -> Result<Arc<Vec<Resource>>, Error> {
        listing::resources(self).await
    }

    /// All resource templates, from the last list if it still holds.
    ///
    /// # Errors
    /// When the list cannot be had, or is longer than the limits.
    pub async fn resource_templates(&self) -> Result<Arc<Vec<ResourceTemplate>>, Error> {
        listing::templates(self).await
    }

    /// Forgets what was listed, so that the next list is asked for anew: for whoever may have missed
    /// that something changed.
    pub fn forget_lists(&self) {
        self.shared().lists.forget_all();
    }

    /// What the server said, with the lists that were last read, of how long they may be kept and by
    /// whom: for whoever passes them on.
    pub fn list_hints(&self) -> ListHints {
        self.shared().lists.hints()
    }

    /// Asks for a sign of life.
    ///
    /// # Errors
    /// When none comes in time.
    pub async fn ping(&self) -> Result<(), Error> {
        let ready = self.ready().await?;
        // The stateless era has no ping; this is what every server of it answers.
        let method = match ready.revision.era() {
            Era::Handshake => Method::Ping,
            Era::Stateless => Method::ServerDiscover,
        };
        let call = Call::<IgnoredAny>::plain(self.clone(), method, None::<&()>);
        call.raw().await?;
        Ok(())
    }

    /// Wants log messages from this level on; the host hears them.
    ///
    /// # Errors
    /// When the server has no log, or refuses.
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), Error> {
        self.ready().await?;
        let shared = self.shared();
        let fail = |kind| Error::new(&shared.name, Method::LoggingSetLevel.name(), kind);
        let key = Shared::next_key();
        let mut command = Some(Command::SetLogLevel(key, level));
        let _forgotten = Forgotten { shared, key };
        std::future::poll_fn(|cx| {
            if let Some(command) = command.take()
                && !shared.inbox.ask(key, command, cx)
            {
                return Poll::Ready(Err(fail(shared.why_over()).unsent()));
            }
            shared.inbox.poll_outcome(key, cx).map(|found| match found {
                Found::Outcome(Ok(_)) | Found::Sent(_) | Found::Progress(_) => Ok(()),
                Found::Outcome(Err(unanswered)) => Err(fail(unanswered.into())),
            })
        })
        .await
    }

    /// Wants to hear of changes, in either era. Returns when the server has agreed.
    ///
    /// # Errors
    /// When the server does not agree.
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, Error> {
        self.ready().await?;
        let shared = self.shared();
        let key = Shared::next_key();
        let channel = Arc::new(Channel::default());
        let subscription = Subscription::new(self.clone(), Arc::clone(&channel), key);
        if !shared.inbox.push(Command::Listen(key, filter, channel)) {
            let kind = shared.why_over();
            return Err(Error::new(&shared.name, "subscriptions/listen", kind).unsent());
        }
        subscription.stands().await?;
        Ok(subscription)
    }

    /// Tells the server that the roots have changed, if the host declared that it does.
    pub fn roots_changed(&self) {
        self.notify(Notification::new(Method::RootsListChanged, None));
    }

    /// Tells the server something. What its revision does not have, and what was not declared,
    /// is not sent.
    pub fn notify(&self, notification: Notification) {
        // If nobody takes it, there is nobody to be told.
        self.shared().inbox.push(Command::Notify(notification));
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }
}

/// An outcome that nobody waits for once this is gone.
struct Forgotten<'a> {
    shared: &'a Shared,
    key: CallKey,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.shared.inbox.forget(self.key);
    }
}
