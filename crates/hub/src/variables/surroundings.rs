//! Where values come from.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use switchboard_auth::Secret;

/// What variables are filled in from: an environment, files, programs, a keyring.
///
/// The methods may block, for as long as a program or a keyring takes: whoever has other things
/// to do calls them on a thread of their own. No error may hold a value.
///
/// [`System`](super::System) is the process and the machine that we run on.
pub trait Surroundings: fmt::Debug + Send + Sync {
    /// An environment variable. None if it is not set, or not text.
    fn variable(&self, name: &str) -> Option<Secret>;

    /// The names of all environment variables, for a server that is to have them all.
    fn variable_names(&self) -> Vec<String>;

    /// The text in a file.
    ///
    /// # Errors
    /// When it cannot be read.
    fn file(&self, path: &Path) -> io::Result<Secret>;

    /// What a program prints. The first word is the program; there is at least one.
    ///
    /// # Errors
    /// When it cannot be run, takes too long, or ends badly.
    fn command(&self, words: &[String]) -> io::Result<Secret>;

    /// What the keyring holds under a name: `service/account`, of which the last slash is the one
    /// between, or an account of the service `switchboard`.
    ///
    /// # Errors
    /// When there is no keyring, or it stays locked.
    fn keyring(&self, name: &str) -> io::Result<Option<Secret>>;

    /// What a person gave when asked for this: [`Config::inputs`](crate::Config::inputs) says how it
    /// is to be asked for. By default nobody is asked.
    ///
    /// # Errors
    /// When asking went wrong.
    fn input(&self, id: &str) -> io::Result<Option<Secret>> {
        let _ = id;
        Ok(None)
    }

    /// The home folder of the user.
    fn home(&self) -> Option<PathBuf>;
}
