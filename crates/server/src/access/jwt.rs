//! Access tokens that are signed JSON Web Tokens.
//!
//! Checked in this order: form, header, signature, then claims; nothing that is not
//! signed decides anything but which key to try. What is refused is told to the
//! caller in one sentence, without a piece of the token.
//!
//! Specification: 2026-07-28, basic/authorization, access token usage; RFC 9068
//! section 4, RFC 7519, RFC 7515, RFC 8725.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::request::Parts;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use switchboard_transport::http::{Access, Denied, Identifying, Principal};

use super::jwks::{Algorithm, Verdict};
use super::key_source::TokenKeys;
use super::metadata::ProtectedResource;
use super::terms::Terms;

/// Checks access tokens of one authorization server, issued for this server.
///
/// A token must be signed with RS256/384/512, PS256/384/512, ES256/384 or EdDSA by a
/// key of the issuer that is for this algorithm, name the issuer, this server as its
/// audience and a subject, and be within its time. Scopes are read from `scope` or
/// `scp`. Each token is checked anew with each request; revocation before a token
/// expires is not seen, so that tokens should live for minutes.
#[derive(Debug)]
pub struct Jwt {
    keys: TokenKeys,
    issuer: String,
    audiences: Vec<String>,
    leeway: Duration,
    terms: Terms,
}

impl Jwt {
    /// Takes tokens of the resource's first authorization server, whose audience is the
    /// resource itself.
    pub fn new(resource: &ProtectedResource, keys: impl Into<TokenKeys>) -> Self {
        let mut terms = Terms::default();
        terms.describe(resource);
        Self {
            keys: keys.into(),
            issuer: resource.issuer().to_owned(),
            audiences: vec![resource.identifier().to_owned()],
            leeway: MAX_LEEWAY,
            terms,
        }
    }

    /// Wants this issuer in tokens, where it is not spelled as in the metadata.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = issuer.into();
        self
    }

    /// Wants this audience in tokens instead of the address of the resource, for
    /// authorization servers that do not know resource indicators. It must stand for
    /// this server alone.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences = vec![audience.into()];
        self
    }

    /// Takes one more audience, such as a former address of this server.
    #[must_use]
    pub fn or_audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// How far clocks may differ: a minute, or less.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway.min(MAX_LEEWAY);
        self
    }

    /// Refuses tokens without every one of these scopes.
    #[must_use]
    pub fn require_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.terms.require(scopes);
        self
    }

    /// Whoever has the `broad` scope has the `narrow` one too.
    #[must_use]
    pub fn scope_includes(mut self, broad: impl Into<String>, narrow: impl Into<String>) -> Self {
        self.terms.include(broad.into(), narrow.into());
        self
    }

    pub(super) async fn check(&self, head: &Parts, now: SystemTime) -> Result<Principal, Denied> {
        let token = self.terms.token(head)?;
        let token = Token::read(token).map_err(|fault| self.terms.invalid(fault))?;
        let Some(keys) = self.keys.current().await else {
            return Err(Denied::Unavailable);
        };
        let mut verdict = token.verify(&keys);
        if verdict == Verdict::UnknownKey
            && let Some(newer) = self.keys.newer(&keys).await
        {
            verdict = token.verify(&newer);
        }
        let principal = match verdict {
            Verdict::Verified => self.admit(&token, now),
            Verdict::WrongSignature => Err(Fault::Signature),
            Verdict::UnknownKey => Err(Fault::UnknownKey),
        };
        let principal = principal.map_err(|fault| self.terms.invalid(fault))?;
        self.terms.admit(principal)
    }

    /// Who is meant by a token whose signature is good.
    fn admit(&self, token: &Token<'_>, now: SystemTime) -> Result<Principal, Fault> {
        let claims: Claims = read_object(&token.claims)?;
        if claims.iss.as_ref() != Some(&self.issuer) {
            return Err(Fault::Issuer);
        }
        let audience = claims.aud.map(Texts::into_vec).unwrap_or_default();
        if !audience
            .iter()
            .any(|audience| self.audiences.contains(audience))
        {
            return Err(Fault::Audience);
        }
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (now, leeway) = (now.as_secs_f64(), self.leeway.as_secs_f64());
        let expiry = claims.exp.ok_or(Fault::NoExpiry)?;
        if now >= expiry + leeway {
            return Err(Fault::Expired);
        }
        if claims
            .nbf
            .is_some_and(|not_before| now + leeway < not_before)
        {
            return Err(Fault::NotYetValid);
        }
        let subject = claims.sub.filter(|subject| !subject.is_empty());
        let mut principal = Principal::new(subject.ok_or(Fault::NoSubject)?);
        principal.scopes = scopes(claims.scope.or(claims.scp));
        principal.issuer = claims.iss;
        principal.client_id = claims.client_id.or(claims.azp);
        principal.claims = Some(token.claims.clone());
        Ok(principal)
    }
}

