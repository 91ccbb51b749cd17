//! Reading an object by one of its members without losing its text.
//!
//! serde's own tagged enums pass through a buffer in which [`RawJson`] cannot
//! survive, so unions are read as text first and as their kind second.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};

use crate::RawJson;

/// The text of an object; anything else is refused.
pub(crate) fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
    let raw = RawJson::deserialize(deserializer)?;
    if raw.is_object() {
        Ok(raw)
    } else {
        Err(D::Error::custom("expected an object"))
    }
}

/// The value of `type`.
pub(crate) fn kind<E: Error>(raw: &RawJson) -> Result<Cow<'_, str>, E> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    serde_json::from_str::<Head<'_>>(raw.as_str())
        .map(|head| head.kind)
        .map_err(E::custom)
}

/// The text as a value of the kind that was found.
pub(crate) fn decode<T: DeserializeOwned, E: Error>(raw: &RawJson) -> Result<T, E> {
    raw.decode().map_err(E::custom)
}

/// A member that may be `null`: present as `null` differs from absent.
pub(crate) fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}
