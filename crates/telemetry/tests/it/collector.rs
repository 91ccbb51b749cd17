//! A collector that answers by a list, and remembers what it was sent.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

pub(crate) struct Collector {
    /// Such as `http://127.0.0.1:1234`.
    pub(crate) origin: String,
    seen: watch::Receiver<Vec<Arrived>>,
    task: JoinHandle<()>,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) head: String,
    body: Vec<u8>,
}

impl Arrived {
    /// How often a text stands in the body.
    pub(crate) fn count(&self, text: &str) -> usize {
        let windows = self.body.windows(text.len());
        windows.filter(|window| *window == text.as_bytes()).count()
    }
}

impl Collector {
    /// Answers in this order, then always with the last: a status, and headers; `silence`;
    /// `partial`, which does not want one; or `large`, which says the same at
    /// greater length than anybody reads.
    pub(crate) async fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut answers: Vec<String> = answers.iter().map(|text| (*text).to_owned()).collect();
        answers.reverse();
        let answers = Arc::new(Mutex::new(answers));
        let (arrived, seen) = watch::channel(Vec::new());
        let arrived = Arc::new(arrived);
        let task = tokio::spawn(async move {
            let mut peers = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                peers.spawn(serve(stream, Arc::clone(&answers), Arc::clone(&arrived)));
            }
        });
        Self { origin, seen, task }
    }

    /// What came so far.
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.seen.borrow().clone()
    }

    /// Waits for so many requests.
    pub(crate) async fn wait_for(&self, number: usize) -> Vec<Arrived> {
        let mut seen = self.seen.clone();
        let waiting = seen.wait_for(|seen| seen.len() >= number);
        let found = timeout(Duration::from_secs(30), waiting).await.unwrap();
        found.unwrap().clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: Arc<Mutex<Vec<String>>>,
    arrived: Arc<watch::Sender<Vec<Arrived>>>,
) {
    while let Some(request) = read(&mut stream).await {
        let answer = {
            let mut answers = answers.lock().unwrap();
            match answers.len() {
                0 => "200".to_owned(),
                1 => answers[0].clone(),
                _ => answers.pop().unwrap(),
            }
        };
        arrived.send_modify(|seen| seen.push(request));
        if answer == "silence" {
            pending::<()>().await;
        }
        // The same as `partial`, and a field of 64 KiB that nobody knows.
        let mut large = b"\x0a\x09\x08\x01\x12\x05stale\x7a\x80\x80\x04".to_vec();
        large.resize(large.len() + (64 << 10), b' ');
        let (status, body) = match answer.as_str() {
            "large" => ("200", &*large),
            "partial" => ("200", &b"\x0a\x09\x08\x01\x12\x05stale"[..]),
            answer => (answer, &b""[..]),
        };
        let (status, headers) = status.split_once(' ').unwrap_or((status, ""));
        let headers = match headers {
            "" => String::new(),
            headers => format!("{headers}\r\n"),
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Arrived> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap();
    let length = length.split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Arrived { head, body })
}
