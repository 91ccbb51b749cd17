//! Servers and issuers that mean harm, or are broken as if they did.
//!
//! Each is refused with a text that says why, and is asked for nothing more: every case has the
//! whole text, and what was asked of whom until then.
//!
//! - `resources`: documents of servers, and where challenges say they are
//! - `issuers`: documents of issuers
//! - `answers`: how a document can be answered: never, for ever, from elsewhere
//! - `tokens`: answers with tokens, and without
//! - `registrations`: answers with clients
//! - `callbacks`: what a browser brings back
//! - `loops`: what would go on for ever
//! - `devices`: codes for other devices
//! - `reach`: addresses that nobody should be sent to
//!
//! Specification: basic/authorization, "Security Considerations"; RFC 9700.

mod answers;
mod callbacks;
mod devices;
mod issuers;
mod loops;
mod reach;
mod registrations;
mod resources;
mod tokens;

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use switchboard_auth::{MemoryStore, OAuth, OAuthBuilder};
use switchboard_transport::http::client::{ClientSettings, HttpClient, Received, SendError};
use tokio::sync::oneshot;

use crate::authority::{Authority, Conduct, Edit, Protected, ScriptedPerson, Site};
pub(crate) use crate::flow::chain;

/// A server, its issuer, a person who would agree to everything, and a place that nobody has
/// any business with.
///
/// In texts they are `http://server`, `http://issuer` and `http://canary`.
pub(crate) struct Stage {
    pub(crate) authority: Authority,
    pub(crate) protected: Protected,
    pub(crate) canary: Site,
    pub(crate) person: ScriptedPerson,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let authority = Authority::start().await;
        Self {
            protected: Protected::start(&authority).await,
            authority,
            canary: Site::start().await,
            person: ScriptedPerson::new(Conduct::Agrees),
        }
    }

    /// A login that is not kept.
    pub(crate) fn builder(&self) -> OAuthBuilder {
        OAuth::for_server(&self.protected.url())
            .unwrap()
            .store(Arc::new(MemoryStore::new()))
            .interaction(self.person.clone())
    }

    pub(crate) fn login(&self) -> OAuth {
        self.builder().build().unwrap()
    }

    /// Why a login fails, with the names of the places.
    pub(crate) async fn refusal(&self) -> String {
        self.refusal_of(&self.login()).await
    }

    pub(crate) async fn refusal_of(&self, login: &OAuth) -> String {
        let outcome = bounded(Box::pin(login.login())).await;
        let error = outcome.expect_err("it is not refused");
        assert!(bounded(Box::pin(login.status())).await.unwrap().is_none());
        self.with_names(&chain(&error))
    }

    /// A document in which places have names.
    pub(crate) fn with_places(&self, text: &str) -> String {
        text.replace("http://server", self.protected.site.origin())
            .replace("http://issuer", self.authority.site.origin())
            .replace("http://canary", self.canary.origin())
    }

    /// A text in which places have ports.
    pub(crate) fn with_names(&self, text: &str) -> String {
        text.replace(self.protected.site.origin(), "http://server")
            .replace(self.authority.site.origin(), "http://issuer")
            .replace(self.canary.origin(), "http://canary")
    }

    /// A document in which one member is another, given as JSON; or gone, if it is empty.
    pub(crate) fn edit(&self, member: &'static str, value: &str) -> Edit {
        let value = self.with_places(value);
        let value: Option<Value> = match value.is_empty() {
            true => None,
            false => Some(serde_json::from_str(&value).unwrap()),
        };
        Edit::new(move |document| match &value {
            Some(value) => document[member] = value.clone(),
            None => drop(document.as_object_mut().unwrap().remove(member)),
        })
    }

    /// Nobody was shown a page, and this is all that the issuer was asked.
    pub(crate) fn check_asked(&self, case: &str, issuer: &[&str]) {
        assert_eq!(self.authority.site.lines(), issuer, "{case}");
        assert_eq!(self.canary.lines(), [""; 0], "{case}");
        assert!(self.person.pages().is_empty(), "{case}");
        assert!(self.person.codes().is_empty(), "{case}");
    }
}

/// Asks a server for something, with a login as its credentials.
pub(crate) async fn call(url: &str, login: &OAuth) -> Result<Received, SendError> {
    let mut settings = ClientSettings::default();
    settings.credentials = Some(Arc::new(login.clone()));
    let client = HttpClient::new(settings).unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut request = Request::new(Bytes::from_static(body.as_bytes()));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = url.parse().unwrap();
    bounded(Box::pin(client.send(request))).await
}

/// Whatever is done to us ends. No case comes close to this, which is measured on a clock that
/// no test moves.
pub(crate) async fn bounded<T>(work: impl Future<Output = T>) -> T {
    let (rings, mut alarm) = oneshot::channel::<()>();
    let (is_done, done) = mpsc::channel::<()>();
    thread::spawn(move || {
        // Either the time is over, or the work is and nobody listens.
        let _ = done.recv_timeout(LONGEST);
        drop(rings);
    });
    tokio::select! {
        outcome = work => {
            drop(is_done);
            outcome
        }
        _ = &mut alarm => panic!("it does not end"),
    }
}

const LONGEST: Duration = Duration::from_secs(60);
