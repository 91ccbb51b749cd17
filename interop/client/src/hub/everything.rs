//! Two of `server-everything` in one hub: what they ask and tell comes with the server's name.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, json};
use switchboard_client::types::{
    CreateMessageResult, ElicitResult, ListRootsResult, OneOrMany, Role, Root,
    SamplingMessageContentBlock,
};
use switchboard_client::{Asked, Handlers};
use switchboard_hub::{Event, Events, Hub};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::calls::{self, has, text};
use crate::catalog;
use crate::members::{self, Members};
use crate::places::Places;
use crate::report::Report;

/// Who asked for what.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<Vec<(String, &'static str)>>>);

impl Heard {
    fn note(&self, asked: &Asked) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push((asked.server.to_string(), asked.method));
    }

    /// It was asked by this server, and by no other; roots are asked for before anything is called.
    fn check(&self, server: &str, method: &str) -> Result<(), String> {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = heard.clone();
        heard.retain(|(of, asked)| of != server || *asked != method);
        let is_of_others = heard.iter().any(|(_, asked)| *asked == method);
        match heard.len() < all.len() && (!is_of_others || method == "roots/list") {
            true => Ok(()),
            false => Err(format!("wanted {method} of {server}, came {all:?}")),
        }
    }
}

/// An application that says yes to everything, and a folder for each server.
fn application(heard: &Heard, server: &str) -> Handlers {
    let (forms, samples, roots) = (heard.clone(), heard.clone(), heard.clone());
    let folder = format!("file:///folder/of/{server}");
    Handlers::new()
        .on_form(move |_, asked| {
            forms.note(&asked);
            let filled = [("name", json!("Ada")), ("email", json!("ada@example.com"))];
            let filled = filled.map(|(name, value)| (name.to_owned(), value));
            async move { Ok(ElicitResult::accept(Map::from_iter(filled))) }
        })
        .on_sample(move |_, asked| {
            samples.note(&asked);
            let said = format!("a model speaks to {}", asked.server);
            let said = OneOrMany::One(SamplingMessageContentBlock::text(said));
            async move { Ok(CreateMessageResult::new(Role::Assistant, said, "a-model")) }
        })
        .on_roots(move |asked| {
            roots.note(&asked);
            let found = ListRootsResult::new(vec![Root::new(folder.as_str())]);
            async move { Ok(found) }
        })
}

pub(crate) async fn check(places: &Places, page: &str, report: &mut Report) {
    let heard = Heard::default();
    let (members, hub) = match open(places, page, &heard).await {
        Ok(opened) => opened,
        Err(reason) => return report.check("everything: two are ready", Err(reason)),
    };
    for server in SERVERS {
        let steps = [
            ("sampling", sampling(&hub, &heard, server).await),
            ("elicitation", elicitation(&hub, &heard, server).await),
            ("roots", roots(&hub, &heard, server).await),
            ("progress", progress(&hub, server).await),
            (
                "a long operation is cancelled midway",
                midway(&hub, server).await,
            ),
            (
                "a call that becomes a task, and asks",
                as_task(&hub, &heard, server).await,
            ),
            ("logging", logging(&hub, server).await),
            ("a resource is watched", watching(&hub, server).await),
        ];
        for (step, outcome) in steps {
            report.check(format!("everything: {server}: {step}"), outcome);
        }
    }
    let before = members.count().unwrap_or(0);
    hub.close().await;
    report.check(
        format!("everything: closes, 0 of {before} processes left"),
        members.check_none(before),
    );
}

async fn open(places: &Places, page: &str, heard: &Heard) -> Result<(Members, Hub), String> {
    let servers = catalog::servers(places, page);
    let server = servers
        .iter()
        .find(|server| server.name == "server-everything");
    let server = server.ok_or("no server-everything")?;
    let mut members = Members::default();
    for name in SERVERS {
        members.add(name, server)?;
    }
    let heard = heard.clone();
    let builder = Hub::builder().host(move |server| application(&heard, server));
    let servers = members.servers()?.into_iter();
    let hub = servers
        .fold(builder, |hub, server| hub.server(server))
        .build();
    members::connect(&hub).await?;
    Ok((members, hub))
}

async fn sampling(hub: &Hub, heard: &Heard, server: &str) -> Result<(), String> {
    let call = hub
        .call_on(server, "trigger-sampling-request")
        .arg("prompt", "the weather");
    let result = call.await.map_err(|error| text(&error))?;
    has(
        &result.joined_text(),
        &format!("a model speaks to {server}"),
    )?;
    heard.check(server, "sampling/createMessage")
}

async fn elicitation(hub: &Hub, heard: &Heard, server: &str) -> Result<(), String> {
    let call = hub.call_on(server, "trigger-elicitation-request");
    let result = call.await.map_err(|error| text(&error))?;
    has(&result.joined_text(), "ada@example.com")?;
    heard.check(server, "elicitation/create")
}

