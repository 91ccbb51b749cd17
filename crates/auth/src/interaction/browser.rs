//! A person with a browser, here or elsewhere.
//!
//! What a program says about how people log in: how an address is shown, a browser opened, a
//! line asked for. Nothing is printed and no input is read here or below: that is for the
//! program.
//!
//! Specification: RFC 8252; RFC 8628, section 3.3.

use std::fmt;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use crate::error::AuthError;
use crate::interaction::loopback::Loopback;
use crate::interaction::opener::{Surroundings, open};
use crate::interaction::site::Site;
use crate::interaction::visit::{Arrival, Ready};
use crate::interaction::{Asking, DeviceCode, Interaction, LoginPage, Visit};
use crate::place::Place;
use crate::secret::Secret;

/// Logs in with a browser.
///
/// Without more it opens the browser of the system and waits five minutes. A program with a
/// terminal says how the address is shown, which then works where no browser can be opened, and
/// how a line is asked for, which works where the browser is on another machine.
///
/// ```
/// use switchboard_auth::Browser;
///
/// let browser = Browser::new()
///     .announce(|page| eprintln!("To log in to {}, open {}", page.server, page.url.as_str()))
///     .announce_code(|code| eprintln!("Enter {} at {}", code.user_code, code.page.as_str()));
/// ```
#[derive(Clone, Default)]
pub struct Browser {
    pub(super) announce: Option<Arc<Announce>>,
    announce_code: Option<Arc<AnnounceCode>>,
    pub(super) paste: Option<Arc<Paste>>,
    pub(super) explain: Option<Arc<Explain>>,
    opener: Opener,
    port: Option<u16>,
    redirect_uri: Option<Place>,
    pub(super) timeout: Option<Duration>,
}

type Announce = dyn Fn(&LoginPage) + Send + Sync;
type AnnounceCode = dyn Fn(&DeviceCode) + Send + Sync;
type Paste = dyn Fn() -> Asking<'static, Option<Secret>> + Send + Sync;
type Explain = dyn Fn(&'static str) + Send + Sync;
type Open = dyn Fn(&Place) -> io::Result<()> + Send + Sync;

#[derive(Clone, Default)]
enum Opener {
    #[default]
    System,
    /// What the system is taken for.
    #[cfg(test)]
    Fake(Surroundings),
    Own(Arc<Open>),
    None,
}

impl Browser {
    /// The browser of the system, and nobody is told.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows the address of a login page. It is called for every login, before a browser is
    /// opened.
    #[must_use]
    pub fn announce(mut self, show: impl Fn(&LoginPage) + Send + Sync + 'static) -> Self {
        self.announce = Some(Arc::new(show));
        self
    }

    /// Shows a code that is entered on another device. Where there is no browser, this is
    /// preferred to everything else.
    #[must_use]
    pub fn announce_code(mut self, show: impl Fn(&DeviceCode) + Send + Sync + 'static) -> Self {
        self.announce_code = Some(Arc::new(show));
        self
    }

    /// Asks for the address at which the browser ended, for a browser that cannot reach this
    /// machine. It is asked for while the browser is waited for, and dropped when that comes
    /// first; again after a line that was of no use; and not again after `None`. An error ends
    /// the login.
    #[must_use]
    pub fn paste(
        mut self,
        ask: impl Fn() -> Asking<'static, Option<Secret>> + Send + Sync + 'static,
    ) -> Self {
        self.paste = Some(Arc::new(ask));
        self
    }

    /// Says why a line that was pasted is of no use, before the next is asked for.
    #[must_use]
    pub fn explain(mut self, say: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        self.explain = Some(Arc::new(say));
        self
    }

    /// Opens no browser.
    #[must_use]
    pub fn without_browser(mut self) -> Self {
        self.opener = Opener::None;
        self
    }

    /// Opens addresses in another way than the system does. It runs on a thread of its own.
    #[must_use]
    pub fn opener(
        mut self,
        open: impl Fn(&Place) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.opener = Opener::Own(Arc::new(open));
        self
    }

    /// Waits for the browser on this port and no other: one that leads here from another
    /// machine. Without it, on any that is free.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port).filter(|port| *port != 0);
        self
    }

    /// Lets the browser come back to this place and no other. Of a place that is not `http` on
    /// this machine, the address has to be pasted.
    #[must_use]
    pub fn redirect_uri(mut self, place: Place) -> Self {
        self.redirect_uri = Some(place);
        self
    }

    /// How long a person is waited for; five minutes if nothing is said.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    async fn make_ready(&self, known: &[String]) -> Result<Ready, AuthError> {
        let Some(place) = &self.redirect_uri else {
            let loopback = Loopback::open(known, self.port).await?;
            return Ok(self.ready(Arrival::Here(loopback)));
        };
        if let Some(site) = Site::parse(place.as_str()) {
            let site = match site.port() {
                Some(_) => site,
                None => site.at_port(self.port),
            };
            return Ok(self.ready(Arrival::Here(Loopback::open_only(&site).await?)));
        }
        match self.paste {
            Some(_) => Ok(self.ready(Arrival::Elsewhere(place.as_str().to_owned()))),
            None => Err(AuthError::Setup {
                reason: format!(
                    "a browser that ends at {place} does not come back here, and nobody can paste \
                     its address"
                ),
            }),
        }
    }

    fn ready(&self, arrival: Arrival) -> Ready {
        Ready::new(self.clone(), arrival)
    }

    /// Opens a page and stays with it: returns only when that is not possible. Dropped, the page
    /// stays open.
    ///
    /// Whoever calls it has shown the address to somebody, and been told to open it.
    pub async fn open(&self, place: &Place) {
        match &self.opener {
            Opener::System => open(Surroundings::of_process().programs(place)).await,
            #[cfg(test)]
            Opener::Fake(surroundings) => open(surroundings.programs(place)).await,
            Opener::Own(opener) => {
                let (opener, place) = (Arc::clone(opener), place.clone());
                match spawn_blocking(move || opener(&place)).await {
                    Ok(Ok(())) => pending().await,
                    Ok(Err(error)) => tracing::debug!(%error, "no browser was opened"),
                    Err(_) => tracing::debug!("what opens a browser panicked"),
                }
            }
            Opener::None => {}
        }
    }
}

impl Interaction for Browser {
    fn prepare<'a>(&'a self, known: &'a [String]) -> Asking<'a, Box<dyn Visit>> {
        Box::pin(async move {
            let ready = self.make_ready(known).await?;
            Ok(Box::new(ready) as Box<dyn Visit>)
        })
    }

    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> Asking<'a, ()> {
        Box::pin(async move {
            let show = self.announce_code.as_ref();
            show.ok_or(AuthError::NoInteraction)?(code);
            Ok(())
        })
    }

    fn prefers_code(&self) -> bool {
        let has_browser = match &self.opener {
            Opener::System => Surroundings::of_process().has_browser(),
            #[cfg(test)]
            Opener::Fake(surroundings) => surroundings.has_browser(),
            Opener::Own(_) => true,
            Opener::None => false,
        };
        self.announce_code.is_some() && !has_browser
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser")
            .field("port", &self.port)
            .field("redirect_uri", &self.redirect_uri)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
