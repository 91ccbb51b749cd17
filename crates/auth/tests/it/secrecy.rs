//! Nothing that is printed or logged has a secret in it.
//!
//! Whole logins of every kind, and failures of every kind, while everything is heard that any
//! crate says; and each value and error on the way is printed. Then all secrets that were sent
//! or given out are looked for.
//!
//! - `listener`: hears
//! - `search`: looks
//! - `flows`: what succeeds
//! - `failures`: what does not

mod failures;
mod flows;
mod listener;
mod search;

use std::error::Error;
use std::fmt::Debug;
use std::sync::Mutex;

use switchboard_auth::{Entry, Store};

use crate::authority::{Asked, Site};
use crate::flow::chain;

/// All that was printed in one test, and all that nobody may find in it.
#[derive(Default)]
struct Watch {
    printed: Mutex<String>,
    secrets: Mutex<Vec<String>>,
    /// The origins of those who took part.
    sites: Mutex<Vec<String>>,
}

impl Watch {
    fn new() -> Self {
        listener::listen();
        Self::default()
    }

    /// Prints a value in both ways.
    fn value(&self, value: &dyn Debug) {
        let mut printed = self.printed.lock().unwrap();
        *printed += &format!("\n{value:?}\n{value:#?}");
    }

    /// Prints an error and its causes in all ways.
    fn error(&self, error: &(dyn Error + 'static)) -> String {
        let text = chain(error);
        self.value(&error);
        *self.printed.lock().unwrap() += &format!("\n{text}");
        text
    }

    fn secret(&self, secret: impl Into<String>) {
        self.secrets.lock().unwrap().push(secret.into());
    }

    /// Everything secret that a site was sent.
    fn site(&self, site: &Site) {
        self.sites.lock().unwrap().push(site.origin().to_owned());
        for asked in site.all() {
            self.asked(&asked);
        }
    }

    fn asked(&self, asked: &Asked) {
        for name in IN_FORMS {
            for fields in [&asked.form, &asked.query] {
                if let Some(value) = fields.find(name) {
                    self.secret(value);
                }
            }
        }
        if let Some(value) = asked.header("authorization") {
            let (_, token) = value.split_once(' ').unwrap_or_default();
            self.secret(token);
        }
        // Whoever sees a proof can use it until its server has.
        if let Some(proof) = asked.header("dpop") {
            self.secret(proof);
        }
    }

    /// Prints what is kept, and takes the secrets out of it.
    async fn store(&self, store: &dyn Store) -> Vec<Entry> {
        self.value(&store);
        let mut entries = Vec::new();
        for server in store.servers().await.unwrap() {
            let entry = store.load(&server).await.unwrap().unwrap();
            self.value(&entry);
            for record in &entry.records {
                let tokens = record.tokens.iter();
                let tokens =
                    tokens.flat_map(|tokens| [Some(&tokens.access), tokens.refresh.as_ref()]);
                let others = [record.proof_key.as_ref(), record.client.secret.as_ref()];
                for secret in tokens.chain(others).flatten() {
                    self.secret(secret.reveal());
                }
            }
            entries.push(entry);
        }
        entries
    }

    /// There were at least so many secrets, and none of them is anywhere.
    fn check(&self, at_least: usize) {
        let mut secrets = self.secrets.lock().unwrap().clone();
        secrets.sort();
        secrets.dedup();
        assert!(
            secrets.len() >= at_least,
            "only {}: {secrets:?}",
            secrets.len()
        );
        let printed = self.printed.lock().unwrap().clone();
        let heard = listener::heard();
        // What others said in the same process does not count: each site has a port of its own.
        for site in &*self.sites.lock().unwrap() {
            let is_about_it =
                |line: &str| line.starts_with("switchboard_") && line.contains(site.as_str());
            assert!(
                heard.lines().any(is_about_it),
                "nothing was heard of {site}"
            );
        }
        let everything = format!("{printed}\n{heard}");
        let found = search::found(&everything, &secrets);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

const IN_FORMS: [&str; 11] = [
    "code",
    "code_verifier",
    "state",
    "refresh_token",
    "client_secret",
    "client_assertion",
    "assertion",
    "subject_token",
    "device_code",
    "token",
    "api_key",
];

/// The test that this can fail at all: what is planted is found.
#[test]
fn a_secret_that_is_said_anywhere_is_found() {
    let planted = |name: &str| format!("planted-{name}-0123456789");
    let is_found = |name: &str, printed: &dyn Debug| {
        let watch = Watch::new();
        watch.value(printed);
        watch.secret(planted(name));
        let everything = format!("{}\n{}", watch.printed.lock().unwrap(), listener::heard());
        !search::found(&everything, &watch.secrets.lock().unwrap()).is_empty()
    };
    assert!(!is_found("nowhere", &""));
    assert!(is_found("value", &Some(planted("value"))));
    listener::listen();
    tracing::trace!(token = planted("text").as_str(), "a text");
    tracing::debug!(token = ?Some(planted("debug")), "printed");
    tracing::info!(token = %planted("display"), "shown");
    tracing::warn!("in a sentence: {}", planted("message"));
    let error: Box<dyn Error> = planted("error").into();
    tracing::error!(error = &*error, "an error");
    let span =
        tracing::trace_span!("span", token = %planted("span"), later = tracing::field::Empty);
    span.record("later", planted("later").as_str());
    let from_another_thread = std::thread::spawn(move || {
        tracing::trace!(token = %planted("thread"), "elsewhere");
    });
    from_another_thread.join().unwrap();
    for name in [
        "text", "debug", "display", "message", "error", "span", "later", "thread",
    ] {
        assert!(is_found(name, &""), "{name}");
    }
}
