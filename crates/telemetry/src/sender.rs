//! Brings one kind of telemetry to a collector, again and again until it is taken or given up.
//!
//! Specification: OTLP 1.x, "OTLP/HTTP Response", "OTLP/HTTP Throttling".

use std::error::Error;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use switchboard_transport::http::client::{HttpClient, SendError, shown};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::settings::{Destination, Retry};

/// Brings telemetry to one place.
#[derive(Debug)]
pub(crate) struct Sender {
    client: HttpClient,
    destination: Destination,
    retry: Retry,
    /// True once somebody waits for the end.
    closing: watch::Receiver<bool>,
    /// The collector wants to hear nothing before.
    not_before: Option<Instant>,
}

/// Why something was given up.
#[derive(Debug)]
pub(crate) struct GivenUp {
    place: String,
    attempts: u32,
    fault: Fault,
}

/// Why one try came to nothing.
#[derive(Debug)]
enum Fault {
    Send(SendError),
    TimedOut(Duration),
    Status(StatusCode),
}

impl Sender {
    pub(crate) fn new(
        client: &HttpClient,
        destination: Destination,
        retry: Retry,
        closing: watch::Receiver<bool>,
    ) -> Self {
        Self {
            client: client.clone(),
            destination,
            retry,
            closing,
            not_before: None,
        }
    }

    /// What the collector answers when it has taken it.
    pub(crate) async fn send(&mut self, body: Vec<u8>) -> Result<Bytes, GivenUp> {
        let body = Bytes::from(body);
        if let Some(moment) = self.not_before.take() {
            self.pause(moment.saturating_duration_since(Instant::now()))
                .await;
        }
        let end = Instant::now() + self.retry.total;
        let mut wait = self.retry.first;
        let mut attempts = 0u32;
        loop {
            attempts = attempts.saturating_add(1);
            let (fault, asked) = match self.post(body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(refused) => refused,
            };
            // A collector that names a time has a reason; so many ask at once otherwise.
            let pause = asked.unwrap_or_else(|| some_of(wait));
            if !fault.may_pass() || Instant::now() + pause > end {
                self.not_before = asked.map(|pause| Instant::now() + pause);
                return Err(GivenUp {
                    place: shown(&self.destination.url),
                    attempts,
                    fault,
                });
            }
            self.pause(pause).await;
            wait = wait.saturating_mul(2).min(self.retry.longest);
        }
    }

    /// Waits, but hardly while somebody waits for the end: there will be no later try.
    async fn pause(&mut self, time: Duration) {
        if *self.closing.borrow_and_update() {
            return sleep(time.min(self.retry.first)).await;
        }
        tokio::select! {
            () = sleep(time) => {}
            // If nobody can close it any more, the pause is over too.
            _ = self.closing.changed() => {}
        }
    }

    async fn post(&self, body: Bytes) -> Result<Bytes, (Fault, Option<Duration>)> {
        let limit = self.destination.timeout;
        let exchange = timeout(limit, self.exchange(body)).await;
        exchange.unwrap_or(Err((Fault::TimedOut(limit), None)))
    }

    async fn exchange(&self, body: Bytes) -> Result<Bytes, (Fault, Option<Duration>)> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.destination.url.clone();
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, AGENT);
        headers.extend(self.destination.headers.clone());
        headers.insert(CONTENT_TYPE, PROTOBUF);
        let received = self.client.send(request).await;
        let received = received.map_err(|error| (Fault::Send(error), None))?;
        let status = received.status;
        let asked = retry_after(&received.headers);
        // Read to its end, so that the connection can be used again. What it says is not needed
        // for it to be taken.
        let answer = received.body.collect().await;
        match status.is_success() {
            true => Ok(answer.unwrap_or_default()),
            false => Err((Fault::Status(status), asked)),
        }
    }
}

impl Fault {
    /// Is there a use in trying again?
    fn may_pass(&self) -> bool {
        match self {
            Self::Send(error) => !matches!(error, SendError::Url { .. }),
            Self::TimedOut(_) => true,
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            attempts,
            fault,
        } = self;
        write!(f, "{place} did not take it, tried {attempts} times: ")?;
        match fault {
            Fault::Send(error) => f.write_str(&chain(error)),
            Fault::TimedOut(limit) => write!(f, "no answer within {limit:?}"),
            Fault::Status(status) => write!(f, "status {}", status.as_u16()),
        }
    }
}

/// An error and its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

/// How long the collector wants us to wait, in seconds. A date is as good as nothing: whose clock
/// is it?
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds: u64 = seconds.parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_SILENCE))
}

/// Between half of it and all of it.
fn some_of(wait: Duration) -> Duration {
    let chance = RandomState::new().hash_one(0u8) as u16;
    let share = 0.5 + f64::from(chance) / f64::from(u16::MAX) / 2.0;
    wait.mul_f64(share)
}

/// However long a collector wants to hear nothing.
const LONGEST_SILENCE: Duration = Duration::from_secs(15 * 60);

const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("switchboard-telemetry/", env!("CARGO_PKG_VERSION")));
