//! Who has begun something and has to wait: what a test can wait for, in place of a while.

use std::future::{Future, poll_fn};
use std::pin::pin;

use http::request::Parts;
use switchboard_auth::OAuth;
use switchboard_transport::credentials::{Asking, Credentials, Refusal};
use tokio::sync::watch;

/// Counts those who were not done at once.
#[derive(Debug, Default)]
pub(crate) struct Waiters(watch::Sender<usize>);

impl Waiters {
    /// Does some work, and counts it if it has to wait.
    pub(crate) async fn count<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        let mut is_counted = false;
        poll_fn(|cx| {
            let polled = work.as_mut().poll(cx);
            if polled.is_pending() && !is_counted {
                is_counted = true;
                self.0.send_modify(|count| *count += 1);
            }
            polled
        })
        .await
    }

    /// Waits until as many have had to.
    pub(crate) async fn reached(&self, number: usize) {
        let mut count = self.0.subscribe();
        count.wait_for(|count| *count >= number).await.unwrap();
    }
}

/// A login of which one sees how many wait for it.
#[derive(Debug)]
pub(crate) struct WatchedLogin {
    pub(crate) login: OAuth,
    pub(crate) waiters: Waiters,
}

impl Credentials for WatchedLogin {
    fn authorize<'a>(&'a self, request: &'a mut Parts) -> Asking<'a, ()> {
        Box::pin(self.waiters.count(self.login.authorize(request)))
    }

    fn refused<'a>(&'a self, refusal: &'a Refusal) -> Asking<'a, bool> {
        Box::pin(self.waiters.count(self.login.refused(refusal)))
    }
}
