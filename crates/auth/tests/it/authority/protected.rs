//! A server that wants tokens: it knows just enough of MCP to answer.
//!
//! It asks its authority about each token, and takes only those that are for itself.
//!
//! Specification: basic/authorization, "Access Token Usage" and "Error Handling"; RFC 6750,
//! section 3; RFC 9728; RFC 9449, section 7.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::jose::{fresh, now};
use super::knobs::{Edit, Proofs};
use super::message::{Asked, Reply};
use super::proof::{Doubt, Expected, check_proof};
use super::site::{Site, lock};
use super::{Authority, Grant, Office};

/// How a protected server behaves.
#[derive(Clone, Debug)]
pub(crate) struct ProtectedKnobs {
    /// Where it is. Only before the start.
    pub(crate) path: String,
    /// Where its metadata is. Nowhere: it is one of 2025-03-26.
    pub(crate) metadata_at: Vec<ResourceAt>,
    /// What is changed about its metadata.
    pub(crate) metadata: Edit,
    /// What a challenge says about where the metadata is.
    pub(crate) header_url: HeaderUrl,
    /// What the challenge of a 401 says about scopes.
    pub(crate) challenge_scope: Option<&'static str>,
    /// What its metadata says about scopes.
    pub(crate) scopes: Vec<&'static str>,
    /// What methods need.
    pub(crate) needs: HashMap<&'static str, Vec<&'static str>>,
    /// Whatever a token has, it wants more.
    pub(crate) is_insatiable: bool,
    /// Challenges that stand before its own.
    pub(crate) other_challenges: Vec<&'static str>,
    /// Is there a challenge of its own?
    pub(crate) challenges: bool,
    /// Does it look at what a token is for?
    pub(crate) checks_resource: bool,
    /// Whether requests come with proofs.
    pub(crate) proofs: Proofs,
    /// Must a proof hold a nonce of its?
    pub(crate) demands_nonce: bool,
}

impl Default for ProtectedKnobs {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            metadata_at: vec![ResourceAt::Path],
            metadata: Edit::default(),
            header_url: HeaderUrl::Right,
            challenge_scope: None,
            scopes: vec!["read", "write"],
            needs: HashMap::new(),
            is_insatiable: false,
            other_challenges: Vec::new(),
            challenges: true,
            checks_resource: true,
            proofs: Proofs::Taken,
            demands_nonce: false,
        }
    }
}

/// Where the metadata of a server may be.
#[derive(Clone, Debug)]
pub(crate) enum ResourceAt {
    /// The well-known place in front of the path.
    Path,
    /// The well-known place of the origin.
    Root,
    /// Anywhere: a path.
    Other(String),
}

/// What a challenge says about where the metadata is.
#[derive(Clone, Debug)]
pub(crate) enum HeaderUrl {
    /// The first place where it is.
    Right,
    Absent,
    Other(String),
}

/// A protected server. It ends with the last of its copies.
#[derive(Clone, Debug)]
pub(crate) struct Protected {
    pub(crate) site: Arc<Site>,
    gate: Arc<Gate>,
}

impl Protected {
    /// A correct one.
    pub(crate) async fn start(authority: &Authority) -> Self {
        Self::start_with(authority, |_| {}).await
    }

    pub(crate) async fn start_with(
        authority: &Authority,
        change: impl FnOnce(&mut ProtectedKnobs),
    ) -> Self {
        Self::on(Arc::new(Site::start().await), authority, change)
    }

    /// One that has its origin in common with its authority, as in 2025-03-26.
    pub(crate) fn beside(authority: &Authority, change: impl FnOnce(&mut ProtectedKnobs)) -> Self {
        Self::on(Arc::clone(&authority.site), authority, change)
    }

