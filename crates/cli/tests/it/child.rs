//! Servers of the tests: this very program, started once more, which answers by hand in the
//! handshake era.

use std::io::{BufRead, Write};
use std::path::Path;

use serde_json::{Value, json};

/// How one is configured that plays all parts.
pub(crate) fn server() -> Value {
    played("all")
}

/// One that notes in this file that a call was cancelled.
pub(crate) fn noting(file: &Path) -> Value {
    played(&format!("note {}", file.display()))
}

/// One whose only tool takes as long as somebody wants.
#[cfg(unix)]
pub(crate) fn holding() -> Value {
    played("holding")
}

/// One whose only tool says to which span it belongs.
#[cfg(unix)]
pub(crate) fn traced() -> Value {
    played("traced")
}

/// One whose list of tools is none.
pub(crate) fn unlisted() -> Value {
    played("unlisted")
}

/// One that never says anything.
pub(crate) fn silent() -> Value {
    played("silent")
}

/// One whose every tool says this.
pub(crate) fn saying(words: &str) -> Value {
    played(&format!("say {words}"))
}

/// One whose instructions and tools are in this file, and whose tool `turn` puts those of another
/// file in their place, and says that they have changed. `sample` is for hosts with a model only.
#[cfg(unix)]
pub(crate) fn defined(file: &Path) -> Value {
    played(&format!("defined {}", file.display()))
}

fn played(part: &str) -> Value {
    let program = std::env::current_exe().unwrap();
    json!({
        "command": program.to_str().unwrap(),
        "args": ["--exact", "child::serves", "--nocapture"],
        "env": {VARIABLE: part},
    })
}

/// Not a test by itself: what others start.
#[test]
fn serves() {
    let Ok(part) = std::env::var(VARIABLE) else {
        return;
    };
    let mut peer = Peer;
    let defined = part.strip_prefix("defined ");
    let mut can_sample = false;
    while let Some(message) = peer.read() {
        if part == "silent" {
            continue;
        }
        let id = message["id"].clone();
        let result = match message["method"].as_str() {
            Some("initialize") if defined.is_some() => {
                can_sample = message["params"]["capabilities"]["sampling"].is_object();
                json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": "child", "version": "1.0.0"},
                    "instructions": read_json(defined.unwrap())["instructions"],
                })
            }
            Some("tools/list") if defined.is_some() => {
                let mut tools = read_json(defined.unwrap())["tools"].clone();
                let is_offered = |tool: &Value| can_sample || tool["name"] != "sample";
                tools.as_array_mut().unwrap().retain(is_offered);
                json!({"tools": tools})
            }
            Some("tools/call") if defined.is_some() => {
                if message["params"]["name"] == "turn" {
                    let file = defined.unwrap();
                    std::fs::copy(format!("{file}.next"), file).unwrap();
                    peer.write(&json!({"jsonrpc": "2.0",
                        "method": "notifications/tools/list_changed"}));
                }
                json!({"content": [{"type": "text", "text": "done"}]})
            }
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {"subscribe": true}, "logging": {}},
                "serverInfo": {"name": "child", "version": "1.0.0"},
            }),
            Some("tools/list") if part == "unlisted" => json!({"tools": 5}),
            Some("tools/list") if part == "holding" => json!({"tools": [
                {"name": "hold", "inputSchema": {"type": "object"}}]}),
            Some("tools/list") if part == "traced" => json!({"tools": [
                {"name": "trace", "inputSchema": {"type": "object"}}]}),
            Some("tools/call") if part == "traced" => {
                let span = &message["params"]["_meta"]["traceparent"];
                json!({"content": [{"type": "text", "text": span.as_str()}]})
            }
            Some("tools/list") => json!({"tools": tools()}),
            Some("resources/list") => json!({"resources": [
                {"uri": "demo://picture", "name": "picture", "mimeType": "image/png"}]}),
            Some("resources/templates/list") => json!({"resourceTemplates": []}),
            Some("resources/read") => json!({"contents": [
                {"uri": "demo://picture", "mimeType": "image/png", "blob": "iVBORw=="}]}),
            Some("resources/subscribe") => {
                // At once, so that nobody waits for it.
                peer.write(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
                peer.write(
                    &json!({"jsonrpc": "2.0", "method": "notifications/resources/updated",
                    "params": {"uri": message["params"]["uri"]}}),
                );
                continue;
            }
            Some("tools/call") if part.starts_with("say ") => {
                json!({"content": [{"type": "text", "text": part.strip_prefix("say ")}]})
            }
            Some("tools/call") => match call(&mut peer, &message) {
                Some(result) => result,
                None => continue,
            },
            Some("notifications/cancelled") => {
                if let Some(file) = part.strip_prefix("note ") {
                    std::fs::write(file, "cancelled").unwrap();
                }
                continue;
            }
            Some(_) if !id.is_null() => {
                peer.write(&json!({"jsonrpc": "2.0", "id": id,
                    "error": {"code": -32601, "message": "no such method"}}));
                continue;
            }
            _ => continue,
        };
        peer.write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
}

