//! What `cargo xtask bench client` measures: which routes, of which clients, and what was
//! promised of ours.

use std::path::Path;

use super::figures::{Bar, Bound, Role, Row, Spread, Table};
use super::plan::{Era, OURS};

/// One measurement of every client.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) route: Route,
    pub(crate) server: Server,
    pub(crate) table: Table,
    /// For each row of the table, the command but for the server.
    pub(crate) runs: Vec<Vec<String>>,
}

/// The way that calls take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Sequential,
    Flight(Era),
    Large,
    Http(Era, u64),
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    /// What costs the machine the least.
    Limit,
    /// Our echo.
    Ours,
}

/// Where the clients are.
#[derive(Debug)]
pub(crate) struct Clients<'a> {
    pub(crate) programs: &'a Path,
    /// The script for Node.js, if it can be run.
    pub(crate) typescript: Option<&'a Path>,
}

/// Every measurement, each with a `share` of the usual number of calls.
pub(crate) fn plan(
    clients: &Clients<'_>,
    share: u32,
    keep: &dyn Fn(&str) -> bool,
) -> Vec<Measurement> {
    let measurement = |&(route, server): &(Route, Server)| {
        let candidates = clients.candidates(route).into_iter();
        let (rows, runs) = candidates
            .filter(|candidate| keep(candidate.name))
            .map(|candidate| {
                let mut words = candidate.command;
                words.extend(route.arguments(u64::from(share) * candidate.share));
                (Row::new(candidate.name, candidate.role), words)
            })
            .unzip();
        let table = Table {
            title: route.title(server),
            columns: COLUMNS,
            judged: JUDGED,
            rows,
        };
        Measurement {
            route,
            server,
            table,
            runs,
        }
    };
    ROUTES.iter().map(measurement).collect()
}

impl Route {
    fn title(self, server: Server) -> String {
        let route = match self {
            Self::Sequential => "stdio: one call after the other".to_owned(),
            Self::Flight(era) => format!("stdio: 64 calls in flight, {}", era.revision()),
            Self::Large => "stdio: texts of 1 MiB".to_owned(),
            Self::Http(era, 1) => format!("HTTP: one call after the other, {}", era.revision()),
            Self::Http(era, count) => format!("HTTP: {count} calls in flight, {}", era.revision()),
        };
        match server {
            Server::Limit => route,
            Server::Ours => route + ", our echo",
        }
    }

    /// What a client is told, but for the server; the usual number of calls is divided by
    /// `share`.
    fn arguments(self, share: u64) -> Vec<String> {
        let count = match self {
            Self::Sequential => 20_000,
            Self::Flight(_) => 200_000,
            Self::Large => 200,
            Self::Http(_, 1) => 10_000,
            Self::Http(..) => 50_000,
        };
        self.arguments_for((count / share).max(10))
    }

    /// The same for a number of calls.
    pub(crate) fn arguments_for(self, count: u64) -> Vec<String> {
        let (in_flight, bytes, era) = match self {
            Self::Sequential => (1, 32, Era::Handshake),
            Self::Flight(era) => (64, 32, era),
            Self::Large => (1, 1024 * 1024, Era::Handshake),
            Self::Http(era, in_flight) => (in_flight, 32, era),
        };
        let era = match era {
            Era::Handshake => "legacy",
            Era::Stateless => "modern",
        };
        let numbers = [("--n", count), ("--conc", in_flight), ("--payload", bytes)];
        let numbers = numbers.map(|(name, number)| [name.to_owned(), number.to_string()]);
        let era = ["--era".to_owned(), era.to_owned()];
        numbers.into_iter().chain([era]).flatten().collect()
    }

    pub(crate) const fn is_http(self) -> bool {
        matches!(self, Self::Http(..))
    }
}

/// A client that can take a route.
struct Candidate {
    name: &'static str,
    role: Role,
    command: Vec<String>,
    /// Slow ones make fewer calls: one in so many.
    share: u64,
}

