//! Text that nobody is shown.

use std::fmt;

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// A token, a password, a key. It prints as `***` and is wiped from memory when it is dropped.
///
/// Serializing one writes the text: that is how a store keeps it.
///
/// ```
/// use switchboard_auth::Secret;
///
/// let secret = Secret::new("hunter2");
/// assert_eq!(format!("{secret} {secret:?}"), "*** ***");
/// assert_eq!(secret.reveal(), "hunter2");
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Keeps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself. Only for where it belongs: a request, a store.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Is there nothing to keep?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `SCHEME text`, as a header that is neither printed nor indexed. None if it cannot stand
    /// in a header.
    pub(crate) fn header(&self, scheme: &str) -> Option<HeaderValue> {
        let text = Zeroizing::new(format!("{scheme} {}", self.reveal()));
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Compares all of both, however early they differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.0.as_bytes(), other.0.as_bytes());
        let differing = one
            .iter()
            .zip(other)
            .fold(0, |bits, (one, other)| bits | (one ^ other));
        one.len() == other.len() && differing == 0
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_equal_only_to_the_same_text() {
        assert_eq!(Secret::new("abc"), Secret::new("abc"));
        assert_ne!(Secret::new("abc"), Secret::new("abd"));
        assert_ne!(Secret::new("abc"), Secret::new("abcd"));
        assert_ne!(Secret::new(""), Secret::new("a"));
    }

    #[test]
    fn however_it_is_printed_it_is_stars() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?} {secret:#?}"), "*** *** ***");
        assert_eq!(format!("{:?}", Some(&secret)), "Some(***)");
    }

    #[test]
    fn a_header_holds_it_and_does_not_print_it() {
        let header = Secret::new("t0ken").header("Bearer").unwrap();
        assert_eq!(header, "Bearer t0ken");
        assert!(!format!("{header:?}").contains("t0ken"));
        assert_eq!(Secret::new("two\nlines").header("Bearer"), None);
    }
}
