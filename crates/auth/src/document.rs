//! A JSON document about a server or an authorization server, as others wrote it.
//!
//! What is optional and has another type than it should is not there; what is a URL must be one
//! that may be asked. What the members mean is for `resource` and `issuer`.
//!
//! Specification: RFC 8414, section 2; RFC 9728, section 2.

use serde_json::{Map, Value};
use switchboard_transport::Escaped;

use crate::error::AuthError;
use crate::place::Place;

/// The members of a document, and where it was found.
#[derive(Debug)]
pub(crate) struct Document {
    place: Place,
    members: Map<String, Value>,
}

impl Document {
    /// # Errors
    /// When the text is not an object of JSON. The text itself is not shown.
    pub(crate) fn read(place: &Place, text: &[u8]) -> Result<Self, AuthError> {
        match serde_json::from_slice(text) {
            Ok(Value::Object(members)) => Ok(Self {
                place: place.clone(),
                members,
            }),
            Ok(_) => Err(AuthError::metadata(place, "it is not an object of JSON")),
            Err(_) => Err(AuthError::metadata(place, "it is not JSON")),
        }
    }

    /// Why nothing of it is used.
    pub(crate) fn unusable(&self, reason: impl Into<String>) -> AuthError {
        AuthError::metadata(&self.place, reason)
    }

    /// A text that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.members.get(name)?.as_str()?;
        (!text.is_empty()).then_some(text)
    }

    /// The texts of a list.
    pub(crate) fn texts(&self, name: &str) -> Option<impl Iterator<Item = &str>> {
        let list = self.members.get(name)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str))
    }

    /// Is it true?
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.members.get(name) == Some(&Value::Bool(true))
    }

    /// A URL that may be asked. None if there is nothing, `null` or an empty text.
    ///
    /// # Errors
    /// When there is something else.
    pub(crate) fn url(&self, name: &str) -> Result<Option<Place>, AuthError> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => self.checked(name, text).map(Some),
            Some(_) => Err(self.unusable(format!("its {name} is not a text"))),
        }
    }

    /// Checks a URL that stands in the document.
    ///
    /// # Errors
    /// When it may not be asked.
    pub(crate) fn checked(&self, name: &str, text: &str) -> Result<Place, AuthError> {
        Place::parse(text).map_err(|error| self.unusable(format!("in its {name}, {error}")))
    }
}

/// The beginning of a text of others, safe to print.
pub(crate) fn excerpt(text: &str) -> String {
    let start: String = text.chars().take(LONGEST_EXCERPT).collect();
    format!("{:?}", Escaped(start.as_bytes()).to_string())
}

const LONGEST_EXCERPT: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Result<Document, AuthError> {
        let place = Place::parse("https://a.test/doc?token=secret").unwrap();
        Document::read(&place, text.as_bytes())
    }

    #[test]
    fn what_is_no_object_of_json_is_refused_without_showing_it() {
        for text in [
            "",
            "<html>secret",
            "\"secret\"",
            "[]",
            "null",
            "{\"secret\":",
            "{} x",
        ] {
            let error = document(text).unwrap_err().to_string();
            let start = "the metadata at https://a.test/doc is not used: it is not ";
            assert!(error.starts_with(start), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(document(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn members_of_another_type_are_not_there() {
        let found = document(r#"{"a":1,"b":"","c":["x",1,null,"y"],"d":"true","e":null}"#).unwrap();
        assert_eq!(found.text("a"), None);
        assert_eq!(found.text("b"), None);
        assert!(found.texts("a").is_none() && found.texts("e").is_none());
        let texts: Vec<&str> = found.texts("c").unwrap().collect();
        assert_eq!(texts, ["x", "y"]);
        assert!(!found.is_set("d") && !found.is_set("e") && !found.is_set("f"));
    }

    #[test]
    fn a_url_is_one_that_may_be_asked_or_refused() {
        let found =
            document(r#"{"a":"https://b.test/","b":null,"c":"","d":7,"e":"javascript:alert(1)"}"#)
                .unwrap();
        assert_eq!(found.url("a").unwrap().unwrap().as_str(), "https://b.test/");
        for name in ["b", "c", "f"] {
            assert_eq!(found.url(name).unwrap(), None);
        }
        let reason = |name| found.url(name).unwrap_err().to_string();
        assert!(reason("d").ends_with("its d is not a text"));
        assert_eq!(
            reason("e"),
            "the metadata at https://a.test/doc is not used: in its e, the URL \
             \"javascript:alert(1)\" is not used: it is neither https nor http"
        );
    }

    #[test]
    fn an_excerpt_is_short_and_harmless() {
        assert_eq!(
            excerpt("a\u{1b}[1m\u{202e}\n"),
            r#""a\\x1b[1m\\u{202e}\\n""#
        );
        assert!(excerpt(&"x".repeat(9000)).len() < 300);
    }
}
