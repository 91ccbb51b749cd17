//! Methods and extensions that the gateway knows nothing of, in all four cells.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_client::{Client, Handlers, Payload};
use switchboard_gateway::Gateway;
use switchboard_hub::{Hub, HubBuilder, Profile, ServerConfig, ToolFilter};
use switchboard_protocol::Era;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, MethodName, Notification};
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::types::{Implementation, ServerCapabilities};
use switchboard_server::{About, Answer, Call, Reply, Service, Site};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::cell::{Eras, connect, in_each, soon};
use crate::child::revisions;

#[tokio::test]
async fn a_method_that_is_not_known_goes_to_the_only_server() {
    in_each(|eras| async move {
        let street = Street::open(eras, &[("one", &[])]).await;
        let answer = request(&street.client, "whatever/run", json!({"x": [1, 2.50]})).await;
        let answer = answer.unwrap();
        assert_eq!(answer["server"], "one", "{eras:?}");
        // What is not ours to read comes as it was written.
        assert_eq!(answer["params"], json!({"x": [1, 2.50]}));
        if eras.client == Era::Handshake {
            assert!(answer.get("resultType").is_none(), "{answer}");
        }
        // Nobody gets round what he may use by a method that is yet to come.
        let error = request(&street.client, "tools/run", json!({})).await;
        assert_eq!(error.unwrap_err().code, ErrorCode::METHOD_NOT_FOUND);
        street.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_method_goes_to_the_server_whose_extension_it_belongs_to() {
    in_each(|eras| async move {
        let servers: &[(&'static str, &'static [&'static str])] = &[
            ("one", &["com.example/search"]),
            ("two", &["com.example/sort", "org.example/both"]),
            ("three", &["org.example/both"]),
        ];
        let street = Street::open(eras, servers).await;
        for (method, server) in [
            ("search/run", "one"),
            ("com.example/search/run", "one"),
            ("sort/run", "two"),
        ] {
            let answer = request(&street.client, method, json!({})).await.unwrap();
            assert_eq!(answer["server"], server, "{eras:?} {method}");
        }
        for (method, reason) in [
            ("both/run", "three, two"),
            ("com.example/run", "one, two"),
            ("other/run", "no server declares"),
        ] {
            let error = request(&street.client, method, json!({}))
                .await
                .unwrap_err();
            assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND, "{eras:?} {method}");
            assert!(error.message.contains(reason), "{error}");
            assert!(error.message.contains(method), "{error}");
        }
        street.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_folder_of_skills_is_read_from_the_server_that_declares_them() {
    in_each(|eras| async move {
        let street = Street::open(eras, &[("one", &[]), ("two", &[SKILLS])]).await;
        let folder = json!({"uri": "skill://review"});
        let answer = request(&street.client, FOLDER, folder.clone()).await;
        let answer = answer.unwrap();
        assert_eq!(answer["server"], "two", "{eras:?}");
        assert_eq!(answer["params"], folder);
        street.close().await;
        // Begins as the protocol's own do: the only server must have said that it knows it.
        let street = Street::open(eras, &[("one", &[])]).await;
        let error = request(&street.client, FOLDER, folder).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND, "{eras:?}");
        street.close().await;
    })
    .await;
}

const SKILLS: &str = "io.modelcontextprotocol/skills";
const FOLDER: &str = "resources/directory/read";

#[tokio::test]
async fn an_extension_is_declared_if_it_can_be_used() {
    in_each(|eras| async move {
        let servers: &[(&'static str, &'static [&'static str])] = &[
            ("one", &["com.example/search", "io.modelcontextprotocol/ui"]),
            ("two", &["org.example/both", "io.modelcontextprotocol/ui"]),
            ("three", &["org.example/both"]),
        ];
        let street = Street::open(eras, servers).await;
        let ready = soon(street.client.ready()).await.unwrap();
        let declared = ready.capabilities.extensions.clone().unwrap_or_default();
        let declared: Vec<_> = declared.keys().map(String::as_str).collect();
        match eras.server {
            Era::Stateless => {
                let expected = ["com.example/search", "io.modelcontextprotocol/ui"];
                assert_eq!(declared, expected, "{eras:?}");
            }
            // One that all clients share is not told what each of them knows.
            Era::Handshake => assert!(declared.is_empty(), "{eras:?} {declared:?}"),
        }
        street.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_is_told_in_unknown_words_reaches_the_server_that_declares_them_and_no_other() {
    for server in [Era::Handshake, Era::Stateless] {
        let client = Era::Handshake;
        let servers: &[(&'static str, &'static [&'static str])] =
            &[("one", &["com.example/search"]), ("two", &[])];
        let mut street = Street::open(Eras { client, server }, servers).await;
        let told = |method: &str| Notification::new(MethodName::new(method), None);
        street.client.notify(told("notifications/other/done"));
        street.client.notify(told("notifications/search/done"));
        let heard = soon(street.told.recv()).await.unwrap();
        assert_eq!(heard, "one notifications/search/done", "{server:?}");
        street.close().await;
    }
}

#[tokio::test]
async fn servers_outside_of_a_profile_are_not_meant() {
    in_each(|eras| async move {
        let servers: &[(&'static str, &'static [&'static str])] = &[("one", &[]), ("two", &[])];
        let mut profile = Profile::new("second");
        profile.servers = ToolFilter::default().allow(["two"]);
        let street = Street::start(eras, servers, Some(profile)).await;
        let answer = request(&street.client, "whatever/run", json!({})).await;
        assert_eq!(answer.unwrap()["server"], "two", "{eras:?}");
        street.close().await;
    })
    .await;
}

/// A client at a gateway before servers with extensions.
struct Street {
    client: Client,
    gateway: Gateway,
    told: mpsc::UnboundedReceiver<String>,
}

impl Street {
    async fn open(eras: Eras, servers: &[(&'static str, &'static [&'static str])]) -> Self {
        Self::start(eras, servers, None).await
    }

    async fn start(
        eras: Eras,
        servers: &[(&'static str, &'static [&'static str])],
        profile: Option<Profile>,
    ) -> Self {
        let (telling, told) = mpsc::unbounded_channel();
        let mut hub = Hub::builder();
        for (name, extensions) in servers {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            let service = Extended {
                name,
                extensions,
                told: telling.clone(),
            };
            let site = Site::new(service).revisions(revisions(eras.server));
            tokio::spawn(async move {
                let settings = site.http_settings();
                let _ = site
                    .serve_http_on(listener, settings, std::future::pending())
                    .await;
            });
            hub = HubBuilder::server(hub, ServerConfig::url(name, &url));
        }
        let mut gateway = Gateway::builder(hub);
        if let Some(profile) = profile {
            gateway = gateway.profile(profile);
        }
        let gateway = gateway.build();
        for status in soon(gateway.hub().connect_all()).await {
            assert!(status.state.is_ready(), "{}: {}", status.name, status.state);
        }
        let client = connect(&gateway, eras.client, Handlers::new()).await;
        Self {
            client,
            gateway,
            told,
        }
    }

    async fn close(self) {
        soon(self.client.close()).await;
        soon(self.gateway.hub().close()).await;
    }
}

/// A server that knows every method.
struct Extended {
    name: &'static str,
    extensions: &'static [&'static str],
    told: mpsc::UnboundedSender<String>,
}

impl Service for Extended {
    fn about(&self) -> About {
        let mut capabilities = ServerCapabilities::default();
        let extensions = self.extensions.iter();
        let extensions = extensions.map(|name| ((*name).to_owned(), json!({})));
        capabilities.extensions = Some(extensions.collect());
        About::new(Implementation::new(self.name, "1"), capabilities)
    }

    fn call(&self, call: Call<'_>) -> Reply {
        let mut params: Value = call.params().unwrap().decode().unwrap();
        params.as_object_mut().unwrap().remove("_meta");
        let result = json!({"server": self.name, "params": params});
        Reply::Now(Answer::Result(Payload::encode(&result).unwrap()))
    }

    fn told(&self, notification: Notification, _: Option<&Arc<Caller>>) {
        if notification.method.known().is_none() {
            let _ = self
                .told
                .send(format!("{} {}", self.name, notification.method.as_str()));
        }
    }
}

async fn request(client: &Client, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match soon(client.raw(method, Some(&params))).await {
        Ok(result) => Ok(result.decode().unwrap()),
        Err(error) => Err(error.refusal().unwrap().clone()),
    }
}
