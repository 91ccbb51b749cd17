//! Why settings cannot be used.

use std::fmt;

/// Why settings cannot be used. No value is shown: it may be a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsError {
    /// The collector is not named by a URL of HTTP.
    Url,
    /// A variable does not say what it should.
    Variable {
        /// Its name.
        name: String,
        /// What it should say.
        expected: &'static str,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("the collector has to be a URL such as http://localhost:4318"),
            Self::Variable { name, expected } => write!(f, "{name} has to be {expected}"),
        }
    }
}

impl std::error::Error for SettingsError {}
