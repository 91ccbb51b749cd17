//! Servers in this very process that answer each method as the test says, in these revisions.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_client::Payload;
use switchboard_client::memory::pair;
use switchboard_gateway::{Gateway, GatewayBuilder};
use switchboard_hub::{Hub, HubBuilder, ServerConfig};
use switchboard_protocol::Revision;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::Implementation;
use switchboard_server::{About, Answer, Call, Reply, Service, Site};

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
    let sites: HashMap<_, _> = servers
        .into_iter()
        .map(|(name, played)| {
            let revisions = played.revisions.clone();
            (name, Site::new(played).revisions(revisions))
        })
        .collect();
    let hub = configs.into_iter().fold(Hub::builder(), HubBuilder::server);
    let hub = hub.in_process(move |config| {
        let (ours, theirs) = pair();
        let site = sites[&*config.name].clone();
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(theirs);
            let _ = site.serve(read, write).await;
        });
        Some(ours)
    });
    let gateway = describe(Gateway::builder(hub)).build();
    for status in soon(gateway.connect_all()).await {
        assert!(status.state.is_ready(), "{}: {}", status.name, status.state);
    }
    gateway
}

/// How one that is in this process is configured.
pub(crate) fn config(name: &str) -> ServerConfig {
    ServerConfig::command(name, ["in-process"])
}
