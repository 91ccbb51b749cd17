//! A server of the handshake era on its standard streams that writes more than anybody wants.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::{Flag, PIECE};

/// Serves until the end of its input.
pub(super) fn run(kind: &str, flag: Flag, limit: usize) -> Result<ExitCode, String> {
    let server = Arc::new(Server {
        kind: kind.to_owned(),
        flag,
        limit,
        out: Mutex::default(),
    });
    let flooding = Arc::clone(&server);
    thread::spawn(move || flooding.flood());
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        // Nobody is there any more.
        if server.answer(&message).is_err() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Server {
    kind: String,
    flag: Flag,
    /// How large a message may be.
    limit: usize,
    /// Who may write.
    out: Mutex<()>,
}

impl Server {
    fn answer(self: &Arc<Self>, message: &Value) -> io::Result<()> {
        let Some(id) = message.get("id") else {
            return Ok(());
        };
        let Some(method) = message["method"].as_str() else {
            return Ok(());
        };
        let params = &message["params"];
        let result = match method {
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}, "logging": {}},
                "serverInfo": {"name": "hostile", "version": "1.0.0"},
            }),
            "ping" | "logging/setLevel" => json!({}),
            "tools/list" => json!({"tools": self.tools()}),
            "tools/call" => {
                if self.kind == "progress" {
                    self.tell_for_ever(&params["_meta"]["progressToken"]);
                    return Ok(());
                }
                let size = match (&*self.kind, self.flag.is_up()) {
                    ("results", true) => self.limit - 1_000,
                    ("results too large", true) => self.limit * 2,
                    _ => 10,
                };
                json!({"content": [{"type": "text", "text": "x".repeat(size)}]})
            }
            _ => {
                let error = json!({"code": -32601, "message": "Method not found"});
                return self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn tools(&self) -> Vec<Value> {
        let count = if self.kind == "changed lists" { 200 } else { 1 };
        let tools = (0..count).map(|number| {
            let name = match number {
                0 => "big".to_owned(),
                _ => format!("tool{number}"),
            };
            json!({"name": name, "description": "y".repeat(1_000),
                "inputSchema": {"type": "object"}})
        });
        tools.collect()
    }

    fn tell_for_ever(self: &Arc<Self>, token: &Value) {
        let server = Arc::clone(self);
        let token = token.clone();
        thread::spawn(move || {
            for progress in 1_u64.. {
                server.flag.wait();
                let params = json!({"progressToken": token, "progress": progress});
                let method = "notifications/progress";
                let told = json!({"jsonrpc": "2.0", "method": method, "params": params});
                if server.send(&told).is_err() {
                    return;
                }
            }
        });
    }

    fn flood(&self) {
        let notification = |method: &str, params: Value| {
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            format!("{message}\n").repeat(200)
        };
        let piece = match &*self.kind {
            "notifications" => notification(
                "notifications/message",
                json!({"level": "error", "data": "for ever"}),
            ),
            "changed lists" => notification("notifications/tools/list_changed", json!({})),
            "questions" => {
                let params = json!({"messages": [], "maxTokens": 10});
                let asked = |id| {
                    json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage",
                        "params": params})
                };
                (0..200).map(|id| format!("{}\n", asked(id))).collect()
            }
            "endless line" => "x".repeat(64 * 1024),
            "standard error" => "a line that nobody reads\n".repeat(1_000),
            _ => return,
        };
        loop {
            self.flag.wait();
            let written = match &*self.kind {
                "standard error" => io::stderr().write_all(piece.as_bytes()),
                "endless line" => self.line_without_end(&piece),
                _ => self.write(piece.as_bytes()),
            };
            if written.is_err() {
                return;
            }
        }
    }

    fn line_without_end(&self, piece: &str) -> io::Result<()> {
        let _turn = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = io::stdout().lock();
        while self.flag.is_up() {
            out.write_all(piece.as_bytes())?;
        }
        out.write_all(b"\n")?;
        out.flush()
    }

    fn send(&self, message: &Value) -> io::Result<()> {
        self.write(format!("{message}\n").as_bytes())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let _turn = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = io::stdout().lock();
        for piece in bytes.chunks(PIECE) {
            out.write_all(piece)?;
        }
        out.flush()
    }
}
