//! What a gateway that runs says of itself, and what can be done with it meanwhile.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use switchboard_hub::{Hub, MetricsSnapshot};
use tokio::sync::{mpsc, oneshot};

use super::reloading::Asked;
use crate::command::ls::Row;
use crate::control::Answers;
use crate::exit::Failure;
use crate::journal::Journal;
use crate::json::Json;

/// What others may ask of a gateway.
pub(super) struct Standing {
    pub(super) hub: Hub,
    pub(super) journal: Arc<Journal>,
    pub(super) file: Option<PathBuf>,
    /// Where it listens, once it does. On standard input and output nowhere.
    pub(super) address: OnceLock<SocketAddr>,
    pub(super) began: Instant,
    pub(super) reloads: mpsc::Sender<Asked>,
}

impl Answers for Standing {
    fn about(&self) -> Json {
        let file = self.file.as_ref().map(|file| {
            let whole = std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
            Json::Text(whole.display().to_string())
        });
        let address = match self.address.get() {
            Some(address) => format!("http://{address}/mcp"),
            None => "stdio".to_owned(),
        };
        let uptime = self.began.elapsed();
        let now = SystemTime::now().checked_sub(uptime);
        let began = now.and_then(|began| began.duration_since(UNIX_EPOCH).ok());
        Json::object([
            ("pid", u64::from(std::process::id()).into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("config", file.unwrap_or(Json::Null)),
            ("address", address.as_str().into()),
            ("started", began.map_or(0, |began| began.as_secs()).into()),
            ("uptime", uptime.as_secs().into()),
        ])
    }

    fn status(&self) -> Json {
        let catalog = self.hub.catalog();
        let numbers = self.hub.metrics().snapshot();
        let servers = self.hub.servers();
        let servers = servers.iter().map(|status| {
            let mut row = Row::new(status, &catalog).json();
            if let Json::Object(members) = &mut row {
                members.extend(counts(&numbers, &status.name));
            }
            row
        });
        let servers = Json::List(servers.collect());
        let mut about = self.about();
        if let Json::Object(members) = &mut about {
            members.push(("servers".to_owned(), servers));
        }
        about
    }

    fn servers(&self) -> Vec<String> {
        let servers = self.hub.servers();
        servers
            .iter()
            .map(|server| server.name.to_string())
            .collect()
    }

    fn journal(&self) -> &Journal {
        &self.journal
    }

    async fn restart(&self, server: String) -> Result<Json, Failure> {
        self.hub.disconnect(&server).await?;
        self.journal
            .note(None, &format!("{server} is restarted, as somebody wants"));
        self.hub.connect(&server).await?;
        Ok(Json::object([("restarted", server.as_str().into())]))
    }

    async fn reload(&self) -> Result<Json, Failure> {
        if self.file.is_none() {
            let reason = "its server was given on the spot, there is no file to read again";
            return Err(Failure::usage(reason));
        }
        let (sender, said) = oneshot::channel();
        let gone = |_| Failure::unexpected("the gateway is ending");
        self.reloads.send(sender).await.map_err(|_| gone(()))?;
        match said.await.map_err(|_| gone(()))? {
            Ok(said) => Ok(Json::object([("reloaded", said.as_str().into())])),
            Err(reason) => Err(Failure::usage(reason)),
        }
    }
}

/// What was done with a server so far.
fn counts(numbers: &MetricsSnapshot, server: &str) -> Vec<(String, Json)> {
    let found = numbers.servers.iter().find(|one| &*one.server == server);
    let [calls, errors, in_flight, restarts] = found.map_or([0; 4], |one| {
        [one.calls(), one.errors(), one.in_flight(), one.restarts]
    });
    let counts = [
        ("calls", calls),
        ("errors", errors),
        ("inFlight", in_flight),
        ("restarts", restarts),
    ];
    let counts = counts.into_iter();
    counts
        .map(|(name, count)| (name.to_owned(), count.into()))
        .collect()
}
