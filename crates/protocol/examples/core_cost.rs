//! What does one message cost in the core? Run under callgrind by `cargo xtask bench`.
//!
//! `core_cost CASE COUNT` plays a case COUNT times. Two runs with different counts tell the
//! cost of one, free of start-up: what differs is the messages alone.

#![expect(
    clippy::disallowed_methods,
    reason = "a driver has the clock that the core does without"
)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use switchboard_protocol::framing::LineDecoder;
use switchboard_protocol::jsonrpc::{Frame, FrameReader, Limits, Message, RequestId, Response};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::client::{
    self, CallKey, CallRequest, ClientConfig, ClientMachine, Mode,
};
use switchboard_protocol::machine::server::{
    self, Answer, Arrival, Reply, ServerConfig, ServerMachine,
};
use switchboard_protocol::types::{Implementation, ServerCapabilities, ToolsCapability};
use switchboard_protocol::{Method, Payload};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next().unwrap_or_default();
    let count = arguments.next().and_then(|text| text.parse().ok());
    let Some(count) = count else {
        return ExitCode::from(2);
    };
    match case.as_str() {
        "handshake" => serve(HANDSHAKE_CALL, count),
        "stateless" => serve(STATELESS_CALL, count),
        "client_handshake" => call(Mode::Legacy, INITIALIZE_RESULT, HANDSHAKE_RESULT, count),
        "client_stateless" => call(Mode::Auto, DISCOVERED, STATELESS_RESULT, count),
        "pass_through" => pass_through(count),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

/// Lines in, a call to a tool each, lines out: everything but the wires and the tool, which
/// gives the same result each time.
fn serve(call: &str, count: usize) {
    let mut capabilities = ServerCapabilities::default();
    capabilities.tools = Some(ToolsCapability::default());
    let info = Implementation::new("core_cost", "1");
    let mut machine = ServerMachine::new(ServerConfig::new(info, capabilities));
    let limits = Limits::default();
    let mut lines = LineDecoder::with_limit(limits.bytes);
    let mut reader = FrameReader::new(limits);
    let mut outputs = Vec::new();
    let mut written = Vec::with_capacity(64 * 1024);
    let now = Instant::now();
    let result = result();
    lines.push(format!("{INITIALIZE}\n{INITIALIZED}\n").as_bytes());
    // As one read of a busy pipe brings them.
    let calls = format!("{call}\n").repeat(CALLS_PER_READ);
    for _ in 0..count.div_ceil(CALLS_PER_READ) {
        lines.push(calls.as_bytes());
        while let Some(line) = lines.next_line() {
            let lane = Lane::SHARED;
            let (request, admitted) = match reader.read_line(line) {
                Ok(Frame::Single(Message::Request(request))) => {
                    let admitted = machine.admit_request(lane, &request, &mut outputs);
                    (request, admitted)
                }
                frame => {
                    machine.handle(now, server::Input::Received { lane, frame }, &mut outputs);
                    continue;
                }
            };
            outputs.clear();
            let Some(admitted) = admitted else {
                continue;
            };
            let Arrival { serve, call, .. } = machine.arrive(lane, request, admitted);
            black_box(serve.params.as_ref().and_then(Payload::name_bytes));
            let answer = Answer::Result(result.clone());
            let reply = machine.answer(now, call, &serve, answer, &mut outputs);
            if let Some(Reply::Response(response)) = reply {
                Message::from(response).write(&mut written);
                written.push(b'\n');
            }
        }
        black_box(&written);
        written.clear();
    }
}

/// Calls of a tool, each written, answered by a line and finished: everything but the wires.
///
/// As many calls are in flight as a busy client has, and after each turn the machine is asked
/// for its deadline, as a driver does.
fn call(mode: Mode, opened: &str, result: &str, count: usize) {
    let mut config = ClientConfig::new(Implementation::new("core_cost", "1"));
    config.mode = mode;
    let mut machine = ClientMachine::new(config);
    let limits = Limits::default();
    let mut lines = LineDecoder::with_limit(limits.bytes);
    let mut outputs = Vec::new();
    let mut written = Vec::with_capacity(64 * 1024);
    let now = Instant::now();
    let params = call_params();
    let mut receive = |machine: &mut ClientMachine, text: &[u8], outputs: &mut Vec<_>| {
        lines.push(text);
        while let Some(line) = lines.next_line() {
            let frame = line.read(&limits);
            let lane = Lane::SHARED;
            machine.handle(now, client::Input::Received { lane, frame }, outputs);
            black_box(&outputs);
            outputs.clear();
            black_box(machine.deadline());
        }
    };
    machine.handle(now, client::Input::Opened, &mut outputs);
    outputs.clear();
    receive(&mut machine, format!("{opened}\n").as_bytes(), &mut outputs);
    // The ids that the machine will give: the opening has had the first.
    let mut next = 2;
    let mut answers = Vec::with_capacity(64 * 1024);
    for _ in 0..count.div_ceil(CALLS_PER_READ) {
        answers.clear();
        for key in next..next + CALLS_PER_READ as u64 {
            let request = CallRequest::new(CallKey(key), Method::ToolsCall, Some(params.clone()));
            machine.handle(now, client::Input::Call(request), &mut outputs);
            for output in &outputs {
                if let client::Output::Send { message, .. } = output {
                    message.write(&mut written);
                    written.push(b'\n');
                }
            }
            outputs.clear();
            black_box(machine.deadline());
            answers.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            push_number(&mut answers, key);
            answers.extend_from_slice(result.as_bytes());
        }
        next += CALLS_PER_READ as u64;
        black_box(&written);
        written.clear();
        receive(&mut machine, &answers, &mut outputs);
    }
    assert_eq!(machine.open_calls(), 0, "every call has its answer");
}

/// Appends a number. It is part of the harness, so it is kept cheap.
fn push_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [b'0'; 20];
    let mut rest = number;
    let mut at = digits.len();
    while rest > 0 {
        at -= 1;
        digits[at] += (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

fn call_params() -> Payload {
    #[derive(Serialize)]
    struct Params {
        name: &'static str,
        arguments: Arguments,
    }
    #[derive(Serialize)]
    struct Arguments {
        text: &'static str,
    }
    Payload::encode(&Params {
        name: "echo",
        arguments: Arguments {
            text: "12345678901234567890123456789012",
        },
    })
    .unwrap_or_else(|_| Payload::empty())
}

fn result() -> Payload {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct CallResult {
        result_type: &'static str,
        content: [Text; 1],
    }
    #[derive(Serialize)]
    struct Text {
        r#type: &'static str,
        text: &'static str,
    }
    Payload::encode(&CallResult {
        result_type: "complete",
        content: [Text {
            r#type: "text",
            text: "12345678901234567890123456789012",
        }],
    })
    .unwrap_or_else(|_| Payload::empty())
}

/// One answer of the given size, from one peer to another, under another id.
fn pass_through(size: usize) {
    let mut machine = ClientMachine::new(ClientConfig::new(Implementation::new("core_cost", "1")));
    let limits = Limits::default();
    let now = Instant::now();
    let mut lines = LineDecoder::with_limit(limits.bytes);
    let mut outputs = Vec::new();
    machine.handle(now, client::Input::Opened, &mut outputs);
    lines.push(DISCOVERED.as_bytes());
    lines.push(b"\n");
    lines.push(RESULT_HEAD.as_bytes());
    // What a read would put there.
    let buffer = lines.buffer_mut();
    buffer.resize(buffer.len() + size, b'x');
    lines.push(b"\"}]}}\n");
    let mut head = Vec::new();
    while let Some(line) = lines.next_line() {
        let frame = line.read(&limits);
        let lane = Lane::SHARED;
        machine.handle(now, client::Input::Received { lane, frame }, &mut outputs);
        for output in std::mem::take(&mut outputs) {
            match output {
                client::Output::Opened(_) => {
                    let call = CallRequest::new(CallKey(1), Method::ToolsCall, None);
                    machine.handle(now, client::Input::Call(call), &mut outputs);
                    outputs.clear();
                }
                client::Output::Finished {
                    outcome: Ok(result),
                    ..
                } => {
                    let answer = Message::from(Response::new(RequestId::from("x"), Ok(result)));
                    // The payload goes to the wire as the bytes that came.
                    let rest = answer.write_head(&mut head);
                    black_box((rest.text(), rest.tail(), rest.is_one_line()));
                }
                _ => {}
            }
        }
    }
    black_box(&head);
}

const CALLS_PER_READ: usize = 50;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const HANDSHAKE_CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"12345678901234567890123456789012"}}}"#;
const STATELESS_CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"12345678901234567890123456789012"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}"#;
const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;
const INITIALIZE_RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const HANDSHAKE_RESULT: &str = concat!(
    r#","result":{"content":[{"type":"text","text":"12345678901234567890123456789012"}]}}"#,
    "\n"
);
const STATELESS_RESULT: &str = concat!(
    r#","result":{"resultType":"complete","content":[{"type":"text","text":"12345678901234567890123456789012"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}"#,
    "\n"
);
const RESULT_HEAD: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[{"type":"text","text":""#;
