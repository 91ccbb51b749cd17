//! A client over HTTP that writes requests on real sockets, and knows no protocol.

use std::net::SocketAddr;

use serde_json::Value;
use switchboard_server::Site;
use switchboard_server::transport::http::HttpSettings;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::pipe_client::PATIENCE;

/// A server on a loopback port. It ends when this is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Served {
    /// Serves a site as it is by default.
    pub(crate) async fn new(site: &Site) -> Self {
        Self::with(site, site.http_settings()).await
    }

    /// Serves a site with settings.
    pub(crate) async fn with(site: &Site, settings: HttpSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let site = site.clone();
        let task = tokio::spawn(async move {
            let shutdown = async { drop(stopped.await) };
            site.serve_http_on(listener, settings, shutdown).await
        });
        Self {
            address,
            stop: Some(stop),
            task,
        }
    }

    /// Asks the server to end.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Asks the server to end and waits until it has.
    pub(crate) async fn ended(mut self) {
        self.stop();
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.unwrap().unwrap().unwrap();
    }

    /// A request with these headers, one `name: value` each.
    pub(crate) async fn request(
        &self,
        verb: &str,
        path: &str,
        headers: &[String],
        body: &str,
    ) -> Response {
        Connection::open(self.address)
            .await
            .request(verb, path, headers, body)
            .await
    }
}

/// One connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
            address,
        }
    }

    /// Sends a request and waits for the head of its response.
    pub(crate) async fn request(
        mut self,
        verb: &str,
        path: &str,
        headers: &[String],
        body: &str,
    ) -> Response {
        self.send(verb, path, headers, body).await;
        self.response().await
    }

    /// Sends a request and waits for nothing.
    pub(crate) async fn send(&mut self, verb: &str, path: &str, headers: &[String], body: &str) {
        let mut head = format!("{verb} {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        let written = self.stream.write_all(head.as_bytes()).await;
        // A server that refuses by the head alone may have closed already.
        drop(written);
    }

    /// Waits for the head of a response.
    pub(crate) async fn response(mut self) -> Response {
        let status = self.line().await;
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap();
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Response {
            status,
            headers,
            connection: self,
            length: Some(0),
            buffered: String::new(),
        };
        response.length = match response.header("content-length") {
            Some(length) => Some(length.parse().unwrap()),
            None if response.header("transfer-encoding") == Some("chunked") => None,
            None => Some(0),
        };
        response
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        line.trim_end().to_owned()
    }
}

/// A response whose head has come.
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    connection: Connection,
    /// What is left of the body; none if it comes in chunks.
    length: Option<usize>,
    buffered: String,
}

/// One event of a stream.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) data: Option<String>,
}

impl Event {
    /// The message in it.
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(self.data.as_deref().unwrap()).unwrap()
    }

    fn read(block: &str) -> Option<Self> {
        let mut event = Self::default();
        for line in block.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "id" => event.id = Some(value),
                "event" => event.name = Some(value),
                "retry" => event.retry = Some(value.parse().unwrap()),
                "data" => event.data = Some(value),
                _ => {}
            }
        }
        // A comment is no event.
        (event != Self::default()).then_some(event)
    }
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = self.headers.iter().find(|(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The next event; none at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        // Comments that keep a stream alive are no sign of life here.
        let event = tokio::time::timeout(PATIENCE, self.wait_for_event()).await;
        event.expect("no event has come")
    }

    async fn wait_for_event(&mut self) -> Option<Event> {
        loop {
            while let Some((block, rest)) = self.buffered.split_once("\n\n") {
                let event = Event::read(block);
                self.buffered = rest.to_owned();
                if event.is_some() {
                    return event;
                }
            }
            let piece = self.piece().await?;
            self.buffered.push_str(&piece);
        }
    }

    /// The message of the next event that has one.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.event().await?;
            if event.data.as_deref().is_some_and(|data| !data.is_empty()) {
                return Some(event.message());
            }
        }
    }

    /// All messages: of the stream to its end, or the one in the body, or those of a batch.
    pub(crate) async fn messages(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        if self.is_stream() {
            while let Some(message) = self.message().await {
                all.push(message);
            }
            return all;
        }
        let text = self.text().await;
        if text.is_empty() {
            return all;
        }
        match serde_json::from_str(&text).unwrap() {
            Value::Array(messages) => messages,
            message => vec![message],
        }
    }

    /// The one message in the body.
    pub(crate) async fn json(self) -> Value {
        let mut messages = self.messages().await;
        assert_eq!(messages.len(), 1, "{messages:?}");
        messages.remove(0)
    }

    /// The whole body.
    pub(crate) async fn text(&mut self) -> String {
        let mut text = std::mem::take(&mut self.buffered);
        while let Some(piece) = self.piece().await {
            text.push_str(&piece);
        }
        text
    }

    /// The connection again, when the body was read.
    pub(crate) fn into_connection(self) -> Connection {
        self.connection
    }

    /// A piece of the body, none at its end.
    async fn piece(&mut self) -> Option<String> {
        let length = match self.length {
            Some(length) => length,
            None => {
                let mut line = String::new();
                let read = self.connection.stream.read_line(&mut line);
                let read = tokio::time::timeout(PATIENCE, read).await;
                if read.expect("nothing has come").unwrap_or(0) == 0 {
                    return None;
                }
                usize::from_str_radix(line.trim(), 16).unwrap()
            }
        };
        let mut bytes = vec![0; length];
        let stream = &mut self.connection.stream;
        stream.read_exact(&mut bytes).await.unwrap();
        if self.length.is_none() {
            stream.read_exact(&mut [0; 2]).await.unwrap();
        } else {
            self.length = Some(0);
        }
        (length > 0).then(|| String::from_utf8(bytes).unwrap())
    }
}
