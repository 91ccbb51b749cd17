//! Servers in this very process that answer each method as the test says, in these revisions.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_client::Payload;
use switchboard_client::memory::{End, pair};
use switchboard_gateway::{Gateway, GatewayBuilder};
use switchboard_hub::{Hub, HubBuilder, ServerConfig};
use switchboard_protocol::Revision;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::Implementation;
use switchboard_server::{About, Answer, Call, Reply, Service, Site};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::cell::soon;

/// A server whose every answer is known.
#[derive(Clone)]
pub(crate) struct Played {
    revisions: Vec<Revision>,
    capabilities: Value,
    answers: Arc<Answers>,
}

/// What is answered to a call with these parameters.
type Answers = dyn Fn(&Call<'_>, Value) -> Result<Value, ErrorObject> + Send + Sync;

impl Played {
    /// In these revisions, with all kinds of things, of which each list is to be announced.
    pub(crate) fn new(revisions: &[Revision]) -> Self {
        let changes = json!({"listChanged": true});
        Self {
            revisions: revisions.to_vec(),
            capabilities: json!({"tools": changes, "prompts": changes, "resources": changes}),
            answers: Arc::new(|call, _| Err(ErrorObject::method_not_found(call.method.as_str()))),
        }
    }

    pub(crate) fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Answers this method always the same. Said later, it is said instead.
    pub(crate) fn says(self, method: &'static str, result: Value) -> Self {
        self.answers(method, move |_, _| Ok(result.clone()))
    }

    /// Answers this method so, by the parameters without their `_meta`.
    pub(crate) fn answers(
        mut self,
        method: &'static str,
        answer: impl Fn(&Call<'_>, Value) -> Result<Value, ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        let others = self.answers;
        self.answers = Arc::new(move |call, params| match call.method.as_str() == method {
            true => answer(call, params),
            false => others(call, params),
        });
        self
    }
}

impl Service for Played {
    fn about(&self) -> About {
        let capabilities = serde_json::from_value(self.capabilities.clone()).unwrap();
        About::new(Implementation::new("played", "1"), capabilities)
    }

    fn call(&self, call: Call<'_>) -> Reply {
        let params = call
            .params()
            .map(|params| params.decode::<Value>().unwrap());
        let mut params = params.unwrap_or_else(|| json!({}));
        params.as_object_mut().unwrap().remove("_meta");
        Reply::Now(match (self.answers)(&call, params) {
            Ok(result) => {
                let asks = result["resultType"] == "input_required";
                let result = Payload::encode(&result).unwrap();
                match asks {
                    true => Answer::InputRequired(result),
                    false => Answer::Result(result),
                }
            }
            Err(error) => Answer::Error(error),
        })
    }
}

/// A gateway before these servers, which are connected.
pub(crate) async fn before<const N: usize>(
    servers: [(&'static str, Played); N],
    describe: impl FnOnce(GatewayBuilder) -> GatewayBuilder,
) -> Gateway {
    let configs = servers.each_ref().map(|(name, _)| config(name));
    before_as(servers, configs.to_vec(), describe).await
}

/// The same, with servers that are configured so.
pub(crate) async fn before_as<const N: usize>(
    servers: [(&'static str, Played); N],
    configs: Vec<ServerConfig>,
    describe: impl FnOnce(GatewayBuilder) -> GatewayBuilder,
) -> Gateway {
    let sites = servers.map(|(name, played)| {
        let revisions = played.revisions.clone();
        (name, Site::new(played).revisions(revisions))
    });
    let gateway = describe(Gateway::builder(hub_of(sites, configs))).build();
    for status in soon(gateway.connect_all()).await {
        assert!(status.state.is_ready(), "{}: {}", status.name, status.state);
    }
    gateway
}

/// A hub of these servers, in this process.
pub(crate) fn hub_of<const N: usize>(
    sites: [(&'static str, Site); N],
    configs: Vec<ServerConfig>,
) -> HubBuilder {
    let sites = HashMap::from(sites);
    let hub = configs.into_iter().fold(Hub::builder(), HubBuilder::server);
    hub.in_process(move |config| {
        let (ours, theirs) = pair();
        let site = sites[&*config.name].clone();
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(theirs);
            let _ = site.serve(read, write).await;
        });
        Some(ours)
    })
}

/// How one that is in this process is configured.
pub(crate) fn config(name: &str) -> ServerConfig {
    ServerConfig::command(name, ["in-process"])
}

/// A client that writes what the test has it write, and reads what comes.
pub(crate) struct Wire(BufReader<End>);

impl Wire {
    /// At this gateway, on a pipe.
    pub(crate) fn to(gateway: &Gateway) -> Self {
        let (ours, theirs) = pair();
        let site = gateway.site().clone();
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(theirs);
            let _ = site.serve(read, write).await;
        });
        Self(BufReader::new(ours))
    }

    /// The same, after a handshake in this revision with somebody who can do this.
    pub(crate) async fn open(gateway: &Gateway, version: &str, capabilities: Value) -> Self {
        let mut wire = Self::to(gateway);
        let params = json!({"protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "wire", "version": "1"}});
        let opened = wire.request("initialize", params).await;
        assert_eq!(opened["result"]["protocolVersion"], version, "{opened}");
        wire.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        wire
    }

    pub(crate) async fn say(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.0.get_mut().write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        soon(self.0.read_line(&mut line)).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Makes a request, and gives its whole answer.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.say(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .await;
        loop {
            let message = self.next().await;
            if message["id"] == 1 && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The result of a request.
    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params).await;
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].take()
    }
}
