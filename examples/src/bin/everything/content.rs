//! What may a tool give back?
//!
//! Text, images, sounds, resources, several of them, or an error that the model reads.
//!
//! Specification: server/tools (tool result).

use switchboard_server::protocol::types::{ContentBlock, ResourceContents};
use switchboard_server::{Server, tool};

use crate::samples::{IMAGE, SOUND};

pub(crate) fn offer(server: Server) -> Server {
    server
        .tool(
            tool("test_simple_text", text)
                .description("Gives a text.")
                .read_only(),
        )
        .tool(
            tool("test_image_content", image)
                .description("Gives an image.")
                .read_only(),
        )
        .tool(
            tool("test_audio_content", audio)
                .description("Gives a sound.")
                .read_only(),
        )
        .tool(
            tool("test_embedded_resource", embedded)
                .description("Gives the contents of a resource.")
                .read_only(),
        )
        .tool(
            tool("test_multiple_content_types", several)
                .description("Gives a text, an image and the contents of a resource.")
                .read_only(),
        )
        .tool(
            tool("test_error_handling", fail)
                .description("Always fails.")
                .read_only(),
        )
}

async fn text() -> &'static str {
    "This is a simple text response for testing."
}

async fn image() -> ContentBlock {
    ContentBlock::image(IMAGE, "image/png")
}

async fn audio() -> ContentBlock {
    ContentBlock::audio(SOUND, "audio/wav")
}

async fn embedded() -> ContentBlock {
    let contents = ResourceContents::text(
        "test://embedded-resource",
        "This is an embedded resource content.",
    );
    ContentBlock::resource(contents.with_mime_type("text/plain"))
}

async fn several() -> Vec<ContentBlock> {
    let data = ResourceContents::text(
        "test://mixed-content-resource",
        r#"{"test":"data","value":123}"#,
    );
    vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(IMAGE, "image/png"),
        ContentBlock::resource(data.with_mime_type("application/json")),
    ]
}

/// An error of a tool is told to the model, so that it can try something else.
async fn fail() -> Result<String, &'static str> {
    Err("This tool intentionally returns an error for testing")
}
