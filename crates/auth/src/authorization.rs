//! A login that is under way: the page a browser is sent to, and what it may bring back.
//!
//! Everything that the answer is checked against is kept together, so that an answer to one
//! login is never taken for that of another. Showing the page is for an
//! [`Interaction`](crate::Interaction).
//!
//! Specification: basic/authorization, "Authorization Code Grant" and "Mix-Up Attacks"; RFC 6749,
//! sections 4.1.1 to 4.1.3; RFC 7636; RFC 8707, section 2.1; RFC 9207.

use std::fmt;

use form_urlencoded::Serializer;

use crate::answer::said;
use crate::error::{AuthError, Step};
use crate::form::Form;
use crate::issuer::Issuer;
use crate::pkce::{Pkce, random_text};
use crate::place::Place;
use crate::scope::Scopes;
use crate::secret::Secret;

/// What was sent with a browser, until it is back.
pub(crate) struct Pending {
    issuer: String,
    names_itself: bool,
    endpoint: String,
    state: Secret,
    verifier: Secret,
    redirect_uri: String,
    resource: Option<String>,
    scopes: Scopes,
}

impl Pending {
    /// Begins a login. The place is where the person is to be sent.
    ///
    /// # Errors
    /// When nobody can log in at this issuer, or the page has no proper URL.
    pub(crate) fn begin(
        issuer: &Issuer,
        client_id: &str,
        redirect_uri: &str,
        resource: Option<&str>,
        scopes: &Scopes,
    ) -> Result<(Self, Place), AuthError> {
        let endpoint = issuer.login_page()?;
        // A code is only ever sent to this machine, or over TLS.
        Place::parse(redirect_uri).map_err(AuthError::place("the redirect URI"))?;
        let pkce = Pkce::new()?;
        let state = Secret::new(random_text(STATE_BYTES)?);

        let mut query = Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("state", state.reveal())
            .append_pair("code_challenge", &pkce.challenge)
            .append_pair("code_challenge_method", "S256");
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.to_string());
        }
        if let Some(resource) = resource {
            query.append_pair("resource", resource);
        }
        // OpenID Connect Core, section 11: without it, offline_access is ignored.
        if scopes.has("offline_access") {
            query.append_pair("prompt", "consent");
        }
        let page = with_query(endpoint, &query.finish())?;
        let pending = Self {
            issuer: issuer.issuer.clone(),
            names_itself: issuer.names_itself,
            endpoint: endpoint.to_string(),
            state,
            verifier: pkce.verifier,
            redirect_uri: redirect_uri.to_owned(),
            resource: resource.map(str::to_owned),
            scopes: scopes.clone(),
        };
        Ok((pending, page))
    }

    /// Checks what came back, a URL or its query, and takes the code out of it.
    ///
    /// # Errors
    /// When it is not the answer to this login, or the answer is no.
    pub(crate) fn check(&self, came_back: &Secret) -> Result<Secret, AuthError> {
        let refused = |reason| Err(AuthError::Callback { reason });
        let Some(answer) = Returned::read(came_back) else {
            return refused("a parameter is in it twice");
        };
        // Nothing of it counts, or is shown, before it is known to be ours.
        match &answer.state {
            Some(state) if *state == self.state => {}
            Some(_) => return refused("its state is not that of this login"),
            None => return refused("it has no state; the whole URL is needed"),
        }
        match &answer.issuer {
            Some(issuer) if *issuer == self.issuer => {}
            Some(_) => return refused("it is from another issuer than the one that was asked"),
            None if self.names_itself => {
                return refused("it does not say who sent it, although this issuer always does");
            }
            None => {}
        }
        if let Some(code) = &answer.error {
            // What came with it is not shown, even if it is in the words.
            let mut hidden = Form::new().hide(&self.state);
            if let Some(code) = &answer.code {
                hidden = hidden.hide(code);
            }
            let description = answer.description.as_deref();
            let description = description.map(|text| hidden.cut_out_of(text));
            return Err(self.refusal(&hidden.cut_out_of(code), description.as_deref()));
        }
        match answer.code {
            Some(code) if !code.is_empty() => Ok(code),
            _ => refused("it has no code"),
        }
    }

    /// What the code is turned into a token with.
    pub(crate) fn form(&self, code: &Secret) -> Form {
        Form::of_grant("authorization_code")
            .add_secret("code", code)
            .add_secret("code_verifier", &self.verifier)
            .add("redirect_uri", &self.redirect_uri)
            .add_resource(self.resource.as_deref())
    }

    fn refusal(&self, code: &str, description: Option<&str>) -> AuthError {
        let (code, description) = said(code, description);
        if code == "access_denied" {
            return AuthError::LoginAborted {
                reason: "it was denied on the login page".to_owned(),
            };
        }
        AuthError::Refused {
            step: Step::Authorization,
            place: self.endpoint.clone(),
            code,
            description,
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("issuer", &self.issuer)
            .field("redirect_uri", &self.redirect_uri)
            .field("resource", &self.resource)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// What a browser brought back.
#[derive(Default)]
struct Returned {
    state: Option<Secret>,
    issuer: Option<String>,
    code: Option<Secret>,
    error: Option<String>,
    description: Option<String>,
}

impl Returned {
    /// None if a parameter that counts is there more than once.
    fn read(came_back: &Secret) -> Option<Self> {
        let text = came_back.reveal().trim();
        let query = text.split_once('?').map_or(text, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let mut found = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.into_owned();
            let is_new = match &*name {
                "state" => found.state.replace(Secret::new(value)).is_none(),
                "iss" => found.issuer.replace(value).is_none(),
                "code" => found.code.replace(Secret::new(value)).is_none(),
                "error" => found.error.replace(value).is_none(),
                "error_description" => found.description.replace(value).is_none(),
                _ => true,
            };
            if !is_new {
                return None;
            }
        }
        Some(found)
    }
}

/// RFC 6749, section 3.1: a query that is there already stays.
fn with_query(endpoint: &Place, query: &str) -> Result<Place, AuthError> {
    let endpoint = endpoint.as_str();
    let joint = match endpoint.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, own)) if own.ends_with('&') => "",
        Some(_) => "&",
    };
    let page = Place::parse(&format!("{endpoint}{joint}{query}"));
    page.map_err(AuthError::place("the login page"))
}