fn read_json(file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn tools() -> Value {
    let any = json!({"type": "object"});
    let named = |name: &str| json!({"name": name, "inputSchema": any});
    json!([
        {"name": "echo", "description": "Says it again.\n\nAt length.", "inputSchema":
            {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
        named("fail"), named("wait"), named("steps"), named("ask"), named("visit"),
        named("picture"), named("colours"), named("wrong"), named("structured"),
    ])
}

fn call(peer: &mut Peer, message: &Value) -> Option<Value> {
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let arguments = &message["params"]["arguments"];
    Some(match message["params"]["name"].as_str().unwrap() {
        "echo" => text(arguments["text"].as_str().unwrap()),
        "fail" => {
            json!({"content": [{"type": "text", "text": "it broke\nbadly"}], "isError": true})
        }
        "wait" => {
            peer.write(&json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "info", "data": "waiting"}}));
            return None;
        }
        "steps" => {
            let token = &message["params"]["_meta"]["progressToken"];
            for step in 1..=3 {
                peer.write(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": step, "total": 3}}),
                );
            }
            text("done")
        }
        "ask" => text(&peer.ask(&json!({
            "message": "Who are you?",
            "requestedSchema": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "minLength": 2},
                "size": {"type": "string", "enum": ["s", "m"], "default": "m"}}},
        }))),
        "visit" => text(&peer.ask(&json!({
            "mode": "url", "message": "Pay here", "url": "https://pay.example.com/1",
            "elicitationId": "1",
        }))),
        "picture" => json!({"content": [
            {"type": "text", "text": "a picture"},
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}]}),
        // Waits until somebody lets it go.
        "hold" => {
            let port = u16::try_from(arguments["port"].as_u64().unwrap()).unwrap();
            let mut held = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            let _ = std::io::Read::read(&mut held, &mut [0]);
            text("let go")
        }
        "colours" => text("\u{1b}[31mred\u{1b}[0m\u{7}"),
        "wrong" => json!({"content": 5}),
        "structured" => json!({"content": [], "structuredContent": {"z": 1, "a": 2}}),
        other => panic!("{other}"),
    })
}

struct Peer;

impl Peer {
    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    fn write(&mut self, message: &Value) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{message}").unwrap();
        out.flush().unwrap();
    }

    /// Asks the user, and says what came back.
    fn ask(&mut self, params: &Value) -> String {
        self.write(
            &json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
            "params": params}),
        );
        loop {
            let message = self.read().unwrap();
            if message["id"] == "q" {
                let answer = message.get("result").or_else(|| message.get("error"));
                return answer.unwrap().to_string();
            }
        }
    }
}

const VARIABLE: &str = "SWITCHBOARD_CLI_TEST_PART";
