//! What has to have been read of spans.

use serde_json::{Map, Value, json};

use crate::calls::{Made, PARENT, STATE};
use crate::equal;
use crate::report::Report;

pub(crate) fn check(report: &mut Report, spans: &[Value], made: &Made) {
    report.check("spans have names, kinds and statuses", names(spans));
    report.check(
        "spans have the ids that the server was told",
        ids(spans, made),
    );
    report.check("spans say who sends them", senders(spans));
    report.check("spans have attributes of their types", attributes(spans));
    report.check("spans tell no secrets", secrets(spans));
}

fn names(spans: &[Value]) -> Result<(), String> {
    let found: Vec<Value> = spans
        .iter()
        .map(|span| json!([span["name"], span["status"]]))
        .collect();
    let wanted = json!([
        ["mcp.töld.told", "STATUS_CODE_UNSET"],
        ["mcp.töld.told", "STATUS_CODE_UNSET"],
        ["mcp.töld.fails", "STATUS_CODE_ERROR"],
        ["mcp.töld.nothing", "STATUS_CODE_ERROR"],
        ["mcp.other.plan", "STATUS_CODE_ERROR"],
        ["mcp.other.resources/read", "STATUS_CODE_ERROR"],
    ]);
    equal("spans", &Value::Array(found), &wanted)?;
    for span in spans {
        equal("kind", &span["kind"], &json!("SPAN_KIND_CLIENT"))?;
        equal("flags", &span["flags"], &json!(1))?;
        let nanos = span["nanos"].as_i64().unwrap_or_default();
        let age = span["age"].as_f64().unwrap_or(f64::MAX);
        if nanos <= 0 || !(0.0..300.0).contains(&age) {
            return Err(format!("it took {nanos} ns, and began {age} s ago"));
        }
    }
    Ok(())
}

fn ids(spans: &[Value], made: &Made) -> Result<(), String> {
    let [first, second, rest @ ..] = spans else {
        return Err(format!("there are {} spans", spans.len()));
    };
    for (span, told) in [first, second].into_iter().zip(&made.told) {
        equal("trace", &span["trace_id"], &json!(told.trace()))?;
        equal("span", &span["span_id"], &json!(told.span()))?;
    }
    equal("parent", &first["parent_span_id"], &json!(""))?;
    let parent: Vec<&str> = PARENT.split('-').collect();
    equal("trace", &second["trace_id"], &json!(parent[1]))?;
    equal("parent", &second["parent_span_id"], &json!(parent[2]))?;
    equal("state", &second["trace_state"], &json!(STATE))?;
    // Without a parent, each begins a trace of its own.
    let mut traces: Vec<_> = rest.iter().map(|span| span["trace_id"].as_str()).collect();
    traces.push(first["trace_id"].as_str());
    traces.sort_unstable();
    traces.dedup();
    equal("traces", &json!(traces.len()), &json!(5))
}

fn senders(spans: &[Value]) -> Result<(), String> {
    for span in spans {
        let resource = json!({
            "service.name": {"string_value": "interop"},
            "host.name": {"string_value": "här"},
        });
        equal("resource", &span["resource"], &resource)?;
        equal("scope", &span["scope"]["name"], &json!("switchboard-hub"))?;
    }
    Ok(())
}

fn attributes(spans: &[Value]) -> Result<(), String> {
    let text = |text: &str| json!({"string_value": text});
    let remote = json!({
        "switchboard.server": text("töld"),
        "mcp.method.name": text("tools/call"),
        "mcp.protocol.version": text("2026-07-28"),
        "gen_ai.operation.name": text("execute_tool"),
        "jsonrpc.request.id": text("7"),
        "network.transport": text("tcp"),
        "network.protocol.name": text("http"),
        "network.protocol.version": text("1.1"),
        "server.address": text("example.com"),
        // A number of 64 bits is a text in JSON.
        "server.port": {"int_value": "443"},
    });
    let local = json!({
        "switchboard.server": text("other"),
        "network.transport": text("pipe"),
    });
    let wanted = [
        (&remote, json!({"gen_ai.tool.name": text("told")})),
        (&remote, json!({"gen_ai.tool.name": text("told")})),
        (
            &remote,
            json!({"gen_ai.tool.name": text("fails"), "error.type": text("tool_error")}),
        ),
        (
            &remote,
            json!({"gen_ai.tool.name": text("nothing"), "error.type": text("-32602"),
                "rpc.response.status_code": text("-32602")}),
        ),
        (
            &local,
            json!({"mcp.method.name": text("prompts/get"), "gen_ai.prompt.name": text("plan"),
                "error.type": text("cancelled")}),
        ),
        (
            &local,
            json!({"mcp.method.name": text("resources/read"), "error.type": text("timeout"),
                "mcp.resource.uri": text("postgres://db/customers")}),
        ),
    ];
    for (span, (usual, own)) in spans.iter().zip(wanted) {
        let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let all: Map<String, Value> = members(usual).into_iter().chain(members(&own)).collect();
        let name = span["name"].as_str().unwrap_or_default();
        equal(name, &span["attributes"], &Value::Object(all))?;
    }
    Ok(())
}

fn secrets(spans: &[Value]) -> Result<(), String> {
    let text = Value::from(spans.to_vec()).to_string();
    match text.contains("secret") || text.contains("cannot be done") {
        true => Err(format!("they do: {text}")),
        false => Ok(()),
    }
}
