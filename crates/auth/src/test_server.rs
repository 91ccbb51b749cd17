//! For tests only: a server on loopback that answers what it is given, and keeps what it was sent.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_transport::http::client::{ClientSettings, ProxyChoice, Reach};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::fetch::Fetcher;
use crate::issuer::Issuer;
use crate::place::Place;
use crate::scope::Scopes;

/// The server. It ends with the value.
#[derive(Debug)]
pub(crate) struct TestServer {
    /// Such as `http://127.0.0.1:1234`.
    pub(crate) origin: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl TestServer {
    /// Plays one answer for each request, and the last one for all that come after it.
    pub(crate) async fn playing(answers: Vec<Answer>) -> Self {
        let answers = Mutex::new(VecDeque::from(answers));
        let answer = move |_: &Seen| {
            let mut answers = answers.lock().unwrap();
            match answers.len() {
                1 => answers[0].clone(),
                _ => answers.pop_front().unwrap(),
            }
        };
        Self::start(|_| answer).await
    }

    /// Answers by path; what is not in its table is not there.
    ///
    /// An answer is a body for status 200; or a status, with a place for redirects and a
    /// challenge for refusals; `silence`; or `drip`, a body that never ends. `{here}` is the
    /// origin, `{host}` the origin without scheme.
    pub(crate) async fn by_path(table: &[(&str, &str)]) -> Self {
        Self::start(|origin| {
            let host = origin.trim_start_matches("http://");
            let filled = |text: &str| text.replace("{here}", origin).replace("{host}", host);
            let table: Vec<_> = table
                .iter()
                .map(|(path, answer)| ((*path).to_owned(), filled(answer)))
                .collect();
            move |seen: &Seen| {
                let path = seen.line.split(' ').nth(1).unwrap();
                let found = table.iter().find(|(known, _)| known == path);
                Answer::of_word(found.map_or("404", |(_, answer)| answer.as_str()))
            }
        })
        .await
    }

    /// Answers as this says, once the origin is known.
    async fn start<A>(answers: impl FnOnce(&str) -> A) -> Self
    where
        A: Fn(&Seen) -> Answer + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let answers = Arc::new(answers(&origin));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            // With the set, its connections end.
            let mut peers = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                peers.spawn(serve(stream, Arc::clone(&answers), Arc::clone(&kept)));
            }
        });
        Self { origin, seen, task }
    }

    /// What came so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// What was asked for so far, such as `GET /path`.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = |seen: &Seen| seen.line.trim_end_matches(" HTTP/1.1").to_owned();
        self.seen.lock().unwrap().iter().map(asked).collect()
    }

    pub(crate) fn place(&self, path: &str) -> Place {
        Place::parse(&format!("{}{path}", self.origin)).unwrap()
    }

    /// An issuer that is this server.
    pub(crate) fn issuer(&self) -> Issuer {
        issuer(&self.origin)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    /// A field of the form.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.body.as_bytes());
        let found = pairs.find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    }

    /// A header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A whole answer, as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    text: String,
    /// Is there more to come, which never does?
    is_cut: bool,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::with(status, "content-type: application/json\r\n", body)
    }

    /// With these lines in its head.
    pub(crate) fn with(status: u16, head: &str, body: &str) -> Self {
        let length = match status {
            204 => String::new(),
            _ => format!("content-length: {}\r\n", body.len()),
        };
        Self {
            text: format!("HTTP/1.1 {status} Said\r\n{head}{length}\r\n{body}"),
            is_cut: false,
        }
    }

    /// As it stands in a table.
    fn of_word(word: &str) -> Self {
        let cut = |text: &str| Self {
            text: text.to_owned(),
            is_cut: true,
        };
        let (status, rest) = word.split_once(' ').unwrap_or((word, ""));
        match (word, status.parse()) {
            ("silence", _) => cut(""),
            ("drip", _) => cut("HTTP/1.1 200 Said\r\ncontent-length: 9\r\n\r\n{"),
            (_, Ok(204)) => Self::with(204, "", ""),
            (_, Ok(status)) => {
                let head = match (status, rest) {
                    (_, "") => String::new(),
                    (401 | 403, challenge) => format!("www-authenticate: {challenge}\r\n"),
                    (_, place) => format!("location: {place}\r\n"),
                };
                Self::with(status, &head, "{}")
            }
            (body, Err(_)) => Self::with(200, "", body),
        }
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

/// An issuer with all endpoints, which says nothing else of itself.
pub(crate) fn issuer(origin: &str) -> Issuer {
    let place = |path| Place::parse(&format!("{origin}{path}")).unwrap();
    Issuer {
        issuer: origin.to_owned(),
        authorization_endpoint: Some(place("/authorize")),
        token_endpoint: place("/token"),
        registration_endpoint: Some(place("/register")),
        revocation_endpoint: Some(place("/revoke")),
        device_authorization_endpoint: Some(place("/device")),
        scopes_supported: Scopes::default(),
        client_methods: None,
        grant_types: None,
        challenge_methods: Some(vec!["S256".to_owned()]),
        proof_algorithms: Vec::new(),
        takes_documents: false,
        names_itself: false,
        is_assumed: false,
    }
}

async fn serve<A>(mut stream: TcpStream, answers: Arc<A>, kept: Arc<Mutex<Vec<Seen>>>)
where
    A: Fn(&Seen) -> Answer,
{
    while let Some(seen) = read_request(&mut stream).await {
        let answer = answers(&seen);
        kept.lock().unwrap().push(seen);
        if stream.write_all(answer.text.as_bytes()).await.is_err() {
            return;
        }
        if answer.is_cut {
            pending::<()>().await;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        if let Some(seen) = parse(&bytes) {
            return Some(seen);
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Seen> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: HeaderMap = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| {
            let name: HeaderName = name.parse().unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        })
        .collect();
    let length = headers.get("content-length");
    let length: usize = length.map_or(0, |value| value.to_str().unwrap().parse().unwrap());
    (body.len() == length).then(|| Seen {
        line,
        headers,
        body: body.to_owned(),
    })
}
