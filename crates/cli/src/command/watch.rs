//! `switchboard watch`: what happens at servers, as it happens.

use switchboard_hub::{Event, HubError, ResourceWatch};
use tokio::sync::mpsc;

use crate::app::App;
use crate::args::look::Watch;
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Line, Outcome, Page};
use crate::servers::Servers;

pub(crate) async fn run(args: &Watch, app: &App) -> Result<Outcome, Failure> {
    let servers = Servers::open(app, &args.of).await?;
    let mut events = servers.hub.events();
    let failures = servers.connect(app).await;
    servers.judge(app, failures)?;
    let (sender, mut changed) = changes();
    for uri in &args.resource {
        let watch = servers.hub.watch(&exposed(&servers, uri)).await?;
        tokio::spawn(tell(watch, uri.clone(), sender.clone()));
    }
    loop {
        let told = tokio::select! {
            event = events.next() => match event {
                Some(event) => Told::of(&event),
                None => return Ok(Outcome::nothing()),
            },
            // It has a sender of our own, so it does not end.
            Some((server, uri, outcome)) = changed.recv() => match outcome {
                Ok(()) => Some(Told::new(&server, "resource", &uri, Json::Null)),
                Err(error) => return Err(error.into()),
            },
        };
        let Some(told) = told else {
            continue;
        };
        let shown = app.output.stream(|| told.page(), || told.json());
        match shown {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                return Ok(Outcome::nothing());
            }
            Err(error) => return Err(Failure::unexpected(format!("standard output: {error}"))),
        }
    }
}

type Changed = (String, String, Result<(), HubError>);

/// Where resources tell that they have changed. Whoever tells more than is printed waits.
fn changes() -> (mpsc::Sender<Changed>, mpsc::Receiver<Changed>) {
    mpsc::channel(WAITING)
}

/// Tells each time that a resource has changed, until it can no longer be watched.
async fn tell(mut watch: ResourceWatch, uri: String, sender: mpsc::Sender<Changed>) {
    loop {
        let outcome = watch.changed().await;
        let is_over = outcome.is_err();
        let told = (watch.server().to_owned(), uri.clone(), outcome);
        if sender.send(told).await.is_err() || is_over {
            return;
        }
    }
}

/// The URI that the catalogue has for a resource that a server calls so.
fn exposed(servers: &Servers, uri: &str) -> String {
    let catalog = servers.hub.catalog();
    let found = catalog.resources().find(|entry| entry.resource.uri == uri);
    found.map_or_else(|| uri.to_owned(), |entry| entry.uri.to_string())
}

/// Something that happened, as it is shown.
struct Told {
    server: String,
    kind: &'static str,
    text: String,
    data: Json,
}

impl Told {
    fn new(server: &str, kind: &'static str, text: &str, data: Json) -> Self {
        Self {
            server: server.to_owned(),
            kind,
            text: text.to_owned(),
            data,
        }
    }

    fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::State { server, state } => {
                Self::new(server, "state", &state.to_string(), Json::Null)
            }
            Event::Catalog {
                server, changes, ..
            } => {
                let mut what = Vec::new();
                for (has_changed, word) in [
                    (changes.tools, "tools"),
                    (changes.prompts, "prompts"),
                    (changes.resources, "resources"),
                ] {
                    if has_changed {
                        what.push(word);
                    }
                }
                Self::new(server, "list", &what.join(", "), Json::Null)
            }
            Event::Refused {
                server, denials, ..
            } => {
                let denials: Vec<String> = denials.iter().map(ToString::to_string).collect();
                let list = denials.iter().map(|denial| denial.as_str().into());
                let data = Json::List(list.collect());
                Self::new(server, "refused", &denials.join("; "), data)
            }
            Event::Progress {
                server, progress, ..
            } => Self::new(
                server,
                "progress",
                progress.message.as_deref().unwrap_or_default(),
                Json::of(&**progress),
            ),
            Event::Log { server, message } => {
                let data = Json::read(message.data.as_str().as_bytes());
                let text = match &data {
                    Json::Text(text) => text.clone(),
                    other => other.to_string(),
                };
                let text = format!("{}: {text}", message.level.as_str());
                Self::new(server, "log", &text, Json::of(&**message))
            }
            Event::Stderr { server, line } => Self::new(server, "stderr", line, Json::Null),
            _ => return None,
        })
    }

    fn page(&self) -> Page {
        let line = Line::new()
            .strong(&self.server)
            .faint(format!(" {} ", self.kind));
        Page::new().line(line.plain(&self.text))
    }

    fn json(&self) -> Json {
        let mut told = Json::object([
            ("server", self.server.as_str().into()),
            ("event", self.kind.into()),
            ("text", self.text.as_str().into()),
        ]);
        if let (Json::Object(members), false) = (&mut told, self.data == Json::Null) {
            members.push(("data".to_owned(), self.data.clone()));
        }
        told
    }
}

/// Changes that wait to be printed.
const WAITING: usize = 64;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use switchboard_client::memory;
    use switchboard_hub::{Hub, ServerConfig};
    use switchboard_server::{Server, resource};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_tells_more_than_is_printed_waits() {
        let server = Server::new("one", "1.0.0");
        let handle = server.handle();
        let state = resource("demo://state", async || "it is as it is");
        let site = server.resource(state).site().unwrap();
        let hub = Hub::builder()
            .server(ServerConfig::command("one", ["in-process"]))
            .in_process(move |_| {
                let (ours, theirs) = memory::pair();
                let site = site.clone();
                tokio::spawn(async move {
                    let (read, write) = tokio::io::split(theirs);
                    let _ = site.serve(read, write).await;
                });
                Some(ours)
            })
            .build();
        hub.connect_all().await;
        let watch = hub.watch("demo://state").await.unwrap();
        let (sender, mut changed) = changes();
        tokio::spawn(tell(watch, "demo://state".to_owned(), sender));
        for _ in 0..2 * WAITING {
            handle.resource_updated("demo://state");
            // Until nobody has anything to do.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(changed.len(), WAITING);
        // What waited comes when there is room.
        for _ in 0..WAITING + 1 {
            let (_, _, outcome) = changed.recv().await.unwrap();
            outcome.unwrap();
        }
        hub.close().await;
    }
}
