//! What a call is about, for those who write it down.

use std::sync::Arc;

use switchboard_client::Payload;
use switchboard_hub::{Catalog, ToolEntry};
use switchboard_protocol::Method;
use switchboard_server::Context;

use super::{Inner, Relay};

impl Inner {
    /// What clients call a tool.
    pub(crate) fn shown<'a>(&self, catalog: &Catalog, entry: &'a ToolEntry) -> &'a str {
        self.names.shown_tool(catalog, entry)
    }
}

impl Relay {
    /// The server that a call goes to, and what that calls the tool, prompt or resource. Where
    /// there is no such thing, what the client calls it.
    pub(crate) fn whose(&self, context: &Context) -> (Option<Arc<str>>, Option<String>) {
        let Some(params) = context.params() else {
            return (None, None);
        };
        let catalog = self.0.hub.catalog();
        let found = match context.method().known() {
            Some(Method::ToolsCall) => params.name().map(|name| {
                let found = self.0.names.tool(&self.0.hub, &name);
                let found =
                    found.map(|(_, tool)| (Arc::clone(&tool.server), tool.tool.name.clone()));
                found.map_err(|_| name.into_owned())
            }),
            Some(Method::PromptsGet) => params.name().map(|name| {
                let found = catalog.find_prompt(&self.0.names.prompt(&catalog, name.clone()));
                let found =
                    found.map(|entry| (Arc::clone(&entry.server), entry.prompt.name.clone()));
                found.map_err(|_| name.into_owned())
            }),
            Some(Method::ResourcesRead | Method::ResourcesSubscribe) => uri(params).map(|uri| {
                let found = catalog.find_resource(&uri);
                let found = found.map(|located| (located.server, located.uri));
                found.map_err(|_| uri)
            }),
            Some(
                Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult,
            ) => params.string_member("taskId").map(|id| {
                let found = self.0.task_called(&id, context);
                let found = found.map(|key| (Arc::from(key.server), key.task));
                found.ok_or_else(|| id.into_owned())
            }),
            None => return (self.0.server_for(context.method().as_str()), None),
            _ => None,
        };
        match found {
            Some(Ok((server, name))) => (Some(server), Some(name)),
            Some(Err(name)) => (None, Some(name)),
            None => (None, None),
        }
    }
}

/// Without what follows its path, which may be secret.
fn uri(params: &Payload) -> Option<String> {
    params.string_member("uri").map(|uri| {
        let end = uri.find(['?', '#']).unwrap_or(uri.len());
        uri.get(..end).unwrap_or_default().to_owned()
    })
}
