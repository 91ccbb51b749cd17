//! A server written with rmcp, for our client: on stdio, or with `--http` on a port of its own.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpService, stdio};
use rmcp::{RoleServer, ServiceExt as _, schemars, tool, tool_router};

/// How many calls of `pause` were cancelled, in all sessions.
static STOPPED: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone)]
struct Echo;

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Pause {
    milliseconds: u64,
}

#[tool_router(server_handler)]
impl Echo {
    #[tool(description = "Answers with the same text.")]
    async fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text
    }

    #[tool(description = "Answers after a while.")]
    async fn pause(
        &self,
        Parameters(Pause { milliseconds }): Parameters<Pause>,
        context: RequestContext<RoleServer>,
    ) -> String {
        tokio::select! {
            () = context.ct.cancelled() => {
                STOPPED.fetch_add(1, Ordering::Relaxed);
                "stopped".to_owned()
            }
            () = tokio::time::sleep(Duration::from_millis(milliseconds)) => "done".to_owned(),
        }
    }

    #[tool(description = "How many pauses were cancelled.")]
    async fn stopped(&self) -> String {
        STOPPED.load(Ordering::Relaxed).to_string()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if !std::env::args().any(|word| word == "--http") {
        Echo.serve(stdio()).await?.waiting().await?;
        return Ok(());
    }
    let service: StreamableHttpService<Echo, LocalSessionManager> = StreamableHttpService::new(
        || Ok(Echo),
        Default::default(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
