//! An endpoint over real sockets, with a host that does what a test asks for.

use std::future::pending;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use switchboard_protocol::http::origin::Guard;
use switchboard_protocol::http::session::SessionId;
use switchboard_protocol::jsonrpc::{self, Frame, Message};
use switchboard_protocol::{Payload, Revision};
use switchboard_transport::http::{
    Access, Body, Challenge, ChallengeError, Delete, Denied, Endpoint, EventSender, Get, Host,
    HttpSettings, OldGet, OldPost, Post, Principal, accepted, event_stream, events, json,
    no_content, serve,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

mod bodies;
mod connections;
mod hostile;
mod statuses;
mod streams;

/// A host that notes what reaches it and answers by the method's name.
struct Probe {
    settings: HttpSettings,
    /// What happened, in order.
    seen: mpsc::UnboundedSender<String>,
    /// Where the streams that were opened go.
    streams: mpsc::UnboundedSender<EventSender>,
}

impl Probe {
    fn note(&self, what: impl Into<String>) {
        let _ = self.seen.send(what.into());
    }

    fn open(&self) -> Response<Body> {
        let (sender, body) = events(&self.settings.stream);
        let seen = self.seen.clone();
        sender.on_closed(move || {
            let _ = seen.send("client gone".to_owned());
        });
        let _ = self.streams.send(sender);
        event_stream(body)
    }
}

impl Host for Probe {
    async fn post(self: &Arc<Self>, post: Post) -> Response<Body> {
        let who = post.principal.map_or(String::new(), |p| p.subject.clone());
        match &post.frame {
            Ok(Frame::Single(Message::Request(request))) => match request.method.as_str() {
                "stream" => self.open(),
                "wait" => {
                    let _told = TellDrop(Arc::clone(self));
                    self.note("waiting");
                    pending().await
                }
                "large" => {
                    let result = Payload::encode(&"x".repeat(LARGE)).expect("a string");
                    let answer = jsonrpc::Response::new(request.id.clone(), Ok(result));
                    json(StatusCode::OK, &Message::from(answer))
                }
                "panic" => panic!("a host that breaks"),
                "print" => {
                    self.note(format!("{:?}", post.head.headers));
                    accepted()
                }
                method => {
                    self.note(format!("post {method} {who}").trim_end());
                    json(StatusCode::OK, Bytes::from_static(b"{\"ok\":1}"))
                }
            },
            _ => accepted(),
        }
    }

    async fn get(self: Arc<Self>, get: Get) -> Response<Body> {
        self.note(format!("get {:?}", get.last_event_id));
        self.open()
    }

    async fn delete(self: Arc<Self>, delete: Delete) -> Response<Body> {
        self.note(format!("delete {}", delete.session.as_str()));
        no_content()
    }

    async fn old_get(self: Arc<Self>, get: OldGet) -> Response<Body> {
        let (sender, body) = events(&self.settings.stream);
        let session = SessionId::new("s1").expect("an id");
        let event = get.endpoint_event(&session);
        sender.send_event(&event).expect("an open stream");
        let _ = self.streams.send(sender);
        event_stream(body)
    }

    async fn old_post(self: Arc<Self>, post: OldPost) -> Response<Body> {
        self.note(format!("old post {}", post.session.as_str()));
        accepted()
    }

    fn stopping(&self) {
        self.note("stopping");
    }
}

/// More than what lies between two sockets takes.
const LARGE: usize = 12 << 20;

/// Says that a future was dropped.
struct TellDrop(Arc<Probe>);

impl Drop for TellDrop {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

/// Knows two tokens.
struct Tokens;

impl Access for Tokens {
    fn identify<'a>(
        &'a self,
        head: &'a http::request::Parts,
    ) -> Pin<Box<dyn Future<Output = Result<Principal, Denied>> + Send + 'a>> {
        let mut challenge = Challenge::default();
        challenge.resource_metadata = Some("https://h/.well-known/x".to_owned());
        let token = head.headers.get("authorization").map(|v| v.as_bytes());
        let outcome = match token {
            Some(b"Bearer good") => Ok(Principal::new("ada")),
            Some(b"Bearer small") => {
                challenge.error = Some(ChallengeError::InsufficientScope);
                challenge.scopes = vec!["tools".to_owned()];
                Err(Denied::Forbidden(challenge))
            }
            _ => Err(Denied::Unauthorized(challenge)),
        };
        Box::pin(async move { outcome })
    }

    fn metadata(&self) -> Option<Bytes> {
        Some(Bytes::from_static(b"{\"resource\":\"https://h/mcp\"}"))
    }
}

