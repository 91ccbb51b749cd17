//! What a correct small server answers.
//!
//! Pure: a message goes in, what is to be answered comes out. Writing it, waiting and
//! breaking it is for [`stdio`](super::stdio) and [`http`](super::http).
//!
//! Specification: basic/lifecycle of 2025-11-25; server/discover and server/tools of 2026-07-28.

use std::time::Duration;

use serde_json::{Value, json};

use switchboard_protocol::types::meta_key;

use super::Eras;
use super::message::{error, failure, notification, success, text};

/// The answers of a correct server, and the tools that it lists.
#[derive(Debug)]
pub(super) struct Honest {
    pub(super) eras: Eras,
    /// What `tools/list` answers, for kinds that change it.
    pub(super) tools: Vec<Value>,
}

/// What a message is answered with.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// This.
    Now(Value),
    /// This, after a time, unless it was cancelled.
    Later(Duration, Value),
    /// It is a subscription: this notification, and no answer until it is cancelled.
    Listening(Value),
    /// It is a notification or an answer, or the probe of a server that says nothing to it.
    Nothing,
}

impl Honest {
    pub(super) fn new(eras: Eras) -> Self {
        Self {
            eras,
            tools: tools(),
        }
    }

    /// What this message is answered with.
    pub(super) fn reply(&self, message: &Value) -> Reply {
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            return Reply::Nothing;
        };
        let params = &message["params"];
        let (outcome, wait) = match method {
            "server/discover" if self.eras.is_stateless() => (Ok(self.discovered()), None),
            "server/discover" if self.eras == Eras::SilentOnProbe => return Reply::Nothing,
            "initialize" if self.eras.has_handshake() => (Ok(greeting(params)), None),
            "initialize" => (Err(unsupported(&params["protocolVersion"])), None),
            "tools/list" => (Ok(json!({"tools": self.tools})), None),
            "tools/call" => call(params),
            "subscriptions/listen" if is_stateless(message) => {
                return Reply::Listening(acknowledged(id, params));
            }
            "ping" | "logging/setLevel" if !is_stateless(message) => (Ok(json!({})), None),
            _ => (Err(error(-32601, "Method not found")), None),
        };
        let answer = match outcome {
            Ok(mut result) => {
                if is_stateless(message) {
                    complete(&mut result, method);
                }
                success(id, result)
            }
            Err(error) => failure(id, error),
        };
        match wait {
            Some(wait) => Reply::Later(wait, answer),
            None => Reply::Now(answer),
        }
    }

    /// The answer, at once.
    pub(super) fn answer(&self, request: &Value) -> Value {
        match self.reply(request) {
            Reply::Now(answer) | Reply::Later(_, answer) => answer,
            Reply::Listening(_) | Reply::Nothing => Value::Null,
        }
    }

    fn discovered(&self) -> Value {
        let mut versions = vec!["2026-07-28"];
        if self.eras.has_handshake() {
            versions.push("2025-11-25");
        }
        json!({"supportedVersions": versions, "capabilities": capabilities()})
    }
}

/// Does a request carry its context?
pub(super) fn is_stateless(message: &Value) -> bool {
    message["params"]["_meta"]
        .get(meta_key::PROTOCOL_VERSION)
        .is_some()
}

/// Is it a call of this tool?
pub(super) fn is_call(message: &Value, tool: &str) -> bool {
    message["method"] == "tools/call" && message["params"]["name"] == tool
}

/// The text that a call of `echo` or `defect` asks for.
pub(super) fn asked_text(params: &Value) -> &str {
    let text = params["arguments"]["text"].as_str();
    text.unwrap_or("as it should be")
}

fn call(params: &Value) -> (Result<Value, Value>, Option<Duration>) {
    let arguments = &params["arguments"];
    match params["name"].as_str() {
        Some("echo" | "defect") => (Ok(text(asked_text(params))), None),
        Some("add") => {
            let sum = arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0);
            let mut result = text(&sum.to_string());
            result["structuredContent"] = json!({"sum": sum});
            (Ok(result), None)
        }
        Some("slow") => {
            let wait = Duration::from_millis(arguments["ms"].as_u64().unwrap_or(100));
            (Ok(text("at last")), Some(wait))
        }
        _ => (Err(error(-32602, "Unknown tool")), None),
    }
}

