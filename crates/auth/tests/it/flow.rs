//! A client whose requests carry the tokens of a login, and what its authority saw of that.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request};
use switchboard_auth::{Entry, MemoryStore, Nobody, OAuth, OAuthBuilder, Store, Tokens};
use switchboard_transport::http::client::{ClientSettings, HttpClient, ProxyChoice, SendError};
use tokio::task::JoinHandle;

use crate::authority::{Authority, Conduct, Protected, ScriptedPerson};
use crate::waiters::{Waiters, WatchedLogin};

/// A program that asks a server, and is logged in there by what was set.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) login: OAuth,
    watched: Arc<WatchedLogin>,
    client: HttpClient,
    url: String,
}

impl Program {
    /// Starts with nothing but its store.
    pub(crate) fn start(
        server: &Protected,
        store: &Arc<dyn Store>,
        set: impl FnOnce(OAuthBuilder) -> OAuthBuilder,
    ) -> Self {
        Self::at(&server.url(), store, set)
    }

    pub(crate) fn at(
        url: &str,
        store: &Arc<dyn Store>,
        set: impl FnOnce(OAuthBuilder) -> OAuthBuilder,
    ) -> Self {
        let builder = OAuth::for_server(url).unwrap();
        let builder = builder.http(direct()).store(Arc::clone(store));
        let login = set(builder).build().unwrap();
        let watched = Arc::new(WatchedLogin {
            login: login.clone(),
            waiters: Waiters::default(),
        });
        let mut settings = direct();
        settings.credentials = Some(watched.clone());
        Self {
            login,
            watched,
            client: HttpClient::new(settings).unwrap(),
            url: url.to_owned(),
        }
    }

    /// The status of the answer to a method.
    pub(crate) async fn call(&self, method: &str) -> Result<u16, SendError> {
        self.call_at(&self.url, method, HeaderMap::new()).await
    }

    pub(crate) async fn call_at(
        &self,
        url: &str,
        method: &str,
        headers: HeaderMap,
    ) -> Result<u16, SendError> {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        let mut request = Request::post(url).body(Bytes::from(body)).unwrap();
        *request.headers_mut() = headers;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert("content-type", json);
        let received = self.client.send(request).await?;
        let status = received.status.as_u16();
        let _ = received.body.collect().await;
        Ok(status)
    }

    /// That an answer is there.
    pub(crate) async fn works(&self) {
        assert_eq!(self.call("ping").await.unwrap(), 200);
    }

    /// Why there is none, with all causes.
    pub(crate) async fn fails(&self) -> String {
        chain(&self.call("ping").await.unwrap_err())
    }

    /// Begins as many requests at once.
    pub(crate) fn begin(&self, number: usize) -> Begun {
        let one = |_| {
            let program = self.clone();
            tokio::spawn(async move { program.call("ping").await })
        };
        Begun((0..number).map(one).collect())
    }

    /// Waits until as many requests have had to wait for the login.
    pub(crate) async fn has_waiting(&self, number: usize) {
        self.watched.waiters.reached(number).await;
    }
}

/// Requests that were begun.
pub(crate) struct Begun(Vec<JoinHandle<Result<u16, SendError>>>);

impl Begun {
    /// Is none of them answered yet?
    pub(crate) fn all_wait(&self) -> bool {
        self.0.iter().all(|one| !one.is_finished())
    }

    /// That there is an answer to each.
    pub(crate) async fn all_work(self) {
        for one in self.0 {
            assert_eq!(one.await.unwrap().unwrap(), 200);
        }
    }

    /// That there is none, for this reason.
    pub(crate) async fn all_fail(self, expected: &str) {
        for one in self.0 {
            let error = chain(&one.await.unwrap().unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}

/// With a person who agrees to everything.
pub(crate) fn with_person(set: OAuthBuilder) -> OAuthBuilder {
    set.interaction(ScriptedPerson::new(Conduct::Agrees))
}

/// With nobody, and a word about what to do.
pub(crate) fn with_nobody(set: OAuthBuilder) -> OAuthBuilder {
    set.interaction(Nobody).hint("run switchboard login demo")
}

/// Settings that the environment has no part in.
pub(crate) fn direct() -> ClientSettings {
    let mut settings = ClientSettings::default();
    settings.proxy = ProxyChoice::Never;
    settings
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// An error and its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// What an authority was asked so far, in order: its metadata is `metadata`.
pub(crate) fn seen(authority: &Authority) -> String {
    seen_after(authority, 0)
}

/// The same, without as much as this from the start.
pub(crate) fn seen_after(authority: &Authority, start: usize) -> String {
    let lines = authority.site.lines();
    let names = lines.iter().skip(start).map(|line| {
        let (_, path) = line.split_once(' ').unwrap();
        match path.contains("/.well-known/") {
            true => "metadata",
            false => path.rsplit('/').next().unwrap(),
        }
    });
    names.collect::<Vec<_>>().join(" ")
}

/// The entry that is kept of a server.
pub(crate) async fn kept(store: &Arc<dyn Store>, server: &Protected) -> Entry {
    let entry = store.load(&server.url()).await.unwrap();
    entry.expect("something is kept")
}

/// Changes the tokens in use, as they are kept.
pub(crate) async fn edit(
    store: &Arc<dyn Store>,
    server: &Protected,
    change: impl FnOnce(&mut Tokens),
) {
    let mut entry = kept(store, server).await;
    change(entry.records[0].tokens.as_mut().unwrap());
    store.save(&entry).await.unwrap();
}

/// The tokens in use have ended.
pub(crate) async fn expire(store: &Arc<dyn Store>, server: &Protected) {
    edit(store, server, |tokens| {
        tokens.issued_at -= 7200;
        tokens.expires_at = Some(tokens.issued_at + 3600);
    })
    .await;
}

/// The tokens in use will have ended in a minute or two.
pub(crate) async fn make_due(store: &Arc<dyn Store>, server: &Protected) {
    edit(store, server, |tokens| {
        tokens.issued_at -= 3500;
        tokens.expires_at = Some(tokens.issued_at + 3600);
    })
    .await;
}

/// A login with nothing known before.
pub(crate) const LOGIN: &str = "metadata register authorize token";
