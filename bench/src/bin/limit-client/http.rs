//! Over HTTP: a kept connection for each call in flight, requests and answers as bytes.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;
use switchboard_bench::calling::{Caller, Figures, Work};
use switchboard_bench::message::{self, Era};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub async fn run(work: &Work, url: &str, era: Era) -> Result<Figures, String> {
    let place = url
        .strip_prefix("http://")
        .ok_or("only http:// is spoken here")?;
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let mut shared = Shared {
        host: host.to_owned(),
        head: head(host, path, era, None),
        after_text: format!("\"}}{}}}}}", meta(era)),
        idle: Mutex::default(),
        next: AtomicU64::new(1),
    };
    if era == Era::Handshake {
        let mut connection = Connection::open(host).await?;
        let initialize = message::request(era, 0, "initialize");
        let opening = head(host, path, Era::Raw, None);
        let answer = connection.exchange(&opening, initialize.as_bytes()).await?;
        let answer = String::from_utf8_lossy(answer).into_owned();
        shared.head = head(host, path, era, header(&answer, "mcp-session-id"));
        let told = message::INITIALIZED.as_bytes();
        connection.exchange(&shared.head, told).await?;
    }
    work.measure(&Limit(Arc::new(shared))).await
}

#[derive(Clone)]
struct Limit(Arc<Shared>);

struct Shared {
    host: String,
    head: String,
    after_text: String,
    idle: Mutex<Vec<Connection>>,
    next: AtomicU64,
}

impl Caller for Limit {
    async fn call(&self, text: &str) -> Result<(), String> {
        let shared = &self.0;
        let kept = shared
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut connection = match kept {
            Some(connection) => connection,
            None => Connection::open(&shared.host).await?,
        };
        let id = shared.next.fetch_add(1, Ordering::Relaxed);
        let mut body = std::mem::take(&mut connection.body);
        body.clear();
        // Writing to a vector does not fail.
        let _ = write!(
            body,
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":\
             {{\"name\":\"echo\",\"arguments\":{{\"text\":\"{text}{}",
            shared.after_text
        );
        let answer = connection.exchange(&shared.head, &body).await?;
        if memmem::find(answer, text.as_bytes()).is_none() {
            return Err(format!("not the text: {}", String::from_utf8_lossy(answer)));
        }
        connection.body = body;
        shared
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connection);
        Ok(())
    }
}

struct Connection {
    stream: TcpStream,
    body: Vec<u8>,
    request: Vec<u8>,
    received: Vec<u8>,
}

impl Connection {
    async fn open(host: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(host)
            .await
            .map_err(|error| format!("{host}: {error}"))?;
        stream
            .set_nodelay(true)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            stream,
            body: Vec::new(),
            request: Vec::new(),
            received: Vec::with_capacity(16 * 1024),
        })
    }

    /// Sends a message and waits for the whole answer.
    async fn exchange(&mut self, head: &str, body: &[u8]) -> Result<&[u8], String> {
        self.request.clear();
        self.request.extend_from_slice(head.as_bytes());
        // Writing to a vector does not fail.
        let _ = write!(self.request, "{}\r\n\r\n", body.len());
        self.request.extend_from_slice(body);
        let sent = self.stream.write_all(&self.request).await;
        sent.map_err(|error| format!("the server reads no more: {error}"))?;
        self.received.clear();
        loop {
            let read = self.stream.read_buf(&mut self.received).await;
            match read.map_err(|error| format!("the server's answer: {error}"))? {
                0 => return Err("the server closed the connection".to_owned()),
                _ if is_whole(&self.received) => return Ok(&self.received),
                _ => {}
            }
        }
    }
}

/// Is a response here to its end?
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return false;
    };
    let body = bytes.len() - end - 4;
    // Servers write it in small letters, as a rule.
    let length = memmem::find(&bytes[..end], b"ontent-length: ").map(|at| {
        let digits = bytes[at + 15..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number, digit| 10 * number + usize::from(digit - b'0'))
    });
    match length {
        Some(length) => body >= length,
        None => body == 0 || bytes.ends_with(b"0\r\n\r\n"),
    }
}

fn head(host: &str, path: &str, era: Era, session: Option<&str>) -> String {
    let mut head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n"
    );
    if era != Era::Raw {
        head += &format!("mcp-protocol-version: {}\r\n", era.revision());
    }
    if era == Era::Stateless {
        head += "mcp-method: tools/call\r\nmcp-name: echo\r\n";
    }
    if let Some(session) = session {
        head += &format!("mcp-session-id: {session}\r\n");
    }
    head + "content-length: "
}

fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(wanted).then(|| value.trim())
    })
}

/// What follows the arguments of a call.
fn meta(era: Era) -> String {
    match era.meta() {
        "" => String::new(),
        meta => format!(",{meta}"),
    }
}
