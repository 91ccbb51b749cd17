//! A field inside a decoded value that stays exactly as it was sent.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One JSON value, byte for byte as it was sent, inside a decoded value.
///
/// Cheap to clone. Two are equal when their text is equal.
#[derive(Clone)]
pub struct RawJson(Arc<RawValue>);

impl RawJson {
    /// Takes JSON text as it is.
    ///
    /// # Errors
    /// When the text is not one valid JSON value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Box<RawValue>>(text).map(|raw| Self(raw.into()))
    }

    /// Writes a value as JSON text.
    ///
    /// # Errors
    /// When the value has no JSON form, as a map with keys that are not strings.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(|raw| Self(raw.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Decodes the text.
    ///
    /// # Errors
    /// When the text does not have the shape of `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// Is it the literal `null`?
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    /// Is it an object?
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_are_equal_when_their_text_is() {
        let read = |text| RawJson::parse(text).unwrap();
        assert_eq!(read("[1]"), read("[1]"));
        assert_ne!(read("[1]"), read("[1 ]"));
        assert!(read("null").is_null() && !read("{}").is_null());
    }
}
