//! What a token allows, in the words of its server.
//!
//! Specification: RFC 6749, section 3.3; basic/authorization, "Scope Selection Strategy" and
//! "Step-Up Authorization Flow".

use std::fmt;

use serde::{Deserialize, Serialize};

/// Scopes in the order in which they were named, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// Reads scopes that are separated by spaces. What cannot stand in a request is left out.
    pub fn parse(text: &str) -> Self {
        text.split(' ').collect()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is this one among them?
    pub fn has(&self, scope: &str) -> bool {
        self.0.iter().any(|own| own == scope)
    }

    /// Are all of these among them?
    pub fn has_all(&self, others: &Self) -> bool {
        others.0.iter().all(|other| self.has(other))
    }

    /// These and those, what is new at the end.
    #[must_use]
    pub fn union(&self, others: &Self) -> Self {
        self.iter().chain(others.iter()).collect()
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<'a> FromIterator<&'a str> for Scopes {
    fn from_iter<I: IntoIterator<Item = &'a str>>(scopes: I) -> Self {
        let mut found = Self::default();
        for scope in scopes {
            if is_scope(scope) && !found.has(scope) && found.0.len() < MOST {
                found.0.push(scope.to_owned());
            }
        }
        found
    }
}

impl From<String> for Scopes {
    fn from(text: String) -> Self {
        Self::parse(&text)
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> Self {
        scopes.to_string()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// RFC 6749: visible ASCII without `"` and `\`.
fn is_scope(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    !text.is_empty() && text.bytes().all(is_allowed)
}

// More would not fit into a URL.
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_kept_in_order_and_once() {
        let scopes = Scopes::parse("b a  b c\"d e\n");
        assert_eq!(scopes.to_string(), "b a");
        assert!(scopes.has("a") && !scopes.has("c"));
        assert!(Scopes::parse("").is_empty());
    }

    #[test]
    fn there_are_only_so_many() {
        let many = |count: usize| -> String { (0..count).map(|n| format!("s{n} ")).collect() };
        let scopes = Scopes::parse(&many(MOST + 1));
        assert_eq!(scopes.iter().count(), MOST);
        assert_eq!(scopes, Scopes::parse(&many(MOST)));
        assert_eq!(scopes.union(&Scopes::parse("more")), scopes);
    }

    #[test]
    fn a_union_adds_what_is_new() {
        let union = Scopes::parse("a b").union(&Scopes::parse("c b"));
        assert_eq!(union.to_string(), "a b c");
        assert!(union.has_all(&Scopes::parse("c a")));
        assert!(!Scopes::parse("a").has_all(&union));
    }

    #[test]
    fn a_store_keeps_them_as_a_text() {
        let text = serde_json::to_string(&Scopes::parse("a b")).unwrap();
        assert_eq!(text, r#""a b""#);
        let scopes: Scopes = serde_json::from_str(&text).unwrap();
        assert_eq!(scopes, Scopes::parse("a b"));
    }
}
