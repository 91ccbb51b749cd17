//! rmcp's client of the gateway: it does what `interop/gateway/driver.mjs` describes.
//!
//!     gateway <name> <handshake or stateless> <address, or command …>
#![expect(
    deprecated,
    reason = "the older revisions are what this program is for"
)]

mod host;
mod orders;

use std::env;
use std::process::ExitCode;
use std::sync::Arc;

use rmcp::model::ProtocolVersion;
use rmcp::service::RunningService;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use host::Host;
use orders::Orders;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [name, era, server @ ..] = words.as_slice() else {
        say(json!({"id": 0, "error": "a name, an era and a server are wanted"}));
        return ExitCode::FAILURE;
    };
    let is_stateless = era == "stateless";
    let client = match open(Host::new(name, is_stateless), is_stateless, server).await {
        Ok(client) => client,
        Err(error) => {
            say(json!({"id": 0, "error": error}));
            return ExitCode::FAILURE;
        }
    };
    let agreed = client
        .peer_info()
        .map(|info| info.protocol_version.to_string());
    say(json!({"id": 0, "result": {"revision": agreed}}));

    let orders = Arc::new(Orders::new(Arc::new(client), is_stateless));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let order: Value = serde_json::from_str(&line).unwrap_or_default();
        let orders = Arc::clone(&orders);
        tokio::spawn(async move {
            let id = &order["id"];
            match orders.obey(&order).await {
                Ok(result) => say(json!({"id": id, "result": result})),
                Err(error) => say(json!({"id": id, "error": error})),
            }
        });
    }
    orders.close();
    ExitCode::SUCCESS
}

async fn open(
    host: Host,
    is_stateless: bool,
    server: &[String],
) -> Result<RunningService<RoleClient, Host>, String> {
    let lifecycle = match is_stateless {
        true => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        false => ClientLifecycleMode::Initialize,
    };
    let (first, arguments) = server.split_first().ok_or("no server")?;
    let opened = if first.starts_with("http://") {
        let transport = StreamableHttpClientTransport::from_uri(first.as_str());
        host.serve_with_lifecycle(transport, lifecycle).await
    } else {
        let mut command = tokio::process::Command::new(first);
        command.args(arguments);
        let transport = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
        host.serve_with_lifecycle(transport, lifecycle).await
    };
    opened.map_err(|error| error.to_string())
}

/// One line for whoever gives the orders.
fn say(line: Value) {
    println!("{line}");
}
