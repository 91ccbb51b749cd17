//! For tests only: an authorization server on loopback that plays what it is given, and keeps
//! what it was sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_transport::http::client::ClientSettings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::fetch::Fetcher;
use crate::issuer::Issuer;
use crate::place::Place;
use crate::scope::Scopes;

/// The server. It ends with the value.
#[derive(Debug)]
pub(crate) struct TestServer {
    /// Its origin.
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
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let mut answers = VecDeque::from(answers);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(request) = read_request(&mut stream).await else {
                    continue;
                };
                kept.lock().unwrap().push(request);
                let answer = match answers.len() {
                    1 => answers[0].clone(),
                    _ => answers.pop_front().unwrap(),
                };
                let _ = stream.write_all(answer.0.as_bytes()).await;
            }
        });
        Self { origin, seen, task }
    }

    /// What came so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
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
pub(crate) struct Answer(String);

impl Answer {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::with(status, "content-type: application/json\r\n", body)
    }

    /// With these lines in its head.
    pub(crate) fn with(status: u16, head: &str, body: &str) -> Self {
        let length = body.len();
        Self(format!(
            "HTTP/1.1 {status} Said\r\n{head}content-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        ))
    }
}

/// A fetcher as it is outside of tests.
pub(crate) fn fetcher() -> Fetcher {
    Fetcher::new(
        &ClientSettings::default(),
        switchboard_transport::http::client::Reach::Anywhere,
    )
    .unwrap()
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
