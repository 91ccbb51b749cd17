//! Why there is no token.
//!
//! No variant holds a secret or the body of an answer, and all text of others is escaped.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use switchboard_transport::Escaped;
use switchboard_transport::credentials::CredentialsError;
use switchboard_transport::http::client::{BodyError, SendError};

use crate::place::{BadPlace, Place};
use crate::scope::Scopes;
use crate::store::StoreError;

/// Why there is no token.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuthError {
    /// The user: a person must log in, and nobody may be asked here.
    LoginRequired {
        /// The server.
        server: String,
        /// What it wants, if it said so.
        scopes: Scopes,
        /// What to do about it.
        hint: String,
    },
    /// The user: nobody is there to be asked.
    NoInteraction,
    /// The user: did not come back in time.
    LoginTimedOut {
        /// How long it was waited.
        after: Duration,
    },
    /// The user: gave it up, or something in front of them did.
    LoginAborted {
        /// What happened.
        reason: String,
    },
    /// The caller: something was set that cannot be used.
    Setup {
        /// What, and why.
        reason: String,
    },
    /// The server or the issuer: names a place that is not asked.
    Place {
        /// What names it.
        what: &'static str,
        /// What is wrong with it.
        source: BadPlace,
    },
    /// The server or the issuer: its metadata cannot be used.
    Metadata {
        /// Where it was found, or looked for.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The issuer: refuses, in the words of OAuth.
    Refused {
        /// What was asked for.
        step: Step,
        /// Where.
        place: String,
        /// The code, such as `invalid_grant`.
        code: String,
        /// What it says about it.
        description: Option<String>,
    },
    /// The issuer: answers what OAuth does not allow.
    Answer {
        /// What was asked for.
        step: Step,
        /// Where.
        place: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// What came back with the browser is not the answer to what we sent.
    Callback {
        /// Why it is not used.
        reason: &'static str,
    },
    /// The server wants a login again and again, or scopes that do not satisfy it once they are
    /// there.
    ScopesExhausted {
        /// What it wants, if it said so.
        scopes: Scopes,
        /// How often that was asked for.
        attempts: u32,
    },
    /// The network.
    Send {
        /// What was asked for.
        step: Step,
        /// Why there is no answer.
        source: SendError,
    },
    /// The network: an answer was cut off or is too large.
    Body {
        /// What was asked for.
        step: Step,
        /// Where.
        place: String,
        /// What is wrong.
        source: BodyError,
    },
    /// The network: no answer in time.
    TimedOut {
        /// What was asked for.
        step: Step,
        /// Where.
        place: String,
        /// How long it was waited.
        after: Duration,
    },
    /// What a request beside this one ran into, while this one waited for it.
    Beside {
        /// What happened, with its causes.
        reason: String,
        /// May the same thing work in a moment?
        is_passing: bool,
    },
    /// The store.
    Store(StoreError),
    /// A token that comes from a file, a variable or a program.
    Source {
        /// Where it should come from.
        what: String,
        /// Why it does not.
        reason: String,
    },
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// What an authorization server, or a server about one, was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The metadata of the server.
    ResourceMetadata,
    /// The metadata of an issuer.
    IssuerMetadata,
    /// A client id.
    Registration,
    /// A code, by a person.
    Authorization,
    /// A code for another device.
    DeviceAuthorization,
    /// A token.
    Token,
    /// A new token for an old one.
    Refresh,
    /// An assertion of an identity provider for another issuer.
    Exchange,
    /// That a token counts no longer.
    Revocation,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ResourceMetadata => "the metadata of the server",
            Self::IssuerMetadata => "the metadata of the authorization server",
            Self::Registration => "the registration of this client",
            Self::Authorization => "the login",
            Self::DeviceAuthorization => "a code for another device",
            Self::Token => "a token",
            Self::Refresh => "a new token",
            Self::Exchange => "an assertion of the identity provider",
            Self::Revocation => "the end of a token",
        })
    }
}

impl AuthError {
    /// What names a place that is not asked.
    pub(crate) fn place(what: &'static str) -> impl Fn(BadPlace) -> Self {
        move |source| Self::Place { what, source }
    }

    /// What is found there cannot be used.
    pub(crate) fn metadata(place: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self::Metadata {
            place: place.to_string(),
            reason: reason.into(),
        }
    }