fn greeting(params: &Value) -> Value {
    json!({
        "protocolVersion": params["protocolVersion"],
        "capabilities": capabilities(),
        "serverInfo": server_info(),
    })
}

/// What every result of the stateless era has.
fn complete(result: &mut Value, method: &str) {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({meta_key::SERVER_INFO: server_info()});
    if matches!(method, "server/discover" | "tools/list") {
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
}

fn unsupported(requested: &Value) -> Value {
    let mut error = error(-32022, "Unsupported protocol version");
    error["data"] = json!({"supported": ["2026-07-28"], "requested": requested});
    error
}

fn acknowledged(id: &Value, params: &Value) -> Value {
    let meta = json!({meta_key::SUBSCRIPTION_ID: id});
    let honoured = json!({"notifications": params["notifications"], "_meta": meta});
    notification("notifications/subscriptions/acknowledged", honoured)
}

fn server_info() -> Value {
    json!({"name": "faulty", "version": "1"})
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "logging": {}})
}

fn tools() -> Vec<Value> {
    let tool = |name: &str, properties: Value| {
        json!({
            "name": name,
            "description": format!("The tool {name}"),
            "inputSchema": {"type": "object", "properties": properties},
        })
    };
    let number = || json!({"type": "integer"});
    let mut add = tool("add", json!({"a": number(), "b": number()}));
    add["outputSchema"] =
        json!({"type": "object", "properties": {"sum": number()}, "required": ["sum"]});
    vec![
        tool("echo", json!({"text": {"type": "string"}})),
        add,
        tool("slow", json!({"ms": number()})),
        tool("defect", json!({"text": {"type": "string"}})),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(eras: Eras, request: Value) -> Value {
        Honest::new(eras).answer(&request)
    }

    fn request(method: &str, params: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    fn with_context(method: &str) -> Value {
        request(
            method,
            json!({"_meta": {meta_key::PROTOCOL_VERSION: "2026-07-28"}}),
        )
    }

    #[test]
    fn the_handshake_agrees_to_the_revision_asked_for() {
        let greeting = request("initialize", json!({"protocolVersion": "2025-03-26"}));
        let result = &answer(Eras::Legacy, greeting.clone())["result"];
        assert_eq!(result["protocolVersion"], "2025-03-26");
        assert_eq!(answer(Eras::Modern, greeting)["error"]["code"], -32022);
    }

    #[test]
    fn the_probe_is_answered_by_era() {
        let probe = with_context("server/discover");
        assert_eq!(
            answer(Eras::Modern, probe.clone())["result"]["supportedVersions"],
            json!(["2026-07-28"])
        );
        assert_eq!(answer(Eras::Legacy, probe.clone())["error"]["code"], -32601);
        assert_eq!(answer(Eras::SilentOnProbe, probe), Value::Null);
    }

    #[test]
    fn only_a_request_with_context_has_a_kind_of_result() {
        let list = answer(Eras::Both, with_context("tools/list"));
        assert_eq!(list["result"]["resultType"], "complete");
        let list = answer(Eras::Both, request("tools/list", json!({})));
        assert_eq!(list["result"].get("resultType"), None);
        assert_eq!(list["result"]["tools"][1]["name"], "add");
    }

    #[test]
    fn the_tools_do_what_they_say() {
        let call = |name, arguments| {
            let params = json!({"name": name, "arguments": arguments});
            Honest::new(Eras::Both).reply(&request("tools/call", params))
        };
        let Reply::Now(sum) = call("add", json!({"a": 2, "b": 3})) else {
            panic!("not at once")
        };
        assert_eq!(sum["result"]["structuredContent"]["sum"], 5);
        let slow = call("slow", json!({"ms": 7}));
        assert!(matches!(slow, Reply::Later(wait, _) if wait.as_millis() == 7));
    }
}
