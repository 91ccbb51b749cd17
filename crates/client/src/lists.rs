//! What a server was heard to offer, for as long as it stays true.
//!
//! In the stateless era a list says how long it stays fresh. In the handshake era it holds
//! until the server says that it changed, if it says so at all. A client has one server
//! and one credential, so it makes no difference whether a list is public or private.
//!
//! Specification: 2026-07-28 server/utilities/caching; list changes of server/*.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_protocol::types::{CacheHint, Cacheable, Prompt, Resource, ResourceTemplate};
use tokio::time::Instant;

use crate::host::Change;
use crate::tools::Tools;

/// What a server offers.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) tools: Kept<Tools>,
    pub(crate) prompts: Kept<Vec<Prompt>>,
    pub(crate) resources: Kept<Vec<Resource>>,
    pub(crate) templates: Kept<Vec<ResourceTemplate>>,
}

impl Lists {
    /// Something has changed: what was heard of it is no longer true.
    pub(crate) fn forget(&self, change: &Change) {
        match change {
            Change::Tools => self.tools.forget(),
            Change::Prompts => self.prompts.forget(),
            Change::Resources => {
                self.resources.forget();
                self.templates.forget();
            }
            Change::Resource(_) | Change::Task(_) | Change::Visit(_) => {}
        }
    }

    pub(crate) fn forget_all(&self) {
        for change in [Change::Tools, Change::Prompts, Change::Resources] {
            self.forget(&change);
        }
    }

    pub(crate) fn hints(&self) -> ListHints {
        ListHints {
            tools: self.tools.hint(),
            prompts: self.prompts.hint(),
            resources: self.resources.hint(),
            templates: self.templates.hint(),
        }
    }

    /// Have the tools ever been listed?
    pub(crate) fn knows_tools(&self) -> bool {
        self.tools.last().is_some()
    }

    /// The tools as they were last listed, fresh or not.
    pub(crate) fn last_tools(&self) -> Option<Arc<Tools>> {
        self.tools.last()
    }
}

/// What a server said with its lists of how long they may be kept, and by whom.
///
/// This is for those who pass the lists on; for the client itself they have their effect by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListHints {
    /// With its tools. None: they were not listed yet.
    pub tools: Option<ListHint>,
    /// With its prompts.
    pub prompts: Option<ListHint>,
    /// With its resources.
    pub resources: Option<ListHint>,
    /// With its families of resources.
    pub templates: Option<ListHint>,
}

/// What a server said with one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListHint {
    /// What holds for all its pages. In the handshake era there are no words for it.
    pub said: CacheHint,
    /// When the list began to be read.
    pub heard: std::time::Instant,
}

/// One list.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    entry: Mutex<Entry<T>>,
    /// Whether there ever was one: what every call wants to know, without a lock.
    is_known: AtomicBool,
}

#[derive(Debug)]
struct Entry<T> {
    last: Option<Arc<T>>,
    hint: Option<ListHint>,
    fresh: Fresh,
    /// Counts what was forgotten, so that a list that was being read then is not kept as fresh.
    epoch: u64,
}

/// For how long a list is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// Not a moment longer.
    No,
    /// Until then.
    Until(Instant),
    /// Until the server says otherwise.
    UntilTold,
}

impl Fresh {
    /// What pages say together: the shortest of them.
    pub(crate) fn of(pages: &impl Cacheable, now: Instant) -> Self {
        let life = pages.time_to_live().min(LONGEST_LIFE);
        if life.is_zero() {
            return Self::No;
        }
        now.checked_add(life).map_or(Self::No, Self::Until)
    }

    /// The shorter of two.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Until(one), Self::Until(two)) => Self::Until(one.min(two)),
            (Self::UntilTold, other) | (other, Self::UntilTold) => other,
        }
    }

    fn holds(self, now: Instant) -> bool {
        match self {
            Self::No => false,
            Self::Until(end) => now < end,
            Self::UntilTold => true,
        }
    }
}

impl<T> Kept<T> {
    /// The list, if it is still true.
    pub(crate) fn fresh(&self) -> Option<Arc<T>> {
        let entry = self.lock();
        entry
            .last
            .clone()
            .filter(|_| entry.fresh.holds(Instant::now()))
    }

    pub(crate) fn last(&self) -> Option<Arc<T>> {
        if !self.is_known.load(Ordering::Acquire) {
            return None;
        }
        self.lock().last.clone()
    }

    fn hint(&self) -> Option<ListHint> {
        self.lock().hint
    }

    /// Notes when a list begins to be read, for [`keep`](Self::keep).
    pub(crate) fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    pub(crate) fn keep(&self, list: Arc<T>, hint: ListHint, fresh: Fresh, epoch: u64) {
        let mut entry = self.lock();
        entry.fresh = if entry.epoch == epoch {
            fresh
        } else {
            Fresh::No
        };
        entry.last = Some(list);
        entry.hint = Some(hint);
        self.is_known.store(true, Ordering::Release);
    }

    fn forget(&self) {
        let mut entry = self.lock();
        entry.fresh = Fresh::No;
        entry.epoch += 1;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entry<T>> {
        self.entry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            entry: Mutex::new(Entry {
                last: None,
                hint: None,
                fresh: Fresh::No,
                epoch: 0,
            }),
            is_known: AtomicBool::new(false),
        }
    }
}

/// A server that says "for ever" is asked again once a day.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use switchboard_protocol::types::{CacheScope, ListToolsResult};

    use super::*;

    #[test]
    fn no_list_is_kept_for_more_than_a_day() {
        let now = Instant::now();
        let until = |life: Duration| {
            let mut page = ListToolsResult::new(Vec::new());
            page.set_cache(life, CacheScope::Private);
            Fresh::of(&page, now)
        };
        assert_eq!(until(Duration::ZERO), Fresh::No);
        let hour = Duration::from_secs(3_600);
        assert_eq!(until(hour), Fresh::Until(now + hour));
        let year = 365 * 24 * hour;
        assert_eq!(until(year), Fresh::Until(now + LONGEST_LIFE));
        assert!(!until(year).holds(now + LONGEST_LIFE));
    }
}
