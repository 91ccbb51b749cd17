//! Which era a server was found to speak.
//!
//! Shared by all clones of a description: whoever connects again need not ask again.
//!
//! Specification: 2026-07-28 basic/versioning.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use switchboard_protocol::Era;

/// The era of a server, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(Arc<AtomicU8>);

impl Memory {
    pub(crate) fn era(&self) -> Option<Era> {
        match self.0.load(Ordering::Relaxed) {
            HANDSHAKE => Some(Era::Handshake),
            STATELESS => Some(Era::Stateless),
            _ => None,
        }
    }

    pub(crate) fn set(&self, era: Option<Era>) {
        let word = match era {
            None => 0,
            Some(Era::Handshake) => HANDSHAKE,
            Some(Era::Stateless) => STATELESS,
        };
        self.0.store(word, Ordering::Relaxed);
    }
}

const HANDSHAKE: u8 = 1;
const STATELESS: u8 = 2;
