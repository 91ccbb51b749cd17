//! How little does it take to talk to any MCP server that a command starts?
//!
//! This: the protocol core finds the era, keeps the deadlines and pairs the answers; the
//! program below only moves bytes. It prints what it found as one line of JSON.
//!
//! ```sh
//! cargo run -q -p switchboard-protocol --example stdio_client -- npx -y @modelcontextprotocol/server-everything
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "a driver has the clock and the threads that the core does without"
)]

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use serde_json::{Value, json};
use switchboard_protocol::framing::{Line, LineDecoder};
use switchboard_protocol::jsonrpc::Limits;
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::client::{
    Agreed, CallKey, CallRequest, ClientConfig, ClientMachine, Input, Output,
};
use switchboard_protocol::types::Implementation;
use switchboard_protocol::{Era, Method, Payload};

fn main() -> ExitCode {
    let command: Vec<String> = std::env::args().skip(1).collect();
    if command.is_empty() || command.iter().any(|word| word == "--help") {
        let _ = writeln!(io::stderr(), "usage: stdio_client COMMAND [ARGUMENT…]");
        return ExitCode::from(2);
    }
    match Session::run(&command) {
        Ok(found) => {
            let _ = writeln!(io::stdout(), "{found}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One server, from its start to its end.
struct Session<'a> {
    command: &'a [String],
    machine: ClientMachine,
    child: Child,
    stdin: Option<ChildStdin>,
    events: Receiver<(u32, Option<Line>)>,
    sender: Sender<(u32, Option<Line>)>,
    /// How often the server was started: what an earlier one said no longer counts.
    life: u32,
    agreed: Option<Agreed>,
    tools: Vec<Value>,
}

impl<'a> Session<'a> {
    fn run(command: &'a [String]) -> Result<Value, String> {
        let info = Implementation::new("stdio_client", env!("CARGO_PKG_VERSION"));
        let (sender, events) = channel();
        let (child, stdin) = start(command, 0, sender.clone())?;
        let mut session = Self {
            command,
            machine: ClientMachine::new(ClientConfig::new(info)),
            child,
            stdin: Some(stdin),
            events,
            sender,
            life: 0,
            agreed: None,
            tools: Vec::new(),
        };
        let found = session.talk();
        session.stop();
        found
    }

    fn talk(&mut self) -> Result<Value, String> {
        let limits = Limits::default();
        let mut next = Some(Input::Opened);
        loop {
            if let Some(input) = next.take()
                && let Some(found) = self.handle(input)?
            {
                return Ok(found);
            }
            let wait = self
                .machine
                .deadline()
                .map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let event = match wait {
                Some(wait) => self.events.recv_timeout(wait),
                None => self.events.recv().map_err(RecvTimeoutError::from),
            };
            next = match event {
                Ok((life, _)) if life != self.life => None,
                Ok((_, Some(line))) => Some(Input::Received {
                    lane: Lane::SHARED,
                    frame: line.read(&limits),
                }),
                Ok((_, None)) => Some(Input::PeerClosed {
                    reason: "its output ended".into(),
                }),
                Err(RecvTimeoutError::Timeout) => Some(Input::Tick),
                Err(RecvTimeoutError::Disconnected) => return Err("nobody reads".into()),
            };
        }
    }

    fn handle(&mut self, input: Input) -> Result<Option<Value>, String> {
        let mut outputs = Vec::new();
        self.machine.handle(Instant::now(), input, &mut outputs);
        for output in outputs {
            match output {
                Output::Send { message, .. } => {
                    let mut line = message.to_bytes().to_vec();
                    line.push(b'\n');
                    // A server that is gone is told by its reader.
                    if let Some(stdin) = &mut self.stdin {
                        let _ = stdin.write_all(&line).and_then(|()| stdin.flush());
                    }
                }
                Output::Restart => {
                    self.stop();
                    self.life += 1;
                    let (child, stdin) = start(self.command, self.life, self.sender.clone())?;
                    self.child = child;
                    self.stdin = Some(stdin);
                    return self.handle(Input::Opened);
                }
                Output::Opened(agreed) => {
                    let has_tools = agreed.capabilities.has_tools();
                    self.agreed = Some(*agreed);
                    if !has_tools {
                        return Ok(Some(self.found()));
                    }
                    return self.list(None);
                }
                Output::Failed(failure) => return Err(failure.to_string()),
                Output::Finished { outcome, .. } => {
                    let page: Value = outcome
                        .map_err(|error| error.to_string())?
                        .decode()
                        .map_err(|error| error.to_string())?;
                    let tools = page["tools"].as_array().into_iter().flatten();
                    self.tools.extend(tools.map(|tool| tool["name"].clone()));
                    return match page["nextCursor"].as_str() {
                        Some(cursor) => self.list(Some(cursor)),
                        None => Ok(Some(self.found())),
                    };
                }
                // Progress, log messages and the like are not asked for here.
                _ => {}
            }
        }
        Ok(None)
    }

    fn list(&mut self, cursor: Option<&str>) -> Result<Option<Value>, String> {
        let params = cursor.and_then(|cursor| Payload::encode(&json!({ "cursor": cursor })).ok());
        let call = CallRequest::new(CallKey(1), Method::ToolsList, params);
        self.handle(Input::Call(call))
    }

    fn found(&self) -> Value {
        let agreed = self.agreed.as_ref();
        json!({
            "revision": agreed.map(|agreed| agreed.revision.as_str()),
            "era": agreed.map(|agreed| match agreed.revision.era() {
                Era::Handshake => "handshake",
                Era::Stateless => "stateless",
            }),
            "server": agreed.and_then(|agreed| agreed.server.as_ref()).map(|server| &server.name),
            "tools": self.tools,
        })
    }

    /// Closes its input, and if that does not end it, ends it.
    fn stop(&mut self) {
        self.stdin = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the server and a thread that reads what it says, up to its end.
fn start(
    command: &[String],
    life: u32,
    events: Sender<(u32, Option<Line>)>,
) -> Result<(Child, ChildStdin), String> {
    let [program, arguments @ ..] = command else {
        return Err("no command".into());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the server has no standard streams".into());
    };
    std::thread::spawn(move || {
        let mut lines = LineDecoder::new();
        let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
        loop {
            let count = match stdout.fill_buf() {
                Ok(chunk) => {
                    lines.push(chunk);
                    chunk.len()
                }
                Err(_) => 0,
            };
            stdout.consume(count);
            let next = |lines: &mut LineDecoder| match count {
                0 => lines.finish(),
                _ => lines.next_line(),
            };
            while let Some(line) = next(&mut lines) {
                let _ = events.send((life, Some(line)));
            }
            if count == 0 {
                let _ = events.send((life, None));
                return;
            }
        }
    });
    Ok((child, stdin))
}
