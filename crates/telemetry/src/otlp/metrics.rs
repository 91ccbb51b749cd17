//! The numbers of a hub, as the request that brings them to a collector.
//!
//! Sums and histograms count from the beginning on (cumulative), as most collectors want them.
//!
//! Specification: opentelemetry-proto: `ExportMetricsServiceRequest`; OpenTelemetry semantic
//! conventions for MCP, `mcp.client.operation.duration`.

use std::time::{Duration, SystemTime};

use switchboard_hub::{
    Attribute, DURATION_BOUNDS, MetricsSnapshot, OperationMetrics, OutcomeMetrics, ServerMetrics,
};

use super::{Resource, nanos, number_attribute, resource, scope, text_attribute};
use crate::protobuf::Writer;

/// The request that brings these numbers.
pub(crate) fn metrics_request(from: &Resource, snapshot: &MetricsSnapshot) -> Vec<u8> {
    let mut out = Writer::default();
    out.message(1, |out| {
        resource(out, 1, from);
        out.message(2, |out| {
            scope(out, 1);
            let mut page = Page { out, snapshot };
            page.durations();
            page.in_flight();
            page.servers();
            page.limits();
            page.missed_events();
            page.catalog();
        });
    });
    out.into_bytes()
}

struct Page<'a> {
    out: &'a mut Writer,
    snapshot: &'a MetricsSnapshot,
}

impl Page<'_> {
    fn durations(&mut self) {
        let rows: Vec<_> = rows(self.snapshot)
            .flat_map(|(server, row)| row.outcomes.iter().map(move |found| (server, row, found)))
            .collect();
        if rows.is_empty() {
            return;
        }
        let snapshot = self.snapshot;
        self.metric("mcp.client.operation.duration", "s", |out| {
            out.message(HISTOGRAM, |out| {
                for (server, row, outcome) in rows {
                    out.message(1, |out| {
                        times(out, server.began, snapshot);
                        histogram(out, outcome);
                        server_attributes(out, 9, server);
                        row_attributes(out, 9, row);
                        if row.is_tool() {
                            text_attribute(out, 9, "gen_ai.operation.name", "execute_tool");
                        }
                        if let Some(error) = &outcome.error {
                            text_attribute(out, 9, "error.type", error);
                        }
                        if let Some(code) = outcome.code() {
                            text_attribute(out, 9, "rpc.response.status_code", code);
                        }
                        endpoint_attributes(out, 9, server);
                    });
                }
                out.number(2, CUMULATIVE);
            });
        });
    }

    fn in_flight(&mut self) {
        let snapshot = self.snapshot;
        let rows = || rows(snapshot);
        if rows().next().is_none() {
            return;
        }
        self.metric("switchboard.calls.in_flight", "{call}", |out| {
            sum(out, false, |out| {
                for (server, row) in rows() {
                    point(out, server.began, snapshot, row.in_flight, |out| {
                        server_attributes(out, 7, server);
                        row_attributes(out, 7, row);
                    });
                }
            });
        });
    }

    fn servers(&mut self) {
        type Number = fn(&ServerMetrics) -> u64;
        let metrics: [(&str, &str, Number); 3] = [
            ("switchboard.server.restarts", "{restart}", |server| {
                server.restarts
            }),
            ("switchboard.server.catalog.changes", "{change}", |server| {
                server.catalog_changes
            }),
            (
                "switchboard.server.refused_definitions",
                "{definition}",
                |server| server.refused,
            ),
        ];
        let snapshot = self.snapshot;
        for (name, unit, number) in metrics {
            if snapshot.servers.is_empty() {
                continue;
            }
            self.metric(name, unit, |out| {
                sum(out, true, |out| {
                    for server in &snapshot.servers {
                        point(out, server.began, snapshot, number(server), |out| {
                            server_attributes(out, 7, server);
                        });
                    }
                });
            });
        }
    }

    fn limits(&mut self) {
        let snapshot = self.snapshot;
        let servers = || snapshot.servers.iter();
        if servers().all(|server| server.limits.is_empty()) {
            return;
        }
        self.metric("switchboard.server.over_limit", "{limit}", |out| {
            sum(out, true, |out| {
                for server in servers() {
                    for (limit, count) in &server.limits {
                        point(out, server.began, snapshot, *count, |out| {
                            server_attributes(out, 7, server);
                            text_attribute(out, 7, "switchboard.limit", limit);
                        });
                    }
                }
            });
        });
    }

    fn missed_events(&mut self) {
        let snapshot = self.snapshot;
        self.metric("switchboard.events.missed", "{event}", |out| {
            sum(out, true, |out| {
                let began = snapshot.began;
                point(out, began, snapshot, snapshot.missed_events, |_| {});
            });
        });
    }

    fn catalog(&mut self) {
        let snapshot = self.snapshot;
        self.metric("switchboard.catalog.version", "1", |out| {
            out.message(GAUGE, |out| {
                let began = snapshot.began;
                point(out, began, snapshot, snapshot.catalog_version, |_| {});
            });
        });
    }

    fn metric(&mut self, name: &str, unit: &str, fill: impl FnOnce(&mut Writer)) {
        self.out.message(2, |out| {
            out.text(1, name);
            out.text(3, unit);
            fill(out);
        });
    }
}

