//! Telemetry as its users see it, and collectors that do what they like.

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod collector;
mod ending;
mod failing;
mod sending;

use std::sync::Arc;
use std::time::Duration;

use switchboard_hub::{CallTrace, Metrics, Outcome, ServerMeter, Subject};
use switchboard_telemetry::{Settings, Telemetry};
use switchboard_transport::http::client::ProxyChoice;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt;

/// Settings for a collector that is near and impatient.
fn settings(collector: &str) -> Settings {
    let mut settings = Settings::to(collector).unwrap();
    settings.http.proxy = ProxyChoice::Never;
    // Only what a test is about happens by itself.
    settings.delay = LONG;
    settings.metrics_interval = LONG;
    settings.retry.first = Duration::from_millis(1);
    settings.retry.longest = Duration::from_millis(10);
    settings
}

/// Only spans.
fn spans(collector: &str) -> Settings {
    let mut settings = settings(collector);
    settings.metrics = None;
    settings
}

/// Has calls of this thread listened to.
fn listen(telemetry: &Telemetry) -> DefaultGuard {
    let listeners = tracing_subscriber::registry().with(telemetry.layer());
    tracing::subscriber::set_default(listeners)
}

fn meter() -> Arc<ServerMeter> {
    Metrics::new().server("github")
}

/// One call, from its beginning to its end.
fn call(meter: &Arc<ServerMeter>, tool: &str) {
    CallTrace::begin(meter, Subject::Tool(tool), None).end(&Outcome::Done);
}

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);
