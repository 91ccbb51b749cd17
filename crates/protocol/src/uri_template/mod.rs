//! URI templates: reading them, filling them in, and finding out which values
//! make a given URI.
//!
//! A template is read once, into parts. Size and number of parts are bounded, and
//! matching takes time in proportion to parts × length of the URI, whatever they
//! are: nothing here backtracks.
//!
//! Specification: RFC 6570, all four levels; server/resources, resource templates.

mod bind;
mod expand;
mod matching;
mod parse;
mod pattern;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use expand::ExpandError;
pub use parse::{TemplateError, TemplateErrorKind};

/// Values by the name of their variable. What is absent is undefined.
pub type Variables = BTreeMap<String, Value>;

/// A template that was read.
///
/// ```
/// use switchboard_protocol::uri_template::{UriTemplate, Variables};
///
/// let template: UriTemplate = "files://{owner}{/path*}{?line}".parse()?;
/// let found = template.matches("files://me/src/lib.rs?line=7").unwrap();
/// assert_eq!(found["owner"], "me".into());
/// assert_eq!(found["path"], ["src", "lib.rs"].into());
/// assert_eq!(template.expand(&found)?, "files://me/src/lib.rs?line=7");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct UriTemplate {
    source: Box<str>,
    parts: Vec<parse::Part>,
}

impl UriTemplate {
    /// How long a template may be, in bytes.
    pub const LONGEST: usize = 8 * 1024;

    /// How many expressions a template may have.
    pub const MOST_EXPRESSIONS: usize = 32;

    /// How many variables an expression may have.
    pub const MOST_VARIABLES: usize = 32;

    /// Reads a template.
    ///
    /// # Errors
    /// When it breaks the grammar or a bound; the error says where.
    pub fn parse(template: &str) -> Result<Self, TemplateError> {
        Ok(Self {
            source: template.into(),
            parts: parse::parse(template)?,
        })
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The names of its variables in the order they stand, repeated as they are.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(parse::Part::variable_names)
    }

    /// The URI that these values make.
    ///
    /// # Errors
    /// When a prefix is asked of a list or of pairs.
    pub fn expand(&self, variables: &Variables) -> Result<String, ExpandError> {
        expand::expand(&self.parts, variables)
    }

    /// The values that make this URI, or `None` if none do.
    ///
    /// Reading is liberal: a value may hold any character that separates nothing
    /// where it stands, and the pairs of a query may come in any order. `{name}`
    /// and `{+name}` need at least one character; an expression with another
    /// operator may be absent. Where a URI can be read in several ways, the
    /// earlier expression takes as much as it can. A variable that stands in the
    /// template twice must have one value.
    ///
    /// Values are percent-decoded, so they may hold anything, a slash or `..`
    /// too: whoever makes a path of one checks it.
    pub fn matches(&self, uri: &str) -> Option<Variables> {
        matching::matches(&self.parts, uri).0
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.source).finish()
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl FromStr for UriTemplate {
    type Err = TemplateError;

    fn from_str(template: &str) -> Result<Self, TemplateError> {
        Self::parse(template)
    }
}

impl PartialEq for UriTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for UriTemplate {}

/// The value of a variable. An empty list and empty pairs count as undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
    /// Names with texts.
    Pairs(Vec<(String, String)>),
}

impl Value {
    /// The value as one text, its parts joined with commas, for a reader who
    /// takes `Paris,France` for one name.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::List(items) => items.join(",").into(),
            Self::Pairs(pairs) => {
                let parts: Vec<_> = pairs
                    .iter()
                    .map(|(key, item)| format!("{key},{item}"))
                    .collect();
                parts.join(",").into()
            }
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<const N: usize> From<[&str; N]> for Value {
    fn from(items: [&str; N]) -> Self {
        Self::List(items.map(str::to_owned).to_vec())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Value {
    fn from(pairs: [(&str, &str); N]) -> Self {
        Self::Pairs(
            pairs
                .map(|(key, item)| (key.to_owned(), item.to_owned()))
                .to_vec(),
        )
    }
}

/// May the byte stand in a URI without a meaning of its own?
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Does the byte separate parts of a URI somewhere?
const fn is_reserved(byte: u8) -> bool {
    let is_general = matches!(byte, b':' | b'/' | b'?' | b'#' | b'[' | b']' | b'@');
    is_general
        || matches!(
            byte,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'='
        )
}

/// The byte that a percent sign and two hexadecimal digits at `at` stand for.
fn triplet(bytes: &[u8], at: usize) -> Option<u8> {
    let &[b'%', high, low] = bytes.get(at..at.checked_add(3)?)? else {
        return None;
    };
    let high = char::from(high).to_digit(16)?;
    let low = char::from(low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_the_text_that_it_was_read_from() {
        let read = |text: &str| text.parse::<UriTemplate>().unwrap();
        let template = read("a/{b}");
        assert_eq!(template.as_str(), "a/{b}");
        assert_eq!(template.to_string(), "a/{b}");
        assert_eq!(template, read("a/{b}"));
        assert_ne!(template, read("a/{c}"));
    }

    #[test]
    fn a_value_is_one_text_for_who_wants_no_more() {
        assert_eq!(Value::from("Paris").text(), "Paris");
        assert_eq!(Value::from(["Paris", "France"]).text(), "Paris,France");
        assert_eq!(Value::from([("a", "1"), ("b", "2")]).text(), "a,1,b,2");
    }
}
