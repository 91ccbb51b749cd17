//! Who was sent to a page, and hears when he is done there.
//!
//! Specification: 2025-11-25 client/elicitation (`notifications/elicitation/complete`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_client::Payload;
use switchboard_protocol::jsonrpc::Notification;
use switchboard_protocol::types::ElicitationCompleteNotificationParams;
use switchboard_protocol::{Method, Refusals};
use switchboard_server::{Connection, Context};

/// Those who were sent to pages, the last ones last.
#[derive(Debug, Default)]
pub(crate) struct Visits(Mutex<VecDeque<Visit>>);

#[derive(Debug)]
struct Visit {
    server: Arc<str>,
    id: String,
    client: Connection,
}

impl Visits {
    /// A server sends the client that made this call to a page.
    pub(crate) fn note(&self, server: &Arc<str>, id: &str, context: &Context, refusals: &Refusals) {
        let Some(client) = context.connection() else {
            return;
        };
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if visits.len() >= MOST {
            visits.pop_front();
            refusals.note("visits");
        }
        visits.push_back(Visit {
            server: Arc::clone(server),
            id: id.to_owned(),
            client,
        });
    }

    /// A visit is over, says the server: whoever was sent there hears of it, and nobody else.
    pub(crate) fn end(&self, server: &str, id: &str) {
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = visits.iter();
        let place = all.position(|visit| *visit.server == *server && visit.id == id);
        let visit = place.and_then(|place| visits.remove(place));
        drop(visits);
        let params = Payload::encode(&ElicitationCompleteNotificationParams::new(id));
        if let (Some(visit), Ok(params)) = (visit, params) {
            let told = Notification::new(Method::ElicitationComplete, Some(params));
            visit.client.notify(told);
        }
    }
}

/// Whoever has not come back by then is not told.
const MOST: usize = 1_024;
