//! What a catalogue holds: a tool, a prompt, a resource, a template, each with its server and the
//! name under which it is offered.

use std::sync::Arc;

use serde_json::Value;
use switchboard_protocol::types::{Meta, Prompt, Resource, ResourceTemplate, Tool};
use switchboard_protocol::uri_template::UriTemplate;

use crate::ExposedName;
use crate::metrics::KnownRow;

/// A tool of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolEntry {
    /// The name under which it is offered.
    pub name: ExposedName,
    /// The server that has it.
    pub server: Arc<str>,
    /// The tool as the server described it, untouched.
    pub tool: Arc<Tool>,
    /// About how many tokens a model reads when it is offered the tool.
    pub tokens: u32,
    /// How often it was called.
    pub(crate) row: KnownRow,
}

impl ToolEntry {
    /// May a model be offered it? A server can keep a tool for its own user interface.
    ///
    /// Specification: MCP Apps, `_meta.ui.visibility`.
    pub fn is_for_model(&self) -> bool {
        let visibility = ui(self.tool.meta.as_ref()).and_then(|ui| ui.get("visibility"));
        visibility
            .and_then(Value::as_array)
            .is_none_or(|who| who.iter().any(|one| one == "model"))
    }

    /// The resource that shows the tool to people, as the server calls it.
    pub fn ui_resource(&self) -> Option<&str> {
        ui_resource(&self.tool)
    }
}

/// A prompt of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptEntry {
    /// The name under which it is offered.
    pub name: ExposedName,
    /// The server that has it.
    pub server: Arc<str>,
    /// The prompt as the server described it, untouched.
    pub prompt: Arc<Prompt>,
}

impl PromptEntry {
    /// Its description as it is offered.
    pub fn definition(&self) -> Prompt {
        let mut prompt = Prompt::clone(&self.prompt);
        self.name.as_str().clone_into(&mut prompt.name);
        prompt
    }
}

/// A resource of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceEntry {
    /// The URI under which it is offered.
    pub uri: Arc<str>,
    /// The server that has it.
    pub server: Arc<str>,
    /// The resource as the server described it, untouched.
    pub resource: Arc<Resource>,
}

impl ResourceEntry {
    /// Its description as it is offered.
    pub fn definition(&self) -> Resource {
        let mut resource = Resource::clone(&self.resource);
        (*self.uri).clone_into(&mut resource.uri);
        resource
    }
}

/// A family of resources of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TemplateEntry {
    /// The template under which it is offered.
    pub uri_template: Arc<str>,
    /// The server that has it.
    pub server: Arc<str>,
    /// The template as the server described it, untouched.
    pub template: Arc<ResourceTemplate>,
    /// The server's template, if it can be read.
    pub(crate) parsed: Option<Arc<UriTemplate>>,
}

impl TemplateEntry {
    /// Its description as it is offered.
    pub fn definition(&self) -> ResourceTemplate {
        let mut template = ResourceTemplate::clone(&self.template);
        (*self.uri_template).clone_into(&mut template.uri_template);
        template
    }

    /// Is this, as the server would call it, one of the family?
    pub(crate) fn has(&self, uri: &str) -> bool {
        let template = &self.template.uri_template;
        let fixed = template.split('{').next().unwrap_or_default();
        // The start first: a URI is held against every template of every server.
        uri.starts_with(fixed)
            && self
                .parsed
                .as_ref()
                .is_some_and(|template| template.matches(uri).is_some())
    }
}

/// The resource that shows a tool to people.
///
/// Specification: MCP Apps, `_meta.ui.resourceUri`, and `ui/resourceUri` of before.
pub(crate) fn ui_resource(tool: &Tool) -> Option<&str> {
    let meta = tool.meta.as_ref()?;
    let named = ui(Some(meta)).and_then(|ui| ui.get("resourceUri"));
    named.or_else(|| meta.member("ui/resourceUri"))?.as_str()
}

fn ui(meta: Option<&Meta>) -> Option<&Value> {
    meta?.member("ui")
}
