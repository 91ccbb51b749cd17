//! How little does it take to serve MCP on stdin and stdout, in every revision?
//!
//! This: the protocol core decides everything, and the loop below only moves bytes.
//! Two tools: `echo` gives its text back, `ask` asks the user for a name and greets.
//!
//! ```sh
//! echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | cargo run -q -p switchboard-protocol --example stdio_server
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "a driver has the clock and the threads that the core does without"
)]

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::Instant;

use serde_json::{Value, json};
use switchboard_protocol::framing::LineDecoder;
use switchboard_protocol::jsonrpc::{ErrorObject, Limits, Message};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::server::{
    Answer, Input, Output, Serve, ServerConfig, ServerMachine,
};
use switchboard_protocol::revision::step_down_result;
use switchboard_protocol::types::{Implementation, ServerCapabilities, ToolsCapability};
use switchboard_protocol::{Method, Payload};

fn main() -> io::Result<()> {
    let mut capabilities = ServerCapabilities::default();
    capabilities.tools = Some(ToolsCapability::default());
    let info = Implementation::new("stdio_server", env!("CARGO_PKG_VERSION"));
    let mut machine = ServerMachine::new(ServerConfig::new(info, capabilities));

    let limits = Limits::default();
    let mut lines = LineDecoder::with_limit(limits.bytes);
    let mut chunk = vec![0; 64 * 1024];
    let mut stdout = io::stdout().lock();
    loop {
        let count = io::stdin().read(&mut chunk)?;
        lines.push(chunk.get(..count).unwrap_or_default());
        let mut written = Vec::new();
        let next = |lines: &mut LineDecoder| match count {
            0 => lines.finish(),
            _ => lines.next_line(),
        };
        while let Some(line) = next(&mut lines) {
            let frame = line.read(&limits);
            let lane = Lane::SHARED;
            drive(&mut machine, Input::Received { lane, frame }, &mut written);
        }
        if count == 0 {
            drive(&mut machine, Input::PeerClosed, &mut written);
        }
        stdout.write_all(&written)?;
        stdout.flush()?;
        if count == 0 {
            return Ok(());
        }
    }
}

/// Lets the machine take something in, and does what it says, until nothing is left to do.
fn drive(machine: &mut ServerMachine, input: Input, written: &mut Vec<u8>) {
    let mut inputs = VecDeque::from([input]);
    let mut outputs = Vec::new();
    while let Some(input) = inputs.pop_front() {
        machine.handle(Instant::now(), input, &mut outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Send { message, .. } => {
                    message.write(written);
                    written.push(b'\n');
                }
                Output::SendBatch { responses, .. } => {
                    written.push(b'[');
                    for (place, response) in responses.into_iter().enumerate() {
                        if place > 0 {
                            written.push(b',');
                        }
                        Message::from(response).write(written);
                    }
                    written.extend_from_slice(b"]\n");
                }
                Output::Serve(serve) => inputs.push_back(Input::Answered {
                    key: serve.key,
                    answer: in_words_of(&serve, answer(&serve)),
                }),
                // Nothing here runs for long, so there is nothing to stop, and nobody to tell.
                _ => {}
            }
        }
    }
}

/// A result is written in the form of the caller's revision.
fn in_words_of(serve: &Serve, answer: Answer) -> Answer {
    match (serve.method.known(), answer) {
        (Some(method), Answer::Result(result)) => {
            match step_down_result(method, &result, serve.caller.revision) {
                Ok(result) => Answer::Result(result),
                Err(error) => Answer::Error(ErrorObject::internal(error.to_string())),
            }
        }
        (_, answer) => answer,
    }
}

fn answer(serve: &Serve) -> Answer {
    let params: Value = serve
        .params
        .as_ref()
        .and_then(|params| params.decode().ok())
        .unwrap_or_default();
    match serve.method.known() {
        Some(Method::ToolsList) => result(&json!({ "tools": [
            {
                "name": "echo",
                "description": "Gives the text back.",
                "inputSchema": {
                    "type": "object",
                    "properties": { "text": { "type": "string", "description": "What to give back." } },
                    "required": ["text"],
                    "additionalProperties": false
                }
            },
            {
                "name": "ask",
                "description": "Asks the user for a name and greets.",
                "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false }
            }
        ] })),
        Some(Method::ToolsCall) => match params["name"].as_str() {
            Some("echo") => text(params["arguments"]["text"].as_str().unwrap_or_default()),
            Some("ask") => ask(&params["inputResponses"]["name"]),
            name => Answer::Error(ErrorObject::invalid_params(format!(
                "Unknown tool: {}",
                name.unwrap_or_default()
            ))),
        },
        _ => Answer::Error(ErrorObject::method_not_found(serve.method.as_str())),
    }
}

/// Asks first, greets when the answer is there. The machine does the rest, in either era.
fn ask(answer: &Value) -> Answer {
    match answer["action"].as_str() {
        Some("accept") => {
            let name = answer["content"]["name"].as_str().unwrap_or("stranger");
            text(&format!("Hello, {name}"))
        }
        Some(_) => text("Hello, whoever you are"),
        None => Answer::InputRequired(payload(&json!({
            "inputRequests": { "name": {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "message": "What is your name?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": { "name": { "type": "string" } },
                        "required": ["name"]
                    }
                }
            } }
        }))),
    }
}

fn text(text: &str) -> Answer {
    result(&json!({ "content": [{ "type": "text", "text": text }] }))
}

fn result(value: &Value) -> Answer {
    Answer::Result(payload(value))
}

fn payload(value: &Value) -> Payload {
    Payload::encode(value).unwrap_or_else(|_| Payload::empty())
}
