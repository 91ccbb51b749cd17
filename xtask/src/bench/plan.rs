//! What `cargo xtask bench server` measures: which routes, of which programs, with what counts.

use std::path::Path;

use super::figures::{Role, Row, Table};

/// One measurement of every program that can take it.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) route: Route,
    pub(crate) table: Table,
    /// For each row of the table, what the driver is told and the command of the server.
    pub(crate) runs: Vec<Vec<String>>,
}

impl Measurement {
    /// Of those programs that are to be kept, with a `share` of the usual number of calls.
    pub(super) fn new(
        route: Route,
        share: u32,
        candidates: Vec<Candidate>,
        keep: &dyn Fn(&str) -> bool,
    ) -> Self {
        let (rows, runs) = candidates
            .into_iter()
            .filter(|candidate| keep(candidate.name))
            .map(|candidate| {
                let mut words = route.driver(share);
                words.extend(candidate.options.iter().map(|&word| word.to_owned()));
                words.push("--".to_owned());
                words.extend(candidate.command);
                (Row::new(candidate.name, candidate.role), words)
            })
            .unzip();
        let (columns, judged) = route.columns();
        let table = Table {
            title: route.title(),
            columns,
            judged,
            rows,
        };
        Self { route, table, runs }
    }
}

/// The way that calls take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Start,
    /// The list of servers that do not run.
    Listing,
    Sequential,
    Flight(Era),
    Large,
    Http(Era, u32),
    Sessions,
}

/// The two revisions that stand for their eras.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Handshake,
    Stateless,
}

/// Where the programs are.
#[derive(Debug)]
pub(crate) struct Programs<'a> {
    pub(crate) peers: &'a Path,
    pub(crate) ours: &'a Path,
}

/// Every measurement, each with a `share` of the usual number of calls.
pub(crate) fn plan(
    programs: &Programs<'_>,
    share: u32,
    keep: &dyn Fn(&str) -> bool,
) -> Vec<Measurement> {
    ROUTES
        .iter()
        .map(|&route| Measurement::new(route, share, candidates(programs, route), keep))
        .collect()
}

impl Era {
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Handshake => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

impl Route {
    pub(crate) fn title(self) -> String {
        match self {
            Self::Start => "stdio: from start to the list of tools".to_owned(),
            Self::Listing => "stdio: the list of 50 servers, of which none runs".to_owned(),
            Self::Sequential => "stdio: one call after the other".to_owned(),
            Self::Flight(era) => format!("stdio: 64 calls in flight, {}", era.revision()),
            Self::Large => "stdio: texts of 1 MiB".to_owned(),
            Self::Http(era, 1) => format!("HTTP: 1 connection, {}", era.revision()),
            Self::Http(era, count) => format!("HTTP: {count} connections, {}", era.revision()),
            Self::Sessions => "HTTP: an idle session".to_owned(),
        }
    }

    /// What the driver is told.
    fn driver(self, share: u32) -> Vec<String> {
        let (name, count, warm_up, era) = match self {
            Self::Start => ("start", 50, 0, Era::Handshake),
            Self::Listing => ("listing", 200, 0, Era::Handshake),
            Self::Sequential => ("sequential", 50_000, 5_000, Era::Handshake),
            Self::Flight(era) => ("flight", 300_000, 20_000, era),
            Self::Large => ("large", 100, 10, Era::Handshake),
            Self::Http(era, 1) => ("http", 20_000, 2_000, era),
            Self::Http(era, _) => ("http", 50_000, 10_000, era),
            Self::Sessions => ("sessions", 10_000, 0, Era::Handshake),
        };
        let mut words = vec![name.to_owned()];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        option("--count", (count / share).to_string());
        option("--warm-up", (warm_up / share).to_string());
        option("--era", era.revision().to_owned());
        if let Self::Http(_, connections) = self {
            option("--connections", connections.to_string());
        }
        words
    }

