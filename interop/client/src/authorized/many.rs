//! Many at once with one token that has ended: one of them renews it, and all go on.

use std::env;
use std::io::{Read as _, stdin};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use switchboard_auth::{FileStore, Nobody, OAuth};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::{JoinSet, spawn_blocking};

use crate::caller::{call, tells};
use crate::person::NAME;
use crate::report::line;
use crate::stage::{Round, Stage, words};

/// In one process, with one login.
pub(crate) async fn calls(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("calls").await?;
    let server = ended(&round).await?;
    let login = round.login(server, Nobody)?;
    let mut calls = JoinSet::new();
    for _ in 0..MANY {
        let (login, server) = (login.clone(), server.to_owned());
        calls.spawn(async move { call(&login, &server, "whoami").await });
    }
    for answer in calls.join_all().await {
        tells(&answer?, "subject", NAME)?;
    }
    renewed_once(&round).await
}

/// In processes that share nothing but the folder. All of them have read it before one begins.
pub(crate) async fn processes(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("processes").await?;
    let server = ended(&round).await?;
    let started: Result<Vec<Caller>, String> = (0..MANY)
        .map(|_| Caller::start(server, &round.folder))
        .collect();
    let mut callers = started?;
    for caller in &mut callers {
        caller.expect(READY).await?;
    }
    for caller in &mut callers {
        caller.go().await?;
    }
    for caller in &mut callers {
        caller.expect(DONE).await?;
        caller.end().await?;
    }
    renewed_once(&round).await
}

/// Is one of those processes.
pub(crate) async fn be_called(server: &str, folder: &Path) -> Result<(), String> {
    let login = OAuth::for_server(server)
        .map(|login| login.store(Arc::new(FileStore::new(folder))))
        .and_then(|login| login.build())
        .map_err(words)?;
    login.status().await.map_err(words)?;
    line(READY);
    let go = spawn_blocking(|| stdin().read_exact(&mut [0])).await;
    let go = go.map_err(|error| error.to_string())?;
    go.map_err(|error| format!("nobody says go: {error}"))?;
    tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    line(DONE);
    Ok(())
}

/// Somebody was logged in, and the access token has ended.
async fn ended<'a>(round: &'a Round<'_>) -> Result<&'a str, String> {
    let server = round.server()?;
    round.logged_in(server).await?;
    round.expire(server).await?;
    Ok(server)
}

async fn renewed_once(round: &Round<'_>) -> Result<(), String> {
    round.counts().await?.check(&[
        ("token refresh_token", 1),
        ("token refresh_token invalid_grant", 0),
        (round.words.authorize, 0),
        ("server POST /mcp 401", 0),
    ])
}

/// A process, killed when this is dropped.
struct Caller {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Caller {
    fn start(server: &str, folder: &Path) -> Result<Self, String> {
        let program = env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.args(["--call", server, "--scratch"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.kill_on_drop(true);
        let child = command.spawn();
        let mut child = child.map_err(|error| format!("a process does not start: {error}"))?;
        let stdout = child.stdout.take().ok_or("a process without stdout")?;
        Ok(Self {
            child,
            said: BufReader::new(stdout).lines(),
        })
    }

    async fn go(&mut self) -> Result<(), String> {
        let stdin = self.child.stdin.as_mut().ok_or("a process without stdin")?;
        let said = stdin.write_all(b"\n").await;
        said.map_err(|error| format!("a process has ended: {error}"))
    }

    async fn expect(&mut self, wanted: &str) -> Result<(), String> {
        match self.said.next_line().await {
            Ok(Some(said)) if said == wanted => Ok(()),
            Ok(said) => Err(format!(
                "a process should say {wanted} and said {:?}",
                said.unwrap_or_default()
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn end(&mut self) -> Result<(), String> {
        match self.child.wait().await {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("a process ended with {status}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

const MANY: usize = 10;
const READY: &str = "ready";
const DONE: &str = "done";
