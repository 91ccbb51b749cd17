//! A client of one era at a gateway before servers of one era.

use std::future::{Future, IntoFuture};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use switchboard_client::memory::pair;
use switchboard_client::types::{
    CreateMessageResult, ElicitResult, ListRootsResult, OneOrMany, Role, Root,
    SamplingMessageContentBlock,
};
use switchboard_client::{Client, Handlers, Mode, OnBehalf, Payload, RawJson, Spec};
use switchboard_gateway::{Gateway, Names};
use switchboard_hub::{Hub, HubBuilder, ServerConfig, Sharing};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::{Era, Method, Revision};
use tokio::time::timeout;

use crate::child::{LONG, behind, revisions, server};
use crate::house::over_http;

/// A client, a gateway, servers.
pub(crate) struct Cell {
    pub(crate) client: Client,
    pub(crate) gateway: Gateway,
    /// What the client's user was asked.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    /// What the client has heard.
    pub(crate) logged: Arc<Mutex<Vec<String>>>,
}

/// Which era the client speaks, and which the servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eras {
    pub(crate) client: Era,
    pub(crate) server: Era,
}

/// Runs a test in all four cells.
pub(crate) async fn in_each<F: Future<Output = ()>>(test: impl Fn(Eras) -> F) {
    for client in [Era::Handshake, Era::Stateless] {
        for server in [Era::Handshake, Era::Stateless] {
            test(Eras { client, server }).await;
        }
    }
}

impl Cell {
    /// With servers of these names.
    pub(crate) async fn open(eras: Eras, servers: &[&str]) -> Self {
        Self::open_as(eras, servers, Names::Server).await
    }

    pub(crate) async fn open_as(eras: Eras, servers: &[&str], names: Names) -> Self {
        let servers = servers.iter().map(|name| server(name, eras.server));
        Self::open_before(eras.client, servers, names).await
    }

    /// With a server that each client has alone.
    pub(crate) async fn open_alone(eras: Eras, name: &str) -> Self {
        let mut server = server(name, eras.server);
        server.sharing = Sharing::PerClient;
        Self::open_before(eras.client, [server].into_iter(), Names::Server).await
    }

    /// With a server over HTTP.
    pub(crate) async fn open_on_http(eras: Eras, name: &str) -> Self {
        let site = behind().site().unwrap().revisions(revisions(eras.server));
        let (url, _) = over_http(site).await;
        let server = ServerConfig::url(name, &url);
        Self::open_before(eras.client, [server].into_iter(), Names::Server).await
    }

    async fn open_before(
        client: Era,
        servers: impl Iterator<Item = ServerConfig>,
        names: Names,
    ) -> Self {
        let hub = servers.fold(Hub::builder(), HubBuilder::server);
        let gateway = Gateway::builder(hub).names(names).build();
        for status in soon(gateway.hub().connect_all()).await {
            assert!(status.state.is_ready(), "{}: {}", status.name, status.state);
        }
        let asked = Arc::new(Mutex::new(Vec::new()));
        let logged = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&logged);
        let user = user(&asked).on_log(move |message| {
            let logger = message.logger.unwrap_or_default();
            let line = format!("{logger}: {}", message.data.as_str());
            hearing.lock().unwrap().push(line);
        });
        let client = connect(&gateway, client, user).await;
        Self {
            client,
            gateway,
            asked,
            logged,
        }
    }

    pub(crate) async fn text(&self, tool: &str) -> String {
        soon(self.client.call(tool)).await.unwrap().joined_text()
    }

    pub(crate) async fn close(self) {
        soon(self.client.close()).await;
        soon(self.gateway.hub().close()).await;
    }
}

/// How many calls are under way at the servers.
pub(crate) fn in_flight(gateway: &Gateway) -> u64 {
    let servers = gateway.hub().metrics().snapshot().servers;
    let operations = servers.iter().flat_map(|server| &server.operations);
    operations.map(|operation| operation.in_flight).sum()
}

/// A client of this era, whose user answers.
pub(crate) async fn connect(gateway: &Gateway, era: Era, user: Handlers) -> Client {
    let (ours, theirs) = pair();
    let site = gateway.site().clone();
    tokio::spawn(async move {
        let (read, write) = tokio::io::split(theirs);
        let _ = site.serve(read, write).await;
    });
    let mode = match era {
        Era::Handshake => Mode::Legacy,
        Era::Stateless => Mode::Pinned(Revision::LATEST),
    };
    let spec = Spec::in_memory().mode(mode);
    let client = soon(Client::connect_in_memory_as(ours, spec, user)).await;
    client.unwrap()
}

/// Somebody who is called Ada, has a model and a folder.
fn user(asked: &Arc<Mutex<Vec<String>>>) -> Handlers {
    let asked = Arc::clone(asked);
    Handlers::new()
        .on_form(move |form, _| {
            asked.lock().unwrap().push(form.message);
            let content = json!({"name": "Ada"}).as_object().cloned().unwrap();
            async move { Ok(ElicitResult::accept(content)) }
        })
        .on_url(|_, _| async { Ok(ElicitResult::accept(Map::new())) })
        .on_sample(|_, _| async {
            Ok(CreateMessageResult::new(
                Role::Assistant,
                OneOrMany::One(SamplingMessageContentBlock::text("4")),
                "a-model",
            ))
        })
        .on_roots(|_| async { Ok(ListRootsResult::new(vec![Root::new("file:///srv")])) })
}

/// Calls a tool as somebody of the stateless era who answers later.
pub(crate) async fn ask(client: &Client, params: Value) -> Result<Value, ErrorObject> {
    let mut whom = OnBehalf::new(RawJson::encode(&json!({"elicitation": {}})).unwrap());
    whom.is_asked_himself = true;
    let params = Payload::encode(&params).unwrap();
    let call = client.pass_on(Method::ToolsCall.into(), Some(params));
    match soon(call.on_behalf(whom)).await {
        Ok(result) => Ok(result.decode().unwrap()),
        Err(error) => Err(error.refusal().unwrap().clone()),
    }
}

/// The name of the one question in a result, and what is to be brought back with its answer.
pub(crate) fn question(result: &Value) -> (String, String) {
    assert_eq!(result["resultType"], "input_required", "{result}");
    let questions = result["inputRequests"].as_object().unwrap();
    assert_eq!(questions.len(), 1, "{result}");
    let state = result["requestState"].as_str().unwrap();
    (questions.keys().next().unwrap().clone(), state.to_owned())
}

/// What must come, and not take long. A safety net, no measure.
pub(crate) async fn soon<T>(coming: impl IntoFuture<Output = T>) -> T {
    timeout(LONG, coming.into_future())
        .await
        .expect("it takes too long")
}