async fn roots(hub: &Hub, heard: &Heard, server: &str) -> Result<(), String> {
    let call = hub.call_on(server, "get-roots-list");
    let result = call.await.map_err(|error| text(&error))?;
    has(
        &result.joined_text(),
        &format!("file:///folder/of/{server}"),
    )?;
    heard.check(server, "roots/list")
}

async fn progress(hub: &Hub, server: &str) -> Result<(), String> {
    let mut events = hub.events();
    let call = hub.call_on(server, "trigger-long-running-operation");
    let call = call.args(&json!({"duration": 1, "steps": 4}));
    let result = call.await.map_err(|error| text(&error))?;
    has(&result.joined_text(), "Steps: 4")?;
    let mut last = 0.0;
    let four = async {
        for _ in 0..4 {
            last = next(&mut events, server, |event| match event {
                Event::Progress { progress, .. } => progress.progress.as_f64(),
                _ => None,
            })
            .await?;
        }
        Ok::<(), String>(())
    };
    let came = timeout(PATIENCE, four).await;
    came.map_err(|_| format!("the last that came was {last}"))?
}

/// The operation has begun, as its progress shows, and is then given up.
async fn midway(hub: &Hub, server: &str) -> Result<(), String> {
    let begun = Arc::new(Notify::new());
    let (told, heard) = (Arc::clone(&begun), begun);
    let call = hub
        .call_on(server, "trigger-long-running-operation")
        .args(&json!({"duration": 60, "steps": 120}))
        .on_progress(move |_| told.notify_one())
        .cancel_on(async move { heard.notified().await });
    match timeout(PATIENCE, call.into_future()).await {
        Ok(Err(error)) if calls::is_cancelled(&error) => {}
        other => return Err(format!("not cancelled: {other:?}")),
    }
    let echo = hub.call_on(server, "echo").arg("message", "still here");
    let echo = echo.await.map_err(|error| text(&error))?;
    has(&echo.joined_text(), "still here")
}

async fn as_task(hub: &Hub, heard: &Heard, server: &str) -> Result<(), String> {
    let call = hub
        .call_on(server, "simulate-research-query")
        .args(&json!({"topic": "python", "ambiguous": true}));
    let result = call.await.map_err(|error| text(&error))?;
    has(&result.joined_text(), "python")?;
    heard.check(server, "elicitation/create")
}

async fn logging(hub: &Hub, server: &str) -> Result<(), String> {
    let mut events = hub.events();
    let toggle = || async {
        let call = hub.call_on(server, "toggle-simulated-logging");
        call.await.map(drop).map_err(|error| text(&error))
    };
    toggle().await?;
    let log = next(&mut events, server, |event| match event {
        Event::Log { message, .. } => Some(message.data.as_str().to_owned()),
        _ => None,
    });
    let log = timeout(PATIENCE, log).await;
    toggle().await?;
    has(&log.map_err(|_| "no log came".to_owned())??, "level")
}

/// Both servers have it, so it has the server's name in front.
async fn watching(hub: &Hub, server: &str) -> Result<(), String> {
    let catalog = hub.catalog();
    let own = "demo://resource/dynamic/text/1";
    if hub.watch(own).await.is_ok() {
        return Err(format!("{own} is of two servers, and was watched"));
    }
    let uri = catalog.expose_uri(server, own);
    let mut watch = hub.watch(&uri).await.map_err(|error| text(&error))?;
    if watch.server() != server {
        return Err(format!("{uri} is of {}", watch.server()));
    }
    let toggle = || async {
        let call = hub.call_on(server, "toggle-subscriber-updates");
        call.await.map(drop).map_err(|error| text(&error))
    };
    toggle().await?;
    let changed = timeout(PATIENCE, watch.changed()).await;
    toggle().await?;
    let changed = changed.map_err(|_| format!("no word within {PATIENCE:?}"))?;
    changed.map_err(|error| text(&error))?;
    has(&calls::read(hub, &uri).await?, "Resource 1")
}

/// What the next event of a kind says, which must be of this server.
async fn next<T>(
    events: &mut Events,
    server: &str,
    pick: impl Fn(&Event) -> Option<T>,
) -> Result<T, String> {
    while let Some(event) = events.next().await {
        let (Event::Progress { server: of, .. } | Event::Log { server: of, .. }) = &event else {
            continue;
        };
        if let Some(found) = pick(&event) {
            return match **of == *server {
                true => Ok(found),
                false => Err(format!("it came from {of}")),
            };
        }
    }
    Err("the hub is gone".to_owned())
}

const SERVERS: [&str; 2] = ["first", "second"];
// It logs and tells of updates every five seconds.
const PATIENCE: Duration = Duration::from_secs(20);
