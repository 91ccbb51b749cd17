//! What has no older form, said in text.
//!
//! The text is for a model or a person; nobody is expected to parse it.

use serde::Deserialize;

use crate::RawJson;
use crate::types::{
    ContentBlock, Resource, ResourceContents, SamplingMessageContentBlock, ToolResultContent,
    ToolUseContent,
};

/// `name: uri (type) — description`
pub(super) fn link(resource: &Resource) -> String {
    let mut text = format!("{}: {}", resource.display_name(), resource.uri);
    if let Some(mime_type) = &resource.mime_type {
        text.push_str(&format!(" ({mime_type})"));
    }
    if let Some(description) = &resource.description {
        text.push_str(&format!(" — {description}"));
    }
    text
}

/// `kind: json`
pub(super) fn unknown(block: &RawJson) -> String {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "type")]
        kind: String,
    }
    match block.decode::<Head>() {
        Ok(head) => format!("{}: {}", head.kind, block.as_str()),
        Err(_) => block.as_str().to_owned(),
    }
}

/// Moves a structured result into a text block, unless there is one already.
pub(super) fn structured(content: &mut Vec<ContentBlock>, structured: &mut Option<RawJson>) {
    let Some(value) = structured.take() else {
        return;
    };
    if !content.iter().any(|block| block.as_text().is_some()) {
        content.push(ContentBlock::text(value.as_str()));
    }
}

/// `tool call id: name input`
pub(super) fn tool_use(block: &ToolUseContent) -> String {
    format!(
        "tool call {}: {} {}",
        block.id,
        block.name,
        block.input.as_str()
    )
}

/// A text block that says what came back, and the images and sounds after it.
pub(super) fn tool_result(mut block: ToolResultContent) -> Vec<SamplingMessageContentBlock> {
    structured(&mut block.content, &mut block.structured_content);
    let outcome = match block.is_error {
        Some(true) => "error",
        _ => "result",
    };
    let mut text = format!("tool {outcome} {}:", block.tool_use_id);
    let mut rest = Vec::new();
    for inner in block.content {
        let said = match inner {
            ContentBlock::Image(image) => {
                rest.push(SamplingMessageContentBlock::Image(image));
                continue;
            }
            ContentBlock::Audio(audio) => {
                rest.push(SamplingMessageContentBlock::Audio(audio));
                continue;
            }
            ContentBlock::Text(inner) => inner.text,
            ContentBlock::ResourceLink(inner) => link(&inner.resource),
            ContentBlock::Resource(inner) => contents(&inner.resource),
            ContentBlock::Unknown(inner) => unknown(&inner),
        };
        text.push('\n');
        text.push_str(&said);
    }
    rest.insert(0, SamplingMessageContentBlock::text(text));
    rest
}

/// What was left out because only one block can be sent.
pub(super) fn left_out(kind: &str, mime_type: &str) -> String {
    format!("({kind} left out: {mime_type})")
}

fn contents(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::Text(contents) => format!("{}: {}", contents.uri, contents.text),
        ResourceContents::Blob(contents) => {
            let mime_type = contents.mime_type.as_deref().unwrap_or("bytes");
            format!("{}: {}", contents.uri, left_out("resource", mime_type))
        }
        ResourceContents::Unknown(raw) => raw.as_str().to_owned(),
    }
}
