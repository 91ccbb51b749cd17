//! `cargo xtask bench gateway`: `switchboard serve` before our `echo`, beside a plain proxy of rmcp
//! before the same server, in one run; and, for scale, beside FastMCP's proxy and mcp-proxy.
//!
//! The CPU is that of the gateway's process alone. What a call takes without a gateway is there to be
//! taken away from what it takes with one.

use std::fs;
use std::path::{Path, PathBuf};

use super::figures::{Bar, Bound, Role, Spread, bars_table};
use super::options::Options;
use super::plan::{Candidate, Era, LIMIT_ONE, Measurement, OURS, Route};
use super::server::one_round;
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::tools;
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
    let (gateway, echo) = (
        workspace.target.join("release/switchboard"),
        super::echo(workspace),
    );
    let programs = Programs {
        sleeping: Sleeping::prepare(workspace, &gateway, &echo)?,
        scale: Scale::find(workspace, options),
        gateway: &gateway,
        echo: &echo,
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
    sleeping: Sleeping,
    scale: Scale,
}

/// A configuration of many servers that are started when they are called, and what is remembered
/// of their lists.
struct Sleeping {
    config: PathBuf,
    cache: PathBuf,
}

impl Sleeping {
    /// Writes it, and has every server listed once.
    fn prepare(workspace: &Workspace, gateway: &Path, echo: &Path) -> Result<Self, String> {
        let folder = workspace.target.join("bench/sleeping");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let sleeping = Self {
            config: folder.join("mcp.json"),
            cache: folder.join("cache"),
        };
        let server =
            serde_json::json!({"command": echo, "x-switchboard": {"start": "lazy", "idle": "1s"}});
        let servers: serde_json::Map<_, _> = (1..=50)
            .map(|number| (format!("server{number}"), server.clone()))
            .collect();
        let text = serde_json::json!({ "mcpServers": servers }).to_string();
        fs::write(&sleeping.config, text)
            .map_err(|error| format!("{}: {error}", sleeping.config.display()))?;
        let mut command = std::process::Command::new(gateway);
        command.env("XDG_CACHE_HOME", &sleeping.cache);
        command.arg("tools").arg("--quiet").arg("--config");
        command.arg(&sleeping.config);
        process::run(&mut command, Show::AsProgressQuietly)?.check("the list of 50 servers")?;
        Ok(sleeping)
    }

    /// What serves it.
    fn candidate(&self, gateway: &Path) -> Candidate {
        let cache = format!("XDG_CACHE_HOME={}", self.cache.display());
        let (gateway, config) = (
            gateway.display().to_string(),
            self.config.display().to_string(),
        );
        let words = [&*cache, &gateway, "serve", "--config", &config];
        Candidate::new(OURS, Role::Ours, Path::new("env"), &words)
    }
}

/// Proxies that people use, for scale. Without one, the rest is measured.
struct Scale {
    fastmcp: Option<(PathBuf, PathBuf)>,
    mcp_proxy: Option<PathBuf>,
}

impl Scale {
    fn find(workspace: &Workspace, options: &Options) -> Self {
        let installed = |name: &str, requirements: &str| {
            let found = options
                .wants(name)
                .then(|| tools::python(workspace, requirements))?;
            found
                .inspect_err(|reason| report::progress(&format!("without {name}: {reason}")))
                .ok()
        };
        let script = workspace.root.join("bench/fastmcp_proxy.py");
        let fastmcp = installed(FASTMCP, "requirements-fastmcp.txt");
        let mcp_proxy = installed(MCP_PROXY, "requirements-proxy.txt");
        Self {
            fastmcp: fastmcp.map(|programs| (programs.join("python"), script)),
            mcp_proxy: mcp_proxy.map(|programs| programs.join("mcp-proxy")),
        }
    }

    fn candidates(&self, port: &[&str], echo: &str, is_http: bool) -> Vec<Candidate> {
        let mut all = Vec::new();
        if let Some((python, script)) = &self.fastmcp {
            let script = script.display().to_string();
            let words = [&[script.as_str()], port, &["--", echo]].concat();
            all.push(Candidate::new(FASTMCP, Role::PeerOtherwise, python, &words).slow());
        }
        if let Some(program) = self.mcp_proxy.as_ref().filter(|_| is_http) {
            let words = ["--port", "{port}", "--", echo];
            all.push(Candidate::new(MCP_PROXY, Role::PeerOtherwise, program, &words).slow());
        }
        all
    }
}

impl Programs<'_> {
    fn plan(&self, route: Route, options: &Options) -> Measurement {
        let is_http = matches!(route, Route::Http(..) | Route::Sessions);
        let port: &[&str] = if is_http { &["--http", "{port}"] } else { &[] };
        let echo = self.echo.display().to_string();
        if route == Route::Listing {
            let all = vec![self.sleeping.candidate(self.gateway)];
            return Measurement::new(route, options.share, all, &|name| options.wants(name));
        }
        let before = |words: &[&'static str]| [words, port, &["--", &echo]].concat();
        let proxy = self.peers.join("rmcp-proxy");
        let ours = before(&["serve", "--prefix", "none"]);
        let threads = before(&["--runtime", "multi"]);
        let mut all = vec![
            Candidate::new(OURS, Role::Ours, self.gateway, &ours),
            Candidate::new(PROXY, Role::Peer, &proxy, &before(&[])),
            Candidate::new("rmcp proxy, multi-thread", Role::Peer, &proxy, &threads),
        ];
        // Neither speaks the newest revision as ours does, and both are slow.
        let has_scale = matches!(
            route,
            Route::Sequential | Route::Flight(Era::Handshake) | Route::Http(Era::Handshake, _)
        );
        if has_scale {
            all.extend(self.scale.candidates(port, &echo, is_http));
        }
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
    let mut bars = vec![Bar {
        claim: "stdio, one call after the other: p50 added, µs".to_owned(),
        found: ours(Route::Sequential).and_then(|(table, row)| {
            let direct = table.best(Role::Limit)?;
            row.more_than("p50_us", direct)
        }),
        bound: Bound::AtMost(50.0),
    }];
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
    for (claim, key, most) in [
        ("50 servers, none running: first list, ms", "first_ms", 10.0),
        ("50 servers, none running: list, p50 ms", "list_ms", 10.0),
        ("50 servers, none running: RSS, KiB", "loaded_kib", 20_000.0),
    ] {
        bars.push(Bar {
            claim: claim.to_owned(),
            found: ours(Route::Listing).and_then(|(_, row)| row.spread(key)),
            bound: Bound::AtMost(most),
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
const FASTMCP: &str = "FastMCP proxy";
const MCP_PROXY: &str = "mcp-proxy";

const ROUTES: &[Route] = &[
    Route::Sequential,
    Route::Flight(Era::Handshake),
    Route::Flight(Era::Stateless),
    Route::Large,
    Route::Http(Era::Handshake, 16),
    Route::Http(Era::Stateless, 16),
    Route::Listing,
    Route::Sessions,
];
