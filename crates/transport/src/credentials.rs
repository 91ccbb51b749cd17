//! What proves to a server who we are.
//!
//! A trait that a holder of tokens implements; the client of [`http::client`](crate::http::client)
//! asks it before every request and after every refusal. Getting, keeping and renewing tokens
//! is for others. A header that is always the same needs nothing of this: it comes with the
//! request.
//!
//! Specification: basic/authorization; RFC 9110, section 11; RFC 6750, section 3.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

/// Holds what a server wants to see, and learns when that no longer holds.
///
/// Several requests may ask at once. One that was given an `Authorization` by its caller
/// never asks.
pub trait Credentials: Send + Sync + fmt::Debug {
    /// Adds the headers that a request needs.
    ///
    /// Its method, URI and headers are given, since a proof may sign them. Only what is done
    /// to its headers counts: a request goes where its caller sent it.
    fn authorize<'a>(&'a self, request: &'a mut http::request::Parts) -> Asking<'a, ()>;

    /// The server refused. With `true` something has changed and the request is sent again;
    /// with `false` the refusal is given to the caller.
    fn refused<'a>(&'a self, refusal: &'a Refusal) -> Asking<'a, bool>;
}

/// What credentials answer, when they have it.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T, CredentialsError>> + Send + 'a>>;

/// A 401 or 403.
#[derive(Clone)]
#[non_exhaustive]
pub struct Refusal {
    /// What was asked for.
    pub uri: Uri,
    /// The status.
    pub status: StatusCode,
    /// All headers of the answer.
    pub headers: HeaderMap,
    /// What the credentials had put into `Authorization`: they may have another by now.
    pub authorization: Option<HeaderValue>,
    /// Which refusal of this one request it is, from 1.
    pub attempt: u32,
}

impl Refusal {
    /// The refusal of a request that was sent for the `attempt`th time.
    pub fn new(
        uri: Uri,
        status: StatusCode,
        headers: HeaderMap,
        authorization: Option<HeaderValue>,
        attempt: u32,
    ) -> Self {
        Self {
            uri,
            status,
            headers,
            authorization,
            attempt,
        }
    }

    /// What the server wants, a value for each `WWW-Authenticate`.
    pub fn challenges(&self) -> impl Iterator<Item = &HeaderValue> {
        self.headers.get_all(WWW_AUTHENTICATE).iter()
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query, a cookie and a token are nobody's to print.
        f.debug_struct("Refusal")
            .field("host", &self.uri.host())
            .field("status", &self.status)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// Why there are no credentials for a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum CredentialsError {
    /// A person must log in first.
    LoginRequired {
        /// Where or for what, in words for that person.
        what: String,
    },
    /// They could not be got this time.
    Unavailable {
        /// What could not be done.
        what: String,
        /// Why.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoginRequired { what } => write!(f, "a login is needed: {what}"),
            Self::Unavailable { what, .. } => write!(f, "they could not be got: {what}"),
        }
    }
}

impl Error for CredentialsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::LoginRequired { .. } => None,
            Self::Unavailable { source, .. } => source
                .as_deref()
                .map(|source| source as &(dyn Error + 'static)),
        }
    }
}
