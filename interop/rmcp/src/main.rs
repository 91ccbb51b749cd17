//! rmcp's client at our example servers.
//!
//!     switchboard-interop-rmcp --examples <JSON> --revisions <revision,…>
//!
//! Takes the steps of `examples.json` and prints one line per example and revision, as
//! `report.mjs` describes. The JSON names a server for each example: a command and its
//! arguments, or an address. Among the revisions, `auto` leaves it to the client to find the newest.
#![expect(
    deprecated,
    reason = "the older revisions are what this program is for"
)]

mod host;
mod visit;

use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;

use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::Value;

use host::Host;
use visit::Visit;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [_, examples, _, revisions] = words.as_slice() else {
        println!("FAILED rmcp: two options and their values are wanted");
        return ExitCode::FAILURE;
    };
    let examples: BTreeMap<String, Vec<String>> = match serde_json::from_str(examples) {
        Ok(examples) => examples,
        Err(error) => {
            println!("FAILED rmcp: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut code = ExitCode::SUCCESS;
    for (example, target) in &examples {
        let transport = match is_url(target) {
            true => "http",
            false => "stdio",
        };
        for wanted in revisions.split(',') {
            let name = format!("rmcp 3.8, {wanted}, {transport}, {example}");
            match visit(example, wanted, target).await {
                Ok(()) => println!("ok {name}"),
                Err(reason) => {
                    let reason: Vec<&str> = reason.split_whitespace().collect();
                    println!("FAILED {name}: {}", reason.join(" "));
                    code = ExitCode::FAILURE;
                }
            }
        }
    }
    code
}

async fn visit(example: &str, wanted: &str, target: &[String]) -> Result<(), String> {
    let steps: Value = serde_json::from_str(STEPS).map_err(|error| error.to_string())?;
    let steps = steps[example].as_array().ok_or("no such example")?;
    let revision = match wanted {
        "auto" => STATELESS,
        revision => revision,
    };
    let host = Host::new(revision);
    let client = tokio::time::timeout(visit::STEP_LIMIT, open(host.clone(), wanted, target))
        .await
        .map_err(|_| "the connection did not open in time")??;
    let agreed = client.peer_info().map(|info| info.protocol_version.clone());
    let agreed = agreed.map(|version| version.to_string());
    if agreed.as_deref() != Some(revision) {
        return Err(format!("revision: wanted {revision}, came {agreed:?}"));
    }
    let outcome = Visit::new(&client, &host, revision).take(steps).await;
    let closed = client.cancel().await;
    outcome?;
    closed.map(drop).map_err(|error| error.to_string())
}

async fn open(
    host: Host,
    wanted: &str,
    target: &[String],
) -> Result<RunningService<RoleClient, Host>, String> {
    let newest = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match wanted {
        "auto" => ClientLifecycleMode::Auto {
            preferred_versions: newest,
            legacy_version: None,
        },
        STATELESS => ClientLifecycleMode::Discover {
            preferred_versions: newest,
        },
        _ => ClientLifecycleMode::Initialize,
    };
    let opened: Result<_, ClientInitializeError> = if is_url(target) {
        let transport = StreamableHttpClientTransport::from_uri(target[0].as_str());
        host.serve_with_lifecycle(transport, lifecycle).await
    } else {
        let (program, arguments) = target.split_first().ok_or("no command")?;
        let mut command = tokio::process::Command::new(program);
        command.args(arguments);
        let transport = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
        host.serve_with_lifecycle(transport, lifecycle).await
    };
    opened.map_err(|error| error.to_string())
}

fn is_url(target: &[String]) -> bool {
    target
        .first()
        .is_some_and(|word| word.starts_with("http://"))
}

const STEPS: &str = include_str!("../../examples.json");
const STATELESS: &str = "2026-07-28";
