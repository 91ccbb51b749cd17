//! One authorization server with the servers behind it, and what each check has of its own.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_auth::{
    AuthError, Entry, FileStore, Interaction, OAuth, OAuthBuilder, Store as _, Tokens,
};

use crate::authority::{Authority, Counts};
use crate::caller::{call, tells};
use crate::person::{NAME, Person};
use crate::report::chain;

/// An authorization server. One that could not be started fails every check.
pub(crate) struct Stage {
    /// What it is called in the report.
    pub(crate) name: &'static str,
    authority: Result<Authority, String>,
    scratch: PathBuf,
    words: Words,
}

/// How its endpoints are called where they are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// The usual server, as a JSON pointer into what the authority says about itself.
    pub(crate) server: &'static str,
    pub(crate) authorize: &'static str,
    pub(crate) register: &'static str,
    pub(crate) revoke: &'static str,
}

impl Stage {
    /// `start` gets the file for what the authorization server says beside its answers.
    pub(crate) async fn new(
        name: &'static str,
        words: Words,
        scratch: &Path,
        start: impl AsyncFnOnce(PathBuf) -> Result<Authority, String>,
    ) -> Self {
        let scratch = scratch.join(name.replace(|letter: char| !letter.is_alphanumeric(), "-"));
        let made = fs::create_dir_all(&scratch);
        let made = made.map_err(|error| format!("{} cannot be made: {error}", scratch.display()));
        Self {
            name,
            authority: match made {
                Ok(()) => start(scratch.join("log")).await,
                Err(reason) => Err(reason),
            },
            scratch,
            words,
        }
    }

    /// A check begins: nothing is stored or counted yet, and every setting is the usual one.
    pub(crate) async fn begin(&self, folder: &str) -> Result<Round<'_>, String> {
        let authority = self.authority.as_ref().map_err(String::clone)?;
        let usual = json!({"accessSeconds": LONG, "nonce": false, "serverNonce": null});
        authority.administer("/settings", &usual).await?;
        let folder = self.scratch.join(folder);
        // What another run has left there, if there was one.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(format!("{} cannot be emptied: {error}", folder.display()))
            }
            _ => Ok(Round {
                authority,
                words: self.words,
                folder,
            }),
        }
    }
}

/// One check.
pub(crate) struct Round<'a> {
    pub(crate) authority: &'a Authority,
    pub(crate) words: Words,
    /// Where logins are kept.
    pub(crate) folder: PathBuf,
}

impl Round<'_> {
    /// The usual server.
    pub(crate) fn server(&self) -> Result<&str, String> {
        self.authority.said(self.words.server)
    }

    /// Begins to describe a login that is kept in the folder of this check.
    pub(crate) fn describe(
        &self,
        server: &str,
        interaction: impl Interaction + 'static,
    ) -> Result<OAuthBuilder, String> {
        let login = OAuth::for_server(server).map_err(words)?;
        Ok(login
            .store(Arc::new(self.store()))
            .interaction(interaction)
            .hint(HINT))
    }

    /// A login like that, as after a start of the program.
    pub(crate) fn login(
        &self,
        server: &str,
        interaction: impl Interaction + 'static,
    ) -> Result<OAuth, String> {
        self.describe(server, interaction)?.build().map_err(words)
    }

    /// Somebody logs in at a server by calling it. Gives the login; the counts begin anew.
    pub(crate) async fn logged_in(&self, server: &str) -> Result<(OAuth, Person), String> {
        let person = Person::willing();
        let login = self.login(server, person.clone())?;
        let answer = call(&login, server, "whoami").await?;
        tells(&answer, "subject", NAME)?;
        same(person.visits(), 1, "visits of the login")?;
        self.counts().await?;
        Ok((login, person))
    }

    /// What was counted since the last time.
    pub(crate) async fn counts(&self) -> Result<Counts, String> {
        self.authority.counts().await
    }

    /// Does what an administrator can do; the counts begin anew.
    pub(crate) async fn administer(&self, command: &str) -> Result<(), String> {
        self.authority.administer(command, &json!({})).await?;
        Ok(())
    }

    /// Changes settings; the counts begin anew.
    pub(crate) async fn set(&self, settings: Value) -> Result<(), String> {
        self.authority.administer("/settings", &settings).await?;
        Ok(())
    }

    pub(crate) fn store(&self) -> FileStore {
        FileStore::new(&self.folder)
    }

    /// What is stored for a server.
    pub(crate) async fn stored(&self, server: &str) -> Result<Entry, String> {
        let entry = self.store().load(server).await;
        let entry = entry.map_err(|error| error.to_string())?;
        entry.ok_or_else(|| format!("nothing is stored for {server}"))
    }

    /// The access token that is stored for a server has ended.
    pub(crate) async fn expire(&self, server: &str) -> Result<(), String> {
        let mut entry = self.stored(server).await?;
        tokens(&mut entry)?.expires_at = Some(1);
        self.save(&entry).await
    }

    pub(crate) async fn save(&self, entry: &Entry) -> Result<(), String> {
        let saved = self.store().save(entry).await;
        saved.map_err(|error| error.to_string())
    }
}

/// The tokens in use.
pub(crate) fn tokens(entry: &mut Entry) -> Result<&mut Tokens, String> {
    let record = entry.records.first_mut();
    let tokens = record.and_then(|record| record.tokens.as_mut());
    tokens.ok_or_else(|| "no tokens are stored".to_owned())
}

/// The refresh token in use.
pub(crate) fn refresh(mut entry: Entry) -> Result<String, String> {
    let refresh = tokens(&mut entry)?.refresh.as_ref();
    let refresh = refresh.map(|refresh| refresh.reveal().to_owned());
    refresh.ok_or_else(|| "no refresh token is stored".to_owned())
}

/// `Err` that says what came, unless it is what was wanted.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    came: T,
    wanted: T,
    what: &str,
) -> Result<(), String> {
    match came == wanted {
        true => Ok(()),
        false => Err(format!("{what}: wanted {wanted:?}, came {came:?}")),
    }
}

/// An error with its causes.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is given to `map_err` as it is"
)]
pub(crate) fn words(error: AuthError) -> String {
    chain(&error)
}

/// What somebody is told who is not logged in.
pub(crate) const HINT: &str = "run `authorized login`";
/// An access token outlives the check.
pub(crate) const LONG: u64 = 3600;
/// It does not.
pub(crate) const SHORT: u64 = 2;
