//! Clients, and how they prove who they are.
//!
//! Specification: RFC 6749, section 2.3; RFC 7523, section 3; OAuth Client ID Metadata Document.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::jose::{Jwt, Key, now};
use super::knobs::Knobs;
use super::message::Asked;
use super::{Office, Outcome, Refused};

/// A client that an authority knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    /// When the secret ends; 0 for never.
    pub(crate) secret_end: u64,
    /// As it stands in metadata.
    pub(crate) method: String,
    /// The public key, of one that signs.
    pub(crate) point: Option<Vec<u8>>,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) grants: Vec<String>,
}

impl Client {
    /// One without a secret.
    pub(crate) fn public(id: &str, redirect_uri: &str) -> Self {
        Self {
            id: id.to_owned(),
            method: "none".to_owned(),
            redirect_uris: vec![redirect_uri.to_owned()],
            grants: super::GRANTS.map(str::to_owned).to_vec(),
            ..Self::default()
        }
    }

    /// One with a secret, which it shows by this method.
    pub(crate) fn with_secret(id: &str, redirect_uri: &str, method: &str, secret: &str) -> Self {
        Self {
            secret: Some(secret.to_owned()),
            method: method.to_owned(),
            ..Self::public(id, redirect_uri)
        }
    }

    /// One that signs.
    pub(crate) fn with_key(id: &str, redirect_uri: &str, key: &Key) -> Self {
        Self {
            point: Some(key.point()),
            method: "private_key_jwt".to_owned(),
            ..Self::public(id, redirect_uri)
        }
    }

    /// RFC 8252, section 7.3: the port of an address of this machine is whatever was free.
    pub(super) fn may_return_to(&self, redirect_uri: &str) -> bool {
        let wanted = without_loopback_port(redirect_uri);
        let mut known = self.redirect_uris.iter();
        known.any(|known| without_loopback_port(known) == wanted)
    }

    /// What a document says. Nothing in it is a secret.
    fn from_document(id: &str, document: &Value) -> Result<Self, &'static str> {
        let texts = |name: &str| -> Vec<String> {
            let texts = document[name].as_array().into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        if document["client_id"] != id {
            return Err("the document is that of another client");
        }
        if !document["client_name"].is_string() || texts("redirect_uris").is_empty() {
            return Err("the document lacks client_name or redirect_uris");
        }
        let grants = match texts("grant_types") {
            grants if grants.is_empty() => vec!["authorization_code".to_owned()],
            grants => grants,
        };
        let jwk = &document["jwks"]["keys"][0];
        Ok(Self {
            id: id.to_owned(),
            method: document["token_endpoint_auth_method"]
                .as_str()
                .unwrap_or("none")
                .to_owned(),
            point: super::jose::point_of(jwk).ok(),
            redirect_uris: texts("redirect_uris"),
            grants,
            secret: None,
            secret_end: 0,
        })
    }
}

impl Office {
    /// The client of an id.
    pub(super) fn find_client(&self, knobs: &Knobs, id: &str) -> Outcome<Client> {
        let unknown = |why: &str| Refused::new("invalid_client", why);
        if let Some(client) = self.files().clients.get(id) {
            return Ok(client.clone());
        }
        if !knobs.takes_documents || !id.starts_with("https://") {
            return Err(unknown("there is no such client"));
        }
        let document = knobs.documents.get(id);
        let document = document.ok_or_else(|| unknown("there is no such document"))?;
        Client::from_document(id, document).map_err(unknown)
    }

    /// The client that asks, once it has proved who it is, by the one method that it has.
    pub(super) fn check_client(&self, knobs: &Knobs, asked: &Asked) -> Outcome<Client> {
        let shown = Shown::of(asked)?;
        let method = shown.method();
        let challenge = |refused: Refused| match &shown {
            Shown::Basic { .. } => refused.header("www-authenticate", "Basic realm=\"clients\""),
            _ => refused,
        };
        let refuse = |why: &str| challenge(Refused::new("invalid_client", why));
        let client = self.find_client(knobs, shown.id()).map_err(challenge)?;
        if client.method != method || !knobs.methods.contains(&method) {
            return Err(refuse("the client does not prove itself in this way"));
        }
        match &shown {
            Shown::Nothing { .. } => {}
            Shown::Basic { secret, .. } | Shown::Post { secret, .. } => {
                if client.secret.as_deref() != Some(secret) {
                    return Err(refuse("this is not the secret"));
                }
                if client.secret_end != 0 && client.secret_end <= now() {
                    return Err(refuse("the secret has ended"));
                }
            }
            Shown::Assertion { jwt, .. } => {
                self.check_assertion_of(&client, jwt)
                    .map_err(|why| refuse(&why))?;
            }
        }
        Ok(client)
    }

