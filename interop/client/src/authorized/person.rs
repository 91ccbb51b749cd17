//! A person who logs in wherever they are sent, without a screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_auth::{Asking, AuthError, DeviceCode, Interaction, LoginPage, Secret, Visit};

use crate::browser::{self, Manner};

/// Whom the authorization server will know.
pub(crate) const NAME: &str = "alice";

/// A person, and how often they were bothered. Clones are the same person.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    manner: Manner,
    prefers_code: bool,
    visits: Arc<AtomicUsize>,
}

impl Person {
    /// Agrees to everything.
    pub(crate) fn willing() -> Self {
        Self::new(Manner::Agrees, false)
    }

    /// Gives up on the first page.
    pub(crate) fn unwilling() -> Self {
        Self::new(Manner::Refuses, false)
    }

    /// Wants a code for another device.
    pub(crate) fn elsewhere() -> Self {
        Self::new(Manner::Agrees, true)
    }

    fn new(manner: Manner, prefers_code: bool) -> Self {
        Self {
            manner,
            prefers_code,
            visits: Arc::default(),
        }
    }

    /// How often they were asked to log in since the last time.
    pub(crate) fn visits(&self) -> usize {
        self.visits.swap(0, Ordering::Relaxed)
    }
}

impl Interaction for Person {
    fn prepare<'a>(&'a self, known: &'a [String]) -> Asking<'a, Box<dyn Visit>> {
        self.visits.fetch_add(1, Ordering::Relaxed);
        let redirect_uri = known.first().map_or(CALLBACK, String::as_str).to_owned();
        let trip = Trip {
            manner: self.manner,
            redirect_uri,
        };
        Box::pin(async { Ok(Box::new(trip) as Box<dyn Visit>) })
    }

    /// Nothing is waited for: such a person is done at once.
    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> Asking<'a, ()> {
        self.visits.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {
            let page = code.complete_page.as_ref().unwrap_or(&code.page);
            let last = browser::visit(page.as_str(), None, self.manner, NAME).await;
            let last = last.map_err(aborted)?;
            match last.contains("Success") {
                true => Ok(()),
                false => Err(aborted(format!("the last page is {last}"))),
            }
        })
    }

    fn prefers_code(&self) -> bool {
        self.prefers_code
    }
}

/// The way to the authorization server and back. Nobody listens where it comes back to: the
/// browser tells where it was sent.
struct Trip {
    manner: Manner,
    redirect_uri: String,
}

impl Visit for Trip {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn go<'a>(&'a mut self, page: &'a LoginPage) -> Asking<'a, Secret> {
        Box::pin(async {
            let back = Some(self.redirect_uri.as_str());
            let came_back = browser::visit(page.url.as_str(), back, self.manner, NAME);
            Ok(Secret::new(came_back.await.map_err(aborted)?))
        })
    }
}

const fn aborted(reason: String) -> AuthError {
    AuthError::LoginAborted { reason }
}

// Not a port that is given to whoever wants any: a browser that does listen may come later.
const CALLBACK: &str = "http://127.0.0.1:27418/callback";