fn rows(snapshot: &MetricsSnapshot) -> impl Iterator<Item = (&ServerMetrics, &OperationMetrics)> {
    let servers = snapshot.servers.iter();
    servers.flat_map(|server| server.operations.iter().map(move |row| (server, row)))
}

/// Since when is counted, and until when.
fn times(out: &mut Writer, began: SystemTime, snapshot: &MetricsSnapshot) {
    out.fixed64(2, nanos(began));
    out.fixed64(3, nanos(snapshot.taken));
}

fn histogram(out: &mut Writer, outcome: &OutcomeMetrics) {
    let durations = &outcome.durations;
    out.fixed64(4, durations.count());
    out.double_always(5, durations.sum.as_secs_f64());
    out.packed64(6, durations.counts.into_iter());
    let bounds = DURATION_BOUNDS.iter().map(Duration::as_secs_f64);
    out.packed64(7, bounds.map(f64::to_bits));
}

fn sum(out: &mut Writer, is_monotonic: bool, points: impl FnOnce(&mut Writer)) {
    out.message(SUM, |out| {
        points(out);
        out.number(2, CUMULATIVE);
        out.number(3, u64::from(is_monotonic));
    });
}

fn point(
    out: &mut Writer,
    began: SystemTime,
    snapshot: &MetricsSnapshot,
    value: u64,
    attributes: impl FnOnce(&mut Writer),
) {
    out.message(1, |out| {
        times(out, began, snapshot);
        out.fixed64_always(6, value.min(i64::MAX.cast_unsigned()));
        attributes(out);
    });
}

fn server_attributes(out: &mut Writer, field: u32, server: &ServerMetrics) {
    text_attribute(out, field, "switchboard.server", &server.server);
}

fn endpoint_attributes(out: &mut Writer, field: u32, server: &ServerMetrics) {
    server.endpoint.attributes(|name, value| match value {
        Attribute::Text(text) => text_attribute(out, field, name, text),
        Attribute::Number(number) => {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            number_attribute(out, field, name, number);
        }
    });
}

fn row_attributes(out: &mut Writer, field: u32, row: &OperationMetrics) {
    text_attribute(out, field, "mcp.method.name", &row.method);
    if let Some((name, value)) = row.name_attribute() {
        text_attribute(out, field, name, value);
    }
}

// Of `Metric`.
const GAUGE: u32 = 5;
const SUM: u32 = 7;
const HISTOGRAM: u32 = 9;

const CUMULATIVE: u64 = 2;
