//! A plain proxy as one writes it with rmcp: a server whose handler calls a client.
//!
//! `rmcp-proxy [--http PORT] [--runtime current|multi] -- COMMAND …`: on stdio or over HTTP, before a
//! server that it starts. Modes are those of `rmcp-echo`.

use std::error::Error;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{Peer, RequestContext, ServiceError};
use rmcp::transport::{TokioChildProcess, stdio_pipes};
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt as _};
use switchboard_bench::{Arguments, rmcp_http};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read();
    let runtime = arguments.runtime()?;
    runtime.block_on(serve(arguments.port))
}

async fn serve(port: Option<u16>) -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip_while(|word| word != "--").skip(1);
    let mut command = tokio::process::Command::new(words.next().ok_or("no command")?);
    command.args(words);
    let behind = ().serve(TokioChildProcess::new(command)?).await?;
    let proxy = Proxy {
        behind: behind.peer().clone(),
    };
    match port {
        None => {
            let running = proxy.serve(stdio_pipes()).await?;
            running.waiting().await?;
        }
        Some(port) => rmcp_http::serve(port, false, proxy).await?,
    }
    behind.cancel().await?;
    Ok(())
}

#[derive(Clone)]
struct Proxy {
    behind: Peer<RoleClient>,
}

impl ServerHandler for Proxy {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("proxy", "1.0.0"))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.behind.list_tools(request).await.map_err(passed_on)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = self.behind.call_tool(request).await.map_err(passed_on)?;
        Ok(result.into())
    }
}

fn passed_on(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}
