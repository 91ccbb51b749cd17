//! A gateway over HTTP before a server over HTTP, in one process.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_client::{Client, Host, Mode, NoHost, Spec};
use switchboard_gateway::{Gateway, GatewayBuilder};
use switchboard_hub::{Hub, HubBuilder, ServerConfig};
use switchboard_protocol::types::LoggingLevel;
use switchboard_protocol::{Era, Revision};
use switchboard_server::{Context, MemoryTasks, Server, Site, TaskMode, tool};
use switchboard_transport::http::client::{ClientSettings, HttpClient};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::cell::soon;

/// A gateway that is served, with servers `one` and `two` behind it.
pub(crate) struct House {
    pub(crate) gateway: std::sync::Arc<Gateway>,
    address: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The text of a tool's result.
    pub(crate) fn said(&self) -> String {
        let text = &self.json()["result"]["content"][0]["text"];
        text.as_str().unwrap_or_default().to_owned()
    }

    /// The names in a list of tools.
    pub(crate) fn tools(&self) -> Vec<String> {
        let answer = self.json();
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Serves this server over HTTP: where, and who does.
pub(crate) async fn over_http(site: Site) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let settings = site.http_settings();
        let served = site.serve_http_on(listener, settings, std::future::pending());
        served.await.unwrap();
    });
    (url, serving)
}

impl House {
    /// Before the servers `one` and `two`.
    pub(crate) async fn open(describe: impl FnOnce(GatewayBuilder) -> GatewayBuilder) -> Self {
        let (url, serving) = over_http(behind().site().unwrap()).await;
        let servers = ["one", "two"].map(|name| ServerConfig::url(name, &url));
        let mut house = Self::open_before(servers.to_vec(), describe).await;
        house.tasks.push(serving);
        house
    }

    /// Before these servers.
    pub(crate) async fn open_before(
        servers: Vec<ServerConfig>,
        describe: impl FnOnce(GatewayBuilder) -> GatewayBuilder,
    ) -> Self {
        let hub = servers.into_iter().fold(Hub::builder(), HubBuilder::server);
        Self::open_to(hub, describe).await
    }

    /// Before the servers of this hub.
    pub(crate) async fn open_to(
        hub: HubBuilder,
        describe: impl FnOnce(GatewayBuilder) -> GatewayBuilder,
    ) -> Self {
        let mut tasks = Vec::new();
        let gateway = std::sync::Arc::new(describe(Gateway::builder(hub)).build());
        for status in soon(gateway.hub().connect_all()).await {
            assert!(status.state.is_ready(), "{}: {}", status.name, status.state);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = std::sync::Arc::clone(&gateway);
        tasks.push(tokio::spawn(async move {
            let settings = serving.site().http_settings();
            let served = serving.serve_http(listener, settings, std::future::pending());
            served.await.unwrap();
        }));
        Self {
            gateway,
            address,
            tasks,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A client of this era, with a key.
    pub(crate) async fn client(&self, era: Era, path: &str, key: &str) -> Client {
        self.client_of(era, path, key, NoHost).await
    }

    /// The same, for this user.
    pub(crate) async fn client_of(
        &self,
        era: Era,
        path: &str,
        key: &str,
        user: impl Host,
    ) -> Client {
        let mode = match era {
            Era::Handshake => Mode::Legacy,
            Era::Stateless => Mode::Pinned(Revision::LATEST),
        };
        let spec = Spec::url(&self.url(path)).unwrap().mode(mode);
        let spec = spec
            .header("Authorization", &format!("Bearer {key}"))
            .unwrap();
        soon(Client::connect_with(spec, user)).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str, key: Option<&str>) -> Answered {
        self.send(Method::GET, path, key, &[], String::new()).await
    }

    /// Makes a call in the stateless era.
    pub(crate) async fn call(&self, path: &str, key: Option<&str>, tool: &str) -> Answered {
        self.call_with(path, key, tool, &json!({})).await
    }

    pub(crate) async fn call_with(
        &self,
        path: &str,
        key: Option<&str>,
        tool: &str,
        arguments: &Value,
    ) -> Answered {
        let params = json!({"name": tool, "arguments": arguments});
        self.request(path, key, "tools/call", Some(tool), params)
            .await
    }

    pub(crate) async fn list(&self, path: &str, key: Option<&str>) -> Answered {
        self.request(path, key, "tools/list", None, json!({})).await
    }

    /// Makes a call for somebody who can be asked.
    pub(crate) async fn ask(&self, key: &str, tool: &str) -> Answered {
        let params = json!({"name": tool, "_meta": {
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}});
        self.request("/mcp", Some(key), "tools/call", Some(tool), params)
            .await
    }

    /// Begins a session of the handshake era.
    pub(crate) async fn initialize(&self, key: &str) -> Answered {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}});
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        self.send(Method::POST, "/mcp", Some(key), &headers, body.to_string())
            .await
    }

