//! The numbers as the text that Prometheus reads.
//!
//! Names and labels are those of the conventions, written as Prometheus wants them.
//!
//! Specification: Prometheus exposition formats, text format 0.0.4.

use std::fmt::Write;
use std::time::Duration;

use super::histogram::DURATION_BOUNDS;
use super::snapshot::{MetricsSnapshot, OperationMetrics, ServerMetrics};
use crate::trace::Attribute;

impl MetricsSnapshot {
    /// The numbers as the text that Prometheus reads, of the type
    /// [`PROMETHEUS_CONTENT_TYPE`].
    pub fn prometheus(&self) -> String {
        let mut page = Page::default();
        page.durations(self);
        page.family(
            "switchboard_calls_in_flight",
            "gauge",
            "Calls that are under way.",
        );
        for (server, operation) in self.rows() {
            let mut labels = Labels::of(server);
            labels.operation(operation);
            page.line("", &labels, operation.in_flight);
        }
        let count = "counter";
        page.family(
            "switchboard_server_restarts_total",
            count,
            "Starts of a server after it has ended.",
        );
        for server in &self.servers {
            page.line("", &Labels::of(server), server.restarts);
        }
        page.family(
            "switchboard_server_catalog_changes_total",
            count,
            "Changes of what a server offers.",
        );
        for server in &self.servers {
            page.line("", &Labels::of(server), server.catalog_changes);
        }
        page.family(
            "switchboard_server_refused_definitions_total",
            count,
            "Definitions of a server that were not what the lock has.",
        );
        for server in &self.servers {
            page.line("", &Labels::of(server), server.refused);
        }
        page.family(
            "switchboard_server_over_limit_total",
            count,
            "Limits that a server has reached, other than those that end a call.",
        );
        for server in &self.servers {
            for (limit, count) in &server.limits {
                page.line("", &Labels::of(server).with("limit", limit), count);
            }
        }
        page.family(
            "switchboard_events_missed_total",
            count,
            "Events that came too quickly for whoever listens.",
        );
        page.line("", &Labels::default(), self.missed_events);
        page.family(
            "switchboard_catalog_version",
            "gauge",
            "The version of the catalogue.",
        );
        page.line("", &Labels::default(), self.catalog_version);
        page.text
    }

    fn rows(&self) -> impl Iterator<Item = (&ServerMetrics, &OperationMetrics)> {
        let servers = self.servers.iter();
        servers.flat_map(|server| server.operations.iter().map(move |row| (server, row)))
    }
}

#[derive(Default)]
struct Page {
    text: String,
    family: &'static str,
}

impl Page {
    fn durations(&mut self, snapshot: &MetricsSnapshot) {
        self.family(
            "mcp_client_operation_duration_seconds",
            "histogram",
            "How long requests took, from when they were sent until they were answered.",
        );
        for (server, operation) in snapshot.rows() {
            for outcome in &operation.outcomes {
                let mut labels = Labels::of(server);
                labels.endpoint(server);
                labels.operation(operation);
                labels.push_some("error_type", outcome.error.as_deref());
                labels.push_some("rpc_response_status_code", outcome.code());
                let durations = &outcome.durations;
                let mut total = 0u64;
                let ends = DURATION_BOUNDS.iter().map(Some).chain([None]);
                for (count, bound) in durations.counts.iter().zip(ends) {
                    total = total.saturating_add(*count);
                    let bound = bound.map(Duration::as_secs_f64);
                    let end = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
                    self.line("_bucket", &labels.with("le", &end), total);
                }
                self.line("_sum", &labels, durations.sum.as_secs_f64());
                self.line("_count", &labels, total);
            }
        }
    }

    /// What follows is of this name.
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, suffix: &str, labels: &Labels, value: impl std::fmt::Display) {
        let _ = match labels.0.is_empty() {
            true => writeln!(self.text, "{}{suffix} {value}", self.family),
            false => writeln!(self.text, "{}{suffix}{{{}}} {value}", self.family, labels.0),
        };
    }
}

