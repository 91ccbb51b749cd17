//! A server written with turbomcp, for our client: on stdio, or with `--http` on a port of its own.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use turbomcp::http::{HttpConfig, router};
use turbomcp::prelude::*;

/// How many calls of `pause` were cancelled, in all sessions.
static STOPPED: AtomicUsize = AtomicUsize::new(0);

/// Counts when it is dropped.
struct Unfinished;

impl Drop for Unfinished {
    fn drop(&mut self) {
        STOPPED.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone)]
struct Echo;

#[server(name = "turbomcp-echo", version = "1.0.0")]
impl Echo {
    /// Answers with the same text.
    #[tool(description = "Answers with the same text.")]
    async fn echo(&self, text: String) -> McpResult<String> {
        Ok(text)
    }

    /// Answers after a while.
    #[tool(description = "Answers after a while.")]
    async fn pause(&self, milliseconds: u64) -> McpResult<String> {
        // The library drops what was cancelled.
        let unfinished = Unfinished;
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        std::mem::forget(unfinished);
        Ok("done".to_owned())
    }

    /// How many pauses were cancelled.
    #[tool(description = "How many pauses were cancelled.")]
    async fn stopped(&self) -> McpResult<String> {
        Ok(STOPPED.load(Ordering::Relaxed).to_string())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if !std::env::args().any(|word| word == "--http") {
        return Ok(Echo.run_stdio().await?);
    }
    let service = Echo.into_server().build();
    let router = router(service, HttpConfig::new());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, router).await?;
    Ok(())
}
