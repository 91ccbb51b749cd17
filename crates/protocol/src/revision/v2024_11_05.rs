//! What 2024-11-05 does not have: audio, annotations of tools, words on progress.
//!
//! The table is `LOSSES`: what goes, and what is written instead. It is also in
//! `docs/revisions.md`.
//!
//! Specification: 2024-11-05 schema, against that of 2025-03-26.

use crate::revision::Revision;
use crate::revision::as_text;
use crate::revision::step::Step;
use crate::revision::step_down::Loss;
use crate::types::{
    BlobResourceContents, ContentBlock, EmbeddedResource, ProgressNotificationParams,
    ResourceContents, SamplingMessageContentBlock, ServerCapabilities, Tool,
};

#[rustfmt::skip]
pub(super) const LOSSES: &[Loss] = &[
    loss("audio in a tool's result or a prompt", "an embedded resource at `audio:content` with its bytes and type"),
    loss("audio in sampling", "text that names its type: there is no block that could hold it"),
    loss("tool `annotations`", "nothing"),
    loss("`message` of progress", "nothing"),
    loss("server capability `completions`", "nothing: completion is simply tried"),
];

/// The step to 2024-11-05.
pub(super) struct Down;

impl Step for Down {
    fn revision(&self) -> Revision {
        Revision::V2024_11_05
    }

    fn server_capabilities(&self, value: &mut ServerCapabilities) {
        value.completions = None;
    }

    fn tool(&self, value: &mut Tool) {
        value.annotations = None;
    }

    fn content(&self, block: &mut ContentBlock) {
        if let ContentBlock::Audio(audio) = block {
            let data = std::mem::take(&mut audio.data);
            let mut contents = BlobResourceContents::new(AUDIO_URI, data);
            contents.mime_type = Some(std::mem::take(&mut audio.mime_type));
            let mut embedded = EmbeddedResource::new(ResourceContents::Blob(contents));
            embedded.annotations = audio.annotations.take();
            embedded.extra = std::mem::take(&mut audio.extra);
            *block = ContentBlock::Resource(embedded);
        }
    }

    fn sampling_content(&self, block: &mut SamplingMessageContentBlock) {
        if let SamplingMessageContentBlock::Audio(audio) = block {
            let text = as_text::left_out("audio", &audio.mime_type);
            *block = SamplingMessageContentBlock::text(text);
        }
    }

    fn progress(&self, params: &mut ProgressNotificationParams) {
        params.message = None;
    }
}

/// An embedded resource must have a URI. This one names nothing that can be read;
/// a `data:` URI would carry the bytes a second time.
const AUDIO_URI: &str = "audio:content";

const fn loss(what: &'static str, becomes: &'static str) -> Loss {
    Loss::new(Revision::V2024_11_05, what, becomes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::step_down::testing::check;

    const TO: Revision = Revision::V2024_11_05;

    #[test]
    fn audio_becomes_an_embedded_resource() {
        check::<ContentBlock>(
            TO,
            r#"{"type":"audio","data":"AA==","mimeType":"audio/wav","annotations":{"priority":1},"_meta":{},"x":1}"#,
            r#"{"type":"resource","resource":{"uri":"audio:content","blob":"AA==","mimeType":"audio/wav"},"annotations":{"priority":1},"x":1}"#,
        );
    }

    #[test]
    fn audio_in_sampling_is_named() {
        check::<SamplingMessageContentBlock>(
            TO,
            r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#,
            r#"{"type":"text","text":"(audio left out: audio/wav)"}"#,
        );
    }

    #[test]
    fn what_came_with_2025_03_26_goes() {
        check::<Tool>(
            TO,
            r#"{"name":"a","inputSchema":{},"title":"t","annotations":{"readOnlyHint":true}}"#,
            r#"{"name":"a","inputSchema":{}}"#,
        );
        check::<ProgressNotificationParams>(
            TO,
            r#"{"progressToken":1,"progress":1,"message":"m"}"#,
            r#"{"progressToken":1,"progress":1}"#,
        );
        check::<ServerCapabilities>(
            TO,
            r#"{"completions":{},"logging":{}}"#,
            r#"{"logging":{}}"#,
        );
    }
}
