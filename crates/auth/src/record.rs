//! What is kept of a login: who gave it, to whom, for what, and until when.
//!
//! A record is everything that is needed to go on after a restart, the registered client's
//! secret included. It is bound to the issuer it came from: what one authorization server gave
//! is never shown to another.
//!
//! Specification: basic/authorization, "Authorization Server Binding"; RFC 7591 (clients).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::place::without_query;
use crate::scope::Scopes;
use crate::secret::Secret;

/// What a store keeps for one server.
#[derive(Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// The URL of the server, in its canonical form.
    pub server: String,
    /// One for each issuer, resource and client; the one in use is the first.
    pub records: Vec<Record>,
}

impl Entry {
    /// Nothing yet.
    pub fn new(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            records: Vec::new(),
        }
    }

    /// The record in use.
    pub fn current(&self) -> Option<&Record> {
        self.records.first()
    }

    /// Puts a record in front, in place of an older one with the same key.
    pub fn put(&mut self, record: Record) {
        self.records.retain(|kept| !kept.has_key_of(&record));
        self.records.insert(0, record);
        self.records.truncate(MOST_RECORDS);
    }

    /// Puts a record without tokens behind the one in use, in place of others of its issuer that
    /// have none either.
    pub fn add(&mut self, record: Record) {
        let is_spent = |kept: &Record| kept.issuer == record.issuer && kept.tokens.is_none();
        self.records.retain(|kept| !is_spent(kept));
        self.records.truncate(MOST_RECORDS - 1);
        self.records.push(record);
    }

    /// The record of an issuer that was in use last; else the first of those that were only added.
    pub fn of_issuer(&self, issuer: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.issuer == issuer)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("server", &without_query(&self.server))
            .field("records", &self.records)
            .finish()
    }
}

/// One login: its key is issuer, resource and client.
#[derive(Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Who gave it.
    pub issuer: String,
    /// What the tokens are for, as it stands in requests.
    pub resource: String,
    /// Who we are to the issuer.
    pub client: ClientIdentity,
    /// What was given, if anything is left of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// By which login it came: renewals keep this, and a new login has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Was the issuer not named by the server, but found where 2025-03-26 looked for it?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_old: bool,
    /// The private key that the tokens are bound to, as PKCS #8 in Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_key: Option<Secret>,
}

impl Record {
    /// Nothing was given yet.
    pub fn new(
        issuer: impl Into<String>,
        resource: impl Into<String>,
        client: ClientIdentity,
    ) -> Self {
        Self {
            issuer: issuer.into(),
            resource: resource.into(),
            client,
            tokens: None,
            login: None,
            is_old: false,
            proof_key: None,
        }
    }

    /// Is it the same login as another?
    pub fn has_key_of(&self, other: &Self) -> bool {
        self.issuer == other.issuer
            && self.resource == other.resource
            && self.client.id == other.client.id
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("issuer", &self.issuer)
            .field("resource", &without_query(&self.resource))
            .field("client", &self.client)
            .field("tokens", &self.tokens)
            .field("is_old", &self.is_old)
            .field("proof_key", &self.proof_key)
            .finish()
    }
}

/// Who we are to an authorization server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientIdentity {
    /// The client id.
    pub id: String,
    /// The secret, of a client that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// When the secret ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_expires_at: Option<u64>,
    /// How the issuer said that the client proves itself, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<ClientMethod>,
    /// Where the id came from.
    pub origin: ClientOrigin,
    /// Where a browser may come back to. None known: wherever we say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uris: Vec<String>,
    /// What it may ask for, as far as it was said. None known: whatever there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Scopes>,
}

impl ClientIdentity {
    /// A client without a secret.
    pub fn new(id: impl Into<String>, origin: ClientOrigin) -> Self {
        Self {
            id: id.into(),
            secret: None,
            secret_expires_at: None,
            method: None,
            origin,
            redirect_uris: Vec::new(),
            scopes: None,
        }
    }
}

/// Where a client id came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientOrigin {
    /// From the user, who had it from the issuer.
    Configured,
    /// It is the URL of a document that describes the client.
    Document,
    /// The issuer made it up when we registered.
    Registered,
}

/// How a client proves itself where tokens are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientMethod {
    /// It does not, it only says its id.
    None,
    /// Id and secret in the header `Authorization`.
    ClientSecretBasic,
    /// Id and secret in the form.
    ClientSecretPost,
    /// A token that it signs itself.
    PrivateKeyJwt,
}

impl ClientMethod {
    /// As it stands in metadata.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// None for a method that is not known here.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::None,
            Self::ClientSecretBasic,
            Self::ClientSecretPost,
            Self::PrivateKeyJwt,
        ]
        .into_iter()
        .find(|method| method.as_str() == text)
    }
}

/// What an issuer gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tokens {
    /// What a server is shown.
    pub access: Secret,
    /// How it is shown.
    pub kind: TokenKind,
    /// What a new one is got with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<Secret>,
    /// When they were given, in seconds since 1970.
    pub issued_at: u64,
    /// When the access token ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What was asked for.
    #[serde(default, skip_serializing_if = "Scopes::is_empty")]
    pub requested: Scopes,
    /// What was given, if the issuer said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Scopes>,
}

impl Tokens {
    /// An access token of which nothing else is known.
    pub fn new(access: impl Into<Secret>, issued_at: u64) -> Self {
        Self {
            access: access.into(),
            kind: TokenKind::Bearer,
            refresh: None,
            issued_at,
            expires_at: None,
            requested: Scopes::default(),
            granted: None,
        }
    }

