//! Servers and what they list, in few words.

use std::sync::Arc;

use serde_json::json;
use switchboard_hub::{
    Absence, Catalog, MemberCatalog, Naming, NotFound, Reason, Registry, ToolEntry, ToolFilter,
};
use switchboard_protocol::types::{Resource, ResourceTemplate, Tool};

/// A tool with this name.
pub(crate) fn tool(name: &str) -> Tool {
    described(name, "")
}

/// A tool with this description.
pub(crate) fn described(name: &str, description: &str) -> Tool {
    let text = json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
    serde_json::from_value(text).unwrap()
}

/// A server with these tools.
pub(crate) fn tools(names: &[&str]) -> MemberCatalog {
    MemberCatalog::new().with_tools(names.iter().map(|name| tool(name)).collect())
}

/// A server with these resources.
pub(crate) fn resources(uris: &[&str]) -> MemberCatalog {
    let resources = uris.iter().map(|uri| Resource::new(*uri, "r")).collect();
    MemberCatalog::new().with_resources(resources)
}

/// A server with these families of resources.
pub(crate) fn templates(templates: &[&str]) -> MemberCatalog {
    let templates = templates
        .iter()
        .map(|text| ResourceTemplate::new(*text, "t"));
    MemberCatalog::new().with_templates(templates.collect())
}

/// These servers.
pub(crate) fn registry(members: &[(&str, MemberCatalog)]) -> Registry {
    let mut registry = Registry::new(Naming::default());
    for (server, listed) in members {
        registry.set_member(server, listed.clone());
    }
    registry
}

/// The names of all tools.
pub(crate) fn names(catalog: &Catalog) -> Vec<String> {
    catalog
        .tools()
        .map(|entry| entry.name.to_string())
        .collect()
}

/// The URIs of all resources.
pub(crate) fn uris(catalog: &Catalog) -> Vec<String> {
    catalog
        .resources()
        .map(|entry| entry.uri.to_string())
        .collect()
}

/// Denies these.
pub(crate) fn deny(patterns: &[&str]) -> ToolFilter {
    ToolFilter::deny(patterns.iter().copied())
}

/// What may have been meant.
pub(crate) fn near(found: Result<&Arc<ToolEntry>, NotFound>) -> Vec<String> {
    match found.unwrap_err().absence {
        Absence::Unknown { near } => near,
        other => panic!("expected no tool at all, found {other:?}"),
    }
}

/// Why something may not be used.
pub(crate) fn reason(not_found: NotFound) -> Reason {
    match not_found.absence {
        Absence::Denied(denial) => denial.reason,
        other => panic!("expected a denial, found {other:?}"),
    }
}
