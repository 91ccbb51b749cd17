//! An endpoint of ours and whoever connects to it.
//!
//! The input is requests, one after another on one connection, with a line `%%` between them. The
//! first line of each says how it is sent: `L` with the length of its body, `C` in chunks, `R` as
//! the bytes stand there; a digit behind it cuts what is sent into pieces. In the others a line feed
//! of the head is sent as a line end of HTTP, `SESSION` stands for the session that the server has
//! named last, and `STATE` for what it wants to have carried back.

mod answers;
mod stage;
mod wire;

use stage::Stage;

/// Whatever comes, nothing panics, what goes back is HTTP, nobody is served who should not be, and
/// the next client is.
pub fn http_endpoint(data: &[u8]) {
    Stage::with(|stage| {
        let requests = requests(data);
        let talk = stage.talk(requests);
        answers::check(&talk);

        let healthy = stage.talk(vec![HEALTHY.as_bytes().to_vec()]);
        let answers = answers::check(&healthy);
        let is_well = answers.iter().any(|(status, body)| {
            *status == 200 && body.windows(12).any(|part| part == b"still at it!")
        });
        assert!(is_well, "{}", healthy.written.escape_ascii());
    });
}

/// The bytes of each request.
fn requests(data: &[u8]) -> Vec<Vec<u8>> {
    let mut requests = vec![Vec::new()];
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        match requests.last_mut() {
            Some(_) if line.starts_with(b"%%") => requests.push(Vec::new()),
            Some(last) => last.extend_from_slice(line),
            None => {}
        }
    }
    requests
}

/// A call that must be answered, whatever came before it.
const HEALTHY: &str = r#"L
POST /mcp HTTP/1.1
host: localhost:8080
accept: application/json, text/event-stream
content-type: application/json
mcp-protocol-version: 2026-07-28
mcp-method: tools/call
mcp-name: echo

{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"still at it!"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
