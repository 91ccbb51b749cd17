//! A conversation, as handlers see it, and those who have news for everyone.

use std::sync::{Arc, Weak};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use switchboard_protocol::http::server::Stage;
use switchboard_protocol::machine::server::{Input, ServeKey};
use switchboard_protocol::{Method, Payload, Refusals};
use switchboard_transport::http::Principal;
use tokio::sync::oneshot;

use super::{Conversation, Kind};
use crate::clock;
use crate::link::{Asked, Link, Session};
use crate::seal::SealingKeys;
use crate::tasks::TaskOwner;

impl Link for Conversation {
    fn tell(&self, input: Input) {
        if let Some(me) = self.me() {
            me.handle(&mut me.lock(), Stage::Answer, input, &mut Vec::new());
        }
    }

    fn ask(&self, key: Option<ServeKey>, method: Method, params: Option<Payload>) -> Asked {
        let (asker, asked) = oneshot::channel();
        if let Some(me) = self.me() {
            let mut state = me.lock();
            let mut out = Vec::new();
            let now = clock::now();
            state.enter(now);
            state.core.ask(now, key, method, params, asker, &mut out);
            me.settle(&mut state, Stage::Answer, &mut out);
            me.set_alarm(&mut state);
        }
        asked
    }

    fn session(&self) -> Option<Session> {
        match self.kind {
            Kind::Session | Kind::Old => {
                let link = Weak::clone(self.me.get()?) as Weak<dyn Link>;
                self.name.name().map(|id| Session { id, link })
            }
            Kind::Stateless | Kind::Sessionless => None,
        }
    }

    fn seals(&self) -> &SealingKeys {
        &self.home.site.seals
    }

    fn refusals(&self) -> &Refusals {
        &self.home.site.refusals
    }

    fn poll_room(&self, key: ServeKey, task: &mut TaskContext<'_>) -> Poll<()> {
        let state = self.lock();
        match state.core.machine.lane(key) {
            Some(lane) => state.lanes.poll_room(lane, task),
            None => Poll::Ready(()),
        }
    }

    fn release(&self, key: ServeKey, retry: Duration) {
        if let Some(me) = self.me() {
            let mut state = me.lock();
            state.enter(clock::now());
            if let Some(lane) = state.core.machine.lane(key) {
                state.lanes.release(&me, lane, retry);
            }
        }
    }

    fn principal(&self) -> Option<Arc<Principal>> {
        self.principal.get().cloned()
    }

    fn hears(&self, owner: &TaskOwner) -> bool {
        // Streams of tasks are of the stateless era.
        self.kind == Kind::Stateless
            && match self.principal.get() {
                Some(principal) => *owner == TaskOwner::from(&**principal),
                None => *owner == TaskOwner::Anyone,
            }
    }

    fn closing(&self) {
        self.tell(Input::Close);
    }

    fn stopping(&self) {
        match self.kind {
            Kind::Stateless => self.tell(Input::Close),
            Kind::Session | Kind::Old | Kind::Sessionless => self.lock().lanes.end_shared(),
        }
    }
}
