//! What is to be started: a program, its arguments, its surroundings.
//!
//! A program and a list, never a line for a shell: nothing in it is expanded or split. Where the
//! program is found is for `lookup`, which variables it sees for `environment`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::escape::Escaped;

/// How a server is started.
///
/// ```
/// use switchboard_transport::process::ProcessSpec;
///
/// let spec = ProcessSpec::new("npx")
///     .arguments(["-y", "@modelcontextprotocol/server-github"])
///     .variable("GITHUB_TOKEN", "secret")
///     .inherit("HTTPS_PROXY");
/// assert_eq!(spec.to_string(), "npx -y @modelcontextprotocol/server-github");
/// assert!(!format!("{spec:?}").contains("secret"));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ProcessSpec {
    /// The program. A name is looked for in `PATH`; anything with a slash is a path, and a
    /// relative one starts at the working directory of the server.
    pub program: OsString,
    /// Its arguments, as they are.
    pub arguments: Vec<OsString>,
    /// Variables to set. They win over those that are inherited; of two of a name the last wins.
    pub environment: Vec<(OsString, OsString)>,
    /// Names of variables to pass on beyond those that every server gets.
    pub inherited: Vec<OsString>,
    /// Names of variables that are not passed on, whoever else says so. What is set counts.
    pub withheld: Vec<OsString>,
    /// Where it runs. Our own working directory if there is none.
    pub directory: Option<PathBuf>,
    pub(super) hook: Option<StderrHook>,
}

/// Whom to tell about a line on stderr.
pub(super) type StderrHook = Arc<dyn Fn(&str) + Send + Sync>;

impl ProcessSpec {
    /// A program without arguments.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            inherited: Vec::new(),
            withheld: Vec::new(),
            directory: None,
            hook: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Passes one of our own variables on, if it is set.
    #[must_use]
    pub fn inherit(mut self, name: impl Into<OsString>) -> Self {
        self.inherited.push(name.into());
        self
    }

    /// Does not pass one of our own variables on, even if it is one that every server gets.
    #[must_use]
    pub fn withhold(mut self, name: impl Into<OsString>) -> Self {
        self.withheld.push(name.into());
        self
    }

    /// Where it runs.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Whom to tell about every line that the server writes to stderr.
    ///
    /// The text is safe to print: control characters and invisible ones are written out, and a
    /// line is cut at 8 KiB. It is called by the task that reads stderr and not at the same time
    /// as itself. While it runs nothing else is read, so it hands the line on and returns. After
    /// a panic it is not called again.
    #[must_use]
    pub fn on_stderr_line(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }
}

/// The command as somebody would type it, for messages. It is not meant for a shell.
impl fmt::Display for ProcessSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_word(f, &self.program)?;
        for argument in &self.arguments {
            f.write_str(" ")?;
            write_word(f, argument)?;
        }
        Ok(())
    }
}

/// Without the values of variables: they are where secrets are kept.
impl fmt::Debug for ProcessSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.environment.iter().map(|(name, _)| name);
        f.debug_struct("ProcessSpec")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("environment", &names.collect::<Vec<_>>())
            .field("inherited", &self.inherited)
            .field("withheld", &self.withheld)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

fn write_word(f: &mut fmt::Formatter<'_>, word: &OsStr) -> fmt::Result {
    let bytes = word.as_encoded_bytes();
    let is_plain = |byte: &u8| !byte.is_ascii_whitespace() && !b"'\"`$&|;<>()*?#".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        write!(f, "{}", Escaped(bytes))
    } else {
        write!(f, "'{}'", Escaped(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart_and_safe_to_print() {
        let spec = ProcessSpec::new("sh").arguments(["-c", "a b", "", "\x1b[2J"]);
        assert_eq!(spec.to_string(), r"sh -c 'a b' '' \x1b[2J");
    }
}
