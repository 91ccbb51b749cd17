//! How the servers of a hub are called.

use std::sync::Arc;

use serde::Serialize;
use switchboard_client::types::{CompleteRequestParams, Tool};

use super::Hub;
use crate::call::{CallTool, Complete, GetPrompt, HubCall, RawRequest, ReadResource};
use crate::error::HubError;
use crate::member::{InUse, Member};
use crate::registry::{Kind, ToolEntry, resource_tools};
use crate::resource_watch::ResourceWatch;
use crate::state::MemberState;

impl Hub {
    /// Calls a tool by the name it has in the catalogue, or one of the hub's
    /// [own](Self::own_tools).
    pub fn call(&self, name: &str) -> HubCall {
        HubCall::new(self, CallTool::new(None, name))
    }

    /// Calls a tool that was found in the catalogue of this [version](crate::Catalog::version). If there is
    /// another catalogue by then, it is found there by its name.
    pub fn call_listed(&self, version: u64, tool: Arc<ToolEntry>) -> HubCall {
        HubCall::new(self, CallTool::listed(version, tool))
    }

    /// Calls a tool by its server and its own name.
    pub fn call_on(&self, server: &str, tool: &str) -> HubCall {
        HubCall::new(self, CallTool::new(Some(server), tool))
    }

    /// Reads a resource by the URI it has in the catalogue.
    pub fn read(&self, uri: &str) -> HubCall<ReadResource> {
        HubCall::new(self, ReadResource::new(None, uri))
    }

    /// Reads a resource of a server, by its own URI or that of the catalogue.
    pub fn read_on(&self, server: &str, uri: &str) -> HubCall<ReadResource> {
        HubCall::new(self, ReadResource::new(Some(server), uri))
    }

    /// Has a prompt filled in, by the name it has in the catalogue.
    pub fn prompt<K: Into<String>, V: Into<String>>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> HubCall<GetPrompt> {
        HubCall::new(self, GetPrompt::new(None, name, owned(arguments)))
    }

    /// Has a prompt filled in, by its server and its own name.
    pub fn prompt_on<K: Into<String>, V: Into<String>>(
        &self,
        server: &str,
        name: &str,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> HubCall<GetPrompt> {
        HubCall::new(self, GetPrompt::new(Some(server), name, owned(arguments)))
    }

    /// Has an argument completed: of a prompt, or of a template of resources, as the catalogue has
    /// them.
    pub fn complete(&self, params: CompleteRequestParams) -> HubCall<Complete> {
        HubCall::new(self, Complete::new(params))
    }

    /// Makes any request of one server, in its own words: names and URIs are the server's, and
    /// nothing is asked what may be used of it.
    pub fn request_on(
        &self,
        server: &str,
        method: &str,
        params: Option<&(impl Serialize + ?Sized)>,
    ) -> HubCall<RawRequest> {
        HubCall::new(self, RawRequest::new(server, method, params))
    }

    /// Hears when a resource changes, by the URI it has in the catalogue, until it is dropped.
    ///
    /// # Errors
    /// When there is no such resource, or its server does not tell.
    pub async fn watch(&self, uri: &str) -> Result<ResourceWatch, HubError> {
        ResourceWatch::begin(self, uri).await
    }

    /// The tools that the hub answers itself, to be offered beside those of the servers: none,
    /// unless [`resource_tools`](super::HubBuilder::resource_tools) are wanted.
    pub fn own_tools(&self) -> &'static [Tool] {
        match self.shared().settings.has_resource_tools {
            true => resource_tools(),
            false => &[],
        }
    }

    /// Waits until it is known what a server offers of a kind: started if it sleeps.
    pub(crate) async fn wait_until_listed(&self, server: &str, kind: Kind) -> Result<(), HubError> {
        let limit = self.shared().settings.wait_for_server;
        self.member(server)?.listed(kind, limit).await
    }

    /// The client of a server: started if it sleeps, waited for if it is about to be ready.
    pub(crate) async fn client(&self, server: &str) -> Result<InUse, HubError> {
        let limit = self.shared().settings.wait_for_server;
        self.own_member(server)?.client(limit).await
    }

    /// The same, if it can be called now.
    pub(crate) fn client_now(&self, server: &str) -> Option<InUse> {
        if self.session.is_none() {
            // What nearly all calls do, without more than one lock.
            let members = self.shared().members();
            let member = members.get(server).filter(|_| self.sees(server))?;
            return member.client_now();
        }
        self.own_member(server).ok()?.client_now()
    }

    /// The server as this user has it.
    pub(super) fn own_member(&self, server: &str) -> Result<Arc<Member>, HubError> {
        let member = self.member(server)?;
        let Some(session) = &self.session else {
            return Ok(member);
        };
        let is_off = matches!(member.state(), MemberState::Stopped | MemberState::Disabled);
        if member.is_shared_by_all() || is_off {
            return Ok(member);
        }
        let own = session.member(self.shared(), &member);
        Ok(own.unwrap_or(member))
    }

    /// The servers of which it is not known yet what they offer of this kind, and which fit: by
    /// their names, the beginning of the names of their tools, and whether they are about to say it.
    pub(crate) fn unlisted(
        &self,
        kind: Kind,
        fits: impl Fn(&str, &str, bool) -> bool,
    ) -> Vec<Arc<str>> {
        let catalog = self.catalog();
        let members = self.shared().members();
        let unlisted = members.values().filter(|member| {
            let state = member.state();
            let prefix = catalog.naming().server_prefix(&member.name);
            let is_starting = matches!(state, MemberState::Starting) || state.is_ready();
            self.sees(&member.name)
                && member.may_have_more(kind)
                && fits(&member.name, &prefix, is_starting)
        });
        unlisted.map(|member| Arc::clone(&member.name)).collect()
    }
}

fn owned<K: Into<String>, V: Into<String>>(
    arguments: impl IntoIterator<Item = (K, V)>,
) -> Vec<(String, String)> {
    let arguments = arguments.into_iter();
    arguments
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}
