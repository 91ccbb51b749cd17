//! Measurements on Streamable HTTP, with connections that are kept.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use memchr::memmem;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use switchboard_bench::message::{self, Calls, Era};

use crate::server::Server;
use crate::{Figures, Options, round_trips};

/// Calls on a number of connections, one out on each.
pub fn calls(options: &Options) -> Result<Figures, String> {
    let (server, port) = start(options)?;
    let idle = server.resident_bytes()?;
    let calls = Calls::small(options.era);
    let mut connections = Vec::new();
    for _ in 0..options.connections {
        let mut connection = Connection::open(port, options.era)?;
        if options.era == Era::Handshake {
            connection.shake_hands()?;
        }
        connection.unblock()?;
        connections.push(connection);
    }
    let warm_up = options.warm_up;
    drive(&mut connections, &calls, 1..1 + warm_up)?;
    let (begun, before) = (Instant::now(), server.cpu()?);
    let mut times = drive(
        &mut connections,
        &calls,
        1 + warm_up..1 + warm_up + options.count,
    )?;
    let (elapsed, cpu) = (begun.elapsed(), server.cpu()?.saturating_sub(before));
    let mut figures = round_trips(&mut times, cpu, elapsed);
    figures.push(("idle_kib", idle / 1024.0));
    figures.push(("loaded_kib", server.resident_bytes()? / 1024.0));
    Ok(figures)
}

/// Sessions that are opened and left alone, all through one connection.
pub fn sessions(options: &Options) -> Result<Figures, String> {
    let (server, port) = start(options)?;
    let mut connection = Connection::open(port, Era::Handshake)?;
    // The first ones pay for what all share.
    let first = options.count / 100 + 1;
    let mut before = 0.0;
    for number in 0..options.count {
        if number == first {
            before = server.resident_bytes()?;
        }
        connection.session = None;
        connection.shake_hands()?;
        if connection.session.is_none() {
            return Err("the server makes no sessions".to_owned());
        }
    }
    let grown = server.resident_bytes()? - before;
    let counted = options.count.saturating_sub(first).max(1) as f64;
    Ok(vec![("session_bytes", grown / counted)])
}

/// Starts the server on a free port and waits until it listens.
fn start(options: &Options) -> Result<(Server, u16), String> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    let port = free
        .map_err(|error| format!("no free port: {error}"))?
        .port();
    let with_port = |word: &String| word.replace("{port}", &port.to_string());
    let command: Vec<String> = options.command.iter().map(with_port).collect();
    let server = Server::on_http(&command)?;
    let ends = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if Instant::now() > ends {
            return Err(format!("nobody listens on port {port}"));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok((server, port))
}

/// Sends the calls, and again on a connection whose answer has come; gives their times.
fn drive(
    connections: &mut [Connection],
    calls: &Calls,
    ids: Range<u64>,
) -> Result<Vec<Duration>, String> {
    let epoll = Epoll::new(EpollCreateFlags::empty()).map_err(|e| format!("epoll: {e}"))?;
    let mut times = Vec::with_capacity((ids.end - ids.start) as usize);
    let wanted = times.capacity();
    let mut unsent = ids;
    for (index, connection) in connections.iter_mut().enumerate() {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, index as u64);
        epoll
            .add(&connection.stream, event)
            .map_err(|e| format!("epoll: {e}"))?;
        if let Some(id) = unsent.next() {
            connection.call(calls, id)?;
        }
    }
    let mut events = vec![EpollEvent::empty(); connections.len()];
    while times.len() < wanted {
        let count = epoll.wait(&mut events, EpollTimeout::from(PATIENCE_MS));
        let count = count.map_err(|e| format!("epoll: {e}"))?;
        if count == 0 {
            return Err(format!("no answer within {PATIENCE_MS} ms"));
        }
        for event in &events[..count] {
            let connection = &mut connections[event.data() as usize];
            let Some(response) = connection.receive()? else {
                continue;
            };
            times.push(connection.sent.elapsed());
            connection.check_status(b"200")?;
            if calls.check(&connection.received[response.body])? != connection.id {
                return Err("a call was answered under another id".to_owned());
            }
            connection.received.clear();
            if let Some(id) = unsent.next() {
                connection.call(calls, id)?;
            }
        }
    }
    Ok(times)
}

struct Connection {
    stream: TcpStream,
    era: Era,
    port: u16,
    session: Option<String>,
    /// The headers of a call, up to the length of its body.
    head: String,
    body: Vec<u8>,
    request: Vec<u8>,
    received: Vec<u8>,
    chunk: Vec<u8>,
    id: u64,
    sent: Instant,
}

