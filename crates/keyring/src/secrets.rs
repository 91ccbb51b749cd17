//! Secrets that people keep in their keyring themselves, for programs that need them.
//!
//! They are only read. Who puts them there is the user, with the program that shows the keyring.

use keyring_core::Error;
use switchboard_auth::{Secret, StoreError};

use crate::keyring::{Keyring, Subject, Trouble};
use crate::pieces::{SERVICE, Table};

/// The secrets in the keyring of this user.
///
/// A name is `service/account`, of which the last slash is the one between: services are called
/// what their programs like, often by a URL. A name without a slash is an account of the service
/// `switchboard`.
///
/// ```no_run
/// # async fn example() -> Result<(), switchboard_auth::StoreError> {
/// let token = switchboard_keyring::Secrets::new().read("github/me").await?;
/// # let _ = token;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Secrets {
    keyring: Keyring,
}

impl Secrets {
    /// Nothing is opened before the first question.
    pub fn new() -> Self {
        Self {
            keyring: Keyring::new(),
        }
    }

    /// What is kept under a name. None: there is nothing.
    ///
    /// The user may be asked to unlock the keyring, so it may take a while: two minutes at most.
    ///
    /// # Errors
    /// When there is no keyring, it stays locked, or what it holds is no text.
    pub async fn read(&self, name: &str) -> Result<Option<Secret>, StoreError> {
        let (service, account) = name.rsplit_once('/').unwrap_or((SERVICE, name));
        let (service, account) = (service.to_owned(), account.to_owned());
        let read = move |table: &Table<'_>| {
            let item = table.keyring.build(&service, &account, None)?;
            match item.get_password() {
                Ok(password) => Ok(Some(Secret::new(password))),
                Err(Error::NoEntry) => Ok(None),
                Err(error) => Err(Trouble::from(error)),
            }
        };
        Ok(self.keyring.ask(Subject::Secret(name), read).await?)
    }
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::sync::Arc;

    use keyring_core::{CredentialStore, mock};

    use super::*;

    fn secrets(keyring: &Arc<CredentialStore>) -> Secrets {
        Secrets {
            keyring: Keyring::with(Some(Arc::clone(keyring)), usize::MAX),
        }
    }

    #[tokio::test]
    async fn a_name_is_a_service_and_an_account() {
        let keyring: Arc<CredentialStore> = mock::Store::new().unwrap();
        for (service, account) in [
            ("github", "me"),
            ("https://api.example.com/v1", "me"),
            ("switchboard", "token"),
        ] {
            let item = keyring.build(service, account, None).unwrap();
            item.set_password(&format!("{account} at {service}"))
                .unwrap();
        }
        let secrets = secrets(&keyring);
        for (name, expected) in [
            ("github/me", Some("me at github")),
            (
                "https://api.example.com/v1/me",
                Some("me at https://api.example.com/v1"),
            ),
            ("token", Some("token at switchboard")),
            ("github/you", None),
            ("me", None),
        ] {
            let found = secrets.read(name).await.unwrap();
            assert_eq!(found.as_ref().map(Secret::reveal), expected, "{name}");
        }
    }

    #[tokio::test]
    async fn a_keyring_that_gives_nothing_says_why_and_no_secret() {
        let keyring: Arc<CredentialStore> = mock::Store::new().unwrap();
        let item = keyring.build("github", "me", None).unwrap();
        let credential: &mock::Cred = item.as_any().downcast_ref().unwrap();
        let secrets = secrets(&keyring);
        let source = || Box::<dyn std::error::Error + Send + Sync>::from("no prompt");
        for (error, words) in [
            (
                Error::NoStorageAccess(source()),
                "the keyring is locked: unlock it, or use a variable or a file instead",
            ),
            (
                Error::PlatformFailure(source()),
                "the keyring cannot be used: try again, or use a variable or a file instead",
            ),
            (
                Error::BadEncoding(b"t0ken".to_vec()),
                "what the keyring holds for github/me is no text",
            ),
            (
                Error::Ambiguous(Vec::new()),
                "the keyring holds several secrets for github/me: remove all but one in the \
                 program that shows it",
            ),
        ] {
            credential.set_error(error);
            let error = secrets.read("github/me").await.unwrap_err();
            assert_eq!(error.to_string(), words);
            let shown = format!("{error:?} {:?}", error.source());
            assert!(
                !shown.contains("t0ken") && !shown.contains("116"),
                "{shown}"
            );
        }
    }
}
