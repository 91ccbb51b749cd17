//! The tools that the hub answers itself: resources, for models that are shown nothing but tools.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchboard_client::types::{CallToolResult, ContentBlock, ResourceContents};

use crate::error::HubError;
use crate::hub::Hub;
use crate::registry::{Catalog, LIST_RESOURCES, READ_RESOURCE};

/// A tool of the hub itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnTool {
    ListResources,
    ReadResource,
}

impl OwnTool {
    /// The tool of this name, if the hub has it.
    pub(super) fn find(hub: &Hub, name: &str) -> Option<Self> {
        if hub.own_tools().is_empty() {
            return None;
        }
        match name {
            LIST_RESOURCES => Some(Self::ListResources),
            READ_RESOURCE => Some(Self::ReadResource),
            _ => None,
        }
    }

    /// What a model is told. What it did wrong it can mend, so that is a result too.
    pub(super) async fn answer(
        self,
        hub: &Hub,
        arguments: Result<Map<String, Value>, String>,
    ) -> Result<CallToolResult, HubError> {
        let answer = match arguments {
            Ok(arguments) => match self {
                Self::ListResources => list(&hub.catalog(), &arguments),
                Self::ReadResource => read(hub, &arguments).await?,
            },
            Err(reason) => Err(format!("the arguments are no JSON object: {reason}")),
        };
        Ok(answer.unwrap_or_else(CallToolResult::error))
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{name} is no string")),
    }
}

/// A page of resources and templates: as JSON, and the same as text.
fn list(catalog: &Catalog, arguments: &Map<String, Value>) -> Result<CallToolResult, String> {
    let server = text(arguments, "server")?;
    let start = match text(arguments, "cursor")? {
        Some(cursor) => cursor
            .parse::<usize>()
            .map_err(|_| format!("{cursor:?} is no cursor of a page before"))?,
        None => 0,
    };
    if let Some(server) = server
        && !catalog.servers().any(|known| **known == *server)
    {
        return Err(format!("there is no server {server:?}"));
    }
    let is_wanted = |owner: &Arc<str>| server.is_none_or(|server| **owner == *server);
    let resources = catalog.resources().filter(|entry| is_wanted(&entry.server));
    let templates = catalog.templates().filter(|entry| is_wanted(&entry.server));
    let resources = resources.map(|entry| {
        let resource = &entry.resource;
        json!({
            "server": &*entry.server,
            "uri": &*entry.uri,
            "name": resource.name,
            "description": resource.description,
            "mimeType": resource.mime_type,
        })
    });
    let templates = templates.map(|entry| {
        let template = &entry.template;
        json!({
            "server": &*entry.server,
            "uriTemplate": &*entry.uri_template,
            "name": template.name,
            "description": template.description,
            "mimeType": template.mime_type,
        })
    });
    let mut page: Vec<Value> = resources
        .chain(templates)
        .skip(start)
        .take(PAGE + 1)
        .collect();
    let has_more = page.len() > PAGE;
    page.truncate(PAGE);
    for item in &mut page {
        if let Value::Object(members) = item {
            members.retain(|_, value| !value.is_null());
        }
    }
    let mut answer = json!({ "resources": page });
    if has_more && let Value::Object(members) = &mut answer {
        members.insert("nextCursor".to_owned(), (start + PAGE).to_string().into());
    }
    Ok(CallToolResult::text(answer.to_string()))
}

/// What is in a resource: texts as texts, the rest as it is.
async fn read(
    hub: &Hub,
    arguments: &Map<String, Value>,
) -> Result<Result<CallToolResult, String>, HubError> {
    let (uri, server) = match (text(arguments, "uri"), text(arguments, "server")) {
        (Ok(Some(uri)), Ok(server)) => (uri, server),
        (Ok(None), _) => return Ok(Err("uri is missing".to_owned())),
        (Err(reason), _) | (_, Err(reason)) => return Ok(Err(reason)),
    };
    let call = match server {
        Some(server) => hub.read_on(server, uri),
        None => hub.read(uri),
    };
    let result = match call.await {
        Ok(result) => result,
        Err(HubError::NotFound(missing)) => return Ok(Err(missing.to_string())),
        Err(HubError::Call(error)) if error.refusal().is_some() => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let blocks = result.contents.into_iter().map(|contents| match contents {
        ResourceContents::Text(contents) => ContentBlock::text(contents.text),
        other => ContentBlock::resource(other),
    });
    Ok(Ok(CallToolResult::new(blocks.collect())))
}

const PAGE: usize = 100;
