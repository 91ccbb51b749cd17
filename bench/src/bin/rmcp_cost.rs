//! What does one message cost in rmcp? The counterpart of the example `core_cost`.
//!
//! `rmcp_cost CASE COUNT`: a line is read into rmcp's message type and an answer of its own
//! types is written. Its service loop, tasks and channels are left out, as our wires are.

use std::hint::black_box;
use std::process::ExitCode;

use rmcp::model::{
    CallToolResult, ClientJsonRpcMessage, ContentBlock, JsonRpcMessage, ServerJsonRpcMessage,
    ServerResult,
};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let call = match arguments.next().as_deref() {
        Some("handshake") => HANDSHAKE_CALL,
        Some("stateless") => STATELESS_CALL,
        _ => return ExitCode::from(2),
    };
    let count: usize = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let result =
        CallToolResult::success(vec![ContentBlock::text("12345678901234567890123456789012")]);
    let mut written = Vec::with_capacity(64 * 1024);
    for _ in 0..count {
        let message: ClientJsonRpcMessage =
            serde_json::from_slice(call.as_bytes()).expect("rmcp reads the call");
        let JsonRpcMessage::Request(request) = message else {
            return ExitCode::FAILURE;
        };
        black_box(&request.request);
        let answer = ServerJsonRpcMessage::response(
            ServerResult::CallToolResult(result.clone()),
            request.id,
        );
        serde_json::to_writer(&mut written, &answer).expect("rmcp writes the answer");
        written.push(b'\n');
        black_box(&written);
        written.clear();
    }
    ExitCode::SUCCESS
}

const HANDSHAKE_CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"12345678901234567890123456789012"}}}"#;
const STATELESS_CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"12345678901234567890123456789012"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}"#;