impl Connection {
    fn open(port: u16, era: Era) -> Result<Self, String> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        let stream = stream.map_err(|error| format!("port {port}: {error}"))?;
        let set = stream.set_nodelay(true).and_then(|()| {
            stream.set_read_timeout(Some(Duration::from_millis(u64::from(PATIENCE_MS))))
        });
        set.map_err(|error| format!("port {port}: {error}"))?;
        let mut connection = Self {
            stream,
            era,
            port,
            session: None,
            head: String::new(),
            body: Vec::new(),
            request: Vec::new(),
            received: Vec::new(),
            chunk: vec![0; 16 * 1024],
            id: 0,
            sent: Instant::now(),
        };
        connection.head = connection.head(true);
        Ok(connection)
    }

    fn head(&self, greeted: bool) -> String {
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n",
            self.port
        );
        if greeted {
            head += &format!("mcp-protocol-version: {}\r\n", self.era.revision());
        }
        if self.era == Era::Stateless {
            head += "mcp-method: tools/call\r\nmcp-name: echo\r\n";
        }
        if let Some(session) = &self.session {
            head += &format!("mcp-session-id: {session}\r\n");
        }
        head + "content-length: "
    }

    /// Opens a session, if the server makes one.
    fn shake_hands(&mut self) -> Result<(), String> {
        let initialize = message::request(self.era, 0, "initialize");
        self.head = self.head(false);
        let response = self.exchange(initialize.as_bytes())?;
        self.check_status(b"200")?;
        let head = String::from_utf8_lossy(&self.received[..response.body.start]).into_owned();
        self.session = header(&head, "mcp-session-id").map(str::to_owned);
        self.head = self.head(true);
        self.exchange(message::INITIALIZED.as_bytes())?;
        self.check_status(b"202")?;
        self.received.clear();
        Ok(())
    }

    /// Sends a message and waits for the whole answer.
    fn exchange(&mut self, message: &[u8]) -> Result<Response, String> {
        self.received.clear();
        self.body.clear();
        self.body.extend_from_slice(message);
        self.send()?;
        loop {
            if let Some(response) = self.receive()? {
                return Ok(response);
            }
        }
    }

    fn call(&mut self, calls: &Calls, id: u64) -> Result<(), String> {
        self.id = id;
        self.body.clear();
        calls.write(id, &mut self.body);
        self.send()
    }

    fn send(&mut self) -> Result<(), String> {
        self.request.clear();
        self.request.extend_from_slice(self.head.as_bytes());
        // Writing to a vector does not fail.
        let _ = write!(self.request, "{}\r\n\r\n", self.body.len());
        self.request.extend_from_slice(&self.body);
        self.sent = Instant::now();
        // It is small and the socket's buffer is empty, so a part of it is never left over.
        let sent = self.stream.write_all(&self.request);
        sent.map_err(|error| format!("the server reads no more: {error}"))
    }

    /// One read, and the response if it is whole now.
    fn receive(&mut self) -> Result<Option<Response>, String> {
        match self.stream.read(&mut self.chunk) {
            Ok(0) => return Err("the server closed the connection".to_owned()),
            Ok(count) => self.received.extend_from_slice(&self.chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock && !self.is_blocking() => {}
            Err(error) => return Err(format!("the server's answer: {error}")),
        }
        Ok(Response::read(&self.received))
    }

    fn is_blocking(&self) -> bool {
        matches!(self.stream.read_timeout(), Ok(Some(_)))
    }

    fn unblock(&mut self) -> Result<(), String> {
        let set = self.stream.set_read_timeout(None);
        let set = set.and_then(|()| self.stream.set_nonblocking(true));
        set.map_err(|error| format!("port {}: {error}", self.port))
    }

    fn check_status(&self, status: &[u8]) -> Result<(), String> {
        if self.received.get(9..12) == Some(status) {
            return Ok(());
        }
        let start = &self.received[..self.received.len().min(600)];
        Err(format!(
            "status {} expected: {}",
            String::from_utf8_lossy(status),
            String::from_utf8_lossy(start)
        ))
    }
}

/// Where the body of a whole response is; its chunks, if it has any, are left as they are.
struct Response {
    body: Range<usize>,
}

impl Response {
    fn read(bytes: &[u8]) -> Option<Self> {
        let start = memmem::find(bytes, b"\r\n\r\n")? + 4;
        let head = std::str::from_utf8(&bytes[..start]).ok()?;
        let end = if let Some(length) = header(head, "content-length") {
            start + length.parse::<usize>().ok()?
        } else if header(head, "transfer-encoding").is_some() {
            // JSON and event streams from a server never hold this inside.
            if !bytes[start..].ends_with(b"0\r\n\r\n") {
                return None;
            }
            bytes.len()
        } else {
            start
        };
        (bytes.len() >= end).then_some(Self { body: start..end })
    }
}

fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(wanted).then(|| value.trim())
    })
}

const PATIENCE_MS: u16 = 20_000;
