//! What is asked of a server through the hub.

use switchboard_client::types::{CallToolResult, ResourceContents};
use switchboard_client::{Class, ErrorKind};
use switchboard_hub::{Hub, HubError};

use crate::catalog::Ask;
use crate::report;

/// The answer has these words. Called by the name that the catalogue gives the tool.
pub(crate) async fn answers(hub: &Hub, server: &str, ask: &Ask) -> Result<(), String> {
    let result = call(hub, server, ask).await.map_err(|error| text(&error))?;
    let found = result.joined_text();
    match result.is_error() {
        true => Err(format!("an error: {found:?}")),
        false => has(&found, ask.contains),
    }
}

/// Refused either way counts: as a JSON-RPC error, or as a result that says so.
pub(crate) async fn refuses(hub: &Hub, server: &str, ask: &Ask) -> Result<(), String> {
    let found = match call(hub, server, ask).await {
        Ok(result) if result.is_error() => result.joined_text(),
        Ok(result) => return Err(format!("it answered {:?}", result.joined_text())),
        Err(HubError::Call(error)) if error.class() == Class::Refused => {
            text(&HubError::Call(error))
        }
        Err(error) => return Err(text(&error)),
    };
    has(&found, ask.contains)
}

async fn call(hub: &Hub, server: &str, ask: &Ask) -> Result<CallToolResult, HubError> {
    let catalog = hub.catalog();
    let entry = catalog.find_on(server, ask.tool)?;
    hub.call(entry.name.as_str()).args(&ask.arguments).await
}

pub(crate) fn is_cancelled(error: &HubError) -> bool {
    matches!(error, HubError::Call(error) if matches!(error.kind(), ErrorKind::Cancelled))
}

/// The text of a resource.
pub(crate) async fn read(hub: &Hub, uri: &str) -> Result<String, String> {
    let read = hub.read(uri).await.map_err(|error| text(&error))?;
    match read.contents.first() {
        Some(ResourceContents::Text(contents)) => Ok(contents.text.clone()),
        other => Err(format!("came {other:?}")),
    }
}

/// An error with its causes.
pub(crate) fn text(error: &HubError) -> String {
    report::chain(error)
}

pub(crate) fn has(found: &str, wanted: &str) -> Result<(), String> {
    match found.contains(wanted) {
        true => Ok(()),
        false => Err(format!("wanted {wanted:?}, came {found:?}")),
    }
}
