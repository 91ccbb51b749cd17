//! How often, how long, how badly: numbers of all calls, by server and tool.
//!
//! A call finds its row by two look-ups, one of a tool that was called before by none, and changes a
//! few counters; nobody waits for anybody.
//! There are never more rows than a bound, whatever servers call their tools. What is done with
//! the numbers is for others: a [`MetricsSnapshot`] is plain data.
//!
//! Specification: OpenTelemetry semantic conventions for MCP, `mcp.client.operation.duration`.

mod histogram;
mod prometheus;
mod snapshot;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

use histogram::Histogram;

pub use histogram::{DURATION_BOUNDS, Durations};
pub use prometheus::PROMETHEUS_CONTENT_TYPE;
pub use snapshot::{MetricsSnapshot, OperationMetrics, OutcomeMetrics, ServerMetrics};

use switchboard_protocol::Refusals;

use crate::trace::{Endpoint, Subject};

/// The numbers of a hub. Clones are the same numbers.
#[derive(Clone, Debug)]
pub struct Metrics {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    began: SystemTime,
    servers: Mutex<BTreeMap<Arc<str>, Arc<ServerMeter>>>,
    catalog_version: AtomicU64,
    missed_events: AtomicU64,
}

impl Metrics {
    /// All zero.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                began: SystemTime::now(),
                servers: Mutex::default(),
                catalog_version: AtomicU64::new(0),
                missed_events: AtomicU64::new(0),
            }),
        }
    }

    /// The numbers of a server, which begin when they are first asked for.
    pub fn server(&self, name: &str) -> Arc<ServerMeter> {
        let mut servers = self.servers();
        if let Some(meter) = servers.get(name) {
            return Arc::clone(meter);
        }
        let meter = Arc::new(ServerMeter::new(name));
        servers.insert(Arc::clone(&meter.name), Arc::clone(&meter));
        meter
    }

    /// A server is gone for good, and its numbers with it.
    pub fn forget(&self, name: &str) {
        self.servers().remove(name);
    }

    /// The catalogue has this version.
    pub fn catalog_changed(&self, version: u64) {
        let newest = &self.shared.catalog_version;
        newest.fetch_max(version, Ordering::Relaxed);
    }

    /// Somebody was too slow to hear of so many events.
    pub fn missed_events(&self, count: u64) {
        let missed = &self.shared.missed_events;
        missed.fetch_add(count, Ordering::Relaxed);
    }

    /// The numbers as they are now.
    pub fn snapshot(&self) -> MetricsSnapshot {
        let meters: Vec<_> = self.servers().values().cloned().collect();
        MetricsSnapshot {
            began: self.shared.began,
            taken: SystemTime::now(),
            catalog_version: self.shared.catalog_version.load(Ordering::Relaxed),
            missed_events: self.shared.missed_events.load(Ordering::Relaxed),
            servers: meters.iter().map(|meter| meter.snapshot()).collect(),
        }
    }

    fn servers(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, Arc<ServerMeter>>> {
        let servers = &self.shared.servers;
        servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// The numbers of one server.
#[derive(Debug)]
pub struct ServerMeter {
    name: Arc<str>,
    began: SystemTime,
    endpoint: Mutex<Arc<Endpoint>>,
    rows: RwLock<Rows>,
    restarts: AtomicU64,
    catalog_changes: AtomicU64,
    refused: AtomicU64,
    limits: Refusals,
}

/// A row each.
#[derive(Debug, Default)]
struct Rows {
    tools: Table,
    prompts: Table,
    /// What is not about a tool or a prompt.
    methods: Table,
}

type Table = HashMap<Box<str>, Arc<Row>>;

/// Of one tool, prompt or method.
#[derive(Debug, Default)]
struct Row {
    begun: AtomicU64,
    done: Histogram,
    failed: RwLock<Vec<(Arc<str>, Histogram)>>,
}

impl ServerMeter {
    fn new(name: &str) -> Self {
        Self {
            name: Arc::from(name),
            began: SystemTime::now(),
            endpoint: Mutex::default(),
            rows: RwLock::default(),
            restarts: AtomicU64::new(0),
            catalog_changes: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            limits: Refusals::default(),
        }
    }

    /// The name of the server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server is reached like this from now on.
    pub fn set_endpoint(&self, endpoint: Endpoint) {
        *self.endpoint.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(endpoint);
    }

    /// The server is started again after it has ended.
    pub fn restarted(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    /// What the server offers has changed.
    pub fn catalog_changed(&self) {
        self.catalog_changes.fetch_add(1, Ordering::Relaxed);
    }

    /// So many of its definitions turned out not to be what was approved.
    pub fn refused(&self, count: u64) {
        self.refused.fetch_add(count, Ordering::Relaxed);
    }

    /// The server has reached a limit of this name, other than one that ends a call.
    pub fn reached(&self, limit: &'static str) {
        self.limits.note(limit);
    }

    pub(crate) fn endpoint(&self) -> Arc<Endpoint> {
        let endpoint = self.endpoint.lock();
        Arc::clone(&endpoint.unwrap_or_else(PoisonError::into_inner))
    }

    /// A call begins.
    pub(crate) fn begin(&self, subject: Subject<'_>) -> Timed {
        Timed::begin(self.row(subject))
    }

    /// The same, by whoever knows the row from the last time.
    pub(crate) fn begin_known(&self, subject: Subject<'_>, known: &KnownRow) -> Timed {
        let row = known.0.get_or_init(|| self.row(subject));
        Timed::begin(Arc::clone(row))
    }

    fn row(&self, subject: Subject<'_>) -> Arc<Row> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = rows.find(subject) {
            return Arc::clone(row);
        }
        drop(rows);
        let rows = self.rows.write();
        rows.unwrap_or_else(PoisonError::into_inner)
            .find_or_add(subject)
    }

    fn snapshot(&self) -> ServerMetrics {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let mut operations = rows.snapshot();
        drop(rows);
        operations.sort_by(|a, b| (&a.method, &a.name).cmp(&(&b.method, &b.name)));
        ServerMetrics {
            server: Arc::clone(&self.name),
            began: self.began,
            endpoint: self.endpoint(),
            restarts: self.restarts.load(Ordering::Relaxed),
            catalog_changes: self.catalog_changes.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            limits: self.limits.counts(),
            operations,
        }
    }
}

impl Rows {
    fn find(&self, subject: Subject<'_>) -> Option<&Arc<Row>> {
        match subject {
            Subject::Tool(name) => self.tools.get(name),
            Subject::Prompt(name) => self.prompts.get(name),
            Subject::Resource(_) | Subject::Other(_) => self.methods.get(subject.method()),
        }
    }

    /// The row, or that of all for which there is no room.
    fn find_or_add(&mut self, subject: Subject<'_>) -> Arc<Row> {
        if let Some(row) = self.find(subject) {
            return Arc::clone(row);
        }
        let count = self.tools.len() + self.prompts.len() + self.methods.len();
        let (table, key, other) = match subject {
            Subject::Tool(name) => (&mut self.tools, name, OTHER),
            Subject::Prompt(name) => (&mut self.prompts, name, OTHER),
            Subject::Resource(_) | Subject::Other(_) => {
                (&mut self.methods, subject.method(), OTHER_KIND)
            }
        };
        let has_room = count < MOST_ROWS && key.len() <= LONGEST_NAME;
        let key = if has_room { key } else { other };
        Arc::clone(table.entry(key.into()).or_default())
    }

    fn snapshot(&self) -> Vec<OperationMetrics> {
        let of = |subject: Subject<'_>, row: &Row| row.snapshot(subject.method(), subject.name());
        let tools = self.tools.iter();
        let prompts = self.prompts.iter();
        let methods = self.methods.iter();
        tools
            .map(|(name, row)| of(Subject::Tool(name), row))
            .chain(prompts.map(|(name, row)| of(Subject::Prompt(name), row)))
            .chain(methods.map(|(method, row)| of(Subject::Other(method), row)))
            .collect()
    }
}

impl Row {
    fn snapshot(&self, method: &str, name: Option<&str>) -> OperationMetrics {
        let done = (None, self.done.snapshot());
        let failed = self.failed.read().unwrap_or_else(PoisonError::into_inner);
        let failed = failed
            .iter()
            .map(|(kind, histogram)| (Some(Arc::clone(kind)), histogram.snapshot()));
        let mut outcomes: Vec<_> = std::iter::once(done)
            .chain(failed)
            .filter(|(_, durations)| durations.count() > 0)
            .map(|(error, durations)| OutcomeMetrics { error, durations })
            .collect();
        let counts = outcomes.iter().map(|outcome| outcome.durations.count());
        let ended: u64 = counts.sum();
        outcomes.sort_by(|a, b| a.error.cmp(&b.error));
        OperationMetrics {
            method: Arc::from(method),
            name: name.map(Arc::from),
            // Those that begin while we count may have ended already.
            in_flight: self.begun.load(Ordering::Relaxed).saturating_sub(ended),
            outcomes,
        }
    }

    fn failed(&self, kind: &str, after: std::time::Duration) {
        let find = |failed: &[(Arc<str>, Histogram)], kind: &str| {
            let found = failed.iter().find(|(known, _)| **known == *kind);
            found.map(|(_, histogram)| histogram.add(after)).is_some()
        };
        if find(
            &self.failed.read().unwrap_or_else(PoisonError::into_inner),
            kind,
        ) {
            return;
        }
        let mut failed = self.failed.write().unwrap_or_else(PoisonError::into_inner);
        let kind = match failed.len() < MOST_KINDS && kind.len() <= LONGEST_NAME {
            true => kind,
            false => OTHER_KIND,
        };
        if !find(&failed, kind) {
            let histogram = Histogram::default();
            histogram.add(after);
            failed.push((Arc::from(kind), histogram));
        }
    }
}

/// The row of a tool, once it was looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownRow(OnceLock<Arc<Row>>);

/// A call that is being measured.
#[derive(Debug)]
pub(crate) struct Timed {
    row: Arc<Row>,
    began: Instant,
}

impl Timed {
    fn begin(row: Arc<Row>) -> Self {
        row.begun.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        Self { row, began }
    }

    /// What is measured begins now.
    pub(crate) fn restart(&mut self) {
        self.began = Instant::now();
    }

    /// It is over, with this error if there is one.
    pub(crate) fn end(self, error: Option<&str>) {
        let after = self.began.elapsed();
        match error {
            None => self.row.done.add(after),
            Some(kind) => self.row.failed(kind, after),
        }
    }
}

/// The largest servers that are known have 400 tools.
const MOST_ROWS: usize = 1000;
/// A server makes up the codes of its errors.
const MOST_KINDS: usize = 16;
const LONGEST_NAME: usize = 256;
const OTHER: &str = "other";
/// The conventions' word for what is none of those that are known.
const OTHER_KIND: &str = "_OTHER";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_server_tool_and_outcome() {
        let metrics = Metrics::new();
        let meter = metrics.server("github");
        assert!(Arc::ptr_eq(&meter, &metrics.server("github")));
        for error in [None, None, Some("timeout"), Some("-32602"), Some("timeout")] {
            meter.begin(Subject::Tool("add")).end(error);
        }
        meter.begin(Subject::Resource("file:///a?secret")).end(None);
        let open = meter.begin(Subject::Prompt("plan"));
        meter.restarted();
        meter.catalog_changed();
        meter.refused(2);
        meter.reached("items");
        meter.reached("items");
        metrics.missed_events(3);
        metrics.missed_events(2);
        metrics.catalog_changed(7);
        metrics.catalog_changed(6);
        let snapshot = metrics.snapshot();
        assert_eq!(snapshot.catalog_version, 7);
        assert_eq!(snapshot.missed_events, 5);
        let [server] = &snapshot.servers[..] else {
            panic!("{snapshot:?}");
        };
        assert_eq!((server.restarts, server.catalog_changes), (1, 1));
        assert_eq!(server.refused, 2);
        assert_eq!(server.limits, BTreeMap::from([("items", 2)]));
        assert_eq!((server.calls(), server.errors()), (6, 3));
        assert_eq!(server.in_flight(), 1);
        let rows: Vec<_> = server
            .operations
            .iter()
            .map(|row| (&*row.method, row.name.as_deref(), row.calls()))
            .collect();
        assert_eq!(
            rows,
            [
                ("prompts/get", Some("plan"), 0),
                ("resources/read", None, 1),
                ("tools/call", Some("add"), 5),
            ]
        );
        let kinds: Vec<_> = server.operations[2]
            .outcomes
            .iter()
            .map(|outcome| (outcome.error.as_deref(), outcome.durations.count()))
            .collect();
        assert_eq!(
            kinds,
            [(None, 2), (Some("-32602"), 1), (Some("timeout"), 2)]
        );
        open.end(None);
        assert_eq!(metrics.snapshot().servers[0].in_flight(), 0);
        metrics.forget("github");
        assert!(metrics.snapshot().servers.is_empty());
        // Whoever still calls it does no harm.
        meter.begin(Subject::Tool("add")).end(None);
    }

    #[test]
    fn there_are_never_more_rows_than_the_bound() {
        let metrics = Metrics::new();
        let meter = metrics.server("many");
        for number in 0..MOST_ROWS + 50 {
            meter
                .begin(Subject::Tool(&format!("tool{number}")))
                .end(None);
        }
        meter.begin(Subject::Tool("tool3")).end(None);
        meter.begin(Subject::Other("made/up")).end(None);
        meter
            .begin(Subject::Tool(&"x".repeat(LONGEST_NAME + 1)))
            .end(None);
        let snapshot = metrics.snapshot();
        let server = &snapshot.servers[0];
        assert_eq!(server.operations.len(), MOST_ROWS + 2);
        assert_eq!(server.calls(), MOST_ROWS as u64 + 53);
        let calls = |method: &str, name: Option<&str>| {
            let mut rows = server.operations.iter();
            let row = rows.find(|row| &*row.method == method && row.name.as_deref() == name);
            row.unwrap().calls()
        };
        assert_eq!(calls("tools/call", Some("other")), 51);
        assert_eq!(calls("tools/call", Some("tool3")), 2);
        assert_eq!(calls("_OTHER", None), 1);
    }

    #[test]
    fn a_server_cannot_make_up_error_codes_without_end() {
        let metrics = Metrics::new();
        let meter = metrics.server("odd");
        for code in 0..100 {
            let timed = meter.begin(Subject::Tool("a"));
            timed.end(Some(&code.to_string()));
        }
        let snapshot = metrics.snapshot();
        let outcomes = &snapshot.servers[0].operations[0].outcomes;
        assert_eq!(outcomes.len(), MOST_KINDS + 1);
        let other = outcomes
            .iter()
            .find(|outcome| outcome.error.as_deref() == Some("_OTHER"));
        assert_eq!(other.unwrap().durations.count(), 100 - MOST_KINDS as u64);
    }

    #[test]
    fn calls_of_many_threads_are_all_counted() {
        let metrics = Metrics::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let meter = metrics.server("busy");
                scope.spawn(move || {
                    for number in 0..1000 {
                        let tool = format!("tool{}", (number + thread) % 7);
                        let error = (number % 3 == 0).then_some("timeout");
                        meter.begin(Subject::Tool(&tool)).end(error);
                    }
                });
            }
        });
        let snapshot = metrics.snapshot();
        let server = &snapshot.servers[0];
        assert_eq!((server.calls(), server.in_flight()), (4000, 0));
        assert_eq!(server.errors(), 4 * 334);
        assert_eq!(server.operations.len(), 7);
    }
}
