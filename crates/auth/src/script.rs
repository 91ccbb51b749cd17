//! A server that answers from a table and remembers what it was asked, for tests.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_transport::http::client::{ClientSettings, ProxyChoice, Reach};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::fetch::Fetcher;
use crate::place::Place;

/// Answers by path; what is not in its table is not there.
pub(crate) struct Script {
    /// Such as `http://127.0.0.1:1234`.
    pub(crate) origin: String,
    heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Script {
    /// An answer is a body for status 200; or a status, with a place for redirects and a
    /// challenge for refusals; `silence`; or `drip`, a body that never ends. `{here}` is the
    /// origin, `{host}` the origin without scheme.
    pub(crate) async fn start(table: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let origin = format!("http://{host}");
        let filled = |text: &str| text.replace("{here}", &origin).replace("{host}", &host);
        let table: Arc<Vec<(String, String)>> = Arc::new(
            table
                .iter()
                .map(|(path, answer)| ((*path).to_owned(), filled(answer)))
                .collect(),
        );
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        let task = tokio::spawn(async move {
            let mut peers = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                peers.spawn(serve(stream, Arc::clone(&table), Arc::clone(&seen)));
            }
        });
        Self {
            origin,
            heads,
            task,
        }
    }

    pub(crate) fn place(&self, path: &str) -> Place {
        Place::parse(&format!("{}{path}", self.origin)).unwrap()
    }

    /// What was asked for, such as `GET /path`.
    pub(crate) fn asked(&self) -> Vec<String> {
        let first = |head: &String| {
            let end = head.find(" HTTP/1.1").unwrap();
            head[..end].to_owned()
        };
        self.heads.lock().unwrap().iter().map(first).collect()
    }

    /// The heads of all requests.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Settings that no environment changes.
pub(crate) fn settings() -> ClientSettings {
    let mut settings = ClientSettings::default();
    settings.proxy = ProxyChoice::Never;
    settings
}

pub(crate) fn fetcher() -> Fetcher {
    Fetcher::new(&settings(), Reach::Anywhere).unwrap()
}

pub(crate) fn fetcher_within(limit: Duration) -> Fetcher {
    let mut fetcher = fetcher();
    fetcher.for_documents = limit;
    fetcher
}

async fn serve(
    mut stream: TcpStream,
    table: Arc<Vec<(String, String)>>,
    heads: Arc<Mutex<Vec<String>>>,
) {
    while let Some(head) = request(&mut stream).await {
        let path = head.split(' ').nth(1).unwrap().to_owned();
        heads.lock().unwrap().push(head);
        let found = table.iter().find(|(known, _)| *known == path);
        let answer = found.map_or("404", |(_, answer)| answer.as_str());
        if answer == "silence" {
            pending::<()>().await;
        }
        if answer == "drip" {
            let head = "HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n{";
            let _ = stream.write_all(head.as_bytes()).await;
            pending::<()>().await;
        }
        let answer = match answer.split_once(' ').unwrap_or((answer, "")) {
            ("204", _) => "HTTP/1.1 204 X\r\n\r\n".to_owned(),
            (status, rest) if status.parse::<u16>().is_ok() => {
                let header = match (status, rest) {
                    (_, "") => String::new(),
                    ("401" | "403", challenge) => format!("www-authenticate: {challenge}\r\n"),
                    (_, place) => format!("location: {place}\r\n"),
                };
                format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n{header}\r\n{{}}")
            }
            _ => {
                let length = answer.len();
                format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{answer}")
            }
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(head)
}
