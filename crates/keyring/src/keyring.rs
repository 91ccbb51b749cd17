//! The keyring of this machine, asked from a thread of its own.
//!
//! A keyring may show a dialog and wait for its user, so a question can take minutes, or never
//! be answered. It is bounded here; the thread is not, but there is one at most, and nobody who
//! ends waits for it. Keyrings are also not made for two questions at once.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use keyring_core::{CredentialStore, Error};
use switchboard_auth::{BadEntry, StoreError, without_query};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use crate::pieces::Table;

/// Opened at the first question.
pub(crate) struct Keyring {
    opened: Arc<Mutex<Option<Arc<CredentialStore>>>>,
    limit: usize,
    turns: Arc<Semaphore>,
}

impl Keyring {
    /// That of this machine.
    pub(crate) fn new() -> Self {
        Self::with(None, if cfg!(windows) { 2560 } else { usize::MAX })
    }

    pub(crate) fn with(opened: Option<Arc<CredentialStore>>, limit: usize) -> Self {
        Self {
            opened: Arc::new(Mutex::new(opened)),
            limit,
            turns: Arc::new(Semaphore::new(1)),
        }
    }

    /// Asks about something. The question is answered whole even if nobody waits any more.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        subject: Subject<'_>,
        question: impl FnOnce(&Table<'_>) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Unanswered> {
        let asked = async {
            let turn = Arc::clone(&self.turns).acquire_owned().await;
            let (opened, limit) = (Arc::clone(&self.opened), self.limit);
            let (answer, answered) = oneshot::channel();
            let work = move || {
                let _turn = turn;
                let outcome = open(&opened).and_then(|keyring| {
                    question(&Table {
                        keyring: keyring.as_ref(),
                        limit,
                    })
                });
                // Whoever asked may have given up.
                let _ = answer.send(outcome);
            };
            thread::Builder::new()
                .name("keyring".to_owned())
                .spawn(work)
                .map_err(|error| {
                    let what = "there is no thread for the keyring";
                    Unanswered::Refused(StoreError::new(what, Some(error.into())))
                })?;
            match answered.await {
                Ok(outcome) => {
                    outcome.map_err(|trouble| Unanswered::Refused(trouble.about(subject)))
                }
                Err(_) => {
                    let error = StoreError::new("the keyring broke off", None);
                    Err(Unanswered::Unknown(error))
                }
            }
        };
        match timeout(LONGEST_WAIT, asked).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let seconds = LONGEST_WAIT.as_secs();
                let instead = subject.instead();
                let what = format!(
                    "the keyring did not answer within {seconds} s: unlock it, or {instead}"
                );
                Err(Unanswered::Unknown(StoreError::new(what, None)))
            }
        }
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyring")
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// It is not done, and will not be.
    Refused(StoreError),
    /// It may have been done, or will be.
    Unknown(StoreError),
}

impl From<Unanswered> for StoreError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Refused(error) | Unanswered::Unknown(error) => error,
        }
    }
}

/// What went wrong in the thread.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no keyring.
    Absent(Error),
    /// It says no.
    Keyring(Error),
    /// What it holds cannot be used.
    Content(BadEntry),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Keyring(error)
    }
}

impl From<BadEntry> for Trouble {
    fn from(bad: BadEntry) -> Self {
        Self::Content(bad)
    }
}

impl Trouble {
    /// Some errors of a keyring print the secret: only the others are passed on.
    fn about(self, subject: Subject<'_>) -> StoreError {
        let instead = subject.instead();
        let (what, source): (String, Option<Box<dyn StdError + Send + Sync>>) = match self {
            Self::Absent(Error::PlatformFailure(source) | Error::NoStorageAccess(source)) => {
                let what = format!("there is no keyring service here: {instead}");
                (what, Some(source))
            }
            Self::Absent(_) => (
                format!("there is no keyring on this system: {instead}"),
                None,
            ),
            Self::Keyring(Error::NoStorageAccess(source)) => {
                let what = format!("the keyring is locked: unlock it, or {instead}");
                (what, Some(source))
            }
            Self::Keyring(Error::PlatformFailure(source)) => {
                let what = format!("the keyring cannot be used: try again, or {instead}");
                (what, Some(source))
            }
            Self::Keyring(Error::BadEncoding(_) | Error::BadDataFormat(..)) => {
                (subject.not_one(), None)
            }
            Self::Keyring(Error::Ambiguous(_)) => (subject.several(), None),
            Self::Keyring(Error::TooLong(_, limit)) => (
                format!(
                    "the keyring takes no more than {limit} bytes, which the name or the value \
                     of {subject} exceeds: {instead}"
                ),
                None,
            ),
            Self::Keyring(Error::BadStoreFormat(reason)) => (not_used(subject, &reason), None),
            Self::Content(bad) => (not_used(subject, &bad), None),
            Self::Keyring(error) => (
                format!("the keyring refuses {subject}: {instead}"),
                Some(error.into()),
            ),
        };
        StoreError::new(what, source)
    }
}

/// What a keyring is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// The login of a server, by its URL.
    Login(&'a str),
    /// A secret of the user's own, by its name.
    Secret(&'a str),
}

impl Subject<'_> {
    /// What can be done without a keyring.
    const fn instead(self) -> &'static str {
        match self {
            Self::Login(_) => "keep logins in files instead",
            Self::Secret(_) => "use a variable or a file instead",
        }
    }

    /// What is there is something else.
    fn not_one(self) -> String {
        match self {
            Self::Login(_) => {
                format!("what the keyring holds for {self} is no login: log in again")
            }
            Self::Secret(_) => format!("what the keyring holds for {self} is no text"),
        }
    }

    fn several(self) -> String {
        match self {
            Self::Login(_) => format!(
                "the keyring holds several logins for {self}: remove them in the program that \
                 shows it, and log in again"
            ),
            Self::Secret(_) => format!(
                "the keyring holds several secrets for {self}: remove all but one in the program \
                 that shows it"
            ),
        }
    }
}

/// A server without what may be secret in its URL, or a name.
impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Login(server) => f.write_str(without_query(server)),
            Self::Secret(name) => f.write_str(name),
        }
    }
}

fn not_used(subject: Subject<'_>, reason: &dyn fmt::Display) -> String {
    format!("what the keyring holds for {subject} is not used, {reason}")
}

/// One that was not there may be there the next time.
fn open(opened: &Mutex<Option<Arc<CredentialStore>>>) -> Result<Arc<CredentialStore>, Trouble> {
    // Only the thread whose turn it is comes here.
    let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(keyring) = &*opened {
        return Ok(Arc::clone(keyring));
    }
    let keyring = open_keyring().map_err(Trouble::Absent)?;
    *opened = Some(Arc::clone(&keyring));
    Ok(keyring)
}

#[cfg(target_os = "macos")]
fn open_keyring() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
fn open_keyring() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
fn open_keyring() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(not(any(
    target_os = "macos",
    windows,
    all(unix, not(target_vendor = "apple"), not(target_os = "android"))
)))]
fn open_keyring() -> keyring_core::Result<Arc<CredentialStore>> {
    Err(Error::NoDefaultStore)
}

// A person finds the dialog and remembers the password.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
