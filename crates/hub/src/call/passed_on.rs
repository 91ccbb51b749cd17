//! A call that somebody else wrote, sent on as he wrote it but for names.
//!
//! For gateways: arguments are not read, and a server of the stateless era is told whom it serves.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard_client::types::TasksCapability;
use switchboard_client::{Call, Client, OnBehalf, Payload, RawJson, State};
use switchboard_protocol::Era;
use switchboard_protocol::jsonrpc::MethodName;

use super::operation::{Answer, Target, Unwritable, sealed};
use super::{HubCall, Operation, Raw, RawRequest};
use crate::hub::Hub;
use crate::registry::{Catalog, NotFound};

/// Says for whom a call is made, when it is made at a server of the stateless era.
pub type Whom = Arc<dyn Fn() -> OnBehalf + Send + Sync>;

/// The same call with the parameters that somebody else wrote.
pub struct PassedOn<O> {
    /// What is called.
    operation: Raw<O>,
    params: Payload,
    whom: Whom,
}

impl<O: Operation> HubCall<O> {
    /// The same call with the parameters that somebody else wrote, in which only the name is
    /// changed to the one that the server has for it. The result is as the server wrote it, but
    /// for URIs that are called otherwise here.
    ///
    /// What answers questions of the stateless era is an error at a server of the other one, which
    /// cannot have asked them.
    pub fn pass_on(self, params: Payload, whom: Whom) -> HubCall<PassedOn<O>>
    where
        PassedOn<O>: Operation,
    {
        HubCall {
            hub: self.hub,
            operation: PassedOn {
                operation: Raw(self.operation),
                params,
                whom,
            },
            options: self.options,
        }
    }
}

impl HubCall<RawRequest> {
    /// Makes it for somebody of whom a server of the stateless era hears.
    pub fn on_behalf(mut self, whom: Whom) -> Self {
        self.operation.set_whom(whom);
        self
    }
}

impl<O> sealed::Sealed for PassedOn<O> {}

impl<O: Operation<Output: Serialize + DeserializeOwned>> Operation for PassedOn<O> {
    type Output = Payload;

    fn method(&self) -> MethodName {
        self.operation.method()
    }

    fn find(&self, catalog: &Catalog) -> Result<Target, NotFound> {
        self.operation.find(catalog)
    }

    fn could_be_on(&self, server: &str, prefix: &str, is_starting: bool) -> bool {
        self.operation.could_be_on(server, prefix, is_starting)
    }

    fn call(&mut self, client: &Client, name: &str) -> Call<Payload> {
        let (era, takes_tasks) = match client.state() {
            State::Ready(ready) => {
                let tasks = ready.capabilities.tasks.as_ref();
                let takes_tasks = tasks.is_some_and(TasksCapability::accepts_tool_calls);
                (ready.revision.era(), takes_tasks)
            }
            _ => (Era::Handshake, false),
        };
        let method = self.method();
        if era == Era::Handshake && self.params.member(REQUEST_STATE).is_some() {
            return client.raw(method.as_str(), Some(&Unwritable(NOT_ASKED)));
        }
        let renamed = self.operation.renamed(name);
        let mut changes = Vec::with_capacity(2);
        if let Some((member, value)) = &renamed {
            changes.push((*member, Some(value.as_str().as_bytes())));
        }
        if !takes_tasks {
            changes.push(("task", None));
        }
        let params = self.params.passed_on(&changes);
        let call = client.pass_on(method, Some(params));
        match era {
            Era::Handshake => call,
            Era::Stateless => call.on_behalf((self.whom)()),
        }
    }

    fn renamed(&self, name: &str) -> Option<(&'static str, RawJson)> {
        self.operation.renamed(name)
    }

    fn read(
        payload: &Payload,
        catalog: &Catalog,
        server: &str,
    ) -> Result<Payload, serde_json::Error> {
        Raw::<O>::read(payload, catalog, server)
    }

    fn answer_here(&mut self, hub: &Hub) -> Option<Answer<Payload>> {
        if hub.own_tools().is_empty() {
            return None;
        }
        self.operation.take_arguments(&self.params);
        self.operation.answer_here(hub)
    }
}

impl<O: fmt::Debug> fmt::Debug for PassedOn<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PassedOn").field(&self.operation).finish()
    }
}

const REQUEST_STATE: &str = "requestState";
const NOT_ASKED: &str = "requestState: it is not one of a call that waits; call again without it";
