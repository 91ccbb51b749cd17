//! How does a tool say how far it is?
//!
//! By progress and by log messages, while it works. Nothing is sent to a client that does
//! not want it, so a tool need not ask. Where a client can come back, the tool can also let
//! it go until there is something to fetch.
//!
//! Specification: basic/patterns/progress, server/utilities/logging; 2025-11-25
//! basic/transports (resumability).

use std::time::Duration;

use switchboard_server::protocol::types::LoggingLevel;
use switchboard_server::{Context, Progress, Server, tool};
use tokio::time::sleep;

pub(crate) fn offer(server: Server) -> Server {
    server
        .tool(
            tool("test_tool_with_progress", progress)
                .description("Says how far it is.")
                .read_only(),
        )
        .tool(
            tool("test_tool_with_logging", log)
                .description("Writes log messages.")
                .read_only(),
        )
        .tool(
            tool("test_logging_tool", log)
                .description("Writes log messages to whoever asked for them with the call.")
                .read_only(),
        )
        .tool(
            tool("test_reconnection", release)
                .description("Ends the stream of its call before it has answered.")
                .read_only(),
        )
}

async fn progress(context: Context) -> &'static str {
    for (done, what) in [(0.0, "beginning"), (50.0, "half way"), (100.0, "done")] {
        let progress = Progress::of(done, 100.0).message(what);
        context.progress(progress).await;
        sleep(STEP).await;
    }
    "Tool with progress executed successfully"
}

async fn log(context: Context) -> &'static str {
    for message in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        context.log(LoggingLevel::Info, message).await;
        sleep(STEP).await;
    }
    "Tool with logging executed successfully"
}

/// In revision 2025-11-25 the client comes back with the id of the last event that it saw,
/// and gets the answer then; in others it waits as for any tool.
async fn release(context: Context) -> &'static str {
    context.release_stream(Duration::from_millis(500));
    sleep(STEP * 2).await;
    "Reconnection test completed successfully"
}

const STEP: Duration = Duration::from_millis(50);
