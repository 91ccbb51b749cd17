//! `interop/telemetry_collector.py`, and what it has read.

use bytes::Bytes;
use http::{Method, Request};
use serde_json::Value;
use switchboard_client::ClientSettings;
use switchboard_transport::http::client::HttpClient;

use crate::report::chain;
use crate::script::Script;

/// It runs until this is dropped.
pub(crate) struct Collector {
    script: Script,
    client: HttpClient,
}

impl Collector {
    pub(crate) fn new(script: Script) -> Result<Self, String> {
        let client = HttpClient::new(ClientSettings::default());
        let client = client.map_err(|error| chain(&error))?;
        Ok(Self { script, client })
    }

    /// Where it is.
    pub(crate) fn origin(&self) -> &str {
        &self.script.url
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
        let url = format!("{}{path}", self.origin());
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
