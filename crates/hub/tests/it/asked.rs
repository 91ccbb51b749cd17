//! What servers ask and tell comes with their names.

use std::sync::{Arc, Mutex};

use serde_json::json;
use switchboard_client::types::{
    CreateMessageResult, ElicitResult, ListRootsResult, LoggingLevel, OneOrMany, Role, Root,
    SamplingMessageContentBlock,
};
use switchboard_client::{Asked, Change, Handlers, Mode};
use switchboard_hub::{Event, ServerConfig};

use crate::child::server;
use crate::running::{builder, soon};

/// What an application heard, and of whom.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn note(&self, words: String) {
        self.0.lock().unwrap().push(words);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// The application behind one server.
    fn host(&self, server: &str) -> Handlers {
        let asked = |what: &'static str| {
            let (heard, server) = (self.clone(), server.to_owned());
            move |asked: Asked| {
                assert_eq!(*asked.server, *server);
                heard.note(format!("{server} {what}"));
            }
        };
        let (form, sample, roots) = (asked("form"), asked("sample"), asked("roots"));
        let (log, change, noise) = (self.clone(), self.clone(), self.clone());
        let (logs, changes, noises) = (server.to_owned(), server.to_owned(), server.to_owned());
        Handlers::new()
            .on_form(move |_, asked| {
                form(asked);
                let content = json!({"language": "Rust"});
                let content = content.as_object().unwrap().clone();
                async move { Ok(ElicitResult::accept(content)) }
            })
            .on_sample(move |_, asked| {
                let said = format!("hello {}", asked.server);
                sample(asked);
                let said = OneOrMany::One(SamplingMessageContentBlock::text(said));
                async move { Ok(CreateMessageResult::new(Role::Assistant, said, "a-model")) }
            })
            .on_roots(move |asked| {
                let root = Root::new(format!("file:///{}", asked.server));
                roots(asked);
                async move { Ok(ListRootsResult::new(vec![root])) }
            })
            .on_log(move |message| log.note(format!("{logs} log {}", message.data.as_str())))
            .on_change(move |told| {
                if let Change::Resource(uri) = told {
                    change.note(format!("{changes} changed {uri}"));
                }
            })
            .on_noise(move |line| noise.note(format!("{noises} noise {line}")))
    }
}

/// Two servers, spoken to in this mode.
fn one_and_two(mode: Mode) -> [ServerConfig; 2] {
    ["one", "two"].map(|name| {
        let mut config = server(name);
        config.mode = mode;
        config
    })
}

#[tokio::test]
async fn what_servers_of_either_era_ask_comes_with_their_names() {
    for mode in [Mode::Auto, Mode::Legacy] {
        let heard = Heard::default();
        let servers = one_and_two(mode);
        let hosts = heard.clone();
        let hub = builder(servers)
            .host(move |server| hosts.host(server))
            .log_level(LoggingLevel::Info)
            .build();
        soon(hub.connect_all()).await;
        // Their programs say what they do before they are servers.
        let noise = heard.take();
        for name in ["one", "two"] {
            let words = format!("{name} noise running 1 test");
            assert!(noise.contains(&words), "{noise:?}");
        }
        for name in ["two", "one"] {
            let mut events = hub.events();
            let said = soon(hub.call_on(name, "ask")).await.unwrap().joined_text();
            assert_eq!(said, format!("Rust file:///{name} \"hello {name}\""));
            let asked = ["form", "roots", "sample", "log \"asked\""];
            let asked = asked.map(|what| format!("{name} {what}"));
            assert_eq!(heard.take(), asked, "{mode:?}");
            let logged = async {
                loop {
                    if let Event::Log { server, message } = events.next().await.unwrap() {
                        return (server, message.data.as_str().to_owned());
                    }
                }
            };
            assert_eq!(soon(logged).await, (name.into(), "\"asked\"".to_owned()));
        }
        hub.close().await;
    }
}

#[tokio::test]
async fn a_change_is_told_with_the_uri_that_the_catalogue_has() {
    for mode in [Mode::Auto, Mode::Legacy] {
        let heard = Heard::default();
        let servers = one_and_two(mode);
        let hosts = heard.clone();
        let builder = builder(servers).host(move |server| hosts.host(server));
        let hub = builder.build();
        soon(hub.connect_all()).await;
        heard.take();
        // Both have it, so both have another one here.
        let uris = ["one", "two"].map(|name| {
            let catalog = hub.catalog();
            catalog.expose_uri(name, "demo://state").into_owned()
        });
        assert_ne!(uris[0], uris[1]);
        let mut first = hub.watch(&uris[0]).await.unwrap();
        let mut second = hub.watch(&uris[1]).await.unwrap();
        assert_eq!((first.server(), second.server()), ("one", "two"));
        hub.call_on("one", "touch").await.unwrap();
        soon(first.changed()).await.unwrap();
        hub.call_on("two", "touch").await.unwrap();
        soon(second.changed()).await.unwrap();
        let expected = [("one", &uris[0]), ("two", &uris[1])];
        let expected = expected.map(|(name, uri)| format!("{name} changed {uri}"));
        assert_eq!(heard.take(), expected, "{mode:?}");
        hub.close().await;
    }
}
