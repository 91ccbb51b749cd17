//! Members of an object that this crate does not know.
//!
//! Every object that a peer sends keeps them, so that a value read and written
//! again loses nothing: a hub may stand between two peers newer than itself.
//!
//! Specification: the schemas leave every object open.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Unknown members of an object, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Extra(Map<String, Value>);

impl Extra {
    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The member with this name.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Adds a member, or replaces the one with this name.
    ///
    /// A name that the surrounding type knows would stand on the wire twice.
    pub fn insert(&mut self, name: impl Into<String>, value: Value) {
        self.0.insert(name.into(), value);
    }

    /// All members.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// All members, to change them.
    pub fn as_map_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }
}

impl From<Map<String, Value>> for Extra {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_read_and_written_is_read_as_the_same_number() {
        let read: Extra = serde_json::from_str(r#"{"y":123456789.23456745689e-7}"#).unwrap();
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Extra>(&written).unwrap(), read);
    }
}
