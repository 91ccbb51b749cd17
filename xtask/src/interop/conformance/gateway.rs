//! The official conformance suite against the gateway, with the example server `everything` behind
//! it: in all four cells, on stdio and over HTTP.
//!
//! Whatever passes directly passes here too, but for the scenarios in [`STREAMS`], [`ACROSS`] and what is
//! said with them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::interop::clients::LISTENING;
use crate::interop::conformance::{SELECTIONS, SERVER, Selection, prepare};
use crate::interop::script::two_at_once;
use crate::process::{self, Show};
use crate::report::Outcome;
use crate::tools::Suite;
use crate::workspace::Workspace;

pub(in crate::interop) fn run(workspace: &Workspace) -> Outcome {
    let prepared = prepare(workspace).and_then(|suite| {
        let mut command = workspace.cargo();
        command.args(["build", "--package", "switchboard-cli"]);
        process::run(&mut command, Show::All)?.check("cargo build")?;
        Ok(suite)
    });
    let suite = match prepared {
        Ok(suite) => suite,
        Err(reason) => return Outcome::failed(reason),
    };
    two_at_once(
        || behind(workspace, &suite, "legacy"),
        || behind(workspace, &suite, "modern"),
    )
}

/// A server that speaks this era, on stdio and over HTTP.
fn behind(workspace: &Workspace, suite: &Suite, era: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let server = workspace.binary(SERVER);
    let command = json!({"command": server.display().to_string()});
    let on_stdio = Upstream::new("stdio", era, command);
    let served = process::with_server(
        Command::new(&server).args(["--http", "0"]),
        LISTENING,
        |url| {
            let over_http = Upstream::new("http", era, json!({"url": url}));
            for upstream in [on_stdio, over_http] {
                serve_and_run(workspace, suite, &upstream, &mut outcome);
                // One of the stateless era hears of each client anyway.
                if era == "legacy" {
                    serve_and_run(workspace, suite, &upstream.alone(), &mut outcome);
                }
            }
        },
    );
    outcome.failures.extend(served.err());
    outcome
}

/// What is behind the gateway.
struct Upstream<'a> {
    transport: &'a str,
    era: &'a str,
    /// Or has each client one of its own?
    is_shared: bool,
    /// How it is configured.
    server: Value,
}

impl<'a> Upstream<'a> {
    fn new(transport: &'a str, era: &'a str, mut server: Value) -> Self {
        server["x-switchboard"] = json!({"mode": era, "required": true});
        Self {
            transport,
            era,
            is_shared: true,
            server,
        }
    }

    fn title(&self) -> String {
        let Self { transport, era, .. } = self;
        let alone = if self.is_shared { "" } else { " alone" };
        format!("{era} on {transport}{alone}")
    }

    /// The same, for each client alone.
    fn alone(mut self) -> Self {
        self.server["x-switchboard"]["share"] = json!("per-client");
        Self {
            is_shared: false,
            ..self
        }
    }
}

fn serve_and_run(
    workspace: &Workspace,
    suite: &Suite,
    upstream: &Upstream<'_>,
    outcome: &mut Outcome,
) {
    let folder = workspace.target.join("conformance").join("gateway");
    let folder = folder.join(upstream.title().replace(' ', "-"));
    let config = folder.join("mcp.json");
    let text = json!({"mcpServers": {"everything": upstream.server}}).to_string();
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&config, text));
    if let Err(error) = written {
        let reason = format!("{} cannot be written: {error}", config.display());
        return outcome.failures.push(reason);
    }
    let mut command = Command::new(workspace.binary("switchboard"));
    command.args(["serve", "--http", "0", "--prefix", "none", "--config"]);
    command.arg(&config);
    let served = process::with_server(&mut command, LISTENING, |url| {
        if let Err(reason) = wait_until_ready(url) {
            return outcome.failures.push(reason);
        }
        for selection in SELECTIONS {
            let ran = run_one(suite, selection, upstream, url, &folder, outcome);
            outcome.failures.extend(ran.err());
        }
    });
    outcome.failures.extend(served.err());
}

fn run_one(
    suite: &Suite,
    selection: &Selection,
    upstream: &Upstream<'_>,
    url: &str,
    folder: &Path,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let name = format!("gateway {} before {}", selection.name, upstream.title());
    let folder = folder.join(selection.name);
    let mut exceptions = Vec::new();
    if selection.name != "2026-07-28" {
        exceptions.extend(STREAMS);
    }
    if selection.name != "2025-11-25" && upstream.era == "legacy" {
        exceptions.extend(ACROSS);
        exceptions.extend(if upstream.is_shared { OF_ALL } else { OF_ONE });
    }
    selection.run(suite, &name, url, &folder, &exceptions, outcome)
}

/// When a stream is closed for a while is for each hop to say; the one to the server may be a pipe
/// (2025-11-25 basic/transports, sending messages to the server, 6).
const STREAMS: &[&str] = &["server-sse-polling"];

/// Scenarios that cannot pass when a client of the stateless era is served by a server of the
/// other one, and why.
const ACROSS: &[&str] = &[
    // A request of the handshake era has no name (2025-11-25 client/elicitation, "Elicitation
    // Requests"), and names are for servers to make up (2026-07-28
    // basic/patterns/mrtr): the client is given one of ours and not `user_name`, and what it
    // answers to `user_name` unasked is no answer to a question of ours.
    "input-required-result-basic-elicitation",
    "input-required-result-ignore-extra-params",
    // A call that is to be a task is one at once (2025-11-25 basic/utilities/tasks, "Result
    // Retrieval", 1): what it asks it asks as a task, and not before it is one.
    "tasks-mrtr-composition",
    // A tool that runs as a task only is refused if it cannot be served otherwise (tasks extension,
    // "Capability Negotiation"); it can be, as it is waited for here.
    "tasks-required-task-error",
];

/// One handshake says once what a client can do (2025-11-25 basic/lifecycle, "Capability
/// Negotiation"), and where all clients share it serves some that can do less: those are told what
/// they lack. With `share: per-client` the server hears of each, and these pass.
const OF_ALL: &[&str] = &[
    "input-required-result-capability-check",
    // Nor is it told which extensions a client knows, so that none is declared for it.
    "sep-2640-skills-directory",
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
];

/// Where each client has the server alone, that knows what the client lacks and says so itself, in its
/// era's words: a result that is an error, since 2025-11-25 has no -32021 (schema, error codes). Where
/// it is shared it asks, the gateway answers -32021, and this passes.
const OF_ONE: &[&str] = &["server-stateless"];

/// A client that is quicker than the server behind would see less than there is.
pub(crate) fn wait_until_ready(url: &str) -> Result<(), String> {
    let place = url.trim_start_matches("http://");
    let place = place.split('/').next().unwrap_or_default();
    let end = Instant::now() + READY_LIMIT;
    while Instant::now() < end {
        if is_ready(place).unwrap_or(false) {
            return Ok(());
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Err(format!("the gateway at {url} does not get ready"))
}

fn is_ready(place: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(place)?;
    stream.set_read_timeout(Some(READY_LIMIT))?;
    write!(
        stream,
        "GET /readyz HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}

const READY_LIMIT: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
