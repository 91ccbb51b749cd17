//! The connections that hear of changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use switchboard_protocol::machine::server::{Change, Input};

use crate::link::Link;

/// The connections that hear of changes. Those that are gone are forgotten.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    links: Mutex<Links>,
    /// How often a list has changed: what a server can do may have changed with it.
    list_changes: AtomicU64,
}

#[derive(Debug, Default)]
struct Links {
    all: Vec<Weak<dyn Link>>,
    /// When to look for those that are gone.
    next_sweep: usize,
}

impl Audience {
    /// From now on, this connection hears of changes, until it is dropped.
    pub(crate) fn join(&self, link: Weak<dyn Link>) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.all.len() >= links.next_sweep {
            links.all.retain(|link| link.strong_count() > 0);
            // So often that the dead are never many more than the living.
            links.next_sweep = links.all.len() * 2 + 16;
        }
        links.all.push(link);
    }

    /// Tells everyone of a change.
    pub(crate) fn tell(&self, change: &Change) {
        if matches!(change, Change::Tools | Change::Resources | Change::Prompts) {
            self.list_changes.fetch_add(1, Ordering::Release);
        }
        for link in self.living() {
            link.tell(Input::Changed(change.clone()));
        }
    }

    /// Tells those of a change who may know of it.
    pub(crate) fn tell_if(&self, change: &Change, may_know: impl Fn(&dyn Link) -> bool) {
        for link in self.living() {
            if may_know(&*link) {
                link.tell(Input::Changed(change.clone()));
            }
        }
    }

    /// How often a list has changed.
    pub(crate) fn list_changes(&self) -> u64 {
        self.list_changes.load(Ordering::Acquire)
    }

    /// Tells everyone that the server will end.
    pub(crate) fn stopping(&self) {
        for link in self.living() {
            link.stopping();
        }
    }

    /// Tells everyone that the server ends now.
    pub(crate) fn closing(&self) {
        for link in self.living() {
            link.closing();
        }
    }

    fn living(&self) -> Vec<Arc<dyn Link>> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.all.retain(|link| link.strong_count() > 0);
        links.all.iter().filter_map(Weak::upgrade).collect()
    }
}
