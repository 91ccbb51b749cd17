//! An authorization server on this machine: correct by default, otherwise where it is told.
//!
//! - `site`, `message`: the web server under it, and what it was asked
//! - `knobs`: what it may be told
//! - `metadata`, `registration`, `authorize`, `token`, `assertion`, `device`, `revocation`: its
//!   endpoints
//! - `client`, `proof`, `jose`: what it checks
//! - `protected`: the server that its tokens are for
//! - `person`: who sits at the browser
//! - `checks`: tests of all this; each check has one in which it refuses
//!
//! Specification: OAuth 2.1; RFC 6749, 7009, 7523, 7591, 7636, 8414, 8628, 8693, 8707, 9207 and
//! 9449, as far as basic/authorization and its extensions want them.

mod assertion;
mod authorize;
mod checks;
mod client;
mod device;
mod jose;
mod knobs;
mod message;
mod metadata;
mod person;
mod proof;
mod protected;
mod registration;
mod revocation;
mod site;
mod token;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::json;

pub(crate) use self::client::Client;
pub(crate) use self::jose::{Key, decode, encode, fresh, hash, now, thumbprint};
pub(crate) use self::knobs::{DeviceEnd, Edit, Iss, Knobs, MetadataAt, Proofs, Refresh};
pub(crate) use self::message::{Asked, Fields, Reply, ask};
pub(crate) use self::person::{BACK, Conduct, ScriptedPerson};
pub(crate) use self::protected::{HeaderUrl, Protected, ResourceAt};
pub(crate) use self::site::{Fault, Site};

use self::device::Device;
use self::site::lock;
use self::token::GRANTS;

/// An authorization server. It ends with the last of its copies.
#[derive(Clone, Debug)]
pub(crate) struct Authority {
    pub(crate) site: Arc<Site>,
    office: Arc<Office>,
}

impl Authority {
    /// A correct one.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Knobs)) -> Self {
        let site = Arc::new(Site::start().await);
        let mut knobs = Knobs::default();
        change(&mut knobs);
        let office = Arc::new(Office {
            issuer: site.url(&knobs.issuer_path),
            path: knobs.issuer_path.clone(),
            key: Key::generate(),
            knobs: Mutex::new(knobs),
            files: Mutex::default(),
        });
        let behind = Arc::clone(&office);
        site.add_route(Box::new(move |asked| behind.answer(&asked)));
        Self { site, office }
    }

    /// Behaves otherwise from now on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Knobs)) {
        change(&mut lock(&self.office.knobs));
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.office.issuer
    }

    /// The path of one of its endpoints, such as `/token`.
    pub(crate) fn path(&self, endpoint: &str) -> String {
        format!("{}{endpoint}", self.office.path)
    }

    pub(crate) fn url(&self, endpoint: &str) -> String {
        self.site.url(&self.path(endpoint))
    }

    /// How often one of its endpoints was asked.
    pub(crate) fn count(&self, endpoint: &str) -> usize {
        self.site.count(&self.path(endpoint))
    }

    /// What one of its endpoints was asked.
    pub(crate) fn asked(&self, endpoint: &str) -> Vec<Arc<Asked>> {
        self.site.asked(&self.path(endpoint))
    }

    /// The key that it signs assertions with.
    pub(crate) fn point(&self) -> Vec<u8> {
        self.office.key.point()
    }

    /// Knows a client without having registered it.
    pub(crate) fn add_client(&self, client: Client) {
        let mut files = self.office.files();
        files.secrets.extend(client.secret.clone());
        files.clients.insert(client.id.clone(), client);
    }

    pub(crate) fn clients(&self) -> Vec<Client> {
        self.office.files().clients.values().cloned().collect()
    }

    /// Knows no client any longer.
    pub(crate) fn forget_clients(&self) {
        self.office.files().clients.clear();
    }

    /// Believes assertions of an issuer that are signed with this key.
    pub(crate) fn trust(&self, issuer: &str, point: Vec<u8>) {
        let mut files = self.office.files();
        files.trusted.insert(issuer.to_owned(), point);
    }

    /// Has logged a person in for a client: an identity token.
    pub(crate) fn add_id_token(&self, client: &str, subject: &str) -> String {
        let token = fresh("identity");
        let mut files = self.office.files();
        files.secrets.push(token.clone());
        let login = (client.to_owned(), subject.to_owned());
        files.identities.insert(token.clone(), login);
        token
    }

    /// All access tokens have ended.
    pub(crate) fn expire_access(&self) {
        let mut files = self.office.files();
        files.access.values_mut().for_each(|token| token.end = 0);
    }

    /// All codes have ended.
    pub(crate) fn expire_codes(&self) {
        self.office.files().codes.clear();
    }

    /// All grants are taken back, with every token that came of them.
    pub(crate) fn revoke_all(&self) {
        let mut files = self.office.files();
        files.access.clear();
        files.refresh.clear();
    }

    /// Wants another nonce from now on.
    pub(crate) fn renew_nonce(&self) {
        self.office.files().nonce = fresh("nonce");
    }

    /// What nobody may find in an output: all tokens, codes and secrets that were given out.
    pub(crate) fn secrets(&self) -> Vec<String> {
        self.office.files().secrets.clone()
    }
}

