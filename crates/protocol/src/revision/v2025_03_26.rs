//! What 2025-03-26 does not have: structured results, resource links, titles,
//! elicitation, `_meta` of objects.
//!
//! Specification: 2025-03-26 schema, against that of 2025-06-18.

use crate::RawJson;
use crate::revision::Revision;
use crate::revision::as_text;
use crate::revision::step::Step;
use crate::revision::step_down::Loss;
use crate::types::{
    Annotations, ClientCapabilities, CompleteRequestParams, CompletionReference, ContentBlock,
    Implementation, Meta, Prompt, PromptArgument, Resource, ResourceTemplate, TextContent, Tool,
};

#[rustfmt::skip]
pub(super) const LOSSES: &[Loss] = &[
    loss("`structuredContent`", "text, unless there is a text block"),
    loss("`outputSchema`", "nothing"),
    loss("`resource_link`", "text: `name: uri (type) — description`, with its annotations"),
    loss("`title` of a tool", "`annotations.title`, unless that is set; nothing before 2025-03-26"),
    loss("`title` of a resource, template, prompt, argument, reference, implementation", "nothing"),
    loss("`_meta` of a tool, resource, template, prompt, root, block, resource contents", "nothing; that of requests, results and notifications stays"),
    loss("`annotations.lastModified`", "nothing"),
    loss("`context` of a completion", "nothing"),
    loss("client capability `elicitation`, and elicitation itself", "nothing, and `check_step_down` refuses a request"),
];

/// The step to 2025-03-26.
pub(super) struct Down;

impl Step for Down {
    fn revision(&self) -> Revision {
        Revision::V2025_03_26
    }

    fn object_meta(&self, meta: &mut Option<Meta>) {
        *meta = None;
    }

    fn implementation(&self, value: &mut Implementation) {
        value.title = None;
    }

    fn client_capabilities(&self, value: &mut ClientCapabilities) {
        value.elicitation = None;
    }

    fn annotations(&self, value: &mut Annotations) {
        value.last_modified = None;
    }

    fn tool(&self, value: &mut Tool) {
        value.output_schema = None;
        if let Some(title) = value.title.take() {
            let annotations = value.annotations.get_or_insert_default();
            annotations.title.get_or_insert(title);
        }
    }

    fn resource(&self, value: &mut Resource) {
        value.title = None;
    }

    fn resource_template(&self, value: &mut ResourceTemplate) {
        value.title = None;
    }

    fn prompt(&self, value: &mut Prompt) {
        value.title = None;
    }

    fn prompt_argument(&self, value: &mut PromptArgument) {
        value.title = None;
    }

    fn content(&self, block: &mut ContentBlock) {
        if let ContentBlock::ResourceLink(link) = block {
            let mut text = TextContent::new(as_text::link(&link.resource));
            text.annotations = link.resource.annotations.take();
            *block = ContentBlock::Text(text);
        }
    }

    fn structured(&self, content: &mut Vec<ContentBlock>, structured: &mut Option<RawJson>) {
        as_text::structured(content, structured);
    }

    fn complete(&self, params: &mut CompleteRequestParams) {
        params.context = None;
        if let CompletionReference::Prompt(prompt) = &mut params.reference {
            prompt.title = None;
        }
    }
}

const fn loss(what: &'static str, becomes: &'static str) -> Loss {
    Loss::new(Revision::V2025_03_26, what, becomes)
}
