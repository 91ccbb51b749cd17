//! A client of the gateway that asks for more than it should, or takes less.
//!
//! Plain sockets: what our own client would never do is what matters.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt;
use serde_json::{Value, json};
use switchboard_protocol::Revision;

use super::{Flag, PAUSE, PIECE};

/// Floods whenever it is time to, until it is killed.
pub(super) fn run(
    kind: &str,
    flag: Flag,
    limit: usize,
    address: &str,
    key: &str,
) -> Result<ExitCode, String> {
    let address = address.parse().map_err(|_| "no address")?;
    let moved = Arc::new(AtomicU64::new(0));
    let (counted, file) = (Arc::clone(&moved), flag.0.with_extension("count"));
    thread::spawn(move || {
        loop {
            thread::sleep(10 * PAUSE);
            let beside = file.with_extension("count-new");
            let count = counted.load(Ordering::Relaxed).to_string();
            // It is only to be shown.
            let _ = fs::write(&beside, count).and_then(|()| fs::rename(&beside, &file));
        }
    });
    let (kind, tool) = kind.split_once(' ').unwrap_or((kind, ""));
    let (connections, act): (usize, Act) = match kind {
        "calls" => (8, call),
        "requests" => (64, call),
        "bodies" => (32, body),
        "half-bodies" => (200, half_body),
        "connections" => (1_000, connect),
        "slow-readers" => (64, read_slowly),
        "sessions" => (16, open_session),
        _ => return Err(format!("no client is called {kind:?}")),
    };
    let threads: Vec<_> = (0..connections)
        .map(|_| {
            let peer = Peer {
                flag: flag.clone(),
                limit,
                address,
                key: key.to_owned(),
                tool: tool.to_owned(),
                moved: Arc::clone(&moved),
            };
            let builder = thread::Builder::new().stack_size(128 * 1024);
            builder.spawn(move || {
                loop {
                    peer.flag.wait();
                    // Whatever the gateway does about it: once more.
                    if act(&peer).is_err() {
                        thread::sleep(PAUSE);
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        let _ = thread.map_err(|error| error.to_string())?.join();
    }
    Ok(ExitCode::SUCCESS)
}

type Act = fn(&Peer) -> io::Result<()>;

struct Peer {
    flag: Flag,
    limit: usize,
    address: SocketAddr,
    key: String,
    /// What is called.
    tool: String,
    /// Bytes that were sent and read.
    moved: Arc<AtomicU64>,
}

impl Peer {
    fn count(&self, bytes: usize) {
        self.moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn send(&self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            stream.write_all(piece)?;
            self.count(piece.len());
        }
        Ok(())
    }

    fn open(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        stream.set_nodelay(true)?;
        sockopt::set_socket_send_buffer_size(&stream, UNREAD)?;
        Ok(stream)
    }

    /// The head of a request whose body has this length.
    fn head(&self, method: &str, tool: &str, length: usize) -> String {
        let (address, key) = (self.address, &self.key);
        let revision = Revision::LATEST.as_str();
        let name = match tool {
            "" => String::new(),
            tool => format!("mcp-name: {tool}\r\n"),
        };
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
             accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
             mcp-protocol-version: {revision}\r\nmcp-method: {method}\r\n{name}\
             content-length: {length}\r\n\r\n"
        )
    }

    fn call(&self, tool: &str, arguments: &Value) -> String {
        let revision = Revision::LATEST.as_str();
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": 1,
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let body = body.to_string();
        format!("{}{body}", self.head("tools/call", tool, body.len()))
    }

    /// Asks, and reads whatever comes until nothing does, on one connection.
    fn ask_again_and_again(&self, request: &str) -> io::Result<()> {
        let mut stream = self.open()?;
        let mut buffer = vec![0; 64 * 1024];
        while self.flag.is_up() {
            self.send(&mut stream, request.as_bytes())?;
            // An answer is there when the last piece of it is short; if not, what is left of it
            // is read with the next.
            loop {
                let count = stream.read(&mut buffer)?;
                self.count(count);
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                if count < buffer.len() {
                    break;
                }
            }
        }
        Ok(())
    }
}

fn call(peer: &Peer) -> io::Result<()> {
    peer.ask_again_and_again(&peer.call(&peer.tool, &json!({})))
}

fn body(peer: &Peer) -> io::Result<()> {
    let large = "x".repeat(peer.limit - 2_000);
    peer.ask_again_and_again(&peer.call("nobody__nothing", &json!({"text": large})))
}

/// All but the end of a body.
fn half_body(peer: &Peer) -> io::Result<()> {
    let mut stream = peer.open()?;
    let length = peer.limit - 2_000;
    let head = peer.head("tools/call", "nobody__nothing", length);
    peer.send(&mut stream, head.as_bytes())?;
    let piece = [b' '; 16 * 1024];
    let mut left = length - 1;
    while left > 0 && peer.flag.is_up() {
        let size = left.min(piece.len());
        let Some(piece) = piece.get(..size) else {
            break;
        };
        peer.send(&mut stream, piece)?;
        left -= size;
    }
    hold(peer, stream);
    Ok(())
}

fn connect(peer: &Peer) -> io::Result<()> {
    let mut stream = peer.open()?;
    peer.send(&mut stream, b"P")?;
    hold(peer, stream);
    Ok(())
}

/// Wants a large result, and does not read it.
fn read_slowly(peer: &Peer) -> io::Result<()> {
    let mut stream = peer.open()?;
    let request = peer.call(&peer.tool, &json!({}));
    peer.send(&mut stream, request.as_bytes())?;
    hold(peer, stream);
    Ok(())
}

fn open_session(peer: &Peer) -> io::Result<()> {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "hostile", "version": "1.0.0"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let body = body.to_string();
    let (address, key) = (peer.address, &peer.key);
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
         accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    peer.ask_again_and_again(&request)
}

/// Keeps a connection for as long as it is time to flood.
fn hold(peer: &Peer, stream: TcpStream) {
    while peer.flag.is_up() {
        thread::sleep(PAUSE);
    }
    drop(stream);
}

/// What Linux holds of a connection that the gateway has not read yet. With as much as it
/// likes, megabytes of 32 connections, the neighbour's server, on the same processor as the flood, was late by up to
/// a millisecond (docs/reliability.md).
const UNREAD: usize = 64 * 1024;
