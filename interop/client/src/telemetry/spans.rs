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
    let (unset, error) = ("STATUS_CODE_UNSET", "STATUS_CODE_ERROR");
    let wanted = json!([
        ["mcp.töld.told", unset],
        ["mcp.töld.told", unset],
        ["mcp.töld.fails", error],
        ["mcp.töld.refuses", error],
        ["mcp.other.plan", error],
        ["mcp.other.resources/read", error],
        ["mcp.other.ends", error],
        ["mcp.other.told", unset],
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
    let [first, second, .., last] = spans else {
        return Err(format!("there are {} spans", spans.len()));
    };
    for (span, told) in [first, second, last].into_iter().zip(&made.told) {
        equal("trace", &span["trace_id"], &json!(told.trace()))?;
        equal("span", &span["span_id"], &json!(told.span()))?;
        let id = &span["attributes"]["jsonrpc.request.id"]["string_value"];
        equal("request", id, &json!(told.id()))?;
    }
    equal("parent", &first["parent_span_id"], &json!(""))?;
    let parent: Vec<&str> = PARENT.split('-').collect();
    equal("trace", &second["trace_id"], &json!(parent[1]))?;
    equal("parent", &second["parent_span_id"], &json!(parent[2]))?;
    equal("state", &second["trace_state"], &json!(STATE))?;
    // Without a parent, each begins a trace of its own.
    let mut traces: Vec<_> = spans.iter().map(|span| span["trace_id"].as_str()).collect();
    traces.sort_unstable();
    traces.dedup();
    equal("traces", &json!(traces.len()), &json!(spans.len()))
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
    let tool = |name: &str| {
        json!({"mcp.method.name": text("tools/call"), "gen_ai.tool.name": text(name),
            "gen_ai.operation.name": text("execute_tool")})
    };
    let remote = |own: Value| {
        let place = json!({
            "switchboard.server": text("töld"),
            "network.transport": text("tcp"),
            "network.protocol.name": text("http"),
            "network.protocol.version": text("1.1"),
            "server.address": text("127.0.0.1"),
        });
        (place, own)
    };
    let local = |own: Value| {
        let place = json!({
            "switchboard.server": text("other"),
            "network.transport": text("pipe"),
        });
        (place, own)
    };
    let code = "-32602";
    let wanted = [
        (remote(tool("told")), json!({})),
        (remote(tool("told")), json!({})),
        (
            remote(tool("fails")),
            json!({"error.type": text("tool_error")}),
        ),
        (
            remote(tool("refuses")),
            json!({"error.type": text(code), "rpc.response.status_code": text(code)}),
        ),
        (
            local(
                json!({"mcp.method.name": text("prompts/get"), "gen_ai.prompt.name": text("plan")}),
            ),
            json!({"error.type": text("cancelled")}),
        ),
        (
            local(json!({"mcp.method.name": text("resources/read"),
                "mcp.resource.uri": text("postgres://db/customers")})),
            json!({"error.type": text("timeout")}),
        ),
        (
            local(tool("ends")),
            json!({"error.type": text("connection")}),
        ),
        (local(tool("told")), json!({})),
    ];
    for (span, ((place, own), end)) in spans.iter().zip(wanted) {
        let name = span["name"].as_str().unwrap_or_default();
        let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let mut found = members(&span["attributes"]);
        let id = found.remove("jsonrpc.request.id").unwrap_or_default();
        let id = id["string_value"].as_str().unwrap_or_default().to_owned();
        if id.parse::<u64>().is_err() {
            return Err(format!("{name}: the id of the request is {id:?}"));
        }
        if place["network.transport"] == text("tcp") {
            // A number of 64 bits is a text in JSON.
            let port = found.remove("server.port").unwrap_or_default();
            let port = port["int_value"].as_str().unwrap_or_default().to_owned();
            if port.parse::<u16>().is_err() {
                return Err(format!("{name}: the port of the server is {port:?}"));
            }
        }
        let revision = json!({"mcp.protocol.version": text("2026-07-28")});
        let all = [place, own, end, revision];
        let all: Map<String, Value> = all.iter().flat_map(members).collect();
        equal(name, &Value::Object(found), &Value::Object(all))?;
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
