//! One login of a person with a browser.
//!
//! The address is announced, a browser is opened if there is one, and whatever comes first
//! counts: the browser at a port of this machine, or what the person pastes.
//!
//! Specification: RFC 8252, section 4.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::timeout;

use crate::error::AuthError;
use crate::interaction::answer::Expected;
use crate::interaction::browser::Browser;
use crate::interaction::loopback::Loopback;
use crate::interaction::{Asking, LoginPage, Visit};
use crate::secret::Secret;

/// Everything is there but the person.
pub(super) struct Ready {
    browser: Browser,
    arrival: Arrival,
}

/// Where a browser comes back to.
pub(super) enum Arrival {
    Here(Loopback),
    /// Its address is pasted.
    Elsewhere(String),
}

impl Ready {
    pub(super) fn new(browser: Browser, arrival: Arrival) -> Self {
        Self { browser, arrival }
    }

    /// Whatever comes first.
    async fn race(&self, page: &LoginPage) -> Result<Secret, AuthError> {
        let expected = Expected::of(&page.url);
        let mut arriving = pin!(async {
            match &self.arrival {
                Arrival::Here(loopback) => loopback.wait(&expected).await,
                Arrival::Elsewhere(_) => pending().await,
            }
        });
        let mut pasting = pin!(async {
            match (self.ask_for_lines(&expected).await, &self.arrival) {
                (Ok(Some(answer)), _) => Ok(answer),
                (Ok(None), Arrival::Here(_)) => pending().await,
                (Ok(None), Arrival::Elsewhere(_)) => Err(AuthError::LoginAborted {
                    reason: "the address at which the browser ended was not pasted".to_owned(),
                }),
                (Err(error), _) => Err(error),
            }
        });
        let mut showing = pin!(self.show(page));
        poll_fn(|cx| {
            if let Poll::Ready(answer) = arriving.as_mut().poll(cx) {
                return Poll::Ready(Ok(answer));
            }
            if let Poll::Ready(outcome) = pasting.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            showing.as_mut().poll(cx).map(Err)
        })
        .await
    }

    /// A browser, or whoever is told the address, is waited for; returns when there is neither.
    async fn show(&self, page: &LoginPage) -> AuthError {
        self.browser.open(&page.url).await;
        match self.browser.announce {
            Some(_) => pending().await,
            None => AuthError::LoginAborted {
                reason: "no browser could be opened, and nobody is shown the address".to_owned(),
            },
        }
    }

    /// Asks for lines until one is the answer. None: there are no more.
    async fn ask_for_lines(&self, expected: &Expected) -> Result<Option<Secret>, AuthError> {
        let Some(paste) = &self.browser.paste else {
            return Ok(None);
        };
        for _ in 0..MOST_LINES {
            let Some(line) = paste().await? else {
                return Ok(None);
            };
            match (expected.read_line(&line), &self.browser.explain) {
                (Ok(answer), _) => return Ok(Some(answer)),
                (Err(reason), Some(explain)) => explain(reason),
                (Err(reason), None) => tracing::debug!(reason, "what was pasted is not used"),
            }
            // Lines that are there already must not keep the browser out.
            yield_now().await;
        }
        Ok(None)
    }
}

impl Visit for Ready {
    fn redirect_uri(&self) -> &str {
        match &self.arrival {
            Arrival::Here(loopback) => loopback.redirect_uri(),
            Arrival::Elsewhere(redirect_uri) => redirect_uri,
        }
    }

    fn go<'a>(&'a mut self, page: &'a LoginPage) -> Asking<'a, Secret> {
        Box::pin(async move {
            if let Some(announce) = &self.browser.announce {
                announce(page);
            }
            let after = self.browser.timeout.unwrap_or(PATIENCE);
            let outcome = timeout(after, self.race(page)).await;
            outcome.unwrap_or(Err(AuthError::LoginTimedOut { after }))
        })
    }
}

// Time to find a password, not to forget the window.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);
// Somebody who pastes more than this is not a person.
pub(super) const MOST_LINES: usize = 32;