/// Where the authority's work is done.
#[derive(Debug)]
struct Office {
    issuer: String,
    path: String,
    key: Key,
    knobs: Mutex<Knobs>,
    files: Mutex<Files>,
}

/// Everything that an authority knows.
#[derive(Debug)]
struct Files {
    clients: HashMap<String, Client>,
    codes: HashMap<String, Code>,
    /// Codes that were used, and what they gave.
    used_codes: HashMap<String, u64>,
    access: HashMap<String, Access>,
    refresh: HashMap<String, RefreshToken>,
    devices: HashMap<String, Device>,
    /// The keys of the issuers of assertions.
    trusted: HashMap<String, Vec<u8>>,
    /// The identity tokens: for which client, and who.
    identities: HashMap<String, (String, String)>,
    /// The ids of the proofs and assertions that were shown.
    seen: HashSet<String>,
    nonce: String,
    families: u64,
    secrets: Vec<String>,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            clients: HashMap::new(),
            codes: HashMap::new(),
            used_codes: HashMap::new(),
            access: HashMap::new(),
            refresh: HashMap::new(),
            devices: HashMap::new(),
            trusted: HashMap::new(),
            identities: HashMap::new(),
            seen: HashSet::new(),
            nonce: fresh("nonce"),
            families: 0,
            secrets: Vec::new(),
        }
    }
}

/// What was granted, to whom, for what.
#[derive(Clone, Debug, Default)]
struct Grant {
    client: String,
    /// Who agreed: a person, or a client for itself.
    subject: String,
    scopes: Vec<String>,
    resource: Option<String>,
    /// The thumbprint of the key that it is bound to.
    key: Option<String>,
    /// All tokens that come of one consent are of one family.
    family: u64,
}

#[derive(Clone, Debug)]
struct Code {
    grant: Grant,
    redirect_uri: String,
    challenge: String,
}

#[derive(Clone, Debug)]
struct Access {
    grant: Grant,
    end: u64,
}

#[derive(Clone, Debug)]
struct RefreshToken {
    grant: Grant,
    was_used: bool,
}

/// A refusal in the words of OAuth.
#[derive(Debug)]
struct Refused {
    status: u16,
    code: &'static str,
    why: String,
    headers: Vec<(&'static str, String)>,
}

impl Refused {
    fn new(code: &'static str, why: impl Into<String>) -> Self {
        let status = if code == "invalid_client" { 401 } else { 400 };
        Self {
            status,
            code,
            why: why.into(),
            headers: Vec::new(),
        }
    }

    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn reply(&self) -> Reply {
        let body = json!({ "error": self.code, "error_description": self.why });
        let reply = Reply::json(self.status, &body);
        self.headers
            .iter()
            .fold(reply, |reply, (name, value)| reply.header(name, value))
    }
}

type Outcome<T> = Result<T, Refused>;

impl Office {
    fn knobs(&self) -> Knobs {
        lock(&self.knobs).clone()
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        lock(&self.files)
    }

    fn answer(&self, asked: &Asked) -> Option<Reply> {
        if let Some(reply) = self.metadata(asked) {
            return Some(reply);
        }
        let endpoint = asked.path.strip_prefix(self.path.as_str())?;
        let outcome = match endpoint {
            "/authorize" => return Some(self.authorize(asked)),
            "/register" if self.knobs().registers => self.register(asked),
            "/token" => self.token(asked),
            "/revoke" => self.revoke(asked),
            "/device" => self.begin_device(asked),
            _ => return None,
        };
        let reply = outcome.unwrap_or_else(|refused| refused.reply());
        Some(reply.header("cache-control", "no-store"))
    }

    /// What a form must be before it is read.
    fn check_form(&self, asked: &Asked) -> Outcome<()> {
        let bad = |why: &str| Refused::new("invalid_request", why);
        if asked.method != "POST" {
            let refused = bad("only POST is answered");
            return Err(Refused {
                status: 405,
                ..refused
            });
        }
        if !asked.is_form() {
            return Err(bad("the body is not a form"));
        }
        if !asked.query.is_empty() {
            return Err(bad("parameters belong in the body"));
        }
        match asked.form.repeated() {
            Some(name) => Err(bad(&format!("{name} is there twice"))),
            None => Ok(()),
        }
    }
}

impl Files {
    fn next_family(&mut self) -> u64 {
        self.families += 1;
        self.families
    }

    fn end_family(&mut self, family: u64) {
        self.access.retain(|_, token| token.grant.family != family);
        self.refresh.retain(|_, token| token.grant.family != family);
    }

    /// An id that was not shown before.
    fn check_unseen(&mut self, id: &str) -> Result<(), String> {
        match self.seen.insert(id.to_owned()) {
            true => Ok(()),
            false => Err("it was shown before".to_owned()),
        }
    }

    /// Makes up something that nobody may find in an output.
    fn secret(&mut self, what: &str) -> String {
        let secret = fresh(what);
        self.secrets.push(secret.clone());
        secret
    }
}
