//! What clients are told of the servers as a whole.

use serde_json::json;
use switchboard_hub::MemberState;
use switchboard_protocol::types::{
    PromptsCapability, ResourcesCapability, ServerCapabilities, TASKS_EXTENSION, ToolsCapability,
};

use super::{Inner, tasks};

impl Inner {
    /// What can be served: anything. Servers come and go while a client is there, with a new
    /// configuration or by themselves, and one of the handshake era is told only once.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = everything();
        let mut of_tasks = ServerCapabilities::default();
        for server in self.hub.servers() {
            match server.state {
                MemberState::Ready(ready) | MemberState::ListingFailed { ready, .. } => {
                    tasks::add(&mut of_tasks, ready.revision.era(), &ready.capabilities);
                }
                MemberState::Disabled => {}
                _ => add_tasks_of_unknown(&mut of_tasks),
            }
        }
        capabilities.tasks = of_tasks.tasks;
        let mut extensions = of_tasks.extensions.unwrap_or_default();
        extensions.extend(self.extensions());
        capabilities.extensions = (!extensions.is_empty()).then_some(extensions);
        capabilities
    }

    /// What models should know, server by server.
    pub(super) fn instructions(&self) -> Option<String> {
        let mut all = String::new();
        for server in self.hub.servers() {
            let (MemberState::Ready(ready) | MemberState::ListingFailed { ready, .. }) =
                &server.state
            else {
                continue;
            };
            if let Some(instructions) = &ready.instructions {
                if !all.is_empty() {
                    all.push_str("\n\n");
                }
                all.push_str(&format!("# {}\n\n{instructions}", server.name));
            }
        }
        (!all.is_empty()).then_some(all)
    }
}

/// Who connects before a server is known must be able to ask for its tasks later.
fn add_tasks_of_unknown(capabilities: &mut ServerCapabilities) {
    let tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
    if let Ok(tasks) = serde_json::from_value(tasks) {
        capabilities.tasks.get_or_insert(tasks);
    }
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
}

fn everything() -> ServerCapabilities {
    let mut tools = ToolsCapability::default();
    tools.list_changed = Some(true);
    let mut prompts = PromptsCapability::default();
    prompts.list_changed = Some(true);
    let mut resources = ResourcesCapability::default();
    resources.list_changed = Some(true);
    resources.subscribe = Some(true);
    let mut capabilities = ServerCapabilities::default();
    capabilities.logging = Some(serde_json::Map::new());
    capabilities.tools = Some(tools);
    capabilities.prompts = Some(prompts);
    capabilities.resources = Some(resources);
    capabilities.completions = Some(serde_json::Map::new());
    capabilities
}
