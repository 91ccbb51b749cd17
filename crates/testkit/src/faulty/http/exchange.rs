//! One request, and what is written for it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::Defect;
use super::shared::Shared;
use crate::faulty::honest::is_call;

/// A request as it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// The method of HTTP.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// The headers in order, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// On which connection it came; the first is 1.
    pub connection: usize,
}

impl Recorded {
    /// The value of a header; the name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(header, _)| header == name)?;
        Some(value)
    }

    /// The body as JSON; `null` if it is none.
    pub fn message(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// One request on its connection.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    pub(super) shared: &'a Shared,
    pub(super) request: Recorded,
    pub(super) message: Value,
    stream: &'a TcpStream,
    /// The last byte of the body was seen and is still to be taken off the socket.
    is_unread: bool,
    is_open: bool,
}

impl<'a> Exchange<'a> {
    /// Reads the next request; `None` at the end of the connection.
    pub(super) fn read(shared: &'a Shared, stream: &'a TcpStream, number: usize) -> Option<Self> {
        let head = read_head(stream)?;
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let headers: Vec<_> = lines.filter_map(header).collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(Some(0), |(_, value)| value.parse().ok())?;
        let body = read_body(stream, length)?;
        let request = Recorded {
            method,
            path,
            headers,
            body,
            connection: number,
        };
        shared.record(request.clone());
        Some(Self {
            shared,
            message: request.message(),
            request,
            stream,
            is_unread: length > 0,
            is_open: true,
        })
    }

    /// Does what the server's kind does; `false` if the connection ends then.
    pub(super) fn run(mut self) -> bool {
        match self.shared.defect {
            Defect::Every(act) => act(&mut self),
            Defect::Method(method, act) if self.request.method == method => act(&mut self),
            Defect::Call(act) if self.sets_off() => act(&mut self),
            _ => self.serve(),
        }
        self.is_open && self.take_last_byte()
    }

    /// The honest answer to the message.
    pub(super) fn answer(&self) -> Value {
        self.shared.honest.answer(&self.message)
    }

    /// Writes a whole answer.
    pub(super) fn send(&mut self, status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let length = body.len().to_string();
        let mut all = head(status, headers);
        // A 204 has no body and must not say how long it is.
        if !status.starts_with("204") {
            all.push_str(&format!("Content-Length: {length}\r\n"));
        }
        all.push_str("\r\n");
        self.raw([all.as_bytes(), body].concat());
    }

    /// Writes a JSON answer with status 200.
    pub(super) fn send_json(&mut self, message: &Value) {
        self.send("200 OK", &[JSON], message.to_string());
    }

    /// Writes the status and the headers of an answer whose body comes in chunks.
    pub(super) fn begin(&mut self, status: &str, headers: &[(&str, &str)]) {
        let head = head(status, headers) + "Transfer-Encoding: chunked\r\n\r\n";
        self.raw(head);
    }

    /// Writes the head of an event stream.
    pub(super) fn begin_events(&mut self) {
        self.begin("200 OK", &[EVENTS]);
    }

    /// Writes a chunk of the body; `false` if the client has gone.
    pub(super) fn chunk(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let bytes = bytes.as_ref();
        let size = format!("{:x}\r\n", bytes.len());
        self.raw([size.as_bytes(), bytes, b"\r\n"].concat())
    }

    /// Ends a body of chunks.
    pub(super) fn finish(&mut self) {
        self.raw("0\r\n\r\n");
    }

    /// Writes bytes as they are; `false` if the client has gone.
    pub(super) fn raw(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.is_open =
            self.is_open && self.take_last_byte() && self.stream.write_all(bytes.as_ref()).is_ok();
        self.is_open
    }

    /// Waits; `false` if the server was stopped meanwhile.
    pub(super) fn pause(&self, milliseconds: u64) -> bool {
        self.shared.pause(Duration::from_millis(milliseconds))
    }

    /// Leaves the connection open and does nothing, until the client closes it.
    pub(super) fn hold(&mut self) {
        let mut ignored = [0; 1024];
        while self.stream.read(&mut ignored).is_ok_and(|count| count > 0) {}
        self.close();
    }

    /// Closes the connection.
    pub(super) fn close(&mut self) {
        self.take_last_byte();
        self.is_open = false;
    }

    /// Closes the connection with a byte unread, which makes the system reset it.
    pub(super) fn reset(&mut self) {
        self.is_open = false;
    }

    fn sets_off(&self) -> bool {
        is_call(&self.message, "defect")
            || (self.shared.is_everywhere && self.request.method == "POST")
    }

    fn take_last_byte(&mut self) -> bool {
        let is_unread = std::mem::take(&mut self.is_unread);
        !is_unread || self.stream.read(&mut [0]).is_ok_and(|count| count > 0)
    }
}

/// The content types of answers.
pub(super) const JSON: (&str, &str) = ("Content-Type", "application/json");
pub(super) const EVENTS: (&str, &str) = ("Content-Type", "text/event-stream");
pub(super) const HTML: (&str, &str) = ("Content-Type", "text/html; charset=utf-8");

/// An event as it should be.
pub(super) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn head(status: &str, headers: &[(&str, &str)]) -> String {
    let mut head = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

/// Reads up to the blank line, byte by byte: nothing behind it may be taken off the socket.
fn read_head(mut stream: &TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    String::from_utf8(head).ok()
}

/// Reads a body but leaves its last byte on the socket.
fn read_body(mut stream: &TcpStream, length: usize) -> Option<Vec<u8>> {
    let mut body = vec![0; length];
    if let Some((last, others)) = body.split_last_mut() {
        stream.read_exact(others).ok()?;
        let seen = stream.peek(std::slice::from_mut(last)).ok()?;
        return (seen > 0).then_some(body);
    }
    Some(body)
}

fn header(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    Some((name.to_ascii_lowercase(), value.trim().to_owned()))
}
