//! What can be wrong with a schema, and with a value.
//!
//! Texts here repeat parts of schemas and values, which may be a peer's: they are cut, but not
//! escaped for a terminal or a page.

use std::fmt;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// More than the limit of what a schema may be.
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much of it there may be.
        limit: usize,
    },
    /// `$schema` names a dialect other than 2020-12 and draft-07.
    Dialect(String),
    /// A reference to something outside the schema, which is never fetched.
    Remote(String),
    /// A reference to a place in the schema where there is no schema.
    Dangling(String),
    /// A schema that applies itself to the same value again.
    Circular(String),
    /// Not a schema of its dialect, or one with a pattern that takes more than linear time.
    Malformed(String),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { what, limit } => {
                write!(f, "the schema has more than {limit} {what}")
            }
            Self::Dialect(name) => write!(
                f,
                "the schema is written in `{name}`; use 2020-12 or draft-07"
            ),
            Self::Remote(reference) => write!(
                f,
                "`$ref` to `{reference}` leads outside the schema; put the definition into `$defs`"
            ),
            Self::Dangling(reference) => {
                write!(f, "`$ref` to `{reference}` finds no schema there")
            }
            Self::Circular(place) => write!(
                f,
                "the schema at `{place}` applies itself to the same value without end"
            ),
            Self::Malformed(reason) => write!(f, "not a valid schema: {reason}"),
        }
    }
}

impl std::error::Error for SchemaError {}

/// Why a value was not found to fit its schema.
///
/// As text it is a line per finding; [`describe`](Self::describe) is the same for a value that
/// has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// The text is not JSON.
    NotJson,
    /// So deeply nested that it was not checked; it may fit.
    TooDeep,
    /// The check was given up, because it needed too many steps; the value may fit.
    TooCostly,
    /// It does not fit, for these reasons among others; none where the value is too large to
    /// look for them.
    Misfit(Vec<Finding>),
}

impl CheckError {
    /// Is it certain that the value does not fit? Otherwise nobody knows.
    pub const fn is_certain(&self) -> bool {
        matches!(self, Self::NotJson | Self::Misfit(_))
    }

    /// What was found in the value; nothing if that cannot be said.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Misfit(findings) => findings,
            Self::NotJson | Self::TooDeep | Self::TooCostly => &[],
        }
    }

    /// In words, a line per finding; `whole` is what the value as a whole is called.
    pub fn describe(&self, whole: &str) -> String {
        match self {
            Self::NotJson => "not valid JSON".into(),
            Self::TooDeep => "too deeply nested to check against its schema".into(),
            Self::TooCostly => "too costly to check against its schema".into(),
            Self::Misfit(findings) if findings.is_empty() => {
                "does not fit its schema; too large to say where".into()
            }
            Self::Misfit(findings) => {
                let mut lines = String::new();
                for finding in findings {
                    if !lines.is_empty() {
                        lines.push('\n');
                    }
                    let _ = finding.write(&mut lines, whole);
                }
                lines
            }
        }
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(WHOLE))
    }
}

impl std::error::Error for CheckError {}

/// One thing in a value that does not fit, in words that a model can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where, as in `items[2].name`; empty for the value as a whole.
    pub path: String,
    /// What was expected and what was found.
    pub reason: String,
}

impl Finding {
    fn write(&self, out: &mut impl fmt::Write, whole: &str) -> fmt::Result {
        let Self { path, reason } = self;
        let path = if path.is_empty() { whole } else { path };
        write!(out, "{path}: {reason}")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, WHOLE)
    }
}

const WHOLE: &str = "value";
