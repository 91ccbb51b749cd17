//! What we export of calls, as OpenTelemetry's own decoder reads it.
//!
//! ```text
//! telemetry --collector <folder> --server <folder> --scripts <folder> --scratch <folder>
//! ```
//!
//! Prints one line per check, as `interop/report.mjs` describes.
//!
//! 1. `script.rs`: a Python script beside us
//! 2. `calls.rs`: a hub of two servers, `interop/telemetry_server.py` over HTTP and on stdio, and
//!    calls of them that end in every way
//! 3. `collector.rs`: asks `interop/telemetry_collector.py` what it has read
//! 4. `spans.rs`, `numbers.rs`: what it has to have read

mod calls;
mod collector;
mod numbers;
#[path = "../report.rs"]
mod report;
mod script;
mod spans;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_telemetry::{Settings, Telemetry};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::calls::Made;
use crate::collector::Collector;
use crate::report::Report;
use crate::script::Script;

// Who listens, listens to one thread.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::FAILURE,
        Err(reason) => {
            report::line(&format!("FAILED telemetry: {reason}"));
            ExitCode::FAILURE
        }
    }
}

/// Has anything failed?
async fn run() -> Result<bool, String> {
    let places = Places::from_arguments()?;
    let script = places.scripts.join("telemetry_collector.py");
    let log = places.scratch.join("collector.log");
    let collector = Collector::new(Script::start(&places.collector, &script, &[], &log)?)?;
    let mut report = Report::default();
    let made = export(&collector, &places).await?;
    let seen = collector.seen().await?;
    report.check(
        "all of it is read, once more after a refusal",
        check_requests(&seen),
    );
    let content = |path: &str| {
        let last = seen.iter().rev().find(|entry| entry["path"] == path);
        let content = last.and_then(|entry| entry["content"].as_array());
        content.cloned().unwrap_or_default()
    };
    spans::check(&mut report, &content("/v1/traces"), &made);
    numbers::check(&mut report, &content("/v1/metrics"), &made);
    let outcome = check_contexts(&collector, &made).await;
    report.check("a trace context is one to others", outcome);
    Ok(report.has_failed())
}

/// Makes calls, and has them exported.
async fn export(collector: &Collector, places: &Places) -> Result<Made, String> {
    let script = places.scripts.join("telemetry_server.py");
    let log = places.scratch.join("server.log");
    let server = Script::start(&places.server, &script, &["--http"], &log)?;
    let hub = calls::connect(&server.url, &places.server, &script).await?;
    let place = collector.origin();
    let value = |name: &str| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(place.to_owned()),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("api-key=a%20key".to_owned()),
        "OTEL_SERVICE_NAME" => Some("interop".to_owned()),
        "OTEL_RESOURCE_ATTRIBUTES" => Some("host.name=h%C3%A4r".to_owned()),
        _ => None,
    };
    let settings = Settings::from_variables(value).map_err(|error| error.to_string())?;
    let mut settings = settings.ok_or("nothing is to be sent")?;
    settings.retry.first = Duration::from_millis(10);
    let telemetry = Telemetry::start(settings, Some(hub.metrics()));
    let telemetry = telemetry.map_err(|error| error.to_string())?;
    let listeners = tracing_subscriber::registry().with(telemetry.layer());
    let listening = tracing::subscriber::set_default(listeners);
    let made = calls::make(&hub).await?;
    drop(listening);
    let counts = telemetry.close(Duration::from_secs(20)).await;
    hub.close().await;
    match (counts.sent, counts.failed, counts.metrics_sent) {
        (calls::MADE, 0, 1) => Ok(made),
        _ => Err(format!("not all was sent: {counts:?}")),
    }
}

/// Was each request one that the decoder knows to the last byte?
fn check_requests(seen: &[Value]) -> Result<(), String> {
    for path in ["/v1/traces", "/v1/metrics"] {
        let entries: Vec<_> = seen.iter().filter(|entry| entry["path"] == path).collect();
        let [first, second] = entries[..] else {
            return Err(format!("{path} was asked {} times", entries.len()));
        };
        if first["content"].as_array().map(Vec::len) != second["content"].as_array().map(Vec::len) {
            return Err(format!("{path} is another thing when it is sent again"));
        }
        for entry in [first, second] {
            let headers = &entry["headers"];
            let found = json!([
                entry["unknown"],
                entry["same_size"],
                headers["content-type"],
                headers["api-key"]
            ]);
            equal(
                path,
                &found,
                &json!([0, true, "application/x-protobuf", "a key"]),
            )?;
        }
    }
    Ok(())
}

/// Does OpenTelemetry's own propagator read of a trace context what we wrote?
async fn check_contexts(collector: &Collector, made: &Made) -> Result<(), String> {
    for told in &made.told {
        let read = collector.extract(told.meta()).await?;
        let found = json!([
            read["valid"],
            read["trace_id"],
            read["span_id"],
            read["sampled"]
        ]);
        equal(
            "ids",
            &found,
            &json!([true, told.trace(), told.span(), true]),
        )?;
        // The SDK of the server has read the same.
        let both = json!([told.trace(), told.span()]);
        equal("the server's own", &told.read(), &both)?;
        let state = told.meta()["tracestate"].as_str().unwrap_or_default();
        equal("state", &read["state"], &json!(state))?;
    }
    Ok(())
}

/// `Err` that says both, unless they are the same.
fn equal(what: &str, found: &Value, wanted: &Value) -> Result<(), String> {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{what}: wanted {wanted}, read {found}")),
    }
}

/// Where everything is, as the arguments say.
struct Places {
    /// The programs of the collector's Python environment.
    collector: PathBuf,
    /// The programs of the servers' Python environment.
    server: PathBuf,
    scripts: PathBuf,
    scratch: PathBuf,
}

impl Places {
    fn from_arguments() -> Result<Self, String> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let place = |option: &str| {
            let at = words.iter().position(|word| word == option);
            let value = at.and_then(|at| words.get(at + 1));
            value
                .map(PathBuf::from)
                .ok_or_else(|| format!("{option} <folder> is missing"))
        };
        Ok(Self {
            collector: place("--collector")?,
            server: place("--server")?,
            scripts: place("--scripts")?,
            scratch: place("--scratch")?,
        })
    }
}