/// A server on a port of its own.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: mpsc::UnboundedReceiver<String>,
    streams: mpsc::UnboundedReceiver<EventSender>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub(crate) async fn start(change: impl FnOnce(&mut HttpSettings)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let (endpoint, seen, streams) = endpoint(|settings| {
            settings.guard = Guard::for_address(address);
            change(settings);
        });
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, endpoint, async {
            let _ = stopped.await;
        }));
        Self {
            address,
            seen,
            streams,
            stop: Some(stop),
            task,
        }
    }

    async fn connect(&self) -> Client {
        Client(
            TcpStream::connect(self.address)
                .await
                .expect("a listening server"),
        )
    }

    pub(crate) async fn next_seen(&mut self) -> String {
        self.seen.recv().await.expect("a living host")
    }

    pub(crate) async fn next_stream(&mut self) -> EventSender {
        self.streams.recv().await.expect("a living host")
    }

    fn stop(&mut self) {
        let _ = self.stop.take().expect("not stopped yet").send(());
    }
}

/// An endpoint without a socket.
fn endpoint(
    change: impl FnOnce(&mut HttpSettings),
) -> (
    Endpoint<Probe>,
    mpsc::UnboundedReceiver<String>,
    mpsc::UnboundedReceiver<EventSender>,
) {
    let mut settings = HttpSettings::new(Revision::ALL);
    change(&mut settings);
    let (seen_sender, seen) = mpsc::unbounded_channel();
    let (stream_sender, streams) = mpsc::unbounded_channel();
    let probe = Probe {
        settings: settings.clone(),
        seen: seen_sender,
        streams: stream_sender,
    };
    (Endpoint::new(Arc::new(probe), settings), seen, streams)
}

/// A client that writes its requests by hand.
struct Client(TcpStream);

impl Client {
    async fn write(&mut self, text: &str) {
        self.0
            .write_all(text.as_bytes())
            .await
            .expect("a reading server");
    }

    /// The head of a response.
    async fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match self.0.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => break,
            }
        }
        String::from_utf8(head).expect("UTF-8")
    }

    /// A response whose length is said, head and body.
    async fn response(&mut self) -> (String, String) {
        let head = self.head().await;
        let length = head
            .lines()
            .find_map(|l| l.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
        self.0.read_exact(&mut body).await.expect("the whole body");
        (head, String::from_utf8(body).expect("UTF-8"))
    }

    /// The next chunk of a stream; empty at its end.
    async fn chunk(&mut self) -> String {
        let mut size = Vec::new();
        while !size.ends_with(b"\r\n") {
            size.push(self.0.read_u8().await.expect("a chunk"));
        }
        let size = String::from_utf8(size).expect("UTF-8");
        let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).expect("a size") + 2];
        self.0.read_exact(&mut chunk).await.expect("the whole body");
        chunk.truncate(chunk.len() - 2);
        String::from_utf8(chunk).expect("UTF-8")
    }

    /// Reads until the server closes, however it does that.
    async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest).await;
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// A call of the session-less handshake era, with its body.
fn call(method: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: s1\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A request to the endpoint, without a socket. Lines are headers, `name: value`.
fn request(verb: &str, path: &str, headers: &str, body: &str) -> Request<Body> {
    let mut builder = Request::builder().method(verb).uri(path);
    builder = builder.header("host", "localhost:80");
    for line in headers.lines().filter(|line| !line.trim().is_empty()) {
        let (name, value) = line.split_once(": ").expect("a header");
        builder = builder.header(name.trim(), value);
    }
    let body = Body::from(Bytes::copy_from_slice(body.as_bytes()));
    builder.body(body).expect("a request")
}
