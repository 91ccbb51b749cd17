//! Between a server's client and the application behind the hub.
//!
//! What a server asks goes on to the application, which is told by whom ([`Asked`] has the
//! server's name). What it tells becomes an event, too.

use std::sync::{Arc, Weak};

use switchboard_client::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestUrlParams, ElicitResult, ListRootsResult, LoggingMessageNotificationParams,
};
use switchboard_client::{Abilities, Answering, Asked, Change, Host};
use switchboard_protocol::jsonrpc::Notification;

use crate::event::Event;
use crate::hub::Shared;

/// The host of one server.
pub(crate) struct MemberHost {
    inner: Arc<dyn Host>,
    hub: Weak<Shared>,
    server: Arc<str>,
}

impl MemberHost {
    pub(crate) fn new(inner: Arc<dyn Host>, hub: &Weak<Shared>, server: &str) -> Self {
        Self {
            inner,
            hub: Weak::clone(hub),
            server: Arc::from(server),
        }
    }

    fn tell(&self, event: impl FnOnce(Arc<str>) -> Event) {
        if let Some(hub) = self.hub.upgrade() {
            hub.tell(event(Arc::clone(&self.server)));
        }
    }
}

impl Host for MemberHost {
    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    fn fill_form(
        &self,
        form: ElicitRequestFormParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        self.inner.fill_form(form, asked)
    }

    fn visit_url(
        &self,
        visit: ElicitRequestUrlParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        self.inner.visit_url(visit, asked)
    }

    fn sample(
        &self,
        request: CreateMessageRequestParams,
        asked: Asked,
    ) -> Answering<'_, CreateMessageResult> {
        self.inner.sample(request, asked)
    }

    fn list_roots(&self, asked: Asked) -> Answering<'_, ListRootsResult> {
        self.inner.list_roots(asked)
    }

    fn hear_log(&self, message: LoggingMessageNotificationParams, call: Option<u64>) {
        let event = message.clone();
        self.tell(|server| Event::Log {
            server,
            message: Arc::new(event),
        });
        self.inner.hear_log(message, call);
    }

    /// With the URI that the resource has in the catalogue.
    fn hear_change(&self, change: Change) {
        let hub = self.hub.upgrade();
        self.inner.hear_change(match (change, hub) {
            (Change::Resource(uri), Some(hub)) => {
                let catalog = hub.catalog();
                Change::Resource(catalog.expose_uri(&self.server, &uri).into_owned())
            }
            (change, _) => change,
        });
    }

    fn hear(&self, notification: Notification) {
        self.inner.hear(notification);
    }

    fn hear_stderr(&self, line: &str) {
        self.tell(|server| Event::Stderr {
            server,
            line: Arc::from(line),
        });
        self.inner.hear_stderr(line);
    }

    fn hear_noise(&self, line: &str) {
        self.inner.hear_noise(line);
    }

    fn hear_bad_end(&self, end: &str) {
        self.inner.hear_bad_end(end);
    }
}
