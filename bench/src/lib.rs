//! What the programs share: a call answered by byte search, how a server is started, and how a
//! client is driven ([`calling`]).
//!
//! The limits of servers, `limit-stdio` and `limit-http`, answer with [`Copier`]. It checks nothing,
//! so it is no server: it bounds what one could reach.

use std::io;

use memchr::memmem::Finder;

pub mod calling;
pub mod message;
pub mod rmcp_http;

/// Finds the parts of a request and copies them into an answer.
#[derive(Debug)]
pub struct Copier {
    method: Finder<'static>,
    id: Finder<'static>,
    arguments: Finder<'static>,
    text: Finder<'static>,
    text_end: Finder<'static>,
}

impl Default for Copier {
    fn default() -> Self {
        Self {
            method: Finder::new(b"\"method\":\""),
            id: Finder::new(b"\"id\":"),
            arguments: Finder::new(b"\"arguments\":"),
            text: Finder::new(b"\"text\":\""),
            // The text is the last argument of the driver's calls, and the pair is much
            // rarer than the quote.
            text_end: Finder::new(b"\"}"),
        }
    }
}

impl Copier {
    /// Appends the answer to `request`; says `false` if it gets none.
    pub fn answer(&self, request: &[u8], answers: &mut Vec<u8>) -> bool {
        let Some(method) = after(&self.method, request) else {
            return false;
        };
        // The id stands before everything long.
        let Some(id) = after(&self.id, request) else {
            return false;
        };
        let id = &id[..id.iter().position(|byte| b",}".contains(byte)).unwrap_or(0)];
        answers.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        answers.extend_from_slice(id);
        if method.starts_with(b"tools/call\"") {
            let text = after(&self.arguments, method).and_then(|rest| after(&self.text, rest));
            let text = text.map_or(&[][..], |rest| &rest[..self.string_end(rest)]);
            answers.extend_from_slice(b",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"");
            answers.extend_from_slice(text);
            answers.extend_from_slice(b"\"}]}}");
        } else if method.starts_with(b"initialize\"") {
            answers.extend_from_slice(INITIALIZED);
        } else if method.starts_with(b"server/discover\"") {
            answers.extend_from_slice(DISCOVERED);
        } else if method.starts_with(b"tools/list\"") {
            answers.extend_from_slice(TOOLS);
        } else {
            answers.extend_from_slice(UNKNOWN);
        }
        true
    }

    /// Where the string ends that `bytes` are the inside of.
    fn string_end(&self, bytes: &[u8]) -> usize {
        let is_end = |&quote: &usize| {
            let escapes = bytes[..quote].iter().rev();
            escapes.take_while(|&&byte| byte == b'\\').count() % 2 == 0
        };
        let mut ends = self.text_end.find_iter(bytes);
        ends.find(is_end).unwrap_or(bytes.len())
    }
}

/// The command line that the servers here have in common.
#[derive(Debug, Default)]
pub struct Arguments {
    /// `--http PORT`: on this port rather than on stdio.
    pub port: Option<u16>,
    /// `--runtime multi` rather than `current`.
    pub multi_thread: bool,
    /// `--sessions`: with sessions, where a server can do without.
    pub sessions: bool,
}

impl Arguments {
    /// Those of this process; what is unknown is ignored.
    pub fn read() -> Self {
        let mut read = Self::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--http" => read.port = words.next().and_then(|port| port.parse().ok()),
                "--runtime" => read.multi_thread = words.next().as_deref() == Some("multi"),
                "--sessions" => read.sessions = true,
                _ => {}
            }
        }
        read
    }

    /// The runtime that was asked for.
    pub fn runtime(&self) -> io::Result<tokio::runtime::Runtime> {
        let mut builder = if self.multi_thread {
            tokio::runtime::Builder::new_multi_thread()
        } else {
            tokio::runtime::Builder::new_current_thread()
        };
        builder.enable_all().build()
    }
}

fn after<'a>(finder: &Finder<'_>, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let start = finder.find(bytes)?;
    Some(&bytes[start + finder.needle().len()..])
}

const INITIALIZED: &[u8] = br#","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"limit","version":"1"}}}"#;
const DISCOVERED: &[u8] = br#","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":3600000,"cacheScope":"public"}}"#;
const TOOLS: &[u8] = br#","result":{"resultType":"complete","ttlMs":3600000,"cacheScope":"public","tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}}"#;
const UNKNOWN: &[u8] = br#","error":{"code":-32601,"message":"method not found"}}"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &str) -> String {
        let mut answers = Vec::new();
        Copier::default().answer(request.as_bytes(), &mut answers);
        String::from_utf8(answers).expect("UTF-8 in, UTF-8 out")
    }

    #[test]
    fn text_is_copied_with_its_escapes() {
        let answer = answered(
            r#"{"id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\"b\\"}}}"#,
        );
        assert_eq!(
            answer,
            r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"a\"b\\"}]}}"#
        );
    }

    #[test]
    fn a_notification_gets_no_answer() {
        assert_eq!(answered(r#"{"method":"notifications/initialized"}"#), "");
    }
}
