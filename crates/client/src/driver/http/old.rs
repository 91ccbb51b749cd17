//! The transport of 2024-11-05: one stream for everything the server says, which begins by
//! saying where to post.
//!
//! Specification: 2024-11-05 basic/transports (HTTP with SSE).

use std::sync::Arc;

use switchboard_protocol::http::client::{AnswerError, read_stream, stream_headers};
use switchboard_protocol::http::old_sse::read_endpoint;
use switchboard_protocol::machine::Lane;
use switchboard_transport::http::client::BodyError;
use tokio::sync::mpsc;

use crate::error::{HttpFailure, HttpProblem};

use super::event::Event;
use super::exchange::Place;

/// Listens to the one stream until it ends.
pub(super) async fn run(place: Arc<Place>, events: mpsc::Sender<Event>) {
    let problem = listen(&place, &events).await;
    let failure = HttpFailure::new(&place.url, problem);
    // The owner is gone if it does not take it.
    let _ = events.send(Event::Gone(failure)).await;
}

async fn listen(place: &Place, events: &mpsc::Sender<Event>) -> HttpProblem {
    let headers = match stream_headers(None, None, None) {
        Ok(headers) => headers,
        Err(error) => return HttpProblem::Unsendable(error.to_string()),
    };
    let received = match place.client.send(place.get(headers)).await {
        Ok(received) => received,
        Err(error) => return error.into(),
    };
    match read_stream(false, received.status, &received.headers) {
        Ok(true) => {}
        Ok(false) => {
            let status = received.status;
            let has_json = false;
            return AnswerError::Refused { status, has_json }.into();
        }
        Err(error) => return error.into(),
    }
    let uri = received.uri;
    let mut body = received.body;
    let mut has_endpoint = false;
    loop {
        let event = match body.next_event().await {
            Ok(Some(event)) => event,
            Ok(None) => return HttpProblem::StreamEnded,
            Err(BodyError::Event(_)) => continue,
            Err(error) => return error.into(),
        };
        let told = if has_endpoint {
            if !event.is_message() || event.data.is_empty() {
                continue;
            }
            Event::Received {
                lane: Lane::SHARED,
                frame: place.read(event.data).await,
                is_last: false,
            }
        } else {
            let name = event.name.as_deref().unwrap_or(b"message");
            let name = String::from_utf8_lossy(name);
            let data = String::from_utf8_lossy(&event.data);
            match read_endpoint(&uri, &name, &data) {
                Ok(endpoint) => {
                    has_endpoint = true;
                    Event::Endpoint(endpoint)
                }
                Err(error) => return HttpProblem::Endpoint(error.to_string()),
            }
        };
        if events.send(told).await.is_err() {
            return HttpProblem::StreamEnded;
        }
    }
}
