//! Sends what a hub says of its calls to an OpenTelemetry collector: OTLP over HTTP, in protobuf.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use switchboard_hub::Metrics;
//! use switchboard_telemetry::{Settings, Telemetry};
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! # async fn example(metrics: Metrics) -> Result<(), Box<dyn std::error::Error>> {
//! // `OTEL_EXPORTER_OTLP_ENDPOINT` and its kin; none of them set: nothing is sent.
//! if let Some(settings) = Settings::from_environment()? {
//!     let telemetry = Telemetry::start(settings, Some(metrics))?;
//!     let listeners = tracing_subscriber::registry().with(telemetry.layer());
//!     tracing::subscriber::set_global_default(listeners)?;
//!     // …
//!     telemetry.close(Duration::from_secs(5)).await;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Spans of calls are collected where they end and sent by a task: a call never waits. What comes
//! faster than it can be sent is dropped, the oldest first, and counted.
//!
//! 1. [`Settings`]: where to, by the variables that OpenTelemetry names
//! 2. [`Telemetry`]: collects and sends; [`ExportCounts`]: what came of it
//!
//! Specification: OTLP 1.x (HTTP, binary protobuf); OpenTelemetry environment variables.

mod counts;
mod draft;
mod layer;
mod otlp;
mod protobuf;
mod queue;
mod sender;
mod settings;
mod telemetry;

pub use counts::ExportCounts;
pub use settings::{Destination, Retry, Settings, SettingsError};
pub use telemetry::Telemetry;
