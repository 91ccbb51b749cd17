//! What does a question become where nobody keeps a connection open?
//!
//! In revision 2026-07-28 the question is the result of the call, and the client calls again
//! with the answer: the handler then runs from its beginning, and finds the answer where it
//! asked. So it asks first and acts then; what it must do only once goes into
//! `Context::once`, whose outcome travels with the client, sealed. The same handlers serve
//! older clients, which are asked while the call waits.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::{AskError, Context, Failure, Server, tool};

use crate::asking::question;

pub(crate) fn offer(server: Server) -> Server {
    server
        .tool(
            tool("test_input_required_result_elicitation", greet)
                .description("Asks the user's name and greets him."),
        )
        .tool(
            tool("test_input_required_result_sampling", capital)
                .description("Asks the model for the capital of France."),
        )
        .tool(
            tool("test_input_required_result_list_roots", roots)
                .description("Asks which folders the client works in."),
        )
        .tool(
            tool("test_input_required_result_request_state", remember)
                .description("Remembers what it did before it asked."),
        )
        .tool(
            tool("test_input_required_result_tampered_state", remember)
                .description("Notices when somebody changes what it remembers."),
        )
        .tool(
            tool("test_input_required_result_multiple_inputs", several)
                .description("Asks three things at once."),
        )
        .tool(
            tool("test_input_required_result_multi_round", step_by_step)
                .description("Asks one thing after the other."),
        )
        .tool(
            tool("test_input_required_result_capabilities", whoever)
                .description("Asks whom the client can ask: its user, or else its model."),
        )
}

/// What is your name?
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    /// Your name.
    pub(crate) name: String,
}

/// Asks the user's name.
pub(crate) async fn user_name(context: &Context) -> Result<String, Failure> {
    let answer = context
        .elicit::<Name>("user_name", "What is your name?")
        .await?;
    match answer.accepted() {
        Some(Name { name }) => Ok(name),
        None => Err(Failure::failed("the user would not say")),
    }
}

async fn greet(context: Context) -> Result<String, Failure> {
    let name = user_name(&context).await?;
    Ok(format!("Hello, {name}!"))
}

async fn capital(context: Context) -> Result<String, AskError> {
    let question = question("What is the capital of France?", 100);
    let answer = context.sample("capital_question", question).await?;
    Ok(answer.text().unwrap_or("The model said nothing").to_owned())
}

async fn roots(context: Context) -> Result<String, AskError> {
    let roots = context.roots("client_roots").await?;
    let uris: Vec<&str> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("Roots: {}", uris.join(", ")))
}

/// Shall it go on?
#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    /// Yes?
    ok: bool,
}

/// What is done before the question is done once: its outcome comes back with the answer.
async fn remember(context: Context) -> Result<String, AskError> {
    let state = context
        .once("state", async { "state-ok".to_owned() })
        .await?;
    let answer = context
        .elicit::<Confirmation>("confirm", "Please confirm")
        .await?;
    Ok(match answer.accepted() {
        Some(Confirmation { ok: true }) => format!("Confirmed: {state}"),
        _ => format!("Not confirmed: {state}"),
    })
}

/// Questions that wait together are asked together.
async fn several(context: Context) -> Result<String, Failure> {
    context.once("started", async {}).await?;
    let (name, greeting, roots) = tokio::try_join!(
        context.elicit::<Name>("user_name", "What is your name?"),
        context.sample("greeting", question("Greet somebody", 50)),
        context.roots("client_roots"),
    )?;
    let name = name.accepted().map_or("stranger".to_owned(), |n| n.name);
    let greeting = greeting.text().unwrap_or("Hello");
    let folders = roots.len();
    Ok(format!(
        "{greeting}, {name}! You work in folders: {folders}"
    ))
}

/// What is your favourite colour?
#[derive(Deserialize, JsonSchema)]
struct Favourite {
    /// The colour.
    color: String,
}

async fn step_by_step(context: Context) -> Result<String, Failure> {
    context.once("started", async {}).await?;
    let name = context
        .elicit::<Name>("step1", "Step 1: What is your name?")
        .await?;
    let Some(Name { name }) = name.accepted() else {
        return Err(Failure::failed("the user would not say his name"));
    };
    let message = format!("Step 2: What is your favourite colour, {name}?");
    let favourite = context.elicit::<Favourite>("step2", message).await?;
    let Some(Favourite { color }) = favourite.accepted() else {
        return Err(Failure::failed("the user would not say his colour"));
    };
    Ok(format!("{name} likes {color}"))
}

async fn whoever(context: Context) -> Result<String, Failure> {
    if context.capabilities().accepts_form() {
        return greet(context).await;
    }
    let answer = context
        .sample("greeting", question("Greet somebody", 50))
        .await?;
    Ok(answer.text().unwrap_or("Hello").to_owned())
}
