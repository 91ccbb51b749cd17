//! What has to have been read of metrics.

use serde_json::{Value, json};

use crate::calls::Made;
use crate::equal;
use crate::report::Report;

pub(crate) fn check(report: &mut Report, metrics: &[Value], made: &Made) {
    report.check("metrics are those that were sent", shapes(metrics));
    report.check(
        "durations are counted by tool and outcome",
        durations(metrics),
    );
    report.check(
        "histograms have the bounds of the conventions",
        bounds(metrics),
    );
    report.check("sums are those of the servers", sums(metrics, made));
}

fn shapes(metrics: &[Value]) -> Result<(), String> {
    let found: Vec<Value> = metrics
        .iter()
        .map(|metric| {
            equal(
                "resource",
                &metric["resource"]["service.name"],
                &json!({"string_value": "interop"}),
            )?;
            Ok(json!([
                metric["name"],
                metric["unit"],
                metric["kind"],
                metric["temporality"],
                metric["monotonic"]
            ]))
        })
        .collect::<Result<_, String>>()?;
    let wanted = json!([
        ["mcp.client.operation.duration", "s", "histogram", 2, null],
        ["switchboard.calls.in_flight", "{call}", "sum", 2, false],
        ["switchboard.server.restarts", "{restart}", "sum", 2, true],
        [
            "switchboard.server.catalog.changes",
            "{change}",
            "sum",
            2,
            true
        ],
        [
            "switchboard.server.refused_definitions",
            "{definition}",
            "sum",
            2,
            true
        ],
        ["switchboard.events.missed", "{event}", "sum", 2, true],
        ["switchboard.catalog.version", "1", "gauge", null, null],
    ]);
    equal("metrics", &Value::Array(found), &wanted)
}

fn durations(metrics: &[Value]) -> Result<(), String> {
    let found: Vec<Value> = points(metrics, "mcp.client.operation.duration")?
        .iter()
        .map(|point| {
            let text = |name: &str| point["attributes"][name]["string_value"].clone();
            json!([
                text("switchboard.server"),
                text("mcp.method.name"),
                text("gen_ai.tool.name"),
                text("gen_ai.operation.name"),
                text("gen_ai.prompt.name"),
                text("error.type"),
                text("rpc.response.status_code"),
                text("network.transport"),
                point["count"]
            ])
        })
        .collect();
    let (call, tool, code) = ("tools/call", "execute_tool", "-32602");
    let of_tool =
        |server: &str, name: &str, error: Option<&str>, code: Option<&str>, count: u64| {
            let transport = if server == "other" { "pipe" } else { "tcp" };
            json!([
                server, call, name, tool, null, error, code, transport, count
            ])
        };
    let of_other = |method: &str, prompt: Option<&str>, error: &str| {
        json!(["other", method, null, null, prompt, error, null, "pipe", 1])
    };
    let wanted = json!([
        of_other("prompts/get", Some("plan"), "cancelled"),
        of_other("resources/read", None, "timeout"),
        of_tool("other", "ends", Some("connection"), None, 1),
        of_tool("other", "told", None, None, 1),
        of_tool("töld", "fails", Some("tool_error"), None, 1),
        of_tool("töld", "refuses", Some(code), Some(code), 1),
        of_tool("töld", "told", None, None, 2),
    ]);
    equal("durations", &Value::Array(found), &wanted)
}

fn bounds(metrics: &[Value]) -> Result<(), String> {
    let bounds = json!([
        0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0
    ]);
    for point in points(metrics, "mcp.client.operation.duration")? {
        equal("bounds", &point["bounds"], &bounds)?;
        let buckets = point["buckets"].as_array().cloned().unwrap_or_default();
        let counted: u64 = buckets.iter().filter_map(Value::as_u64).sum();
        equal(
            "buckets",
            &json!([buckets.len(), counted]),
            &json!([15, point["count"]]),
        )?;
        let (sum, seconds) = (point["sum"].as_f64(), point["seconds"].as_f64());
        // What was counted lies between the beginning and the moment.
        if !matches!((sum, seconds), (Some(sum), Some(all)) if 0.0 < sum && sum < all) {
            return Err(format!("{sum:?} s in {seconds:?} s"));
        }
    }
    Ok(())
}

fn sums(metrics: &[Value], made: &Made) -> Result<(), String> {
    let values = |name: &str| -> Result<Value, String> {
        let points = points(metrics, name)?.iter();
        let each = points.map(|point| {
            let server = &point["attributes"]["switchboard.server"]["string_value"];
            json!([server, point["value"]])
        });
        Ok(each.collect())
    };
    equal(
        "restarts",
        &values("switchboard.server.restarts")?,
        &json!([["other", 1], ["töld", 0]]),
    )?;
    let changes = values("switchboard.server.catalog.changes")?;
    let has_changed = |row: usize| changes[row][1].as_u64().is_some_and(|count| count > 0);
    equal(
        "changes",
        &json!([changes[0][0], has_changed(0), changes[1][0], has_changed(1)]),
        &json!(["other", true, "töld", true]),
    )?;
    equal(
        "version",
        &values("switchboard.catalog.version")?,
        &json!([[null, made.version]]),
    )?;
    let in_flight = values("switchboard.calls.in_flight")?;
    let in_flight = in_flight.as_array().cloned().unwrap_or_default();
    equal(
        "in flight",
        &json!([in_flight.len(), in_flight.iter().all(|row| row[1] == 0)]),
        &json!([7, true]),
    )
}

fn points<'a>(metrics: &'a [Value], name: &str) -> Result<&'a Vec<Value>, String> {
    let metric = metrics.iter().find(|metric| metric["name"] == name);
    let points = metric.and_then(|metric| metric["points"].as_array());
    points.ok_or_else(|| format!("there is no {name}"))
}