    fn check_assertion_of(&self, client: &Client, jwt: &Jwt) -> Result<(), String> {
        let point = client.point.as_deref().ok_or("the client has no key")?;
        jwt.check_signature(point)?;
        // The client is the one that `sub` names.
        if jwt.claim("iss")? != client.id {
            return Err("iss and sub are not one client".to_owned());
        }
        if jwt.claim("aud")? != self.issuer {
            return Err("aud is not this issuer".to_owned());
        }
        jwt.check_times(now())?;
        self.files().check_unseen(jwt.claim("jti")?)
    }
}

/// What a client shows of itself.
enum Shown {
    Nothing { id: String },
    Basic { id: String, secret: String },
    Post { id: String, secret: String },
    Assertion { id: String, jwt: Jwt },
}

impl Shown {
    fn of(asked: &Asked) -> Outcome<Self> {
        let bad = |why: &str| Refused::new("invalid_request", why);
        let form = &asked.form;
        let id = form.find("client_id").map(str::to_owned);
        let secret = form.find("client_secret").map(str::to_owned);
        let assertion = form.find("client_assertion");
        let basic = asked.header("authorization");
        let ways = [basic.is_some(), secret.is_some(), assertion.is_some()];
        if ways.iter().filter(|way| **way).count() > 1 {
            return Err(bad("a client proves itself in one way only"));
        }
        if let Some(basic) = basic {
            let (basic_id, secret) = parse_basic(basic)
                .ok_or_else(|| Refused::new("invalid_client", "this is not Basic"))?;
            if id.is_some_and(|id| id != basic_id) {
                return Err(bad("there are two client ids"));
            }
            let id = basic_id;
            return Ok(Self::Basic { id, secret });
        }
        if let Some(assertion) = assertion {
            let kind = form.find("client_assertion_type");
            if kind != Some("urn:ietf:params:oauth:client-assertion-type:jwt-bearer") {
                return Err(bad("client_assertion_type is not that of a token"));
            }
            let jwt = Jwt::parse(assertion).map_err(|why| Refused::new("invalid_client", why))?;
            let subject = jwt.claim("sub").unwrap_or_default().to_owned();
            if id.is_some_and(|id| id != subject) {
                return Err(bad("there are two client ids"));
            }
            return Ok(Self::Assertion { id: subject, jwt });
        }
        let id = id.ok_or_else(|| Refused::new("invalid_client", "nobody asks"))?;
        Ok(match secret {
            Some(secret) => Self::Post { id, secret },
            None => Self::Nothing { id },
        })
    }

    fn id(&self) -> &str {
        match self {
            Self::Nothing { id }
            | Self::Basic { id, .. }
            | Self::Post { id, .. }
            | Self::Assertion { id, .. } => id,
        }
    }

    fn method(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => "none",
            Self::Basic { .. } => "client_secret_basic",
            Self::Post { .. } => "client_secret_post",
            Self::Assertion { .. } => "private_key_jwt",
        }
    }
}

/// RFC 6749, section 2.3.1: both halves are form-encoded before they are joined.
fn parse_basic(header: &str) -> Option<(String, String)> {
    let text = STANDARD.decode(header.strip_prefix("Basic ")?).ok()?;
    let text = String::from_utf8(text).ok()?;
    let (id, secret) = text.split_once(':')?;
    let decode = |half: &str| {
        let mut fields = form_urlencoded::parse(half.as_bytes());
        fields.next().map(|(name, _)| name.into_owned())
    };
    Some((decode(id)?, decode(secret)?))
}

/// A redirect URI; of one to an address of this machine, without the port.
fn without_loopback_port(redirect_uri: &str) -> String {
    for host in ["http://127.0.0.1", "http://[::1]"] {
        if let Some(rest) = redirect_uri.strip_prefix(host)
            && let Some(port) = rest.strip_prefix(':')
        {
            let path = port.trim_start_matches(|digit: char| digit.is_ascii_digit());
            return format!("{host}{path}");
        }
    }
    redirect_uri.to_owned()
}
