//! What a configuration holds that nobody here knows.

use std::fmt;
use std::ops::Deref;

use serde_json::{Map, Value};

/// Members that are kept as they are. Printed, they are names only: a misspelt key may hold a
/// secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UnknownKeys(pub Map<String, Value>);

impl Deref for UnknownKeys {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl fmt::Debug for UnknownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
