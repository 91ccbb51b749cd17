//! A call that somebody else wrote, sent on as he wrote it but for names.
//!
//! For gateways: arguments are not read, and a server of the stateless era is told whom it serves.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard_client::types::TasksCapability;
use switchboard_client::{Call, Client, OnBehalf, Payload, Ready};
use switchboard_protocol::Era;
use switchboard_protocol::jsonrpc::MethodName;

use super::operation::{Answer, Target, Unwritable, sealed};
use super::{HubCall, Operation, Raw, RawRequest};
use crate::hub::Hub;
use crate::registry::{Catalog, NotFound};

/// The same call with the parameters that somebody else wrote.
pub struct PassedOn<O> {
    /// What is called.
    operation: Raw<O>,
    params: Payload,
    /// Until it is sent.
    whom: Option<Arc<OnBehalf>>,
}

impl<O: Operation> HubCall<O> {
    /// The same call with the parameters that somebody else wrote, in which only the name is
    /// changed to the one that the server has for it. The result is as the server wrote it, but
    /// for URIs that are called otherwise here.
    ///
    /// What answers questions of the stateless era is an error at a server of the other one, which
    /// cannot have asked them.
    pub fn pass_on(self, params: Payload, whom: Arc<OnBehalf>) -> HubCall<PassedOn<O>>
    where
        PassedOn<O>: Operation,
    {
        HubCall {
            hub: self.hub,
            operation: PassedOn {
                operation: Raw(self.operation),
                params,
                whom: Some(whom),
            },
            options: self.options,
        }
    }
}

impl HubCall<RawRequest> {
    /// Makes it for somebody of whom a server of the stateless era hears.
    pub fn on_behalf(mut self, whom: Arc<OnBehalf>) -> Self {
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

    fn found_in(&self, catalog: u64) -> Option<Target> {
        self.operation.found_in(catalog)
    }

    fn could_be_on(&self, server: &str, prefix: &str, is_starting: bool) -> bool {
        self.operation.could_be_on(server, prefix, is_starting)
    }

    fn call(&mut self, client: &Client, ready: Option<&Ready>, name: &str) -> Call<Payload> {
        let era = ready.map_or(Era::Handshake, |ready| ready.revision.era());
        let method = self.method();
        if era == Era::Handshake && self.params.member(REQUEST_STATE).is_some() {
            return client.raw(method.as_str(), Some(&Unwritable(NOT_ASKED)));
        }
        let tasks = ready.and_then(|ready| ready.capabilities.tasks.as_ref());
        let takes_tasks = tasks.is_some_and(TasksCapability::accepts_tool_calls);
        let renamed = match O::is_named(&self.params, name) {
            true => None,
            false => self.operation.renamed(name),
        };
        let renamed = renamed.as_ref();
        let renamed = renamed.map(|(member, value)| (*member, Some(value.as_slice())));
        let no_task = ("task", None);
        // It is sent once.
        let params = std::mem::replace(&mut self.params, Payload::empty());
        let params = match (renamed, takes_tasks) {
            (Some(renamed), false) => params.passed_on(&[renamed, no_task]),
            (Some(renamed), true) => params.passed_on(&[renamed]),
            (None, false) => params.passed_on(&[no_task]),
            (None, true) => params.passed_on(&[]),
        };
        let call = client.pass_on(method, Some(params));
        match self.whom.take() {
            Some(whom) if era == Era::Stateless => call.on_behalf(whom),
            _ => call,
        }
    }

    fn renamed(&self, name: &str) -> Option<(&'static str, Vec<u8>)> {
        self.operation.renamed(name)
    }

    fn read(payload: Payload, hub: &Hub, server: &str) -> Result<Payload, serde_json::Error> {
        Raw::<O>::read(payload, hub, server)
    }

    fn is_answered_here(&self, hub: &Hub) -> bool {
        !hub.own_tools().is_empty() && self.operation.is_answered_here(hub)
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
