//! `cargo xtask bench client`: our client beside others and the limit, in one run.
//!
//! The clients take turns, round by round, at the same server. It reports and never fails for
//! a figure: a loaded machine is no fault.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::client_plan::{self as plan, Clients, Measurement, Route, Server};
use super::figures::{Table, bars_table};
use super::options::Options;
use super::plan::Era;
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::tools;
use crate::workspace::Workspace;

/// Builds, measures, reports.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Outcome {
    if options.instructions && tools::on_path("valgrind").is_none() {
        return Outcome::failed("valgrind is not on the search path");
    }
    measure(workspace, options).into()
}

fn measure(workspace: &Workspace, options: &Options) -> Result<(), String> {
    let programs = super::build_peers(workspace, Show::AsProgress)?;
    super::build_echo(workspace)?;
    let script = tools::bench_script(workspace, SCRIPT);
    if let Err(reason) = &script {
        report::progress(&format!("without the TypeScript SDK: {reason}"));
    }
    let clients = Clients {
        programs: &programs,
        typescript: script.as_deref().ok(),
    };
    let servers = Servers {
        limits: &programs,
        ours: super::echo(workspace),
    };
    let mut measured = plan::plan(&clients, options.share, &|name| options.wants(name));
    for round in 1..=options.rounds {
        for measurement in &mut measured {
            let title = &measurement.table.title;
            report::progress(&format!("round {round} of {}: {title}", options.rounds));
            one_round(&servers, measurement)?;
        }
    }
    let mut text = vec![options.machine()];
    text.extend(measured.iter().map(|it| it.table.markdown()));
    if options.instructions {
        let scratch = workspace.target.join("bench");
        text.push(instructions(&servers, &measured, &scratch)?.markdown());
    }
    text.push(bars_table(&plan::bars(&measured)));
    report::line(&text.join("\n"));
    Ok(())
}

/// Every client once, at a server that is started for the round.
fn one_round(servers: &Servers<'_>, measurement: &mut Measurement) -> Result<(), String> {
    let running = servers.start(measurement.route, measurement.server)?;
    for (row, words) in measurement.table.rows.iter_mut().zip(&measurement.runs) {
        let figures = drive(words, &running.target).unwrap_or_else(|reason| {
            report::progress(&format!("{}: {reason}", row.name));
            row.failures.push(reason);
            BTreeMap::new()
        });
        row.rounds.push(figures);
    }
    Ok(())
}

/// Runs a client and reads its line.
fn drive(words: &[String], target: &[String; 2]) -> Result<BTreeMap<String, f64>, String> {
    let (program, arguments) = words.split_first().ok_or("no client")?;
    let mut command = Command::new(program);
    command.args(arguments).args(target);
    let finished = process::run_bounded(&mut command, Show::AsProgressQuietly, LIMIT)?;
    finished.check("the client")?;
    let line = finished.stdout.last().ok_or("the client printed nothing")?;
    serde_json::from_str(line).map_err(|error| format!("no figures: {line}: {error}"))
}

/// Where the servers are.
struct Servers<'a> {
    limits: &'a Path,
    ours: PathBuf,
}

/// A server over HTTP that runs until this is dropped, or one that a client starts.
struct Running {
    child: Option<Child>,
    /// How clients are told where it is.
    target: [String; 2],
}

impl Servers<'_> {
    fn start(&self, route: Route, server: Server) -> Result<Running, String> {
        let program = match (server, route.is_http()) {
            (Server::Ours, _) => self.ours.clone(),
            (Server::Limit, true) => self.limits.join("limit-http"),
            (Server::Limit, false) => self.limits.join("limit-stdio"),
        };
        if !route.is_http() {
            return Ok(Running {
                child: None,
                target: ["--cmd".to_owned(), program.display().to_string()],
            });
        }
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
        let port = free
            .map_err(|error| format!("no free port: {error}"))?
            .port();
        let child = Command::new(&program)
            .args(["--http", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let running = Running {
            child: Some(child),
            target: ["--url".to_owned(), format!("http://127.0.0.1:{port}/mcp")],
        };
        let ends = Instant::now() + READY;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > ends {
                return Err(format!("{} does not listen", program.display()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Both fail only for a child that has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Instructions per call with 64 in flight: two runs, so that the start does not count.
fn instructions(
    servers: &Servers<'_>,
    measured: &[Measurement],
    scratch: &Path,
) -> Result<Table, String> {
    fs::create_dir_all(scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let counts = scratch.join("callgrind.client");
    let mut table = Table {
        title: "instructions per call, 64 calls in flight".to_owned(),
        columns: COUNTED_COLUMNS,
        judged: COUNTED_COLUMNS[0].0,
        rows: Vec::new(),
    };
    for (route, (name, _)) in COUNTED.into_iter().zip(COUNTED_COLUMNS) {
        let mut same = measured.iter().filter(|it| it.route == route);
        let Some(measurement) = same.find(|it| it.server == Server::Limit) else {
            continue;
        };
        let running = servers.start(route, Server::Limit)?;
        let rows = measurement.table.rows.iter().zip(&measurement.runs);
        // What a virtual machine costs is not to be counted in instructions.
        for (counted, words) in rows.filter(|(row, _)| row.name != plan::TYPESCRIPT) {
            report::progress(&format!("instructions of {}, {name}", counted.name));
            let found = per_call(words, route, &running.target, &counts);
            let row = table.row(counted.name, counted.role);
            match found {
                Ok(found) => {
                    row.rounds.resize_with(1, BTreeMap::new);
                    row.rounds[0].insert((*name).to_owned(), found);
                }
                Err(reason) => row.failures.push(reason),
            }
        }
    }
    Ok(table)
}

fn per_call(
    words: &[String],
    route: Route,
    target: &[String; 2],
    counts: &Path,
) -> Result<f64, String> {
    // The program and its own options stand before what the route says.
    let client = words.split(|word| word == "--n").next().unwrap_or(words);
    let total = |count: u64| {
        let mut words = vec!["valgrind".to_owned(), "--tool=callgrind".to_owned()];
        words.push(format!("--callgrind-out-file={}", counts.display()));
        words.extend_from_slice(client);
        words.extend(route.arguments_for(count));
        drive(&words, target)?;
        super::total_instructions(counts)
    };
    let (few, many) = (total(FEW)?, total(MANY)?);
    // A tenth as many come before, as the warm-up.
    let calls = (MANY - FEW) as f64 * 1.1;
    Ok(many.saturating_sub(few) as f64 / calls)
}

const SCRIPT: &str = "typescript-client.mjs";

/// Far more than any measurement needs.
const LIMIT: Duration = Duration::from_secs(180);
/// How long a server may take until it listens.
const READY: Duration = Duration::from_secs(10);
const FEW: u64 = 1_000;
const MANY: u64 = 3_000;

const COUNTED: [Route; 4] = [
    Route::Flight(Era::Handshake),
    Route::Flight(Era::Stateless),
    Route::Http(Era::Handshake, 64),
    Route::Http(Era::Stateless, 64),
];
const COUNTED_COLUMNS: &[(&str, &str)] = &[
    ("stdio, 2025-11-25", "stdio, 2025-11-25"),
    ("stdio, 2026-07-28", "stdio, 2026-07-28"),
    ("HTTP, 2025-11-25", "HTTP, 2025-11-25"),
    ("HTTP, 2026-07-28", "HTTP, 2026-07-28"),
];
