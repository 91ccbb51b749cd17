//! How a person logs in.
//!
//! The flow says what is to be shown; what shows it, and where the answer comes back, is an
//! [`Interaction`].
//!
//! 1. [`Browser`]: the system's browser and a port of this machine, or what a person pastes
//! 2. [`Nobody`]: a login that is needed fails
//!
//! Specification: RFC 8252 (native apps), RFC 8628 (devices); basic/authorization, "Open
//! Redirection" and "Authorization Code Protection".

mod answer;
mod browser;
mod callback;
mod head;
mod loopback;
mod opener;
mod site;
mod visit;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::error::AuthError;
use crate::place::Place;
use crate::scope::Scopes;
use crate::secret::Secret;

pub use browser::Browser;

/// Shows a person where to log in, and waits for the answer.
pub trait Interaction: Send + Sync + fmt::Debug {
    /// Makes ready for a browser to come back. Of the places where the client is known already
    /// one is taken, if that is possible; with none given, or none possible, any other.
    fn prepare<'a>(&'a self, known: &'a [String]) -> Asking<'a, Box<dyn Visit>>;

    /// Shows a code that is to be entered on another device. It must not wait for that.
    ///
    /// # Errors
    /// When it cannot, which is what happens unless it is written.
    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> Asking<'a, ()> {
        let _ = code;
        Box::pin(async { Err(AuthError::NoInteraction) })
    }

    /// Is there anybody to ask? If not, what needs a person fails before anything is looked up.
    fn is_possible(&self) -> bool {
        true
    }

    /// Is a code for another device better than a browser here, where there is a choice?
    fn prefers_code(&self) -> bool {
        false
    }
}

/// A login that is about to happen: somewhere, a browser is expected back.
pub trait Visit: Send {
    /// Where the browser is to come back to.
    fn redirect_uri(&self) -> &str;

    /// Sends the person there, and waits for what the browser brings back: the URL, or its
    /// query, as it is. It is checked by the caller.
    fn go<'a>(&'a mut self, page: &'a LoginPage) -> Asking<'a, Secret>;
}

/// What an interaction answers.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// A page on which a person logs in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoginPage {
    /// The page. It was checked, and may be given to a browser as it is.
    pub url: Place,
    /// For which server.
    pub server: Place,
    /// At whose.
    pub issuer: String,
    /// What is asked for.
    pub scopes: Scopes,
}

impl LoginPage {
    /// A page for a server.
    pub fn new(url: Place, server: Place, issuer: impl Into<String>, scopes: Scopes) -> Self {
        Self {
            url,
            server,
            issuer: issuer.into(),
            scopes,
        }
    }
}

/// A code that is entered on another device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceCode {
    /// What to enter.
    pub user_code: String,
    /// Where to enter it.
    pub page: Place,
    /// The same page with the code filled in.
    pub complete_page: Option<Place>,
    /// How long it counts.
    pub lifetime: Duration,
    /// For which server.
    pub server: Place,
}

/// Nobody is there: a login that is needed fails at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Interaction for Nobody {
    fn prepare<'a>(&'a self, _known: &'a [String]) -> Asking<'a, Box<dyn Visit>> {
        Box::pin(async { Err(AuthError::NoInteraction) })
    }

    fn is_possible(&self) -> bool {
        false
    }
}
