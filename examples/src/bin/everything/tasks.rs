//! What if the work takes longer than anybody waits?
//!
//! Then the answer is a task, which the client asks about until it is done. The handler need
//! not know the difference: it works, it asks, it answers. It may also decide itself from
//! where on it is a task. A client that knows no tasks waits, unless the tool insists.
//!
//! Specification: the extension `io.modelcontextprotocol/tasks`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::protocol::jsonrpc::ErrorObject;
use switchboard_server::{Context, Failure, Server, TaskMode, tool};
use tokio::time::sleep;

use crate::rounds::user_name;

pub(crate) fn offer(server: Server) -> Server {
    server
        .tool(tool("greet", greet).read_only())
        .tool(tool("slow_compute", compute).task(TaskMode::WhenPossible))
        .tool(
            tool("failing_job", fail)
                .description("Works for a second, and fails.")
                .task(TaskMode::Always),
        )
        .tool(
            tool("protocol_error_job", refuse)
                .description("Works for a while, and ends with an error of the protocol.")
                .task(TaskMode::WhenPossible),
        )
        .tool(tool("confirm_delete", confirm).task(TaskMode::WhenPossible))
        .tool(
            tool("multi_input", ask_twice)
                .description("Asks the user two things at once.")
                .task(TaskMode::WhenPossible),
        )
        .tool(
            tool("test_tool_with_task", ask_then_work)
                .description("Asks the user's name, and then takes its time.")
                .task(TaskMode::ByHandler),
        )
}

/// Greets somebody.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom.
    name: String,
}

async fn greet(greet: Greet) -> String {
    format!("Hello, {}!", greet.name)
}

/// Computes for a while.
#[derive(Deserialize, JsonSchema)]
struct Compute {
    /// For how long, in seconds.
    seconds: f64,
    /// What to call it.
    label: Option<String>,
}

async fn compute(compute: Compute) -> Result<String, Failure> {
    sleep(Duration::try_from_secs_f64(compute.seconds)?).await;
    let label = compute.label.as_deref().unwrap_or("something");
    Ok(format!("Computed {label} for {} s", compute.seconds))
}

async fn fail() -> Result<String, &'static str> {
    sleep(Duration::from_secs(1)).await;
    Err("the job has failed, as it always does")
}

async fn refuse() -> Result<String, Failure> {
    sleep(Duration::from_millis(200)).await;
    let error = ErrorObject::internal("the job ended with an error of the protocol");
    Err(Failure::Refused(error))
}

/// Deletes a file, if the user agrees. (It only says so.)
#[derive(Deserialize, JsonSchema)]
struct Delete {
    /// Which file.
    filename: String,
}

/// Is this right?
#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    /// Yes?
    confirm: bool,
}

async fn confirm(delete: Delete, context: Context) -> Result<String, Failure> {
    let message = format!("Delete {}?", delete.filename);
    let answer = context.elicit::<Confirmation>("confirm", message).await?;
    Ok(match answer.accepted() {
        Some(Confirmation { confirm: true }) => format!("Deleted {}", delete.filename),
        _ => format!("Kept {}", delete.filename),
    })
}

async fn ask_twice(context: Context) -> Result<String, Failure> {
    let (first, second) = tokio::try_join!(
        context.elicit::<Confirmation>("first", "Do you agree?"),
        context.elicit::<Confirmation>("second", "Do you agree with that, too?"),
    )?;
    let agreed = [first, second].map(|answer| answer.accepted().is_some_and(|a| a.confirm));
    Ok(format!("Agreed: {agreed:?}"))
}

async fn ask_then_work(context: Context) -> Result<String, Failure> {
    let name = user_name(&context).await?;
    // Where there is no task to be had, the client waits.
    let _ = context.continue_as_task().await;
    sleep(Duration::from_millis(200)).await;
    Ok(format!("Done for {name}"))
}
