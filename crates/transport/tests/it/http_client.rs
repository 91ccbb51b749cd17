//! The client against servers that are written by hand, byte for byte.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use switchboard_transport::http::client::{
    ClientSettings, HttpClient, ProxyChoice, Received, SendError,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

mod bodies;
mod connections;
mod credentials;
mod events;
mod failures;
mod proxies;
mod redirects;
mod tls;

/// A listener that does what a test says with each connection.
struct Raw {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    /// What was read, a request each.
    requests: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

impl Raw {
    /// The script is given the number of the connection, from 0.
    async fn start<F, R>(script: F) -> Self
    where
        F: Fn(usize, Peer) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        let (seen, requests) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut peers = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                let number = count.fetch_add(1, Ordering::SeqCst);
                let peer = Peer {
                    stream,
                    seen: seen.clone(),
                };
                peers.spawn(script(number, peer));
            }
        });
        Self {
            address,
            accepted,
            requests,
            task,
        }
    }

    /// Answers every request with the same text.
    async fn answering(text: impl Into<String>) -> Self {
        let text = Arc::new(text.into());
        Self::start(move |_, mut peer| {
            let text = Arc::clone(&text);
            async move {
                while peer.request().await.is_some() {
                    peer.say(&text).await;
                }
            }
        })
        .await
    }

    /// Answers the first request with the text and closes.
    async fn once(text: impl Into<String>) -> Self {
        let text = Arc::new(text.into());
        Self::start(move |_, mut peer| {
            let text = Arc::clone(&text);
            async move {
                if peer.request().await.is_some() {
                    peer.say(&text).await;
                }
            }
        })
        .await
    }

    fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn next_request(&mut self) -> String {
        self.requests.recv().await.expect("a living server")
    }

    /// How many requests came that nobody looked at.
    fn unread(&mut self) -> usize {
        std::iter::from_fn(|| self.requests.try_recv().ok()).count()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The other end of a connection.
struct Peer<S = TcpStream> {
    stream: S,
    seen: mpsc::UnboundedSender<String>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    /// The next request, head and body, if one comes.
    async fn request(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            bytes.push(self.stream.read_u8().await.ok()?);
        }
        let mut text = String::from_utf8(bytes).expect("UTF-8");
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().expect("a length"));
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.ok()?;
        text.push_str(std::str::from_utf8(&body).expect("UTF-8"));
        let _ = self.seen.send(text.clone());
        Some(text)
    }

    async fn say(&mut self, text: &str) {
        // Whoever was given up on may be gone.
        let _ = self.stream.write_all(text.as_bytes()).await;
        let _ = self.stream.flush().await;
    }

    /// Waits until the client closes; says so.
    async fn closed(mut self) {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest).await;
        let _ = self.seen.send("closed".to_owned());
    }
}

/// A client that no environment changes.
fn client(change: impl FnOnce(&mut ClientSettings)) -> HttpClient {
    let mut settings = ClientSettings::default();
    settings.proxy = ProxyChoice::Never;
    change(&mut settings);
    HttpClient::new(settings).expect("settings")
}

fn post(url: &str) -> Request<Bytes> {
    let request = Request::post(url).header("content-type", "application/json");
    request.body(Bytes::from_static(b"{}")).expect("a request")
}

/// Posts and reads the whole answer.
async fn call(client: &HttpClient, url: &str) -> String {
    text(client.send(post(url)).await.expect("an answer")).await
}

async fn text(received: Received) -> String {
    let body = received.body.collect().await.expect("a whole body");
    String::from_utf8(body.to_vec()).expect("UTF-8")
}

/// The error of a POST, within a few seconds.
async fn refused(client: &HttpClient, url: &str) -> SendError {
    let outcome = tokio::time::timeout(Duration::from_secs(5), client.send(post(url)));
    outcome.await.expect("in time").expect_err("no answer")
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// A response with a body of this text.
fn answer(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}
