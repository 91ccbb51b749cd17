//! Who sits at the browser, and what they do.

use std::sync::{Arc, Mutex};

use switchboard_auth::{Asking, AuthError, DeviceCode, Interaction, LoginPage, Secret, Visit};

use super::authorize::DENIES;
use super::message::ask;
use super::site::lock;

/// A person at a browser that needs no screen.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedPerson {
    conduct: Conduct,
    redirect_uri: String,
    prefers_code: bool,
    pages: Arc<Mutex<Vec<LoginPage>>>,
    codes: Arc<Mutex<Vec<DeviceCode>>>,
}

/// What a person does with a page.
#[derive(Clone, Debug)]
pub(crate) enum Conduct {
    Agrees,
    Denies,
    NeverComesBack,
    /// Brings back what somebody changed: each `state` becomes this one.
    Tampers(String),
    /// Brings back this, without having been anywhere.
    Brings(String),
}

impl ScriptedPerson {
    pub(crate) fn new(conduct: Conduct) -> Self {
        Self {
            conduct,
            redirect_uri: BACK.to_owned(),
            prefers_code: false,
            pages: Arc::default(),
            codes: Arc::default(),
        }
    }

    /// Where the browser is to come back to.
    pub(crate) fn redirect_uri(mut self, redirect_uri: &str) -> Self {
        self.redirect_uri = redirect_uri.to_owned();
        self
    }

    /// Has no browser.
    pub(crate) fn preferring_code(mut self) -> Self {
        self.prefers_code = true;
        self
    }

    /// The pages that were shown.
    pub(crate) fn pages(&self) -> Vec<LoginPage> {
        lock(&self.pages).clone()
    }

    /// The codes that were shown.
    pub(crate) fn codes(&self) -> Vec<DeviceCode> {
        lock(&self.codes).clone()
    }

    async fn visit(&self, page: &LoginPage) -> Result<Secret, AuthError> {
        lock(&self.pages).push(page.clone());
        let headers: &[(&str, &str)] = match &self.conduct {
            Conduct::NeverComesBack => return std::future::pending().await,
            Conduct::Brings(answer) => return Ok(Secret::new(answer.as_str())),
            Conduct::Denies => &[(DENIES, "yes")],
            Conduct::Agrees | Conduct::Tampers(_) => &[],
        };
        let reply = ask("GET", page.url.as_str(), headers, "").await;
        let location = reply.headers.get("location");
        let Some(location) = location.and_then(|value| value.to_str().ok()) else {
            let reason = format!("the page is a {}: {}", reply.status, reply.body);
            return Err(AuthError::LoginAborted { reason });
        };
        Ok(Secret::new(match &self.conduct {
            Conduct::Tampers(state) => replace_state(location, state),
            _ => location.to_owned(),
        }))
    }
}

impl Interaction for ScriptedPerson {
    fn prepare<'a>(&'a self, known: &'a [String]) -> Asking<'a, Box<dyn Visit>> {
        let known = known.first().unwrap_or(&self.redirect_uri).clone();
        let visit = ScriptedVisit {
            person: self.clone(),
            redirect_uri: known,
        };
        Box::pin(async { Ok(Box::new(visit) as Box<dyn Visit>) })
    }

    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> Asking<'a, ()> {
        lock(&self.codes).push(code.clone());
        Box::pin(async { Ok(()) })
    }

    fn prefers_code(&self) -> bool {
        self.prefers_code
    }
}

struct ScriptedVisit {
    person: ScriptedPerson,
    redirect_uri: String,
}

impl Visit for ScriptedVisit {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn go<'a>(&'a mut self, page: &'a LoginPage) -> Asking<'a, Secret> {
        Box::pin(self.person.visit(page))
    }
}

fn replace_state(location: &str, state: &str) -> String {
    let (place, query) = location.split_once('?').unwrap_or((location, ""));
    let fields = form_urlencoded::parse(query.as_bytes());
    let fields = fields.map(|(name, value)| match name.as_ref() {
        "state" => (name, state.into()),
        _ => (name, value),
    });
    let mut back = form_urlencoded::Serializer::new(String::new());
    back.extend_pairs(fields);
    format!("{place}?{}", back.finish())
}

/// Where browsers come back to, and nobody listens.
pub(crate) const BACK: &str = "http://127.0.0.1:7777/callback";