impl Clients<'_> {
    fn candidates(&self, route: Route) -> Vec<Candidate> {
        let candidate = |name, role, program: &str, option: Option<&str>| {
            let program = self.programs.join(program).display().to_string();
            let option = option.map(str::to_owned);
            Candidate {
                name,
                role,
                command: std::iter::once(program).chain(option).collect(),
                share: 1,
            }
        };
        let mut all = vec![
            candidate("limit", Role::Limit, "limit-client", None),
            candidate(OURS, Role::Ours, "bench-client", None),
            candidate(OURS_RAW, Role::OursOtherwise, "bench-client", Some("--raw")),
            candidate("rmcp", Role::Peer, "rmcp-client", None),
        ];
        if route.is_http() {
            let default = Some("--default");
            all.push(candidate(
                "rmcp, as it comes",
                Role::Peer,
                "rmcp-client",
                default,
            ));
        }
        if let Some(script) = self.typescript {
            all.push(Candidate {
                name: TYPESCRIPT,
                role: Role::PeerOtherwise,
                command: vec!["node".to_owned(), script.display().to_string()],
                share: 10,
            });
        }
        all
    }
}

/// Every bar, in the order of the tables.
pub(crate) fn bars(measured: &[Measurement]) -> Vec<Bar> {
    let less_than_rmcp = |route: Route| -> Option<Spread> {
        let mut of_route = measured.iter().filter(|it| it.route == route);
        let table = &of_route.find(|it| it.server == Server::Limit)?.table;
        let ratio = table.ratio(table.best(Role::Ours)?, table.best(Role::Peer)?)?;
        Some(ratio.inverse())
    };
    let bar = |route: Route, bound| Bar {
        claim: route.title(Server::Limit) + ": CPU, times less than rmcp",
        found: less_than_rmcp(route),
        bound: Bound::AtLeast(bound),
    };
    vec![
        bar(Route::Flight(Era::Handshake), 10.0),
        bar(Route::Flight(Era::Stateless), 10.0),
        bar(Route::Http(Era::Handshake, 64), 3.0),
        bar(Route::Http(Era::Stateless, 64), 3.0),
    ]
}

pub(crate) const TYPESCRIPT: &str = "TypeScript SDK";
const OURS_RAW: &str = "switchboard, raw results";

const COLUMNS: &[(&str, &str)] = &[
    ("p50_us", "p50 µs"),
    ("p99_us", "p99 µs"),
    ("per_s", "calls/s"),
    (JUDGED, "CPU µs per call"),
];
const JUDGED: &str = "cpu_us_per_call";

const ROUTES: &[(Route, Server)] = &[
    (Route::Sequential, Server::Limit),
    (Route::Flight(Era::Handshake), Server::Limit),
    (Route::Flight(Era::Stateless), Server::Limit),
    (Route::Flight(Era::Handshake), Server::Ours),
    (Route::Flight(Era::Stateless), Server::Ours),
    (Route::Large, Server::Limit),
    (Route::Http(Era::Handshake, 1), Server::Limit),
    (Route::Http(Era::Handshake, 64), Server::Limit),
    (Route::Http(Era::Stateless, 1), Server::Limit),
    (Route::Http(Era::Stateless, 64), Server::Limit),
    (Route::Http(Era::Handshake, 64), Server::Ours),
    (Route::Http(Era::Stateless, 64), Server::Ours),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_what_the_contract_says() {
        let words = Route::Http(Era::Stateless, 64).arguments_for(7);
        assert_eq!(words.join(" "), "--n 7 --conc 64 --payload 32 --era modern");
    }

    #[test]
    fn a_bar_is_held_against_the_typed_results() {
        let programs = Path::new("programs");
        let clients = Clients {
            programs,
            typescript: None,
        };
        let mut measured = plan(&clients, 1, &|_| true);
        for row in measured.iter_mut().flat_map(|it| &mut it.table.rows) {
            let figure = match row.name {
                OURS => 2.0,
                "rmcp" => 30.0,
                "rmcp, as it comes" => 20.0,
                _ => 1.0,
            };
            row.rounds.push([(JUDGED.to_owned(), figure)].into());
        }
        let found: Vec<f64> = bars(&measured)
            .iter()
            .filter_map(|bar| Some(bar.found?.median))
            .collect();
        assert_eq!(found, [15.0, 15.0, 10.0, 10.0]);
    }
}
