//! Why something is not in the catalogue, in words for people and models.

use std::fmt;

use crate::policy::Denial;
use crate::registry::note::cut;

/// Something that was looked for and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotFound {
    /// What was looked for.
    pub kind: Kind,
    /// The name or the URI, as it was given; the beginning, if it is long.
    pub name: String,
    /// Why it cannot be used.
    pub absence: Absence,
}

/// What can be looked for in a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A family of resources.
    Template,
    /// A server.
    Server,
}

/// Why something cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Absence {
    /// There is none.
    Unknown {
        /// What may have been meant, the likeliest first.
        near: Vec<String>,
    },
    /// Several servers have one, and each is offered under another name.
    Ambiguous {
        /// These names.
        offered_as: Vec<String>,
    },
    /// There is one, and it may not be used.
    Denied(Denial),
}

impl NotFound {
    pub(crate) fn unknown(kind: Kind, name: &str, near: Vec<String>) -> Self {
        Self::new(kind, name, Absence::Unknown { near })
    }

    pub(crate) fn denied(kind: Kind, name: &str, denial: Denial) -> Self {
        Self::new(kind, name, Absence::Denied(denial))
    }

    pub(crate) fn ambiguous(kind: Kind, name: &str, offered_as: Vec<String>) -> Self {
        Self::new(kind, name, Absence::Ambiguous { offered_as })
    }

    fn new(kind: Kind, name: &str, absence: Absence) -> Self {
        Self {
            kind,
            name: cut(name).to_owned(),
            absence,
        }
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, .. } = self;
        match &self.absence {
            Absence::Unknown { near } => {
                write!(f, "there is no {kind} {name:?}")?;
                alternatives(f, "; did you mean ", near, "?")
            }
            Absence::Ambiguous { offered_as } => {
                write!(f, "several servers have the {kind} {name:?}")?;
                alternatives(f, "; use ", offered_as, "")
            }
            Absence::Denied(denial) => denial.fmt(f),
        }
    }
}

impl std::error::Error for NotFound {}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "resource template",
            Self::Server => "server",
        })
    }
}

fn alternatives(
    f: &mut fmt::Formatter<'_>,
    before: &str,
    names: &[String],
    after: &str,
) -> fmt::Result {
    let Some((last, others)) = names.split_last() else {
        return Ok(());
    };
    f.write_str(before)?;
    for (place, name) in others.iter().enumerate() {
        let comma = if place + 1 < others.len() {
            ", "
        } else {
            " or "
        };
        write!(f, "{name:?}{comma}")?;
    }
    write!(f, "{last:?}{after}")
}

/// How many alternatives an error names.
pub(crate) const MOST_OFFERED: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_meant_is_said() {
        let check = |near: &[&str], expected: &str| {
            let near = near.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(
                NotFound::unknown(Kind::Tool, "x\n", near).to_string(),
                expected
            );
        };
        check(&[], r#"there is no tool "x\n""#);
        check(&["a"], r#"there is no tool "x\n"; did you mean "a"?"#);
        check(
            &["a", "b"],
            r#"there is no tool "x\n"; did you mean "a" or "b"?"#,
        );
        check(
            &["a", "b", "c"],
            r#"there is no tool "x\n"; did you mean "a", "b" or "c"?"#,
        );
    }

    #[test]
    fn a_name_that_fits_several_is_answered_with_theirs() {
        let names = vec!["a+file:///x".to_owned(), "b+file:///x".to_owned()];
        assert_eq!(
            NotFound::ambiguous(Kind::Resource, "file:///x", names).to_string(),
            r#"several servers have the resource "file:///x"; use "a+file:///x" or "b+file:///x""#
        );
    }
}
