//! Where traces and metrics go, and how much of them is kept meanwhile.
//!
//! The variables are those that OpenTelemetry names. What is not supported and would change
//! what is sent is an error; what would only change how is not asked for.
//!
//! Specification: OpenTelemetry, "OTLP Exporter Configuration", "Environment Variable
//! Specification" (batch span processor, periodic metric reader).

mod error;
mod variables;

use std::fmt;
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderMap, Uri};
use switchboard_transport::http::client::{ClientSettings, shown};

pub use error::SettingsError;

/// Where traces and metrics go, and how much of them is kept meanwhile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Where spans go. None: nowhere.
    pub traces: Option<Destination>,
    /// Where metrics go. None: nowhere.
    pub metrics: Option<Destination>,
    /// Who sends: `service.name` and the like.
    pub resource: Vec<(String, String)>,
    /// So many spans wait to be sent. Of more, the oldest are dropped.
    pub queue: usize,
    /// So many are sent at once, as soon as they are there.
    pub batch: usize,
    /// Fewer are sent after this long.
    pub delay: Duration,
    /// Metrics are sent this often.
    pub metrics_interval: Duration,
    /// How often, and how long, what is not taken is sent again.
    pub retry: Retry,
    /// How connections are made: proxies, trust, times.
    pub http: ClientSettings,
}

/// Where one kind of telemetry goes.
#[derive(Clone)]
#[non_exhaustive]
pub struct Destination {
    /// The whole URL.
    pub url: Uri,
    /// What is sent along, such as a key. It is not printed.
    pub headers: HeaderMap,
    /// How long one request may take.
    pub timeout: Duration,
}

/// How what is not taken is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// How long is waited first. Then twice as long each time, more or less.
    pub first: Duration,
    /// How long is waited at most.
    pub longest: Duration,
    /// What was not taken after this long is given up.
    pub total: Duration,
}

impl Settings {
    /// Traces and metrics go to a collector, such as `http://localhost:4318`.
    ///
    /// # Errors
    /// When that is no URL of HTTP.
    pub fn to(collector: &str) -> Result<Self, SettingsError> {
        let mut settings = Self::nowhere();
        settings.traces = Some(Destination::below(collector, TRACES)?);
        settings.metrics = Some(Destination::below(collector, METRICS)?);
        Ok(settings)
    }

    /// What the variables of this process say. None if they name no collector, or say that
    /// nothing is to be sent.
    ///
    /// # Errors
    /// When a variable says what cannot be done.
    pub fn from_environment() -> Result<Option<Self>, SettingsError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// What these variables say. None if they name no collector, or say that nothing is to be
    /// sent.
    ///
    /// # Errors
    /// When a variable says what cannot be done.
    pub fn from_variables(
        value: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        variables::read(&value)
    }

    /// Sets an attribute of who sends.
    pub fn set_resource(&mut self, key: &str, value: &str) {
        match self.resource.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.resource.push((key.to_owned(), value.to_owned())),
        }
    }

    fn nowhere() -> Self {
        let mut http = ClientSettings::default();
        // An answer is empty, or a few words.
        http.limits.bytes = LARGEST_ANSWER;
        // What is sent may be known to this place only.
        http.follows_redirects = false;
        let mut settings = Self {
            traces: None,
            metrics: None,
            resource: Vec::new(),
            queue: 2048,
            batch: 512,
            delay: Duration::from_secs(5),
            metrics_interval: Duration::from_secs(60),
            retry: Retry::default(),
            http,
        };
        settings.set_resource("service.name", "switchboard");
        settings
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(30),
            total: Duration::from_secs(60),
        }
    }
}

impl Destination {
    /// This very URL.
    ///
    /// # Errors
    /// When that is no URL of HTTP.
    pub fn new(url: &str) -> Result<Self, SettingsError> {
        let uri: Uri = url.trim().parse().map_err(|_| SettingsError::Url)?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.host().is_none_or(str::is_empty) {
            return Err(SettingsError::Url);
        }
        Ok(Self {
            url: uri,
            headers: HeaderMap::new(),
            timeout: Duration::from_secs(10),
        })
    }

    /// The place for one kind of telemetry at a collector.
    fn below(collector: &str, path: &str) -> Result<Self, SettingsError> {
        let mut destination = Self::new(collector)?;
        let mut parts = destination.url.into_parts();
        let base = parts.path_and_query.as_ref().map(PathAndQuery::path);
        let base = base.unwrap_or_default().trim_end_matches('/');
        let path = PathAndQuery::try_from(format!("{base}{path}"));
        parts.path_and_query = Some(path.map_err(|_| SettingsError::Url)?);
        destination.url = Uri::from_parts(parts).map_err(|_| SettingsError::Url)?;
        Ok(destination)
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.keys().collect();
        f.debug_struct("Destination")
            .field("url", &shown(&self.url))
            .field("headers", &names)
            .field("timeout", &self.timeout)
            .finish()
    }
}

const TRACES: &str = "/v1/traces";
const METRICS: &str = "/v1/metrics";
const LARGEST_ANSWER: usize = 64 * 1024;
