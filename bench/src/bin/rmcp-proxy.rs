//! A plain proxy as one writes it with rmcp: a server whose handler calls a client.
//!
//! `rmcp-proxy [--http PORT] [--runtime current|multi] -- COMMAND …`: on stdio or over HTTP, before a
//! server that it starts. Modes are those of `rmcp-echo`.

use std::error::Error;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{Peer, RequestContext, ServiceError};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::transport::{TokioChildProcess, stdio_pipes};
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt as _};
use switchboard_bench::Arguments;
use tokio::net::TcpListener;

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
        Some(port) => serve_http(port, proxy).await?,
    }
    behind.cancel().await?;
    Ok(())
}

async fn serve_http(port: u16, proxy: Proxy) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let service = StreamableHttpService::new(
        move || Ok(proxy.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            // A client that goes away is no news.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
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