    /// Has it ended?
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Is it time for a new one: after four fifths of its life, or a minute before its end if
    /// that comes first?
    pub fn is_due(&self, now: u64) -> bool {
        let Some(end) = self.expires_at else {
            return false;
        };
        let life = end.saturating_sub(self.issued_at);
        let most = self.issued_at.saturating_add(life - life / 5);
        // The minute is not taken of a token that lives no longer than a few.
        let minute_before = end
            .saturating_sub(60)
            .max(self.issued_at.saturating_add(life - life / 2));
        now >= most.min(minute_before)
    }
}

/// How an access token is shown to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TokenKind {
    /// As it is.
    Bearer,
    /// Together with a proof that we hold a key.
    Dpop,
}

// Of a server that moves from issuer to issuer, the oldest are forgotten.
const MOST_RECORDS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn record(issuer: &str, client: &str) -> Record {
        let client = ClientIdentity::new(client, ClientOrigin::Registered);
        Record::new(issuer, "https://example.com/mcp", client)
    }

    #[test]
    fn the_newest_record_is_in_use_and_replaces_its_elder() {
        let mut entry = Entry::new("https://example.com/mcp");
        entry.put(record("https://one", "a"));
        entry.put(record("https://two", "b"));
        assert_eq!(entry.current().unwrap().issuer, "https://two");
        entry.put(record("https://one", "a"));
        assert_eq!(entry.current().unwrap().issuer, "https://one");
        assert_eq!(entry.records.len(), 2);
        assert_eq!(entry.of_issuer("https://two").unwrap().client.id, "b");
    }

    #[test]
    fn the_oldest_records_go() {
        let issuer = |number: usize| format!("https://{number}");
        let mut entry = Entry::new("https://example.com/mcp");
        for number in 0..=MOST_RECORDS {
            entry.put(record(&issuer(number), "a"));
        }
        assert_eq!(entry.records.len(), MOST_RECORDS);
        assert!(entry.of_issuer(&issuer(0)).is_none());
        // One that is only added goes behind the others, in the place of the oldest.
        entry.add(record("https://added", "a"));
        assert_eq!(entry.records.len(), MOST_RECORDS);
        assert!(entry.of_issuer(&issuer(1)).is_none());
        assert_eq!(entry.current().unwrap().issuer, issuer(MOST_RECORDS));
    }

    #[test]
    fn a_token_is_due_before_it_ends() {
        let mut tokens = Tokens::new("t", 1000);
        assert!(!tokens.is_due(u64::MAX));
        tokens.expires_at = Some(1000 + 3600);
        assert!(!tokens.is_due(1000 + 2879));
        assert!(tokens.is_due(1000 + 2880));
        assert!(!tokens.is_expired(1000 + 3599));
        assert!(tokens.is_expired(1000 + 3600));
        // Four fifths of two minutes would be later than a minute before.
        tokens.expires_at = Some(1000 + 120);
        assert!(!tokens.is_due(1000 + 59));
        assert!(tokens.is_due(1000 + 60));
        tokens.expires_at = Some(1000 + 10);
        assert!(!tokens.is_due(1000 + 4));
        assert!(tokens.is_due(1000 + 5));
        // However short it is, it is good for something.
        for (life, due) in [(4, 2), (3, 2), (2, 1), (1, 1)] {
            tokens.expires_at = Some(1000 + life);
            assert!(!tokens.is_due(1000 + due - 1));
            assert!(tokens.is_due(1000 + due));
        }
    }

    /// Whoever uses a token asks at each of these times, and gets a new one where it is due.
    #[test]
    fn a_clock_that_jumps_costs_a_token_for_each_jump_at_most() {
        let day = 24 * 3600;
        let jumps = [1000, 1000 + day, 1000, 0, u64::MAX / 2, 5, 1000];
        let mut tokens = Tokens::new("t", 1000);
        tokens.expires_at = Some(1000 + 3600);
        let mut renewed = 0;
        for now in jumps {
            // However often it is asked meanwhile.
            for _ in 0..1000 {
                if tokens.is_due(now) {
                    renewed += 1;
                    tokens = Tokens::new("t", now);
                    tokens.expires_at = Some(now.saturating_add(3600));
                }
            }
        }
        assert!(renewed <= jumps.len(), "{renewed} times");
    }

    #[test]
    fn a_record_survives_being_written_and_does_not_print_its_secrets() {
        let mut record = record("https://one", "a");
        record.client.secret = Some(Secret::new("s3cret"));
        record.client.method = Some(ClientMethod::ClientSecretPost);
        let mut tokens = Tokens::new("acc3ss", 7);
        tokens.refresh = Some(Secret::new("r3fresh"));
        tokens.requested = Scopes::parse("a b");
        record.tokens = Some(tokens.clone());
        let text = serde_json::to_string(&record).unwrap();
        let read: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(read.tokens, Some(tokens));
        assert_eq!(read.client.method, Some(ClientMethod::ClientSecretPost));
        let shown = format!("{record:?}");
        for secret in ["s3cret", "acc3ss", "r3fresh"] {
            assert!(text.contains(secret) && !shown.contains(secret));
        }
    }

    #[test]
    fn methods_have_the_names_of_the_registry() {
        let text = serde_json::to_string(&ClientMethod::PrivateKeyJwt).unwrap();
        assert_eq!(text, format!("{:?}", ClientMethod::PrivateKeyJwt.as_str()));
        assert_eq!(ClientMethod::parse("none"), Some(ClientMethod::None));
        assert_eq!(ClientMethod::parse("tls_client_auth"), None);
    }
}
