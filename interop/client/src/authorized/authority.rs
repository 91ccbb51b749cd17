//! The authorization servers of `interop/authority.mjs` and `authority.py`, and the servers that
//! trust them.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use serde_json::Value;
use switchboard_client::ClientSettings;
use switchboard_transport::http::client::HttpClient;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// All of them, running until this is dropped.
pub(crate) struct Authority {
    /// It ends with its input, and is killed with this in case that it does not.
    _child: Child,
    client: HttpClient,
    places: Value,
}

impl Authority {
    /// `authority.mjs`; `path` is that of the issuer, empty for none. What it says beside the
    /// answers is in the file `log`.
    pub(crate) async fn start_node(node: &Path, path: &str, log: &Path) -> Result<Self, String> {
        let mut command = Command::new("node");
        command
            .arg(node.join("authority.mjs"))
            .args(["--path", path]);
        Self::start(command, log).await
    }

    /// `authority.py`, with the SDK beside this `python`.
    pub(crate) async fn start_python(
        python: &Path,
        scripts: &Path,
        log: &Path,
    ) -> Result<Self, String> {
        let mut command = Command::new(python.join("python"));
        command.arg(scripts.join("authority.py"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Self::start(command, log).await
    }

    async fn start(mut command: Command, log: &Path) -> Result<Self, String> {
        let program = command.as_std().get_program();
        let program = program.to_string_lossy().into_owned();
        let file = File::create(log);
        let file = file.map_err(|error| format!("{} cannot be made: {error}", log.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(file).kill_on_drop(true);
        let client = HttpClient::new(ClientSettings::default());
        let child = command.spawn();
        let mut child =
            child.map_err(|error| format!("{program} could not be started: {error}"))?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut line = String::new();
        let mut stdout = BufReader::new(stdout);
        let read = timeout(START, stdout.read_line(&mut line)).await;
        let read = read.map_err(|_| format!("{program} says nothing within {START:?}"))?;
        read.map_err(|error| format!("{program} says nothing: {error}"))?;
        let places = serde_json::from_str(&line).map_err(|_| {
            let more = log.display();
            format!("{program} does not say where it is but {line:?}; see {more}")
        })?;
        Ok(Self {
            _child: child,
            client: client.map_err(|error| error.to_string())?,
            places,
        })
    }

    /// What it said about itself, by a JSON pointer such as `/jwt`.
    pub(crate) fn said(&self, pointer: &str) -> Result<&str, String> {
        let said = self.places.pointer(pointer).and_then(Value::as_str);
        said.ok_or_else(|| format!("it does not say {pointer}"))
    }

    /// Does what an administrator can do, such as `/refuse`; gives what was counted before.
    pub(crate) async fn administer(&self, command: &str, body: &Value) -> Result<Counts, String> {
        self.control(Method::POST, command, body.to_string()).await
    }

    /// What was counted since the last time.
    pub(crate) async fn counts(&self) -> Result<Counts, String> {
        self.control(Method::GET, "/counts", String::new()).await
    }

    async fn control(&self, method: Method, path: &str, body: String) -> Result<Counts, String> {
        let url = format!("{}{path}", self.said("/control")?);
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = url.parse().map_err(|_| format!("{url} is no address"))?;
        let received = self.client.send(request).await;
        let received = received.map_err(|error| error.to_string())?;
        let body = received.body.collect().await;
        let body = body.map_err(|error| error.to_string())?;
        match serde_json::from_slice(&body) {
            Ok(counts) if received.status.is_success() => Ok(Counts(counts)),
            _ => Err(format!("{path}: {}", String::from_utf8_lossy(&body))),
        }
    }
}

/// How often each endpoint was asked, as `authority.mjs` names them.
#[derive(Debug)]
pub(crate) struct Counts(Value);

impl Counts {
    /// How often this one was.
    pub(crate) fn of(&self, name: &str) -> u64 {
        self.0.get(name).and_then(Value::as_u64).unwrap_or(0)
    }

    /// `Err` that says everything that was counted, unless each of these was so often.
    pub(crate) fn check(&self, all: &[(&str, u64)]) -> Result<(), String> {
        for (name, wanted) in all {
            if self.of(name) != *wanted {
                return Err(format!("wanted {wanted} times {name}, counted {}", self.0));
            }
        }
        Ok(())
    }
}

// Python takes a few seconds on a busy machine.
const START: Duration = Duration::from_secs(30);
