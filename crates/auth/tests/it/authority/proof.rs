//! Proofs that whoever asks holds a key.
//!
//! Specification: RFC 9449, sections 4.3, 8 and 9.

use std::collections::HashSet;

use super::jose::{Jwt, hash, now, point_of, thumbprint};
use super::knobs::{Knobs, Proofs};
use super::message::Asked;
use super::{Office, Outcome, Refused};

/// What a proof must fit.
pub(super) struct Expected<'a> {
    pub(super) method: &'a str,
    /// Without query and fragment.
    pub(super) url: &'a str,
    /// The access token that it goes with.
    pub(super) access: Option<&'a str>,
    pub(super) nonce: Option<&'a str>,
}

/// Why a proof does not count.
pub(super) enum Doubt {
    /// It lacks the nonce that is wanted.
    Nonce,
    Proof(String),
}

impl From<String> for Doubt {
    fn from(why: String) -> Self {
        Self::Proof(why)
    }
}

impl From<&str> for Doubt {
    fn from(why: &str) -> Self {
        Self::Proof(why.to_owned())
    }
}

/// The thumbprint of the key that a proof is signed with, if it counts here and now.
pub(super) fn check_proof(
    proof: &str,
    expected: &Expected<'_>,
    seen: &mut HashSet<String>,
) -> Result<String, Doubt> {
    let jwt = Jwt::parse(proof)?;
    if jwt.header["typ"] != "dpop+jwt" {
        return Err("typ is not dpop+jwt".into());
    }
    let jwk = &jwt.header["jwk"];
    jwt.check_signature(&point_of(jwk)?)?;
    if jwt.claim("htm")? != expected.method {
        return Err("htm is another method".into());
    }
    if jwt.claim("htu")? != expected.url {
        return Err("htu is another place".into());
    }
    let issued = jwt.claims["iat"].as_u64().ok_or("there is no iat")?;
    if issued.abs_diff(now()) > FRESH {
        return Err("iat is not now".into());
    }
    if let Some(access) = expected.access
        && jwt.claim("ath")? != hash(access)
    {
        return Err("ath is another token".into());
    }
    if expected.nonce.is_some() && jwt.claims["nonce"].as_str() != expected.nonce {
        return Err(Doubt::Nonce);
    }
    match seen.insert(jwt.claim("jti")?.to_owned()) {
        true => Ok(thumbprint(jwk)),
        false => Err("it was shown before".into()),
    }
}

impl Office {
    /// The key that tokens are to be bound to.
    pub(super) fn check_token_proof(
        &self,
        knobs: &Knobs,
        asked: &Asked,
    ) -> Outcome<Option<String>> {
        let bad = |why: &str| Refused::new("invalid_dpop_proof", why);
        let proof = match asked.header("dpop") {
            _ if knobs.proofs == Proofs::Unknown => return Ok(None),
            None if asked.headers.contains_key("dpop") => return Err(bad("there are two proofs")),
            None if knobs.proofs == Proofs::Needed => return Err(bad("there is no proof")),
            None => return Ok(None),
            Some(proof) => proof,
        };
        let mut files = self.files();
        let nonce = files.nonce.clone();
        let expected = Expected {
            method: &asked.method,
            url: &format!("{}/token", self.issuer),
            access: None,
            nonce: knobs.demands_nonce.then_some(nonce.as_str()),
        };
        match check_proof(proof, &expected, &mut files.seen) {
            Ok(key) => Ok(Some(key)),
            Err(Doubt::Proof(why)) => Err(bad(&why)),
            Err(Doubt::Nonce) => {
                let refused = Refused::new("use_dpop_nonce", "a proof needs this nonce");
                Err(refused.header("dpop-nonce", nonce))
            }
        }
    }
}

const FRESH: u64 = 300;
