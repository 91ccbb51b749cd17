//! How a request is written.
//!
//! Specification: RFC 9112, sections 3 and 6.

use std::io::Write;

use http::Method;
use http::request::Parts;

use super::Connection;

/// Appends the head of a request with a body of this length.
pub(super) fn write_head(out: &mut Vec<u8>, head: &Parts, length: usize, connection: &Connection) {
    out.extend_from_slice(head.method.as_str().as_bytes());
    out.push(b' ');
    if connection.relay.is_some() {
        out.extend_from_slice(b"http://");
        out.extend_from_slice(connection.target.authority.as_str().as_bytes());
    }
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    write(out, "host", connection.host_header.as_bytes());
    for (name, value) in &head.headers {
        if !is_ours(name.as_str()) {
            write(out, name.as_str(), value.as_bytes());
        }
    }
    let proxy = connection.relay.as_ref();
    if let Some(value) = proxy.and_then(|proxy| proxy.authorization.as_ref()) {
        write(out, "proxy-authorization", value.as_bytes());
    }
    let is_without_body = [Method::GET, Method::HEAD, Method::DELETE].contains(&head.method);
    if length > 0 || !is_without_body {
        let _ = write!(out, "content-length: {length}\r\n");
    }
    out.extend_from_slice(b"accept-encoding: identity\r\n\r\n");
}

fn write(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Is this said by whoever writes the request? A second word on where a body ends would let one
/// request pass for two.
fn is_ours(name: &str) -> bool {
    matches!(
        name,
        "host"
            | "accept-encoding"
            | "content-length"
            | "transfer-encoding"
            | "connection"
            | "expect"
            | "upgrade"
    )
}
