//! What has to have been read of metrics.

use serde_json::{Value, json};

use crate::equal;
use crate::report::Report;

pub(crate) fn check(report: &mut Report, metrics: &[Value]) {
    report.check("metrics are those that were sent", shapes(metrics));
    report.check(
        "durations are counted by tool and outcome",
        durations(metrics),
    );
    report.check(
        "histograms have the bounds of the conventions",
        bounds(metrics),
    );
    report.check("sums are those of the servers", sums(metrics));
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
                point["attributes"]["server.port"]["int_value"],
                point["count"]
            ])
        })
        .collect();
    let tool = "execute_tool";
    let (call, code) = ("tools/call", "-32602");
    let wanted = json!([
        [
            "other",
            "prompts/get",
            null,
            null,
            "plan",
            "cancelled",
            null,
            "pipe",
            null,
            1
        ],
        [
            "other",
            "resources/read",
            null,
            null,
            null,
            "timeout",
            null,
            "pipe",
            null,
            1
        ],
        [
            "töld",
            call,
            "fails",
            tool,
            null,
            "tool_error",
            null,
            "tcp",
            "443",
            1
        ],
        [
            "töld", call, "nothing", tool, null, code, code, "tcp", "443", 1
        ],
        [
            "töld", call, "told", tool, null, null, null, "tcp", "443", 2
        ],
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

fn sums(metrics: &[Value]) -> Result<(), String> {
    let values = |name: &str| -> Result<Value, String> {
        let points = points(metrics, name)?.iter();
        let each = points.map(|point| {
            let server = &point["attributes"]["switchboard.server"]["string_value"];
            json!([server, point["value"]])
        });
        Ok(each.collect())
    };
    let both = |other: u64| json!([["other", other], ["töld", 0]]);
    equal(
        "restarts",
        &values("switchboard.server.restarts")?,
        &both(1),
    )?;
    equal(
        "changes",
        &values("switchboard.server.catalog.changes")?,
        &both(1),
    )?;
    equal(
        "version",
        &values("switchboard.catalog.version")?,
        &json!([[null, 3]]),
    )?;
    let in_flight = values("switchboard.calls.in_flight")?;
    let in_flight = in_flight.as_array().cloned().unwrap_or_default();
    equal(
        "in flight",
        &json!([in_flight.len(), in_flight.iter().all(|row| row[1] == 0)]),
        &json!([5, true]),
    )
}

fn points<'a>(metrics: &'a [Value], name: &str) -> Result<&'a Vec<Value>, String> {
    let metric = metrics.iter().find(|metric| metric["name"] == name);
    let points = metric.and_then(|metric| metric["points"].as_array());
    points.ok_or_else(|| format!("there is no {name}"))
}
