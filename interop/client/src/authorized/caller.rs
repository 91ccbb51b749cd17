//! Our client with a login, as a program would use both.

use std::sync::Arc;

use serde_json::Value;
use switchboard_auth::OAuth;
use switchboard_client::{Class, Client, Error, Spec};

use crate::report::chain;

/// Connects, calls one tool, and closes; gives what the tool said about the token.
pub(crate) async fn call(login: &OAuth, server: &str, tool: &str) -> Result<Value, Failure> {
    let client = connect(login, server).await?;
    let answer = ask(&client, tool).await;
    client.close().await;
    answer
}

/// Connects with a login.
pub(crate) async fn connect(login: &OAuth, server: &str) -> Result<Client, Failure> {
    let spec = Spec::url(server).map_err(|bad| Failure {
        class: Class::Caller,
        text: bad.to_string(),
    })?;
    let spec = spec.credentials(Arc::new(login.clone()));
    Ok(Client::connect(spec).await?)
}

/// Calls a tool that tells about the token.
pub(crate) async fn ask(client: &Client, tool: &str) -> Result<Value, Failure> {
    let text = client.call(tool).await?.joined_text();
    serde_json::from_str(&text).map_err(|_| Failure {
        class: Class::Peer,
        text: format!("{tool} said {text:?}"),
    })
}

/// Why a call gave no result.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) class: Class,
    /// What it says, with its causes.
    pub(crate) text: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            class: error.class(),
            text: chain(&error),
        }
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        failure.text
    }
}

/// `Err` unless somebody is told to log in, and how.
pub(crate) fn wants_login(outcome: Result<Value, Failure>, hint: &str) -> Result<(), String> {
    match outcome {
        Err(Failure {
            class: Class::Unauthorized,
            text,
        }) if text.contains(hint) => Ok(()),
        other => Err(format!("no login is wanted: {other:?}")),
    }
}

/// `Err` that says what came, unless the member is what was wanted.
pub(crate) fn tells(answer: &Value, member: &str, wanted: impl Into<Value>) -> Result<(), String> {
    let wanted = wanted.into();
    match answer.get(member) == Some(&wanted) {
        true => Ok(()),
        false => Err(format!("wanted {member} to be {wanted}, came {answer}")),
    }
}