    fn on(
        site: Arc<Site>,
        authority: &Authority,
        change: impl FnOnce(&mut ProtectedKnobs),
    ) -> Self {
        let mut knobs = ProtectedKnobs::default();
        change(&mut knobs);
        let gate = Arc::new(Gate {
            origin: site.origin().to_owned(),
            path: knobs.path.clone(),
            office: Mutex::new(Arc::clone(&authority.office)),
            knobs: Mutex::new(knobs),
            seen: Mutex::default(),
            nonce: Mutex::new(fresh("nonce")),
        });
        let behind = Arc::clone(&gate);
        site.add_route(Box::new(move |asked| behind.answer(&asked)));
        Self { site, gate }
    }

    /// Behaves otherwise from now on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut ProtectedKnobs)) {
        change(&mut lock(&self.gate.knobs));
    }

    /// Trusts another authority from now on.
    pub(crate) fn move_to(&self, authority: &Authority) {
        *lock(&self.gate.office) = Arc::clone(&authority.office);
    }

    /// Wants another nonce from now on.
    pub(crate) fn renew_nonce(&self) {
        *lock(&self.gate.nonce) = fresh("nonce");
    }

    pub(crate) fn url(&self) -> String {
        self.gate.resource()
    }

    /// How often it was asked something.
    pub(crate) fn count(&self) -> usize {
        self.site.count(&self.gate.path)
    }

    /// What it was asked.
    pub(crate) fn asked(&self) -> Vec<Arc<Asked>> {
        self.site.asked(&self.gate.path)
    }
}

#[derive(Debug)]
struct Gate {
    origin: String,
    path: String,
    office: Mutex<Arc<Office>>,
    knobs: Mutex<ProtectedKnobs>,
    seen: Mutex<HashSet<String>>,
    nonce: Mutex<String>,
}

