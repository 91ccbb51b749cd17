//! What clients are told of tasks: what can be done with them, and which tools may become one.
//!
//! Specification: 2025-11-25 basic/utilities/tasks (capabilities, tool-level negotiation); tasks
//! extension (capability negotiation).

use std::sync::Arc;

use serde_json::{Map, json};
use switchboard_protocol::types::{
    ServerCapabilities, TASKS_EXTENSION, TaskRequestsCapability, TaskSupport, TasksCapability,
    Tool, ToolExecution,
};
use switchboard_protocol::{Era, Revision};

use super::{older, ready};
use crate::relay::Inner;

/// Adds to what can be served what a server can do with tasks: in both forms, as either is said in
/// the other.
pub(in crate::relay) fn add(
    capabilities: &mut ServerCapabilities,
    era: Era,
    of_server: &ServerCapabilities,
) {
    let cancels = match (era, &of_server.tasks) {
        (Era::Stateless, _) if of_server.has_extension(TASKS_EXTENSION) => true,
        (Era::Handshake, Some(tasks)) if tasks.accepts_tool_calls() => tasks.accepts_cancel(),
        _ => return,
    };
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
    // A server does not know our clients, and would list the tasks of all.
    let tasks: &mut TasksCapability = capabilities.tasks.get_or_insert_default();
    let mut requests = TaskRequestsCapability::default();
    let call = Map::from_iter([("call".to_owned(), json!({}))]);
    requests.tools = Some(call);
    tasks.requests = Some(requests);
    if cancels {
        tasks.cancel.get_or_insert_default();
    }
}

impl Inner {
    /// Says of tools of servers of the stateless era that they may run as tasks, where they may:
    /// in that era no tool says so.
    pub(in crate::relay) fn say_task_support(
        &self,
        tools: &mut [(Arc<str>, Tool)],
        revision: Revision,
    ) {
        if !older::has_tasks(revision) {
            return;
        }
        let servers = self.hub.servers();
        let are_tasks = |name: &str| {
            let found = servers.iter().find(|status| *status.name == *name);
            let ready = found.and_then(|status| ready(&status.state));
            ready.is_some_and(|ready| {
                ready.revision.era() == Era::Stateless
                    && ready.capabilities.has_extension(TASKS_EXTENSION)
            })
        };
        let mut last: Option<(Arc<str>, bool)> = None;
        for (server, tool) in tools {
            let are = match &last {
                Some((name, are)) if name == server => *are,
                _ => are_tasks(server),
            };
            last = Some((Arc::clone(server), are));
            if are {
                let mut execution = ToolExecution::default();
                execution.task_support = Some(TaskSupport::Optional);
                tool.execution = Some(execution);
            }
        }
    }
}
