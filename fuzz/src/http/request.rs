//! Requests as a connection of our server reads them: the first two bytes of the input say how the
//! rest is cut.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Buf;
use http::header::HeaderName;
use http::{HeaderValue, Method, Response, StatusCode, Uri};
use http_body::Body as _;
use switchboard_protocol::Revision;
use switchboard_server::transport::http::{
    Body, Front, HttpSettings, Incoming, RequestHead, serve_stream,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

use super::client::chunks;
use crate::{pieces, settings};

/// What reaches an endpoint does not depend on the pieces in which it comes, and is what a plain
/// reading finds: no request is hidden in another.
pub fn http_request(data: &[u8]) {
    let Some((_, largest, stream)) = settings(data) else {
        return;
    };
    let whole = serve(vec![stream.to_vec()]);
    let cut = serve(pieces(stream, largest).map(<[u8]>::to_vec).collect());
    assert_eq!(cut, whole);
    let mut rest = stream;
    let mut is_last = false;
    for asked in &whole {
        assert!(!is_last, "something was read after the end: {asked:?}");
        let plain = read(rest).expect("nobody else would take it for a request");
        assert_eq!((&asked.head, asked.headers), (&plain.head, plain.headers));
        let used = match (&asked.body, plain.body) {
            (Some(body), Rest::Strict(plain, used) | Rest::Lax(plain, used)) => {
                assert_eq!(*body, plain);
                Some(used)
            }
            (None, Rest::Lax(..) | Rest::Broken) => None,
            (found, plain) => panic!("{found:?} in place of {plain:?}"),
        };
        is_last = !plain.is_kept || used.is_none();
        rest = used.map_or(&[], |used| &rest[plain.length + used..]);
    }
    assert!(is_last || read(rest).is_none(), "a request was passed over");
}

/// A request that reached the endpoint.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    head: String,
    headers: usize,
    /// None if it was cut or broken.
    body: Option<Vec<u8>>,
}

/// A request as it stands there.
#[derive(Debug)]
struct Plain {
    head: String,
    headers: usize,
    length: usize,
    is_kept: bool,
    body: Rest,
}

/// A body, and how long it is where it stands.
#[derive(Debug)]
enum Rest {
    Strict(Vec<u8>, usize),
    /// Only some readers take it.
    Lax(Vec<u8>, usize),
    Broken,
}

/// A plain reading of one request; none if it is none.
fn read(stream: &[u8]) -> Option<Plain> {
    let mut places = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut places);
    let Ok(httparse::Status::Complete(length)) = request.parse(stream) else {
        return None;
    };
    let (method, target) = (request.method?, request.path?);
    Method::from_bytes(method.as_bytes()).ok()?;
    let target: Uri = target.parse().ok()?;
    for header in &*request.headers {
        HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        HeaderValue::from_bytes(header.value).ok()?;
    }
    let values = |name: &str| {
        let all = request.headers.iter();
        let all = all.filter(|header| header.name.eq_ignore_ascii_case(name));
        all.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase())
            .collect::<Vec<_>>()
    };
    let (lengths, encodings) = (values("content-length"), values("transfer-encoding"));
    let options = values("connection").join(",");
    let has = |option: &str| options.split(',').any(|one| one.trim() == option);
    let is_new = request.version == Some(1);
    let mut is_kept = method != "CONNECT" && !has("close") && (is_new || has("keep-alive"));
    let is_number = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
    let sizes: Option<Vec<u64>> = lengths
        .iter()
        .map(|text| text.parse().ok().filter(|_| is_number(text)))
        .collect();
    let sizes = sizes?;
    if sizes.windows(2).any(|two| two[0] != two[1]) {
        return None;
    }
    let rest = &stream[length..];
    let body = if encodings.is_empty() {
        let size = sizes.first().copied().unwrap_or_default();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        match rest.get(..size) {
            Some(body) => Rest::Strict(body.to_vec(), size),
            None => Rest::Broken,
        }
    } else {
        if encodings.len() > 1 || encodings[0].trim() != "chunked" || !is_new {
            return None;
        }
        is_kept &= sizes.is_empty();
        match (chunks(rest, true), chunks(rest, false)) {
            (Some((body, used)), _) => Rest::Strict(body, used),
            (None, Some((body, used))) => Rest::Lax(body, used),
            (None, None) => Rest::Broken,
        }
    };
    Some(Plain {
        head: format!("{method} {target}"),
        // How long the body is, the body says.
        headers: request.headers.len() - lengths.len(),
        length,
        is_kept,
        body,
    })
}

/// What reaches an endpoint of what comes in these pieces.
fn serve(pieces: Vec<Vec<u8>>) -> Vec<Asked> {
    let door = Door(Arc::default());
    let asked = Arc::clone(&door.0.asked);
    let wire = Wire {
        pieces: pieces.into_iter(),
        piece: Vec::new(),
    };
    RUNTIME.with(|runtime| runtime.block_on(serve_stream(wire, door)));
    std::mem::take(&mut *asked.lock().expect("nobody panicked"))
}

/// Notes what comes.
#[derive(Clone)]
struct Door(Arc<Noted>);

struct Noted {
    settings: HttpSettings,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Default for Noted {
    fn default() -> Self {
        Self {
            settings: HttpSettings::new(Revision::ALL),
            asked: Arc::default(),
        }
    }
}

impl Front for Door {
    fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    async fn answer<S>(&self, head: RequestHead, body: Incoming<S>) -> Response<Body>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let mut body = std::pin::pin!(body);
        let mut whole = Some(Vec::new());
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            match (frame, &mut whole) {
                (Ok(frame), Some(whole)) => {
                    let mut data = frame.into_data().expect("trailers are passed over");
                    whole.extend_from_slice(&data.copy_to_bytes(data.remaining()));
                }
                _ => {
                    whole = None;
                    break;
                }
            }
        }
        let asked = Asked {
            head: format!("{} {}", head.method, head.uri),
            headers: head.headers.len(),
            body: whole,
        };
        let mut all = self.0.asked.lock().expect("nobody panicked");
        all.push(asked);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::ACCEPTED;
        response
    }

    fn stopping(&self) {}

    fn closing(&self) {}
}

/// Gives its pieces, and then its end.
struct Wire {
    pieces: std::vec::IntoIter<Vec<u8>>,
    piece: Vec<u8>,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.piece.is_empty() {
            self.piece = self.pieces.next().unwrap_or_default();
        }
        let count = self.piece.len().min(buffer.remaining());
        let rest = self.piece.split_off(count);
        buffer.put_slice(&self.piece);
        self.piece = rest;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
}
