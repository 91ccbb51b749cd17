//! What is asked of every caller, and how a refusal is put.
//!
//! Shared by the ways to check a token; knows no token itself.
//!
//! Specification: 2026-07-28, basic/authorization, error handling; RFC 6750 section 2.1.

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::request::Parts;

use switchboard_transport::http::{Challenge, ChallengeError, Denied, Principal};

use super::metadata::ProtectedResource;

/// The scopes that a caller needs, and where it learns how to get them.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    required: Vec<String>,
    /// Broad and narrow.
    included: Vec<(String, String)>,
    resource_metadata: Option<String>,
    metadata: Option<Bytes>,
}

impl Terms {
    pub(super) fn require<S: Into<String>>(&mut self, scopes: impl IntoIterator<Item = S>) {
        self.required.extend(scopes.into_iter().map(Into::into));
    }

    pub(super) fn include(&mut self, broad: String, narrow: String) {
        self.included.push((broad, narrow));
    }

    pub(super) fn describe(&mut self, resource: &ProtectedResource) {
        self.resource_metadata = Some(resource.location());
        self.metadata = Some(resource.to_json());
    }

    pub(super) fn metadata(&self) -> Option<Bytes> {
        self.metadata.clone()
    }

    /// The token of a request.
    pub(super) fn token<'a>(&self, head: &'a Parts) -> Result<&'a str, Denied> {
        let mut values = head.headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else {
            return Err(Denied::Unauthorized(self.challenge(None)));
        };
        if values.next().is_some() {
            return Err(self.malformed("more than one Authorization header"));
        }
        let Ok(value) = value.to_str() else {
            return Err(self.malformed("the Authorization header is not ASCII"));
        };
        let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
        if !scheme.eq_ignore_ascii_case("Bearer") {
            // Another scheme is as good as no token: the challenge names the right one.
            return Err(Denied::Unauthorized(self.challenge(None)));
        }
        let token = token.trim_matches(' ');
        if !is_token(token) {
            return Err(self.malformed("the Authorization header holds no bearer token"));
        }
        Ok(token)
    }

    /// Lets a caller in whose token holds every required scope.
    pub(super) fn admit(&self, mut principal: Principal) -> Result<Principal, Denied> {
        self.expand(&mut principal.scopes);
        if self.required.iter().all(|scope| principal.has_scope(scope)) {
            return Ok(principal);
        }
        let mut challenge = self.challenge(Some(ChallengeError::InsufficientScope));
        challenge.description = Some("the token lacks a scope that is needed here".to_owned());
        Err(Denied::Forbidden(challenge))
    }

    /// A token that is not valid here.
    pub(super) fn invalid(&self, why: impl ToString) -> Denied {
        let mut challenge = self.challenge(Some(ChallengeError::InvalidToken));
        challenge.description = Some(why.to_string());
        Denied::Unauthorized(challenge)
    }

    fn malformed(&self, why: &str) -> Denied {
        let mut challenge = self.challenge(Some(ChallengeError::InvalidRequest));
        challenge.description = Some(why.to_owned());
        Denied::Malformed(challenge)
    }

    fn challenge(&self, error: Option<ChallengeError>) -> Challenge {
        let mut challenge = Challenge::default();
        challenge
            .resource_metadata
            .clone_from(&self.resource_metadata);
        challenge.scopes.clone_from(&self.required);
        challenge.error = error;
        challenge
    }

    /// Adds what the scopes include, and what that includes.
    fn expand(&self, scopes: &mut Vec<String>) {
        let mut next = 0;
        while let Some(scope) = scopes.get(next) {
            let narrower: Vec<String> = self
                .included
                .iter()
                .filter(|(broad, narrow)| broad == scope && !scopes.contains(narrow))
                .map(|(_, narrow)| narrow.clone())
                .collect();
            scopes.extend(narrower);
            next += 1;
        }
    }
}

/// Whether the text is a `b64token` of RFC 6750.
pub(super) fn is_token(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !body.is_empty()
        && body
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn terms() -> Terms {
        let mut terms = Terms::default();
        terms.require(["read", "write"]);
        terms.include("admin".to_owned(), "write".to_owned());
        terms.include("write".to_owned(), "read".to_owned());
        terms.include("read".to_owned(), "admin".to_owned());
        terms
    }

    fn head(values: &[&str]) -> Parts {
        let mut request = Request::get("/mcp?access_token=abc");
        for value in values {
            request = request.header(AUTHORIZATION, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_token_comes_from_the_header() {
        for value in [
            "Bearer a.b-c_d~e+f/0==",
            "bearer  a.b-c_d~e+f/0==",
            "BEARER a.b-c_d~e+f/0== ",
        ] {
            assert_eq!(terms().token(&head(&[value])).unwrap(), "a.b-c_d~e+f/0==");
        }
    }

    #[test]
    fn no_token_or_another_scheme_is_asked_for_one_without_an_error() {
        for values in [&[][..], &["Basic YTpi"], &["Bearerx"], &[""]] {
            let denied = terms().token(&head(values)).unwrap_err();
            assert_eq!(denied.status(), 401);
            let header = denied.challenge().unwrap().to_header();
            assert_eq!(header, "Bearer scope=\"read write\"");
        }
    }

    #[test]
    fn credentials_that_cannot_be_read_are_a_bad_request() {
        for values in [
            &["Bearer"][..],
            &["Bearer "],
            &["Bearer a b"],
            &["Bearer a,Bearer b"],
            &["Bearer =="],
            &["Bearer a=b"],
            &["Bearer \"a\""],
            &["Bearer a", "Bearer a"],
            &["Bearer ü"],
        ] {
            let denied = terms().token(&head(values)).unwrap_err();
            assert_eq!(denied.status(), 400, "{values:?}");
            let error = denied.challenge().unwrap().error;
            assert_eq!(error, Some(ChallengeError::InvalidRequest));
        }
    }

    #[test]
    fn a_broader_scope_includes_narrower_ones() {
        for scopes in [&["read", "write"][..], &["write"], &["admin"], &["read"]] {
            let admitted = terms().admit(Principal::new("a").with_scopes(scopes.to_vec()));
            assert!(admitted.unwrap().has_scope("read"));
        }
    }

    #[test]
    fn too_few_scopes_are_answered_with_all_that_are_needed() {
        for scopes in [&[][..], &["Write"], &["writer"]] {
            let denied = terms()
                .admit(Principal::new("a").with_scopes(scopes.to_vec()))
                .unwrap_err();
            assert_eq!(denied.status(), 403);
            assert_eq!(
                denied.challenge().unwrap().to_header(),
                "Bearer error=\"insufficient_scope\", \
                 error_description=\"the token lacks a scope that is needed here\", \
                 scope=\"read write\""
            );
        }
    }
}
