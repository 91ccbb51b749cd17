//! rmcp's client. The contract is in `calling`.
//!
//! Over HTTP it sends its requests with a reqwest client that keeps a connection for each call
//! in flight and does not delay; `--default` leaves it the one that it makes itself.

use std::process::ExitCode;
use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, JsonObject, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::Value;
use switchboard_bench::calling::{self, Caller, Era, Figures, Target, Work};

fn main() -> ExitCode {
    calling::main(run)
}

async fn run(work: Work) -> Result<Figures, String> {
    let newest = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match work.era {
        Some(Era::Legacy) => ClientLifecycleMode::Initialize,
        Some(Era::Modern) => ClientLifecycleMode::Discover {
            preferred_versions: newest,
        },
        None => ClientLifecycleMode::Auto {
            preferred_versions: newest,
            legacy_version: None,
        },
    };
    let opened = match &work.target {
        Target::Command(words) => {
            let (program, arguments) = words.split_first().ok_or("no command")?;
            let mut command = tokio::process::Command::new(program);
            command.args(arguments);
            let transport = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
            ().serve_with_lifecycle(transport, lifecycle).await
        }
        Target::Url(url) if work.has("--default") => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            ().serve_with_lifecycle(transport, lifecycle).await
        }
        Target::Url(url) => {
            let in_flight = usize::try_from(work.in_flight).map_err(|error| error.to_string())?;
            let client = reqwest::Client::builder()
                .pool_max_idle_per_host(in_flight + 1)
                .tcp_nodelay(true)
                .no_proxy()
                .build()
                .map_err(|error| error.to_string())?;
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .max_concurrent_requests(in_flight.max(1) + 1);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            ().serve_with_lifecycle(transport, lifecycle).await
        }
    };
    let client = Arc::new(opened.map_err(|error| error.to_string())?);
    let figures = work.measure(&Rmcp(Arc::clone(&client))).await;
    if let Some(client) = Arc::into_inner(client) {
        // It is measured already.
        let _ = client.cancel().await;
    }
    figures
}

#[derive(Clone)]
struct Rmcp(Arc<RunningService<RoleClient, ()>>);

impl Caller for Rmcp {
    async fn call(&self, text: &str) -> Result<(), String> {
        let mut arguments = JsonObject::new();
        arguments.insert("text".to_owned(), Value::String(text.to_owned()));
        let params = CallToolRequestParams::new("echo").with_arguments(arguments);
        let result = self
            .0
            .call_tool(params)
            .await
            .map_err(|error| error.to_string())?;
        let found = result.content.first().and_then(|content| content.as_text());
        match found {
            Some(found) if found.text == text => Ok(()),
            other => Err(format!("not the text: {other:?}")),
        }
    }
}
