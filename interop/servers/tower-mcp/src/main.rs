//! A server written with tower-mcp, for our client: on stdio, or with `--http` on a port of its own.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tower_mcp::extract::{Context, Json};
use tower_mcp::{CallToolResult, HttpTransport, McpRouter, StdioTransport, ToolBuilder};

#[derive(Debug, Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Pause {
    milliseconds: u64,
}

/// How many calls of `pause` were cancelled, in all sessions.
static STOPPED: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Deserialize, JsonSchema)]
struct Nothing {}

/// Counts when it is dropped.
struct Unfinished;

impl Drop for Unfinished {
    fn drop(&mut self) {
        STOPPED.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let echo = ToolBuilder::new("echo")
        .description("Answers with the same text.")
        .handler(|input: Text| async move { Ok(CallToolResult::text(input.text)) })
        .build();
    let pause = ToolBuilder::new("pause")
        .description("Answers after a while.")
        .extractor_handler(
            (),
            |context: Context, Json(input): Json<Pause>| async move {
                // What was cancelled is dropped, or told.
                let unfinished = Unfinished;
                tokio::select! {
                    () = context.cancelled() => Ok(CallToolResult::text("stopped")),
                    () = tokio::time::sleep(Duration::from_millis(input.milliseconds)) => {
                        std::mem::forget(unfinished);
                        Ok(CallToolResult::text("done"))
                    }
                }
            },
        )
        .build();
    let stopped = ToolBuilder::new("stopped")
        .description("How many pauses were cancelled.")
        .handler(|_: Nothing| async move {
            Ok(CallToolResult::text(
                STOPPED.load(Ordering::Relaxed).to_string(),
            ))
        })
        .build();
    let router = McpRouter::new()
        .server_info("tower-mcp-echo", "1.0.0")
        .tool(echo)
        .tool(pause)
        .tool(stopped);
    if !std::env::args().any(|word| word == "--http") {
        StdioTransport::new(router).run().await?;
        return Ok(());
    }
    let router = HttpTransport::new(router).into_router_at("/mcp");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