    /// The columns of the table, and the one that is judged.
    fn columns(self) -> (&'static [(&'static str, &'static str)], &'static str) {
        match self {
            Self::Start => (&[("start_ms", "ms")], "start_ms"),
            Self::Listing => (
                &[
                    ("first_ms", "first ms"),
                    ("list_ms", "p50 ms"),
                    ("loaded_kib", "RSS after KiB"),
                ],
                "list_ms",
            ),
            Self::Sequential => (
                &[
                    ("p50_us", "p50 µs"),
                    ("p99_us", "p99 µs"),
                    ("cpu_us", "CPU µs per call"),
                ],
                "p50_us",
            ),
            Self::Flight(_) => (
                &[
                    ("per_s", "calls/s"),
                    ("cpu_us", "CPU µs per call"),
                    ("idle_kib", "RSS idle KiB"),
                    ("loaded_kib", "RSS after KiB"),
                ],
                "cpu_us",
            ),
            Self::Large => (
                &[("mb_per_s", "MB/s"), ("cpu_ms_per_mb", "CPU ms per MB")],
                "cpu_ms_per_mb",
            ),
            Self::Http(..) => (
                &[
                    ("p50_us", "p50 µs"),
                    ("p99_us", "p99 µs"),
                    ("per_s", "requests/s"),
                    ("cpu_us", "CPU µs per request"),
                    ("loaded_kib", "RSS after KiB"),
                ],
                "cpu_us",
            ),
            Self::Sessions => (&[("session_bytes", "bytes")], "session_bytes"),
        }
    }
}

/// A program that can take a route.
pub(super) struct Candidate {
    name: &'static str,
    role: Role,
    options: &'static [&'static str],
    command: Vec<String>,
}

impl Candidate {
    pub(super) fn new(name: &'static str, role: Role, program: &Path, arguments: &[&str]) -> Self {
        let program = program.display().to_string();
        let arguments = arguments.iter().map(|&word| word.to_owned());
        Self {
            name,
            role,
            options: &[],
            command: std::iter::once(program).chain(arguments).collect(),
        }
    }

    /// With fewer calls: it takes long for each.
    pub(super) fn slow(self) -> Self {
        let options = &["--count", "500", "--warm-up", "50"];
        Self { options, ..self }
    }
}

fn candidates(programs: &Programs<'_>, route: Route) -> Vec<Candidate> {
    let candidate = Candidate::new;
    let limit_stdio = programs.peers.join("limit-stdio");
    let limit_http = programs.peers.join("limit-http");
    let rmcp = programs.peers.join("rmcp-echo");
    let port = ["--http", "{port}"];
    let threads = ["--http", "{port}", "--runtime", "multi"];
    let sessions = ["--http", "{port}", "--sessions"];

    let ours_on_http = candidate(OURS, Role::Ours, programs.ours, &port);
    match route {
        Route::Sessions => vec![
            ours_on_http,
            candidate("rmcp, sessions", Role::Peer, &rmcp, &sessions),
        ],
        Route::Http(era, _) => {
            let mut all = vec![
                candidate(LIMIT_ONE, Role::Limit, &limit_http, &port),
                candidate(LIMIT_MULTI, Role::Limit, &limit_http, &threads),
                ours_on_http,
                candidate("rmcp, one thread", Role::Peer, &rmcp, &port),
                candidate("rmcp, multi-thread", Role::Peer, &rmcp, &threads),
            ];
            if era == Era::Handshake {
                let otherwise = Role::PeerOtherwise;
                all.push(candidate("rmcp, sessions", otherwise, &rmcp, &sessions));
            }
            all
        }
        Route::Start | Route::Listing | Route::Sequential | Route::Flight(_) | Route::Large => {
            let mut all = vec![
                candidate("limit", Role::Limit, &limit_stdio, &[]),
                candidate(OURS, Role::Ours, programs.ours, &[]),
                candidate("rmcp, one thread", Role::Peer, &rmcp, &[]),
                candidate(
                    "rmcp, multi-thread",
                    Role::Peer,
                    &rmcp,
                    &["--runtime", "multi"],
                ),
            ];
            if route == Route::Sequential {
                let pong = candidate("raw pipe", Role::RawPipe, &limit_stdio, &["--pong"]);
                let options = &["--era", "raw"];
                all.insert(0, Candidate { options, ..pong });
            }
            all
        }
    }
}

pub(crate) const OURS: &str = "switchboard";
pub(crate) const LIMIT_ONE: &str = "limit (hyper), one thread";
pub(crate) const LIMIT_MULTI: &str = "limit (hyper), multi-thread";

const ROUTES: &[Route] = &[
    Route::Start,
    Route::Sequential,
    Route::Flight(Era::Handshake),
    Route::Flight(Era::Stateless),
    Route::Large,
    Route::Http(Era::Handshake, 1),
    Route::Http(Era::Handshake, 16),
    Route::Http(Era::Handshake, 64),
    Route::Http(Era::Stateless, 1),
    Route::Http(Era::Stateless, 16),
    Route::Http(Era::Stateless, 64),
    Route::Sessions,
];