impl Access for Jwt {
    fn identify<'a>(&'a self, head: &'a Parts) -> Identifying<'a> {
        Box::pin(self.check(head, SystemTime::now()))
    }

    fn metadata(&self) -> Option<Bytes> {
        self.terms.metadata()
    }
}

/// A token in its parts, none of which is trusted yet.
struct Token<'a> {
    key_id: Option<String>,
    algorithm: Algorithm,
    claims: Bytes,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    fn read(text: &'a str) -> Result<Self, Fault> {
        if text.len() > MAX_TOKEN {
            return Err(Fault::TooLong);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Fault::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Fault::Malformed)?;
        let header: Header = read_object(&part(header)?)?;
        // An algorithm that is not there is not accepted either, so that there is no
        // way to an unsigned token.
        let algorithm = Algorithm::from_name(&header.alg).ok_or(Fault::Algorithm)?;
        if header.crit.is_some {
            return Err(Fault::Critical);
        }
        if let Some(kind) = &header.typ
            && !TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known))
        {
            return Err(Fault::Type);
        }
        Ok(Self {
            key_id: header.kid,
            algorithm,
            // Dots are not in the alphabet: a token of more than three parts ends here.
            claims: part(claims)?.into(),
            signed,
            signature: part(signature)?,
        })
    }

    fn verify(&self, keys: &super::jwks::JwkSet) -> Verdict {
        let id = self.key_id.as_deref();
        keys.verify(id, self.algorithm, self.signed.as_bytes(), &self.signature)
    }
}

// Known members must not come twice, which serde sees to; unknown ones are not read.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    #[serde(default)]
    crit: Presence,
}

#[derive(Deserialize)]
struct Claims {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<Texts>,
    exp: Option<f64>,
    nbf: Option<f64>,
    scope: Option<Texts>,
    scp: Option<Texts>,
    client_id: Option<String>,
    azp: Option<String>,
}

/// One text or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// Whether a member is there, with whatever value.
#[derive(Default)]
struct Presence {
    is_some: bool,
}

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self { is_some: true })
    }
}

/// Why a token is not valid, in words for whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Malformed,
    TooLong,
    Algorithm,
    Critical,
    Type,
    UnknownKey,
    Signature,
    Issuer,
    Audience,
    NoExpiry,
    Expired,
    NotYetValid,
    NoSubject,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the token cannot be read",
            Self::TooLong => "the token is too long",
            Self::Algorithm => "the token is not signed with an accepted algorithm",
            Self::Critical => "the token needs an extension that is not supported",
            Self::Type => "the token is not an access token",
            Self::UnknownKey => "the token is signed with an unknown key",
            Self::Signature => "the signature of the token is wrong",
            Self::Issuer => "the token is of another issuer",
            Self::Audience => "the token is not for this server",
            Self::NoExpiry => "the token does not say when it expires",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is not valid yet",
            Self::NoSubject => "the token names no subject",
        })
    }
}

/// The bytes of a part; padding and stray bits are refused.
fn part(text: &str) -> Result<Vec<u8>, Fault> {
    if text.is_empty() {
        return Err(Fault::Malformed);
    }
    URL_SAFE_NO_PAD.decode(text).map_err(|_| Fault::Malformed)
}

/// Reads an object; a list, which serde would take for one, is none.
fn read_object<T: DeserializeOwned>(text: &[u8]) -> Result<T, Fault> {
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(Fault::Malformed);
    }
    serde_json::from_slice(text).map_err(|_| Fault::Malformed)
}

fn scopes(written: Option<Texts>) -> Vec<String> {
    let texts = written.map(Texts::into_vec).unwrap_or_default();
    texts
        .iter()
        .flat_map(|text| text.split(' '))
        .filter(|scope| !scope.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What an access token calls itself, where it says anything. Many issuers keep to
/// `JWT`; tokens for other ends (logout, proofs, events) have types of their own.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "JWT"];

/// Longer ones hardly pass the header limits on the way.
const MAX_TOKEN: usize = 16 * 1024;

/// More only helps who replays expired tokens.
const MAX_LEEWAY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
