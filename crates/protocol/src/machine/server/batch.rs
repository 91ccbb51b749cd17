//! Answers of one batch, gathered until the last is there.
//!
//! A batch in is one array out, in any order; notifications make no entry, and
//! a batch without requests gets no answer at all.
//!
//! Specification: 2025-03-26 basic (batching).

use std::time::Instant;

use crate::jsonrpc::{ErrorObject, Malformed, Message, Response, Shape};
use crate::machine::Lane;
use crate::machine::server::ServerMachine;
use crate::machine::server::input::Output;
use crate::machine::table::Table;

/// The batches whose answers are not all there.
#[derive(Debug, Default)]
pub(super) struct Batches {
    last: u64,
    open: Table<u64, Open>,
}

#[derive(Debug)]
struct Open {
    lane: Lane,
    waiting: usize,
    responses: Vec<Response>,
}

impl Batches {
    fn begin(&mut self, lane: Lane, waiting: usize) -> u64 {
        self.last += 1;
        let open = Open {
            lane,
            waiting,
            responses: Vec::with_capacity(waiting),
        };
        self.open.insert(self.last, open);
        self.last
    }

    /// Puts one answer to the others; after the last, all go out.
    pub(super) fn add(&mut self, batch: u64, response: Response, out: &mut Vec<Output>) {
        if let Some(open) = self.open.get_mut(&batch) {
            open.responses.push(response);
            open.waiting = open.waiting.saturating_sub(1);
        }
        self.send_if_complete(batch, out);
    }

    /// One answer will not come: its request was cancelled.
    pub(super) fn drop_one(&mut self, batch: u64, out: &mut Vec<Output>) {
        if let Some(open) = self.open.get_mut(&batch) {
            open.waiting = open.waiting.saturating_sub(1);
        }
        self.send_if_complete(batch, out);
    }

    fn send_if_complete(&mut self, batch: u64, out: &mut Vec<Output>) {
        if self.open.get(&batch).is_none_or(|open| open.waiting > 0) {
            return;
        }
        let Some(open) = self.open.remove(&batch) else {
            return;
        };
        out.push(if open.responses.is_empty() {
            Output::Accepted { lane: open.lane }
        } else {
            Output::SendBatch {
                lane: open.lane,
                responses: open.responses,
            }
        });
    }
}

impl ServerMachine {
    pub(super) fn handle_batch(
        &mut self,
        now: Instant,
        lane: Lane,
        entries: Vec<Result<Message, Malformed>>,
        out: &mut Vec<Output>,
    ) {
        let allowed = self
            .session
            .caller()
            .is_some_and(|caller| caller.revision.accepts_batches());
        if !allowed {
            let error = ErrorObject::invalid_request(
                "batches are part of revision 2025-03-26 only, after its initialize",
            );
            out.push(Output::send(lane, Response::without_id(error)));
            return;
        }
        let waiting = entries.iter().filter(|entry| wants_answer(entry)).count();
        // One more, so that answers given on the way do not look like the last.
        let batch = self.batches.begin(lane, waiting + 1);
        for entry in entries {
            match entry {
                Ok(Message::Request(request)) => {
                    self.handle_request(now, lane, Some(batch), request, out);
                }
                Ok(Message::Notification(told)) => self.handle_notification(told, out),
                Ok(Message::Response(response)) => self.handle_response(now, response, out),
                Err(malformed) if !asks_for_answer(&malformed) => {
                    self.broken_answer(now, &malformed, out);
                }
                Err(malformed) => {
                    let error = malformed.error();
                    let response = match malformed.id {
                        Some(id) if !self.serving.contains_id(&id) => Response::new(id, Err(error)),
                        _ => Response::without_id(error),
                    };
                    self.batches.add(batch, response, out);
                }
            }
        }
        self.batches.drop_one(batch, out);
    }
}

fn wants_answer(entry: &Result<Message, Malformed>) -> bool {
    match entry {
        Ok(message) => matches!(message, Message::Request(_)),
        Err(malformed) => asks_for_answer(malformed),
    }
}

/// Broken or not, notifications and answers make no entry.
fn asks_for_answer(malformed: &Malformed) -> bool {
    match malformed.shape {
        Shape::Request | Shape::Unclear => true,
        Shape::Notification | Shape::Response => false,
    }
}
