//! In whose hands the wire of a connection is: in those of the connection alone, or also in those of
//! whoever reads a body from it.
//!
//! Nearly every request comes whole, and then nobody else ever sees the wire: it needs no lock.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use super::lock;
use super::wire::Wire;

/// The wire, as its connection holds it.
#[derive(Debug)]
pub(super) enum Held<S> {
    Alone(Box<Wire<S>>),
    Shared(Arc<Mutex<Box<Wire<S>>>>),
}

impl<S> Held<S> {
    pub(super) fn new(wire: Wire<S>) -> Self {
        Self::Alone(Box::new(wire))
    }

    /// The wire. If it is shared, it is locked for as long as this is held.
    #[inline]
    pub(super) fn wire(&mut self) -> Access<'_, S> {
        match self {
            Self::Alone(wire) => Access::Alone(wire),
            Self::Shared(wire) => Access::Locked(lock(wire)),
        }
    }

    /// Gives a part in it to whoever reads a body.
    pub(super) fn share(self) -> (Self, Arc<Mutex<Box<Wire<S>>>>) {
        let shared = match self {
            Self::Alone(wire) => Arc::new(Mutex::new(wire)),
            Self::Shared(wire) => wire,
        };
        (Self::Shared(Arc::clone(&shared)), shared)
    }

    /// Takes it back, if nobody else has a part in it any more.
    #[inline]
    pub(super) fn take_back(self) -> Self {
        match self {
            Self::Alone(_) => self,
            Self::Shared(wire) => match Arc::try_unwrap(wire) {
                Ok(wire) => Self::Alone(
                    wire.into_inner()
                        .unwrap_or_else(|broken| broken.into_inner()),
                ),
                Err(wire) => Self::Shared(wire),
            },
        }
    }
}

/// The wire in one's hands.
pub(super) enum Access<'a, S> {
    Alone(&'a mut Wire<S>),
    Locked(MutexGuard<'a, Box<Wire<S>>>),
}

impl<S> Deref for Access<'_, S> {
    type Target = Wire<S>;

    #[inline]
    fn deref(&self) -> &Wire<S> {
        match self {
            Self::Alone(wire) => wire,
            Self::Locked(wire) => wire,
        }
    }
}

impl<S> DerefMut for Access<'_, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Wire<S> {
        match self {
            Self::Alone(wire) => wire,
            Self::Locked(wire) => wire,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::connection::head::Bounds;

    #[test]
    fn it_is_shared_for_as_long_as_somebody_else_has_a_part_in_it() {
        let bounds = Bounds {
            headers: 1,
            bytes: 1,
        };
        let held = Held::new(Wire::new(tokio::io::empty(), bounds));
        let (held, part) = held.share();
        let (held, other) = held.share();
        assert!(Arc::ptr_eq(&part, &other));
        drop(part);
        let mut held = held.take_back();
        held.wire().progress.requests = 7;
        assert_eq!(lock(&other).progress.requests, 7);
        drop(other);
        let mut held = held.take_back();
        assert!(matches!(held, Held::Alone(_)));
        assert_eq!(held.wire().progress.requests, 7);
    }
}
