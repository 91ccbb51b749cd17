//! `interop/telemetry_collector.py`, and what it has read.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use http::{Method, Request};
use serde_json::Value;
use switchboard_client::ClientSettings;
use switchboard_transport::http::client::HttpClient;

use crate::report::chain;

/// It runs until this is dropped.
pub(crate) struct Collector {
    child: Child,
    client: HttpClient,
    pub(crate) origin: String,
}

impl Collector {
    pub(crate) fn start(python: &Path, scripts: &Path, log: &Path) -> Result<Self, String> {
        let file = File::create(log);
        let file = file.map_err(|error| format!("{} cannot be made: {error}", log.display()))?;
        let mut command = Command::new(python.join("python"));
        command
            .arg(scripts.join("telemetry_collector.py"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file);
        let client = HttpClient::new(ClientSettings::default());
        let child = command.spawn();
        let mut collector = Self {
            child: child.map_err(|error| format!("python could not be started: {error}"))?,
            client: client.map_err(|error| chain(&error))?,
            origin: String::new(),
        };
        let mut line = String::new();
        let stdout = collector.child.stdout.take().ok_or("no stdout")?;
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(|error| format!("it says nothing: {error}"))?;
        let place: Option<Value> = serde_json::from_str(&line).ok();
        let place = place.as_ref().and_then(|place| place["collector"].as_str());
        collector.origin = place
            .ok_or_else(|| format!("it does not say where it is; see {}", log.display()))?
            .to_owned();
        Ok(collector)
    }

    /// Everything that it has read, a request each.
    pub(crate) async fn seen(&self) -> Result<Vec<Value>, String> {
        let seen = self.ask(Method::GET, "/seen", String::new()).await?;
        match seen {
            Value::Array(seen) => Ok(seen),
            other => Err(format!("no list but {other}")),
        }
    }

    /// What OpenTelemetry's propagator reads of a trace context.
    pub(crate) async fn extract(&self, context: &Value) -> Result<Value, String> {
        self.ask(Method::POST, "/extract", context.to_string())
            .await
    }

    async fn ask(&self, method: Method, path: &str, body: String) -> Result<Value, String> {
        let url = format!("{}{path}", self.origin);
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = url.parse().map_err(|_| format!("{url} is no address"))?;
        let received = self.client.send(request).await;
        let received = received.map_err(|error| chain(&error))?;
        let body = received.body.collect().await;
        let body = body.map_err(|error| chain(&error))?;
        serde_json::from_slice(&body)
            .map_err(|_| format!("{path}: {}", String::from_utf8_lossy(&body)))
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // It ends with its input, and this is for the case that it does not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
