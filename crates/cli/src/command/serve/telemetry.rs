//! Traces and metrics of a gateway that is served, sent to a collector.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_hub::Hub;
use switchboard_telemetry::{Settings, Telemetry};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::exit::{Failure, with_causes};
use crate::journal::Journal;

/// Sends what a hub says of its calls, if anybody wants it.
pub(super) fn start(
    collector: Option<&str>,
    hub: &Hub,
    journal: &Arc<Journal>,
) -> Result<Option<Sending>, Failure> {
    let settings = match collector {
        Some(url) => Settings::to(url).map(Some),
        None => Settings::from_environment(),
    };
    let Some(settings) = settings.map_err(|error| Failure::usage(with_causes(&error)))? else {
        return Ok(None);
    };
    let telemetry = Telemetry::start(settings, Some(hub.metrics()))
        .map_err(|error| Failure::usage(format!("the collector: {}", with_causes(&error))))?;
    let troubles = Troubles(Arc::clone(journal));
    let listeners = tracing_subscriber::registry()
        .with(telemetry.layer())
        .with(troubles);
    // It is the only one of this process.
    let _ = tracing::subscriber::set_global_default(listeners);
    Ok(Some(Sending(telemetry)))
}

/// What is being sent.
pub(super) struct Sending(Telemetry);

impl Sending {
    /// Sends what is left.
    pub(super) async fn end(self) {
        self.0.close(LAST).await;
    }
}

/// Says that something cannot be sent, where everything else is said.
struct Troubles(Arc<Journal>);

impl<S: Subscriber> Layer<S> for Troubles {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let about = event.metadata();
        if *about.level() > Level::WARN || !about.target().starts_with("switchboard_telemetry") {
            return;
        }
        let mut words = Words::default();
        event.record(&mut words);
        self.0
            .warn(None, &format!("telemetry: {}{}", words.message, words.rest));
    }
}

#[derive(Default)]
struct Words {
    message: String,
    rest: String,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.rest.push_str(&format!(" {name}={value:?}")),
        }
    }
}

// A collector that does not answer holds up nobody who wants to leave.
const LAST: Duration = Duration::from_secs(3);