/// `name="value",name="value"`
#[derive(Clone, Default)]
struct Labels(String);

impl Labels {
    fn of(server: &ServerMetrics) -> Self {
        let mut labels = Self::default();
        labels.push("switchboard_server", &server.server);
        labels
    }

    fn endpoint(&mut self, server: &ServerMetrics) {
        server.endpoint.attributes(|name, value| {
            let name = name.replace('.', "_");
            match value {
                Attribute::Text(text) => self.push(&name, text),
                Attribute::Number(number) => self.push(&name, &number.to_string()),
            }
        });
    }

    fn operation(&mut self, operation: &OperationMetrics) {
        self.push("mcp_method_name", &operation.method);
        if let Some((name, value)) = operation.name_attribute() {
            self.push(&name.replace('.', "_"), value);
        }
    }

    fn with(&self, name: &str, value: &str) -> Self {
        let mut labels = self.clone();
        labels.push(name, value);
        labels
    }

    fn push_some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    fn push(&mut self, name: &str, value: &str) {
        let Self(text) = self;
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        for letter in value.chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                letter => text.push(letter),
            }
        }
        text.push('"');
    }
}

/// What [`MetricsSnapshot::prometheus`] writes.
pub const PROMETHEUS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::trace::{Endpoint, Subject};

    #[test]
    fn every_line_is_one_that_prometheus_reads() {
        let metrics = Metrics::new();
        let meter = metrics.server("odd \"na\\me\"\n");
        meter.set_endpoint(Endpoint::http("https://user:secret@host/x?secret"));
        meter.begin(Subject::Tool("add")).end(None);
        meter.begin(Subject::Tool("add")).end(Some("-32602"));
        let open = meter.begin(Subject::Prompt("plan"));
        meter.restarted();
        meter.reached("items");
        metrics.missed_events(4);
        metrics.catalog_changed(3);
        let text = metrics.snapshot().prometheus();
        open.end(None);
        assert!(!text.contains("secret"), "{text}");
        let server = r#"switchboard_server="odd \"na\\me\"\n""#;
        let way = r#"network_transport="tcp",network_protocol_name="http",network_protocol_version="1.1",server_address="host",server_port="443""#;
        let add = r#"mcp_method_name="tools/call",gen_ai_tool_name="add""#;
        let name = "mcp_client_operation_duration_seconds";
        for line in [
            format!("# TYPE {name} histogram"),
            format!("{name}_bucket{{{server},{way},{add},le=\"0.01\"}} 1"),
            format!("{name}_bucket{{{server},{way},{add},le=\"300\"}} 1"),
            format!("{name}_bucket{{{server},{way},{add},le=\"+Inf\"}} 1"),
            format!("{name}_count{{{server},{way},{add}}} 1"),
            format!(
                "{name}_count{{{server},{way},{add},error_type=\"-32602\",rpc_response_status_code=\"-32602\"}} 1"
            ),
            format!("switchboard_calls_in_flight{{{server},{add}}} 0"),
            format!(
                "switchboard_calls_in_flight{{{server},mcp_method_name=\"prompts/get\",gen_ai_prompt_name=\"plan\"}} 1"
            ),
            format!("switchboard_server_restarts_total{{{server}}} 1"),
            format!("switchboard_server_catalog_changes_total{{{server}}} 0"),
            format!("switchboard_server_refused_definitions_total{{{server}}} 0"),
            format!("switchboard_server_over_limit_total{{{server},limit=\"items\"}} 1"),
            "switchboard_events_missed_total 4".to_owned(),
            "switchboard_catalog_version 3".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with('\n'));
        let buckets = text.lines().filter(|line| line.contains("_bucket{"));
        assert_eq!(buckets.count(), 2 * (DURATION_BOUNDS.len() + 1));
        // Each family is described once, before its lines.
        for family in text.lines().filter(|line| line.starts_with("# TYPE")) {
            assert_eq!(text.matches(family).count(), 1);
        }
    }
}