impl Gate {
    fn resource(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    fn answer(&self, asked: &Asked) -> Option<Reply> {
        let knobs = lock(&self.knobs).clone();
        let places = knobs.metadata_at.iter().map(|place| self.place(place));
        if places.into_iter().any(|place| place == asked.path) {
            return Some(Reply::json(200, &self.metadata(&knobs)));
        }
        if asked.path != self.path {
            return None;
        }
        // OAuth 2.1, section 5.1: never in the query.
        if asked.query.find("access_token").is_some() {
            return Some(Reply::new(400).body("text/plain", "a token in the query"));
        }
        Some(match self.check(&knobs, asked) {
            Ok(grant) => answer_call(asked, &grant.subject),
            Err(reply) => *reply,
        })
    }

    fn place(&self, place: &ResourceAt) -> String {
        match place {
            ResourceAt::Path => format!("{WELL_KNOWN}{}", self.path),
            ResourceAt::Root => WELL_KNOWN.to_owned(),
            ResourceAt::Other(path) => path.clone(),
        }
    }

    fn metadata(&self, knobs: &ProtectedKnobs) -> Value {
        knobs.metadata.apply(json!({
            "resource": self.resource(),
            "authorization_servers": [lock(&self.office).issuer],
            "scopes_supported": knobs.scopes,
            "bearer_methods_supported": ["header"],
            "dpop_bound_access_tokens_required": knobs.proofs == Proofs::Needed,
        }))
    }

    /// May this request be answered?
    fn check(&self, knobs: &ProtectedKnobs, asked: &Asked) -> Result<Grant, Box<Reply>> {
        let challenge = |error: &str| Box::new(self.challenge(knobs, 401, error, None));
        let Some(shown) = asked.header("authorization") else {
            return Err(challenge(""));
        };
        let (scheme, token) = shown.split_once(' ').unwrap_or((shown, ""));
        let grant = self
            .grant(knobs, token)
            .ok_or_else(|| challenge("invalid_token"))?;
        match &grant.key {
            // A token that is bound does not count without its key.
            Some(key) if scheme.eq_ignore_ascii_case("dpop") => {
                self.check_proof(knobs, asked, token, key)?;
            }
            None if scheme.eq_ignore_ascii_case("bearer") && knobs.proofs != Proofs::Needed => {}
            _ => return Err(challenge("invalid_token")),
        }
        let call = asked.json().unwrap_or_default();
        let method = call["method"].as_str().unwrap_or_default();
        let mut needed = knobs.needs.get(method).cloned().unwrap_or_default();
        if knobs.is_insatiable {
            needed.push("more");
        }
        let has = |scope: &&str| grant.scopes.iter().any(|given| given == scope);
        match needed.iter().all(has) {
            true => Ok(grant),
            false => {
                let scope = needed.join(" ");
                let error = "insufficient_scope";
                Err(Box::new(self.challenge(knobs, 403, error, Some(&scope))))
            }
        }
    }

    /// What a token grants here and now.
    fn grant(&self, knobs: &ProtectedKnobs, token: &str) -> Option<Grant> {
        let office = lock(&self.office).clone();
        let access = office.files().access.get(token).cloned()?;
        let is_ours = access.grant.resource == Some(self.resource());
        let counts = access.end > now() && (is_ours || !knobs.checks_resource);
        counts.then_some(access.grant)
    }

    fn check_proof(
        &self,
        knobs: &ProtectedKnobs,
        asked: &Asked,
        token: &str,
        key: &str,
    ) -> Result<(), Box<Reply>> {
        let nonce = lock(&self.nonce).clone();
        let expected = Expected {
            method: &asked.method,
            url: &self.resource(),
            access: Some(token),
            nonce: knobs.demands_nonce.then_some(nonce.as_str()),
        };
        let proof = asked.header("dpop").unwrap_or_default();
        let outcome = check_proof(proof, &expected, &mut lock(&self.seen));
        let error = match outcome {
            Ok(found) if found == key => return Ok(()),
            Ok(_) => "invalid_token",
            Err(Doubt::Proof(_)) => "invalid_dpop_proof",
            Err(Doubt::Nonce) => "use_dpop_nonce",
        };
        let mut reply = self.challenge(knobs, 401, error, None);
        if error == "use_dpop_nonce" {
            reply = reply.header("dpop-nonce", &nonce);
        }
        Err(Box::new(reply))
    }

    fn challenge(
        &self,
        knobs: &ProtectedKnobs,
        status: u16,
        error: &str,
        scope: Option<&str>,
    ) -> Reply {
        let mut reply = Reply::new(status).body("text/plain", "who are you?");
        for other in &knobs.other_challenges {
            reply = reply.header("www-authenticate", other);
        }
        if !knobs.challenges {
            return reply;
        }
        let mut parts = Vec::new();
        if !error.is_empty() {
            parts.push(format!("error=\"{error}\""));
        }
        if let Some(scope) = scope.or(knobs.challenge_scope) {
            parts.push(format!("scope=\"{scope}\""));
        }
        let first = knobs.metadata_at.first();
        match (&knobs.header_url, first) {
            (HeaderUrl::Other(url), _) => parts.push(format!("resource_metadata=\"{url}\"")),
            (HeaderUrl::Right, Some(place)) => {
                let url = format!("{}{}", self.origin, self.place(place));
                parts.push(format!("resource_metadata=\"{url}\""));
            }
            (HeaderUrl::Right, None) | (HeaderUrl::Absent, _) => {}
        }
        let wants_proof = knobs.proofs == Proofs::Needed || error.contains("dpop");
        let scheme = if wants_proof { "DPoP" } else { "Bearer" };
        if wants_proof {
            parts.push("algs=\"ES256\"".to_owned());
        }
        let challenge = format!("{scheme} {}", parts.join(", "));
        reply.header("www-authenticate", challenge.trim_end())
    }
}

/// Says who asks.
fn answer_call(asked: &Asked, subject: &str) -> Reply {
    if asked.method != "POST" {
        return Reply::new(200).body("text/event-stream", ": nothing\n\n");
    }
    let call = asked.json().unwrap_or_default();
    match &call["id"] {
        Value::Null => Reply::new(202),
        id => {
            let result = match call["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": call["params"]["protocolVersion"],
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "protected", "version": "1" },
                }),
                Some("tools/call") => json!({ "content": [{ "type": "text", "text": subject }] }),
                _ => json!({ "subject": subject }),
            };
            Reply::json(
                200,
                &json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            )
        }
    }
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
