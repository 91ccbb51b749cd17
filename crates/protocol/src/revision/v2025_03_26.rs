//! What 2025-03-26 does not have: structured results, resource links, titles,
//! elicitation, `_meta` of objects.
//!
//! The table is `LOSSES`: what goes, and what is written instead. It is also in
//! `docs/revisions.md`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Method;
    use crate::revision::NotRepresentable;
    use crate::revision::step_down::testing::{check, refuse};
    use crate::types::{
        CallToolResult, ElicitRequestParams, EmptyResult, ReadResourceResult, Root,
        SamplingMessageContentBlock,
    };

    const TO: Revision = Revision::V2025_03_26;

    #[test]
    fn a_structured_result_is_also_text() {
        check::<CallToolResult>(
            TO,
            r#"{"content":[],"structuredContent":{"a":1}}"#,
            r#"{"content":[{"type":"text","text":"{\"a\":1}"}]}"#,
        );
        check::<CallToolResult>(
            TO,
            r#"{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}}"#,
            r#"{"content":[{"type":"text","text":"t"}]}"#,
        );
    }

    #[test]
    fn a_link_becomes_text() {
        check::<ContentBlock>(
            TO,
            r#"{"type":"resource_link","uri":"file:///a","name":"a","title":"A","mimeType":"text/plain","description":"The letter","size":1,"annotations":{"priority":1,"lastModified":"l"}}"#,
            r#"{"type":"text","text":"A: file:///a (text/plain) — The letter","annotations":{"priority":1}}"#,
        );
        check::<ContentBlock>(
            TO,
            r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#,
            r#"{"type":"text","text":"a: file:///a"}"#,
        );
    }

    #[test]
    fn the_title_of_a_tool_moves_to_its_annotations() {
        check::<Tool>(
            TO,
            r#"{"name":"a","inputSchema":{},"title":"t","outputSchema":{"type":"object"},"_meta":{}}"#,
            r#"{"name":"a","inputSchema":{},"annotations":{"title":"t"}}"#,
        );
        check::<Tool>(
            TO,
            r#"{"name":"a","inputSchema":{},"title":"t","annotations":{"title":"u"}}"#,
            r#"{"name":"a","inputSchema":{},"annotations":{"title":"u"}}"#,
        );
    }

    #[test]
    fn titles_go() {
        check::<Implementation>(
            TO,
            r#"{"name":"a","version":"1","title":"t"}"#,
            r#"{"name":"a","version":"1"}"#,
        );
        check::<Resource>(
            TO,
            r#"{"uri":"u","name":"a","title":"t","size":1}"#,
            r#"{"uri":"u","name":"a","size":1}"#,
        );
        check::<ResourceTemplate>(
            TO,
            r#"{"uriTemplate":"u","name":"a","title":"t"}"#,
            r#"{"uriTemplate":"u","name":"a"}"#,
        );
        check::<Prompt>(
            TO,
            r#"{"name":"a","title":"t","arguments":[{"name":"b","title":"t"}]}"#,
            r#"{"name":"a","arguments":[{"name":"b"}]}"#,
        );
    }

    #[test]
    fn only_messages_keep_their_meta() {
        check::<EmptyResult>(TO, r#"{"_meta":{"a":1}}"#, r#"{"_meta":{"a":1}}"#);
        check::<Root>(TO, r#"{"uri":"u","_meta":{"a":1}}"#, r#"{"uri":"u"}"#);
        check::<Prompt>(TO, r#"{"name":"a","_meta":{}}"#, r#"{"name":"a"}"#);
        check::<ReadResourceResult>(
            TO,
            r#"{"contents":[{"uri":"u","text":"","_meta":{}},{"uri":"u","blob":"","_meta":{}}]}"#,
            r#"{"contents":[{"uri":"u","text":""},{"uri":"u","blob":""}]}"#,
        );
        for block in [
            r#"{"type":"text","text":"t""#,
            r#"{"type":"image","data":"","mimeType":"m""#,
            r#"{"type":"audio","data":"","mimeType":"m""#,
        ] {
            let before = format!(
                r#"{block},"_meta":{{}},"annotations":{{"lastModified":"l","audience":[]}}}}"#
            );
            let after = format!(r#"{block},"annotations":{{"audience":[]}}}}"#);
            check::<ContentBlock>(TO, &before, &after);
            check::<SamplingMessageContentBlock>(TO, &before, &after);
        }
        check::<ContentBlock>(
            TO,
            r#"{"type":"resource","resource":{"uri":"u","text":"","_meta":{}},"_meta":{}}"#,
            r#"{"type":"resource","resource":{"uri":"u","text":""}}"#,
        );
    }

    #[test]
    fn a_completion_has_no_context() {
        check::<CompleteRequestParams>(
            TO,
            r#"{"ref":{"type":"ref/prompt","name":"a","title":"t"},"argument":{"name":"b","value":""},"context":{}}"#,
            r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":""}}"#,
        );
    }

    #[test]
    fn there_is_no_elicitation() {
        check::<ClientCapabilities>(
            TO,
            r#"{"elicitation":{"form":{}},"roots":{}}"#,
            r#"{"roots":{}}"#,
        );
        refuse::<ElicitRequestParams>(
            TO,
            r#"{"message":"m","requestedSchema":{}}"#,
            Some(NotRepresentable::Method(Method::ElicitationCreate)),
        );
    }
}
