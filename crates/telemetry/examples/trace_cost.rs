//! What it costs a call to be counted, and to be traced.
//!
//! ```text
//! cargo run --release -p switchboard-telemetry --example trace_cost
//! ```
//!
//! Nothing is called, and nothing is sent: spans that nobody takes are dropped from the queue.
//! The figures are in `docs/performance.md`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_hub::{CallTrace, Metrics, Outcome, ServerMeter, Subject, TraceContext};
use switchboard_telemetry::{Settings, Telemetry};
use tracing_subscriber::layer::SubscriberExt as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let metrics = Metrics::new();
    let meter = metrics.server("github");
    for number in 0..400 {
        let tool = format!("some_other_tool_{number}");
        CallTrace::begin(&meter, Subject::Tool(&tool), None).end(&Outcome::Done);
    }
    let parent = TraceContext::begin();
    measure("nobody listens", &meter, None);
    measure("nobody listens, below a parent", &meter, Some(&parent));
    let mut settings = Settings::to("http://127.0.0.1:9")?;
    settings.delay = Duration::from_secs(3600);
    let telemetry = Telemetry::start(settings, None)?;
    let listeners = tracing_subscriber::registry().with(telemetry.layer());
    let listening = tracing::subscriber::set_default(listeners);
    measure("exported", &meter, None);
    measure("exported, below a parent", &meter, Some(&parent));
    drop(listening);
    drop(telemetry);
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "the figures are what this program is for"
)]
fn measure(what: &str, meter: &Arc<ServerMeter>, parent: Option<&TraceContext>) {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..CALLS {
            let trace = CallTrace::begin(meter, Subject::Tool("create_issue"), parent);
            black_box(&trace);
            trace.end(&Outcome::Done);
        }
        best = best.min(began.elapsed());
    }
    let nanos = best.as_nanos() / u128::from(CALLS);
    println!("{what}: {nanos} ns a call");
}

const ROUNDS: u32 = 200;
const CALLS: u32 = 5_000;
