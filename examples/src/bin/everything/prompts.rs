//! Prompts: messages that a user picks and fills in.
//!
//! Specification: server/prompts, server/utilities/completion.

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::protocol::types::{ContentBlock, PromptMessage, ResourceContents, Role};
use switchboard_server::{Completing, Context, Failure, Server, prompt};

use crate::samples::IMAGE;

pub(crate) fn offer(server: Server) -> Server {
    server
        .prompt(prompt("test_simple_prompt", simple).description("A text."))
        .prompt(
            prompt("test_prompt_with_arguments", with_arguments)
                .complete("arg1", suggest)
                .complete("arg2", suggest),
        )
        .prompt(prompt("test_prompt_with_embedded_resource", embedded))
        .prompt(prompt("test_prompt_with_image", with_image).description("An image and a text."))
        .prompt(
            prompt("test_input_required_result_prompt", ask)
                .description("A text that the user has a say in."),
        )
}

async fn simple() -> &'static str {
    "This is a simple prompt for testing."
}

/// A text with two values in it.
#[derive(Deserialize, JsonSchema)]
struct Values {
    /// The first value.
    arg1: String,
    /// The second value.
    arg2: String,
}

async fn with_arguments(Values { arg1, arg2 }: Values) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

async fn suggest(typed: Completing) -> Vec<String> {
    let known = ["testValue1", "testValue2", "other"];
    let fitting = known.iter().filter(|value| value.starts_with(&typed.value));
    fitting.map(|value| (*value).to_owned()).collect()
}

/// The contents of a resource, and a text.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// Which resource.
    resource_uri: String,
}

async fn embedded(embedded: Embedded) -> Vec<PromptMessage> {
    let contents = ResourceContents::text(
        embedded.resource_uri,
        "Embedded resource content for testing.",
    );
    let contents = ContentBlock::resource(contents.with_mime_type("text/plain"));
    vec![
        PromptMessage::new(Role::User, contents),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

async fn with_image() -> Vec<PromptMessage> {
    let image = ContentBlock::image(IMAGE, "image/png");
    vec![
        PromptMessage::new(Role::User, image),
        PromptMessage::user("Please analyze the image above."),
    ]
}

/// What is this about?
#[derive(Deserialize, JsonSchema)]
struct About {
    /// What the answer should bear in mind.
    context: String,
}

/// A prompt may ask, as a tool may.
async fn ask(context: Context) -> Result<String, Failure> {
    let message = "What should the prompt bear in mind?";
    let answer = context.elicit::<About>("user_context", message).await?;
    match answer.accepted() {
        Some(about) => Ok(format!("Bear in mind: {}", about.context)),
        None => Err(Failure::failed("the user would not say")),
    }
}
