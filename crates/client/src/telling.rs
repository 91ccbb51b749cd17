//! What a server tells, by what it means.
//!
//! Specification: server/tools, server/prompts, server/resources (list changes, updates),
//! server/utilities/logging, client/elicitation (complete), tasks.

use serde::Deserialize;
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::Notification;

use crate::host::{Change, Host};

/// The change that a notification tells of, if it does.
pub(crate) fn change(told: &Notification) -> Option<Change> {
    Some(match told.method.known()? {
        Method::ToolListChanged => Change::Tools,
        Method::PromptListChanged => Change::Prompts,
        Method::ResourceListChanged => Change::Resources,
        Method::ResourceUpdated => Change::Resource(word(told, "uri")?),
        Method::TaskChanged | Method::TaskStatusChanged => Change::Task(word(told, "taskId")?),
        Method::ElicitationComplete => Change::Visit(word(told, "elicitationId")?),
        _ => return None,
    })
}

/// Tells the host. The call is the one that it came with, if that is known.
pub(crate) fn tell(host: &dyn Host, change: Option<Change>, told: Notification, call: Option<u64>) {
    if let Some(change) = change {
        return host.hear_change(change);
    }
    let message = (told.method == Method::LogMessage)
        .then(|| told.params.as_ref()?.decode().ok())
        .flatten();
    match message {
        Some(message) => host.hear_log(message, call),
        None => host.hear(told),
    }
}

fn word(told: &Notification, name: &str) -> Option<String> {
    let text = told.params.as_ref()?.member(name)?;
    String::deserialize(&mut serde_json::Deserializer::from_slice(text)).ok()
}