    /// What is answered there is not what OAuth allows.
    pub(crate) fn answer(step: Step, place: &Place, reason: impl Into<String>) -> Self {
        Self::Answer {
            step,
            place: place.to_string(),
            reason: reason.into(),
        }
    }

    /// The error code of OAuth, where the issuer gave one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// May the same thing work in a moment, without anybody doing anything?
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Send { .. } | Self::Body { .. } | Self::TimedOut { .. } => true,
            Self::Refused { code, .. } => {
                matches!(code.as_str(), "temporarily_unavailable" | "server_error")
            }
            Self::Beside { is_passing, .. } => *is_passing,
            _ => false,
        }
    }

    /// What an authorization server was asked for, if it was.
    pub(crate) fn step(&self) -> Option<Step> {
        match self {
            Self::Refused { step, .. }
            | Self::Answer { step, .. }
            | Self::Send { step, .. }
            | Self::Body { step, .. }
            | Self::TimedOut { step, .. } => Some(*step),
            _ => None,
        }
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoginRequired {
                server,
                scopes,
                hint,
            } => {
                write!(f, "{server} wants a login")?;
                if !scopes.is_empty() {
                    write!(f, " (for {})", Escaped(scopes.to_string().as_bytes()))?;
                }
                write!(f, ": {hint}")
            }
            Self::NoInteraction => f.write_str("nobody can be asked to log in here"),
            Self::LoginTimedOut { after } => {
                write!(f, "nobody logged in within {} s", after.as_secs())
            }
            Self::LoginAborted { reason } => write!(f, "the login was given up: {reason}"),
            Self::Setup { reason } => f.write_str(reason),
            Self::Place { what, .. } => write!(f, "{what} is not asked"),
            Self::Metadata { place, reason } => {
                write!(f, "the metadata at {place} is not used: {reason}")
            }
            Self::Refused {
                step,
                place,
                code,
                description,
            } => {
                write!(f, "{place} refused {step}: {}", Escaped(code.as_bytes()))?;
                match description {
                    Some(description) => write!(f, " ({})", Escaped(description.as_bytes())),
                    None => Ok(()),
                }
            }
            Self::Answer {
                step,
                place,
                reason,
            } => write!(f, "{place} was asked for {step}: {reason}"),
            Self::Callback { reason } => {
                write!(f, "what came back from the browser is not used: {reason}")
            }
            Self::ScopesExhausted { scopes, attempts } => {
                write!(f, "{attempts} logins in a row")?;
                if !scopes.is_empty() {
                    write!(f, " for {}", Escaped(scopes.to_string().as_bytes()))?;
                }
                f.write_str(" did not satisfy the server: try again later")
            }
            Self::Beside { reason, .. } => f.write_str(reason),
            Self::Send { step, .. } => write!(f, "{step} could not be asked for"),
            Self::Body { step, place, .. } => {
                write!(
                    f,
                    "{place} was asked for {step} and its answer cannot be read"
                )
            }
            Self::TimedOut { step, place, after } => {
                write!(
                    f,
                    "{place} was asked for {step} and did not answer within {after:?}"
                )
            }
            Self::Store(_) => f.write_str("the stored logins cannot be used"),
            Self::Source { what, reason } => write!(f, "there is no token in {what}: {reason}"),
        }
    }
}

impl Error for AuthError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Place { source, .. } => Some(source),
            Self::Send { source, .. } => Some(source),
            Self::Body { source, .. } => Some(source),
            Self::Store(source) => Some(source),
            _ => None,
        }
    }
}

impl From<StoreError> for AuthError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<AuthError> for CredentialsError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::LoginRequired { .. } | AuthError::NoInteraction => Self::LoginRequired {
                what: error.to_string(),
            },
            error => Self::Unavailable {
                what: error.to_string(),
                source: error.into_source(),
            },
        }
    }
}

impl AuthError {
    /// What is below, for those who say themselves what happened here.
    fn into_source(self) -> Option<Box<dyn Error + Send + Sync>> {
        match self {
            Self::Place { source, .. } => Some(source.into()),
            Self::Send { source, .. } => Some(source.into()),
            Self::Body { source, .. } => Some(source.into()),
            Self::Store(source) => Some(source.into()),
            _ => None,
        }
    }
}
