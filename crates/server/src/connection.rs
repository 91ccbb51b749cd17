//! A connection of a client, for whoever wants to know whether it is still there.

use std::fmt;
use std::sync::Weak;

use crate::link::Link;

/// A connection of a client: a pipe, a session, or a stream that a stateless client holds open.
#[derive(Clone)]
pub struct Connection(Weak<dyn Link>);

impl Connection {
    pub(crate) const fn new(link: Weak<dyn Link>) -> Self {
        Self(link)
    }

    /// Is it still there?
    pub fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Are the two the same?
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("is_open", &self.is_open())
            .finish()
    }
}
