//! The stream of what belongs to no request, in the handshake era.
//!
//! Opened anew where it ended, as long as the server lets it be.
//!
//! Specification: 2025-11-25 basic/transports (listening for messages, resumability).

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::Revision;
use switchboard_protocol::http::client::{AnswerError, read_stream, stream_headers};
use switchboard_protocol::http::session::SessionId;
use switchboard_protocol::machine::Lane;
use switchboard_transport::http::client::{BodyError, Incoming};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use super::event::Event;
use super::exchange::{Place, delay};

/// Listens to what belongs to no request.
pub(super) struct Listener {
    pub(super) place: Arc<Place>,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) revision: Revision,
    pub(super) session: Option<SessionId>,
    pub(super) epoch: u64,
    pub(super) silence: Duration,
}

/// How one stream ended.
enum End {
    /// There is none, and there will be none.
    Refused,
    /// It may be opened again.
    Broken,
    /// The session is over.
    SessionLost,
}

impl Listener {
    pub(super) async fn run(self) {
        let mut last_id: Option<String> = None;
        let mut retry = None;
        let mut attempts = 0;
        let mut was_open = false;
        while attempts < MOST_ATTEMPTS {
            let mut heard = false;
            let end = self.listen(&mut last_id, &mut retry, &mut heard, &mut was_open);
            match end.await {
                End::Refused => return,
                // There never was one: some servers have no such stream and say so by 404. If it
                // is the session after all, the next call will hear of it.
                End::SessionLost if !was_open => return,
                End::SessionLost => {
                    let epoch = self.epoch;
                    // The owner is gone if it does not take it.
                    let _ = self.events.send(Event::SessionLost { epoch }).await;
                    return;
                }
                End::Broken => {}
            }
            attempts = if heard { 1 } else { attempts + 1 };
            sleep(delay(retry, attempts)).await;
        }
    }

    async fn listen(
        &self,
        last_id: &mut Option<String>,
        retry: &mut Option<Duration>,
        heard: &mut bool,
        was_open: &mut bool,
    ) -> End {
        let headers = stream_headers(
            Some(self.revision),
            self.session.as_ref(),
            last_id.as_deref(),
        );
        let Ok(headers) = headers else {
            // An id that cannot be sent back is of no use.
            *last_id = None;
            return End::Broken;
        };
        let Ok(received) = self.place.client.send(self.place.get(headers)).await else {
            return End::Broken;
        };
        let mut body = match read_stream(self.session.is_some(), received.status, &received.headers)
        {
            Ok(true) => received.body,
            Ok(false) => return End::Refused,
            Err(AnswerError::SessionLost) => return End::SessionLost,
            Err(AnswerError::Unavailable { .. }) => return End::Broken,
            Err(_) => return End::Refused,
        };
        *was_open = true;
        let end = self.read(&mut body, retry, heard).await;
        if let Some(id) = body.last_event_id() {
            *last_id = Some(id.to_owned());
        }
        end
    }

    async fn read(
        &self,
        body: &mut Incoming,
        retry: &mut Option<Duration>,
        heard: &mut bool,
    ) -> End {
        loop {
            let before = body.received();
            let until = Instant::now() + self.silence;
            let event = match timeout_at(until, body.next_event()).await {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) => return End::Broken,
                Ok(Err(BodyError::Event(_))) => continue,
                Ok(Err(_)) => return End::Broken,
                // Comments are no events, but they are a sign of life.
                Err(_) if body.received() > before => continue,
                Err(_) => return End::Broken,
            };
            *heard = true;
            if event.retry.is_some() {
                *retry = event.retry;
            }
            if event.is_message() && !event.data.is_empty() {
                let frame = self.place.read(event.data).await;
                let lane = Lane::SHARED;
                let is_last = false;
                let received = Event::Received {
                    lane,
                    frame,
                    is_last,
                };
                if self.events.send(received).await.is_err() {
                    return End::Refused;
                }
            }
        }
    }
}

/// How often it is opened again without hearing anything.
const MOST_ATTEMPTS: u32 = 10;