    /// Makes any request in the stateless era.
    pub(crate) async fn request(
        &self,
        path: &str,
        key: Option<&str>,
        method: &str,
        name: Option<&str>,
        params: Value,
    ) -> Answered {
        self.request_with(path, key, method, name, params, &[])
            .await
    }

    /// Posts a message in a session of the handshake era, with the first key of it.
    pub(crate) async fn post_in(&self, session: &str, message: &Value) -> Answered {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-11-25"),
            ("mcp-session-id", session),
        ];
        let key = Some("secret-ada");
        self.send(Method::POST, "/mcp", key, &headers, message.to_string())
            .await
    }

    /// The same as [`Self::request`], with more headers.
    pub(crate) async fn request_with(
        &self,
        path: &str,
        key: Option<&str>,
        method: &str,
        name: Option<&str>,
        mut params: Value,
        more: &[(&str, &str)],
    ) -> Answered {
        let said = params["_meta"].as_object().cloned().unwrap_or_default();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params["_meta"].as_object_mut().unwrap().extend(said);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        headers.extend(name.map(|name| ("mcp-name", name)));
        headers.extend(more);
        self.send(Method::POST, path, key, &headers, body.to_string())
            .await
    }

    /// Sends any request.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answered {
        let mut request = Request::builder().method(method).uri(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let client = HttpClient::new(ClientSettings::default()).unwrap();
        let request = request.body(Bytes::from(body)).unwrap();
        let received = soon(client.send(request)).await.unwrap();
        let (status, headers) = (received.status.as_u16(), received.headers.clone());
        let text = soon(received.body.collect()).await.unwrap();
        Answered {
            status,
            headers,
            text: String::from_utf8(text.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn close(self) {
        soon(self.gateway.hub().close()).await;
        for task in &self.tasks {
            task.abort();
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Port {
    /// Where to connect to.
    port: u16,
}

fn behind() -> Server {
    Server::new("behind", "1.0.0")
        .tasks(MemoryTasks::default())
        .tool(tool("echo", async |echo: Echo| {
            echo.text.unwrap_or_else(|| "echo".to_owned())
        }))
        .tool(tool("hold", async |port: Port| -> Result<String, String> {
            let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port.port)).await;
            let _connection = connected.map_err(|error| error.to_string())?;
            std::future::pending().await
        }))
        .tool(tool("log", async |context: Context| {
            context.log(LoggingLevel::Warning, "careful").await;
            "logged"
        }))
        .tool(tool("large", async || "x".repeat(100_000)))
        .tool(tool("fail", async || -> Result<String, String> {
            Err("it cannot".to_owned())
        }))
        .tool(tool("headers", async |context: Context| {
            let headers = context.headers().unwrap().iter();
            let lines = headers.map(|(name, value)| {
                format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()))
            });
            let meta = serde_json::to_string(&context.meta()).unwrap();
            lines.collect::<String>() + &meta
        }))
        .tool(tool("later", async || "at last").task(TaskMode::Always))
}
