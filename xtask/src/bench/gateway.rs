//! `cargo xtask bench gateway`: `switchboard serve` before our `echo`, beside a plain proxy of rmcp
//! before the same server, in one run.
//!
//! The CPU is that of the gateway's process alone. What a call takes without a gateway is there to be
//! taken away from what it takes with one.

use std::path::Path;

use super::figures::{Bar, Bound, Role, Spread, bars_table};
use super::options::Options;
use super::plan::{Candidate, Era, LIMIT_ONE, Measurement, OURS, Route};
use super::server::one_round;
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::workspace::Workspace;

/// Builds, measures, reports.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Outcome {
    measure(workspace, options).into()
}

fn measure(workspace: &Workspace, options: &Options) -> Result<(), String> {
    let peers = super::build_peers(workspace, Show::AsProgress)?;
    super::build_echo(workspace)?;
    let mut command = workspace.cargo();
    command.args(["build", "--release", "--package", "switchboard-cli"]);
    process::run(&mut command, Show::AsProgress)?.check("cargo build of switchboard")?;
    let programs = Programs {
        gateway: &workspace.target.join("release/switchboard"),
        echo: &super::echo(workspace),
        peers: &peers,
    };
    let driver = peers.join("load");
    let plan = ROUTES.iter().map(|&route| programs.plan(route, options));
    let mut measured: Vec<Measurement> = plan.collect();
    for round in 1..=options.rounds {
        for measurement in &mut measured {
            let title = &measurement.table.title;
            report::progress(&format!("round {round} of {}: {title}", options.rounds));
            one_round(&driver, measurement);
        }
    }
    let mut text = vec![options.machine()];
    text.extend(measured.iter().map(|found| found.table.markdown()));
    text.push(bars_table(&bars(&measured)));
    report::line(&text.join("\n"));
    Ok(())
}

/// Where the programs are.
struct Programs<'a> {
    gateway: &'a Path,
    echo: &'a Path,
    peers: &'a Path,
}

impl Programs<'_> {
    fn plan(&self, route: Route, options: &Options) -> Measurement {
        let is_http = matches!(route, Route::Http(..) | Route::Sessions);
        let port: &[&str] = if is_http { &["--http", "{port}"] } else { &[] };
        let echo = self.echo.display().to_string();
        let before = |words: &[&'static str]| [words, port, &["--", &echo]].concat();
        let proxy = self.peers.join("rmcp-proxy");
        let ours = before(&["serve", "--names", "plain"]);
        let threads = before(&["--runtime", "multi"]);
        let mut all = vec![
            Candidate::new(OURS, Role::Ours, self.gateway, &ours),
            Candidate::new(PROXY, Role::Peer, &proxy, &before(&[])),
            Candidate::new("rmcp proxy, multi-thread", Role::Peer, &proxy, &threads),
        ];
        match route {
            Route::Http(..) => {
                let hyper = self.peers.join("limit-http");
                all.insert(0, Candidate::new(LIMIT_ONE, Role::Limit, &hyper, port));
            }
            Route::Sessions => all.truncate(1),
            _ => all.insert(0, Candidate::new(DIRECT, Role::Limit, self.echo, &[])),
        }
        Measurement::new(route, options.share, all, &|name| options.wants(name))
    }
}

/// What we promise of a gateway.
fn bars(measured: &[Measurement]) -> Vec<Bar> {
    let ours = |route: Route| {
        let table = &measured.iter().find(|found| found.route == route)?.table;
        Some((table, table.best(Role::Ours)?))
    };
    let to = |route: Route, role: Role| {
        let (table, row) = ours(route)?;
        table.ratio(row, table.best(role)?)
    };
    let mut bars = Vec::new();
    for era in [Era::Handshake, Era::Stateless] {
        let (route, revision) = (Route::Flight(era), era.revision());
        bars.push(Bar {
            claim: format!("stdio, 64 in flight, {revision}: CPU per call, µs"),
            found: ours(route).and_then(|(_, row)| row.spread("cpu_us")),
            bound: Bound::AtMost(4.0),
        });
        bars.push(Bar {
            claim: format!("stdio, 64 in flight, {revision}: CPU, times less than rmcp's proxy"),
            found: to(route, Role::Peer).map(Spread::inverse),
            bound: Bound::AtLeast(6.0),
        });
    }
    for era in [Era::Handshake, Era::Stateless] {
        let (route, revision) = (Route::Http(era, 16), era.revision());
        bars.push(Bar {
            claim: format!("HTTP, 16 connections, {revision}: CPU, times less than rmcp's proxy"),
            found: to(route, Role::Peer).map(Spread::inverse),
            bound: Bound::AtLeast(3.0),
        });
        bars.push(Bar {
            claim: format!("HTTP, 16 connections, {revision}: CPU, times the limit (hyper)"),
            found: to(route, Role::Limit),
            bound: Bound::AtMost(2.0),
        });
    }
    bars.push(Bar {
        claim: "idle session, bytes".to_owned(),
        found: ours(Route::Sessions).and_then(|(_, row)| row.spread("session_bytes")),
        bound: Bound::AtMost(4096.0),
    });
    bars
}

const DIRECT: &str = "no gateway";
const PROXY: &str = "rmcp proxy, one thread";

const ROUTES: &[Route] = &[
    Route::Sequential,
    Route::Flight(Era::Handshake),
    Route::Flight(Era::Stateless),
    Route::Large,
    Route::Http(Era::Handshake, 16),
    Route::Http(Era::Stateless, 16),
    Route::Sessions,
];
