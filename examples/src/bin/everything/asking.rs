//! How does a tool ask the user, the model, or where the files are?
//!
//! It waits for the answer, as for anything else. That is so in every revision: what the
//! question looks like on the wire is not the tool's concern. A client that cannot be asked
//! makes the question fail, and `?` makes that the answer.
//!
//! Specification: client/elicitation, client/sampling, client/roots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_server::protocol::types::{CreateMessageRequestParams, SamplingMessage};
use switchboard_server::{AskError, Context, Elicited, Server, tool};

pub(crate) fn offer(server: Server) -> Server {
    server
        .tool(tool("test_sampling", sample).open_world(true))
        .tool(tool("test_elicitation", elicit))
        .tool(
            tool("test_missing_capability", require_sampling)
                .description("Cannot do without the client's model."),
        )
        .tool(
            tool("test_streaming_elicitation", confirm)
                .description("Asks the user whether to go on."),
        )
}

/// Asks the client's model.
#[derive(Deserialize, JsonSchema)]
struct Ask {
    /// What to ask it.
    prompt: String,
}

async fn sample(ask: Ask, context: Context) -> Result<String, AskError> {
    let answer = context.sample("answer", question(ask.prompt, 100)).await?;
    Ok(format!("LLM response: {}", answer.text().unwrap_or("none")))
}

async fn require_sampling(context: Context) -> Result<String, AskError> {
    let answer = context
        .sample("answer", question("Are you there?", 10))
        .await?;
    Ok(format!(
        "The model says: {}",
        answer.text().unwrap_or("nothing")
    ))
}

/// Asks the user who he is.
#[derive(Deserialize, JsonSchema)]
struct Introduce {
    /// What to say to him.
    message: String,
}

/// Who the user is.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Person {
    /// The user's name.
    username: String,
    /// The user's e-mail address.
    #[schemars(email)]
    email: String,
}

async fn elicit(introduce: Introduce, context: Context) -> Result<String, AskError> {
    let person = context
        .elicit::<Person>("person", introduce.message)
        .await?;
    Ok(match person {
        Elicited::Accepted(Person { username, email }) => {
            format!("User response: {username} <{email}>")
        }
        Elicited::Declined => "User response: declined".to_owned(),
        Elicited::Cancelled => "User response: none".to_owned(),
    })
}

/// Whether to go on.
#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    /// Go on?
    confirmed: bool,
}

async fn confirm(context: Context) -> Result<&'static str, AskError> {
    let answer = context
        .elicit::<Confirmation>("confirmation", "Go on?")
        .await?;
    Ok(match answer.accepted() {
        Some(Confirmation { confirmed: true }) => "Went on",
        _ => "Stopped",
    })
}

/// A question to a model, to be answered in so many tokens.
pub(crate) fn question(text: impl Into<String>, tokens: u64) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new(vec![SamplingMessage::user(text)], tokens)
}