const STATE_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::test_server::issuer;

    const ISSUER: &str = "https://as.example";
    const REDIRECT: &str = "http://127.0.0.1:7777/callback";
    const RESOURCE: &str = "https://mcp.example/mcp";

    fn begin(names_itself: bool, scopes: &str) -> (Pending, HashMap<String, String>) {
        let mut issuer = issuer(ISSUER);
        issuer.names_itself = names_itself;
        let scopes = Scopes::parse(scopes);
        let begun = Pending::begin(&issuer, "client 1", REDIRECT, Some(RESOURCE), &scopes);
        let (pending, page) = begun.unwrap();
        let (start, query) = page.as_str().split_once('?').unwrap();
        assert_eq!(start, "https://as.example/authorize");
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        (pending, pairs.collect())
    }

    /// What becomes of an answer with the right state.
    fn check(names_itself: bool, rest: &str) -> Result<Secret, AuthError> {
        let (pending, sent) = begin(names_itself, "");
        let url = format!("{REDIRECT}?{rest}&state={}", sent["state"]);
        pending.check(&Secret::new(url))
    }

    fn refused(names_itself: bool, rest: &str) -> String {
        check(names_itself, rest).unwrap_err().to_string()
    }

    #[test]
    fn the_page_is_asked_for_a_code_for_this_server_only() {
        let (pending, sent) = begin(true, "a b");
        assert_eq!(sent["response_type"], "code");
        assert_eq!(sent["client_id"], "client 1");
        assert_eq!(sent["redirect_uri"], REDIRECT);
        assert_eq!(sent["resource"], RESOURCE);
        assert_eq!(sent["scope"], "a b");
        assert_eq!(sent["code_challenge_method"], "S256");
        let challenge = crate::pkce::hashed(pending.verifier.reveal());
        assert_eq!(sent["code_challenge"], challenge);
        assert_eq!(sent["state"].len(), 22);
        assert!(!sent.contains_key("prompt"));
        let (_, other) = begin(true, "");
        assert_ne!(other["state"], sent["state"]);
        assert!(!other.contains_key("scope"));
    }

    #[test]
    fn offline_access_is_asked_for_with_consent() {
        let (_, sent) = begin(true, "a offline_access");
        assert_eq!(sent["prompt"], "consent");
    }

    #[test]
    fn a_query_of_the_endpoint_stays() {
        for (endpoint, start) in [
            ("https://a.example/x", "https://a.example/x?response_type="),
            ("https://a.example/x?", "https://a.example/x?response_type="),
            (
                "https://a.example/x?t=1",
                "https://a.example/x?t=1&response_type=",
            ),
            (
                "https://a.example/x?t=1&",
                "https://a.example/x?t=1&response_type=",
            ),
        ] {
            let mut issuer = issuer(ISSUER);
            issuer.authorization_endpoint = Some(Place::parse(endpoint).unwrap());
            let begun = Pending::begin(&issuer, "c", REDIRECT, None, &Scopes::default());
            let (_, page) = begun.unwrap();
            assert!(page.as_str().starts_with(start), "{}", page.as_str());
            assert!(!page.as_str().contains("resource="));
        }
    }

    #[test]
    fn a_code_goes_nowhere_but_here_or_over_tls() {
        let begin = |uri| Pending::begin(&issuer(ISSUER), "c", uri, None, &Scopes::default());
        assert!(begin("https://app.example/back").is_ok());
        for uri in [
            "http://app.example/back",
            "com.example.app:/back",
            "javascript:alert(1)",
            "",
        ] {
            assert!(
                matches!(begin(uri), Err(AuthError::Place { .. })),
                "{uri:?}"
            );
        }
    }

    #[test]
    fn an_issuer_without_a_page_is_named() {
        let mut issuer = issuer(ISSUER);
        issuer.authorization_endpoint = None;
        let begun = Pending::begin(&issuer, "c", REDIRECT, None, &Scopes::default());
        let error = begun.unwrap_err().to_string();
        assert!(error.contains(ISSUER) && error.contains("authorization_endpoint"));
    }

    #[test]
    fn an_answer_is_taken_as_a_url_or_as_its_query() {
        let (pending, sent) = begin(false, "");
        let query = format!("code=c0de%2B1&state={}", sent["state"]);
        for text in [
            query.clone(),
            format!("?{query}"),
            format!("/callback?{query}"),
            format!("{REDIRECT}?{query}#_=_"),
            format!("  {REDIRECT}?session_state=x&{query}\n"),
        ] {
            let code = pending.check(&Secret::new(text.clone()));
            assert_eq!(code.unwrap().reveal(), "c0de+1", "{text:?}");
        }
    }

    #[test]
    fn a_state_that_is_wrong_missing_or_there_twice_ends_the_login() {
        let (pending, sent) = begin(false, "");
        let state = &sent["state"];
        for (text, reason) in [
            ("code=c&state=other".to_owned(), "not that of this login"),
            ("code=c&state=".to_owned(), "not that of this login"),
            (format!("code=c&state={state}x"), "not that of this login"),
            ("code=c".to_owned(), "no state"),
            ("c0de".to_owned(), "no state"),
            (String::new(), "no state"),
            (format!("code=c#state={state}"), "no state"),
            (format!("code=c&state={state}&state={state}"), "twice"),
            (format!("code=c&state={state}&state=other"), "twice"),
        ] {
            let error = pending.check(&Secret::new(text.clone())).unwrap_err();
            assert!(matches!(error, AuthError::Callback { .. }));
            assert!(error.to_string().contains(reason), "{text:?}: {error}");
        }
        // What is not ours is not shown either, not even that it was refused.
        let text = "error=access_denied&error_description=evil&state=other";
        let error = pending.check(&Secret::new(text)).unwrap_err().to_string();
        assert!(!error.contains("evil") && error.contains("state"));
    }

    #[test]
    fn the_issuer_is_compared_as_text_whenever_it_is_there() {
        let right = "iss=https%3A%2F%2Fas.example";
        assert!(check(true, &format!("code=c&{right}")).is_ok());
        assert!(check(false, &format!("code=c&{right}")).is_ok());
        assert!(check(false, "code=c").is_ok());
        assert!(refused(true, "code=c").contains("does not say who sent it"));
        for wrong in [
            "iss=https://evil.example",
            "iss=https://as.example/",
            "iss=https://AS.example",
            "iss=https://as.example:443",
            "iss=",
        ] {
            for names_itself in [true, false] {
                let error = refused(names_itself, &format!("code=c&{wrong}"));
                assert!(error.contains("another issuer"), "{wrong}: {error}");
                let rest = format!("error=access_denied&error_description=evil&{wrong}");
                let error = refused(names_itself, &rest);
                assert!(
                    error.contains("another issuer") && !error.contains("evil"),
                    "{wrong}: {error}"
                );
            }
        }
        assert!(refused(true, &format!("code=c&{right}&{right}")).contains("twice"));
    }

    #[test]
    fn a_refusal_is_one_of_the_user_or_of_the_issuer() {
        let error = check(false, "error=access_denied&code=c").unwrap_err();
        assert!(matches!(error, AuthError::LoginAborted { .. }));
        let rest = "error=invalid_scope&error_description=no%1B[31m+such+scope";
        let error = check(false, rest).unwrap_err();
        assert_eq!(error.code(), Some("invalid_scope"));
        assert_eq!(
            error.to_string(),
            r"https://as.example/authorize refused the login: invalid_scope (no\x1b[31m such scope)"
        );
        let long = format!("error=x&error_description={}", "a".repeat(9000));
        assert!(refused(false, &long).len() < 500);
    }

    #[test]
    fn there_is_exactly_one_code() {
        assert!(refused(false, "x=y").contains("no code"));
        assert!(refused(false, "code=").contains("no code"));
        assert!(refused(false, "code=a&code=b").contains("twice"));
        assert!(refused(false, "code=a&error=x&error=y").contains("twice"));
    }

    #[test]
    fn the_code_is_sent_with_its_verifier_and_the_same_redirect_and_resource() {
        let (pending, _) = begin(false, "a");
        let form = pending.form(&Secret::new("c0de"));
        assert_eq!(form.value("grant_type"), Some("authorization_code"));
        assert_eq!(form.value("code"), Some("c0de"));
        assert_eq!(form.value("code_verifier"), Some(pending.verifier.reveal()));
        assert_eq!(form.value("redirect_uri"), Some(REDIRECT));
        assert_eq!(form.value("resource"), Some(RESOURCE));
        assert_eq!(form.value("scope"), None);
    }

    #[test]
    fn a_login_does_not_print_its_secrets() {
        let (pending, sent) = begin(false, "");
        let shown = format!("{pending:?}");
        assert!(shown.contains(ISSUER));
        assert!(!shown.contains(&sent["state"]) && !shown.contains(pending.verifier.reveal()));
    }
}
