//! Members of an object that this crate does not know.
//!
//! Every object that a peer sends keeps them, so that a value read and written
//! again loses nothing: a hub may stand between two peers newer than itself.
//!
//! Specification: the schemas leave every object open.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Unknown members of an object, by name.
///
/// Nearly always there are none, and then it is one word.
#[derive(Clone, Debug, Default)]
pub struct Extra(Option<Box<Map<String, Value>>>);

impl Extra {
    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.as_map().is_empty()
    }

    /// The member with this name.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.0.as_ref()?.get(name)
    }

    /// Adds a member, or replaces the one with this name.
    ///
    /// A name that the surrounding type knows would stand on the wire twice.
    pub fn insert(&mut self, name: impl Into<String>, value: Value) {
        self.as_map_mut().insert(name.into(), value);
    }

    /// All members.
    pub fn as_map(&self) -> &Map<String, Value> {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        self.0.as_deref().unwrap_or(&NONE)
    }

    /// All members, to change them.
    pub fn as_map_mut(&mut self) -> &mut Map<String, Value> {
        self.0.get_or_insert_default()
    }
}

impl From<Map<String, Value>> for Extra {
    fn from(members: Map<String, Value>) -> Self {
        Self((!members.is_empty()).then(|| Box::new(members)))
    }
}

impl PartialEq for Extra {
    fn eq(&self, other: &Self) -> bool {
        self.as_map() == other.as_map()
    }
}

impl Eq for Extra {}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_map().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
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

    #[test]
    fn members_that_are_added_are_there_and_count() {
        let mut extra = Extra::default();
        assert!(extra.is_empty());
        extra.insert("a", 1.into());
        extra.insert("a", 2.into());
        assert!(!extra.is_empty());
        assert_eq!(extra.member("a"), Some(&2.into()));
        assert_ne!(extra, Extra::default());
        extra.as_map_mut().clear();
        assert_eq!(extra, Extra::default());
    }
}
