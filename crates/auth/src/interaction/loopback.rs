//! Waits on a port of this machine for a browser to come back.
//!
//! Chooses the port, takes in whoever connects and lets go of whoever does not get on: neither
//! many connections nor silent ones keep the browser out. No task is left behind.
//!
//! Specification: RFC 8252, section 7.3.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::{Sleep, sleep};

use crate::error::AuthError;
use crate::interaction::answer::Expected;
use crate::interaction::callback::receive;
use crate::interaction::site::Site;
use crate::secret::Secret;

/// A port that is ours until this is dropped.
#[derive(Debug)]
pub(super) struct Loopback {
    site: Site,
    listeners: Vec<TcpListener>,
}

impl Loopback {
    /// Takes the first of the known places that is free. An issuer that follows RFC 8252 knows
    /// the same place at any other port as well, so that comes next.
    ///
    /// # Errors
    /// When there is no port, or not the one that is wanted.
    pub(super) async fn open(known: &[String], port: Option<u16>) -> Result<Self, AuthError> {
        let known: Vec<Site> = known
            .iter()
            .take(MOST_KNOWN)
            .filter_map(|text| Site::parse(text))
            .collect();
        for site in &known {
            let site = match site.port() {
                None => site.at_port(port),
                own if port.is_none() || own == port => site.clone(),
                _ => continue,
            };
            match Self::at(&site).await {
                Ok(found) => return Ok(found),
                Err(error) => {
                    tracing::debug!(site = site.redirect_uri(), %error, "not listened at");
                }
            }
        }
        let site = known.into_iter().next().unwrap_or_else(Site::usual);
        let found = Self::at(&site.at_port(port)).await;
        found.map_err(|error| AuthError::Setup {
            reason: match port {
                Some(port) => format!("the browser cannot come back to port {port}: {error}"),
                None => format!("there is no port for the browser to come back to: {error}"),
            },
        })
    }

    /// Takes this place and no other.
    ///
    /// # Errors
    /// When somebody else has it, or it cannot be had.
    pub(super) async fn open_only(site: &Site) -> Result<Self, AuthError> {
        Self::at(site).await.map_err(|error| AuthError::Setup {
            reason: format!(
                "the browser cannot come back to {}: {error}",
                site.redirect_uri()
            ),
        })
    }

    pub(super) fn redirect_uri(&self) -> &str {
        self.site.redirect_uri()
    }

    /// Waits for the answer, however long, and whatever else comes first.
    pub(super) async fn wait(&self, expected: &Expected) -> Secret {
        let mut waiting = Waiting {
            loopback: self,
            expected,
            guests: VecDeque::new(),
            rest: None,
        };
        poll_fn(|cx| waiting.poll(cx)).await
    }

    async fn at(site: &Site) -> std::io::Result<Self> {
        let (site, listeners) = site.listen().await?;
        Ok(Self { site, listeners })
    }
}

/// Those who have connected.
struct Waiting<'a> {
    loopback: &'a Loopback,
    expected: &'a Expected,
    guests: VecDeque<Guest<'a>>,
    /// Until when nobody is let in.
    rest: Option<Pin<Box<Sleep>>>,
}

type Guest<'a> = Pin<Box<dyn Future<Output = Option<Secret>> + Send + 'a>>;

impl Waiting<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Secret> {
        self.poll_accept(cx);
        let mut answer = None;
        self.guests.retain_mut(|guest| {
            if answer.is_some() {
                return true;
            }
            match guest.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(found) => {
                    answer = found;
                    false
                }
            }
        });
        answer.map_or(Poll::Pending, Poll::Ready)
    }

    /// Lets some in.
    fn poll_accept(&mut self, cx: &mut Context<'_>) {
        if let Some(rest) = &mut self.rest {
            if rest.as_mut().poll(cx).is_pending() {
                return;
            }
            self.rest = None;
        }
        for listener in &self.loopback.listeners {
            let mut room = MOST_AT_ONCE;
            while let Poll::Ready(accepted) = listener.poll_accept(cx) {
                match accepted {
                    Ok((stream, _)) => {
                        // A browser is read as soon as it is there. Who is here for longest is
                        // not one.
                        if self.guests.len() >= MOST_GUESTS {
                            self.guests.pop_front();
                        }
                        let guest = receive(stream, &self.loopback.site, self.expected);
                        self.guests.push_back(Box::pin(guest));
                        room -= 1;
                    }
                    Err(error) => {
                        tracing::debug!(%error, "a connection was not taken");
                        self.rest = Some(Box::pin(sleep(REST)));
                        room = 0;
                    }
                }
                if room == 0 {
                    // More would be let go before they were read. Come back for them, or for
                    // the end of the rest.
                    cx.waker().wake_by_ref();
                    break;
                }
            }
        }
    }
}

const MOST_KNOWN: usize = 16;
const MOST_GUESTS: usize = 64;
const MOST_AT_ONCE: usize = 16;
// For a system that has no room for another connection just now.
const REST: Duration = Duration::from_millis(50);
