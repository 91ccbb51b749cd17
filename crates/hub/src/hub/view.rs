//! A hub as those see it who are to see a part of it only.

use std::sync::{Arc, Mutex, PoisonError};

use crate::profile::Profile;
use crate::registry::Catalog;

/// What of a hub is seen.
#[derive(Debug)]
pub(crate) struct View {
    profile: Profile,
    /// The catalogue that was last asked for, and what is seen of it.
    last: Mutex<Option<Catalog>>,
    /// That of whoever has narrowed it before.
    outer: Option<Arc<Self>>,
}

impl View {
    pub(super) fn new(profile: Profile, outer: Option<Arc<Self>>) -> Self {
        Self {
            profile,
            last: Mutex::default(),
            outer,
        }
    }

    pub(crate) fn has_server(&self, server: &str) -> bool {
        let is_outside = |outer: &Arc<Self>| outer.has_server(server);
        self.profile.has_server(server) && self.outer.as_ref().is_none_or(is_outside)
    }

    /// What is seen of a catalogue.
    pub(super) fn of(&self, whole: Catalog) -> Catalog {
        let whole = match &self.outer {
            Some(outer) => outer.of(whole),
            None => whole,
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(seen) if seen.version() == whole.version() => seen.clone(),
            _ => {
                let seen = whole.narrowed(&self.profile);
                *last = Some(seen.clone());
                seen
            }
        }
    }
}
