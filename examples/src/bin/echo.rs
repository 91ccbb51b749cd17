//! What does the smallest useful server look like?
//!
//! Three tools: one gives its text back, one adds, one takes its time.
//!
//! ```sh
//! cargo run --release -p switchboard-examples --bin echo                 # on stdio
//! cargo run --release -p switchboard-examples --bin echo -- --http 8000  # at http://127.0.0.1:8000/mcp
//! ```

use std::process::ExitCode;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::{Server, tool};

/// Gives the text back.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to give back.
    text: String,
}

/// Adds two whole numbers.
#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first.
    a: i64,
    /// The second.
    b: i64,
}

/// Waits, and says so. It can be cancelled.
#[derive(Deserialize, JsonSchema)]
struct Slow {
    /// How long to wait, in milliseconds.
    ms: u64,
}

async fn echo(echo: Echo) -> String {
    echo.text
}

async fn add(add: Add) -> Result<i64, &'static str> {
    add.a.checked_add(add.b).ok_or("the sum is too large")
}

async fn slow(slow: Slow) -> String {
    tokio::time::sleep(Duration::from_millis(slow.ms)).await;
    format!("waited {} ms", slow.ms)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let server = Server::new("echo", env!("CARGO_PKG_VERSION"))
        .tool(tool("echo", echo).read_only().open_world(false))
        .tool(tool("add", add).read_only().open_world(false))
        .tool(tool("slow", slow).read_only().open_world(false));
    switchboard_examples::exit_code(switchboard_examples::run(server).await)
}
