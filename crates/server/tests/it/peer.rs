//! A client on either wire, for what must be the same on both.

use serde_json::{Value, json};
use switchboard_server::Site;

use crate::http_client::{Response, Served};
use crate::pipe_client::{PipeClient, request};

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Pipe,
    Http,
}

/// Both of them.
pub(crate) const WIRES: [Wire; 2] = [Wire::Pipe, Wire::Http];

/// A client on either wire.
pub(crate) enum Peer {
    Pipe(Box<PipeClient>),
    Http(Box<HttpPeer>),
}

impl Peer {
    /// Connects and says nothing yet.
    pub(crate) async fn connect(wire: Wire, site: &Site) -> Self {
        match wire {
            Wire::Pipe => Self::Pipe(Box::new(PipeClient::connect(site))),
            Wire::Http => Self::Http(Box::new(HttpPeer::connect(site).await)),
        }
    }

    /// Connects and does the handshake.
    pub(crate) async fn open(wire: Wire, site: &Site, revision: &str, capabilities: Value) -> Self {
        let mut peer = Self::connect(wire, site).await;
        let answer = peer.initialize(revision, capabilities).await;
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        peer
    }

    /// Does the handshake and gives the answer to it.
    pub(crate) async fn initialize(&mut self, revision: &str, capabilities: Value) -> Value {
        match self {
            Self::Pipe(client) => client.initialize(revision, capabilities).await,
            Self::Http(client) => client.initialize(revision, capabilities).await,
        }
    }

    /// Sends a text and gives every message that comes of it.
    pub(crate) async fn send(&mut self, text: &str) -> Vec<Value> {
        match self {
            Self::Pipe(client) => {
                client.send(text).await;
                client.settle().await
            }
            Self::Http(client) => client.post(text).await.messages().await,
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        match self {
            Self::Pipe(client) => client.call(method, params).await,
            Self::Http(client) => client.call(method, params).await,
        }
    }

    /// Calls a tool and waits for its result.
    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }
}

/// A client of the handshake era over HTTP.
pub(crate) struct HttpPeer {
    pub(crate) served: Served,
    pub(crate) session: Option<String>,
    pub(crate) revision: Option<String>,
    /// More headers, one `name: value` each.
    pub(crate) extra: Vec<String>,
    last_id: u64,
}

impl HttpPeer {
    pub(crate) async fn connect(site: &Site) -> Self {
        Self::to(Served::new(site).await)
    }

    pub(crate) fn to(served: Served) -> Self {
        Self {
            served,
            session: None,
            revision: None,
            extra: Vec::new(),
            last_id: 0,
        }
    }

    /// Connects and does the handshake.
    pub(crate) async fn open(site: &Site, revision: &str, capabilities: Value) -> Self {
        let mut peer = Self::connect(site).await;
        peer.initialize(revision, capabilities).await;
        peer
    }

    pub(crate) async fn initialize(&mut self, revision: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        });
        self.last_id += 1;
        let text = request(self.last_id, "initialize", params).to_string();
        let response = self.post(&text).await;
        self.session = response.header("mcp-session-id").map(str::to_owned);
        let answer = response.json().await;
        let agreed = answer["result"]["protocolVersion"].as_str();
        self.revision = agreed.map(str::to_owned);
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post(&told.to_string()).await;
        answer
    }

    /// The headers of a request.
    pub(crate) fn headers(&self, accept: &str) -> Vec<String> {
        let mut headers = vec![format!("accept: {accept}")];
        headers.push("content-type: application/json".to_owned());
        if let Some(session) = &self.session {
            headers.push(format!("mcp-session-id: {session}"));
        }
        if let Some(revision) = &self.revision {
            headers.push(format!("mcp-protocol-version: {revision}"));
        }
        headers.extend(self.extra.iter().cloned());
        headers
    }

    /// Posts a text.
    pub(crate) async fn post(&self, text: &str) -> Response {
        let headers = self.headers("application/json, text/event-stream");
        self.served.request("POST", "/mcp", &headers, text).await
    }

    /// Posts a request and gives the response as it comes.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> Response {
        self.last_id += 1;
        let text = request(self.last_id, method, params).to_string();
        self.post(&text).await
    }

    /// Posts a request and waits for its answer.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let messages = self.begin(method, params).await.messages().await;
        let answer = messages
            .into_iter()
            .find(|message| message["id"] == self.last_id);
        answer.expect("an answer has come")
    }

    /// Posts a notification.
    pub(crate) async fn tell(&self, method: &str, params: Value) -> u16 {
        let told = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.post(&told.to_string()).await.status
    }

    /// Posts an answer to a question of the server.
    pub(crate) async fn reply(&self, question: &Value, result: Value) -> u16 {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        self.post(&answer.to_string()).await.status
    }

    /// Opens the stream of the session, or resumes one.
    pub(crate) async fn listen(&self, last_event_id: Option<&str>) -> Response {
        let mut headers = self.headers("text/event-stream");
        headers.extend(last_event_id.map(|id| format!("last-event-id: {id}")));
        self.served.request("GET", "/mcp", &headers, "").await
    }

    /// Ends the session.
    pub(crate) async fn delete(&self) -> u16 {
        let headers = self.headers("application/json");
        let response = self.served.request("DELETE", "/mcp", &headers, "").await;
        response.status
    }

    /// The number of the last request.
    pub(crate) const fn last_id(&self) -> u64 {
        self.last_id
    }
}

/// Calls of the stateless era over HTTP.
pub(crate) struct StatelessPeer {
    pub(crate) served: Served,
    pub(crate) capabilities: Value,
    /// More members of `_meta`.
    pub(crate) meta: Value,
    /// More headers.
    pub(crate) extra: Vec<String>,
    last_id: u64,
}

impl StatelessPeer {
    pub(crate) async fn connect(site: &Site) -> Self {
        Self::to(Served::new(site).await)
    }

    pub(crate) fn to(served: Served) -> Self {
        Self {
            served,
            capabilities: json!({}),
            meta: json!({}),
            extra: Vec::new(),
            last_id: 0,
        }
    }

    /// The parameters with the envelope of the era.
    pub(crate) fn params(&self, params: Value) -> Value {
        envelope(params, &self.capabilities, &self.meta)
    }

    /// The headers that a request must have.
    pub(crate) fn headers(&self, method: &str, params: &Value) -> Vec<String> {
        let mut headers = vec![
            "accept: application/json, text/event-stream".to_owned(),
            "content-type: application/json".to_owned(),
            "mcp-protocol-version: 2026-07-28".to_owned(),
            format!("mcp-method: {method}"),
        ];
        let name = params.get("name").or_else(|| params.get("uri"));
        if let Some(name) = name.and_then(Value::as_str) {
            headers.push(format!("mcp-name: {name}"));
        }
        headers.extend(self.extra.iter().cloned());
        headers
    }

    /// Posts a request and gives the response as it comes.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> Response {
        self.last_id += 1;
        let headers = self.headers(method, &params);
        let text = request(self.last_id, method, self.params(params)).to_string();
        self.served.request("POST", "/mcp", &headers, &text).await
    }

    /// Posts a request and waits for its answer.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let messages = self.begin(method, params).await.messages().await;
        messages
            .into_iter()
            .next_back()
            .expect("an answer has come")
    }

    /// Calls a tool and waits for its result.
    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }
}

/// Parameters with the envelope of the stateless era.
pub(crate) fn envelope(mut params: Value, capabilities: &Value, more: &Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    });
    for (key, value) in more.as_object().unwrap() {
        meta[key] = value.clone();
    }
    params["_meta"] = meta;
    params
}
