//! Asks for tokens, and has them ended.
//!
//! What is sent is a [`Form`]; how the client proves itself and that it holds a key is added
//! here. When to ask, and what becomes of the tokens, is for others.
//!
//! Specification: RFC 6749, sections 5 and 6; RFC 7009 (revocation); RFC 8693, section 2.2;
//! RFC 9449, sections 5 and 8; basic/authorization, "Token Handling".

use http::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::Value;
use tracing::debug;

use crate::answer::read_answer;
use crate::client_proof::add_client_proof;
use crate::dpop::{DPOP, Prover};
use crate::error::{AuthError, Step};
use crate::fetch::{FORM, Fetcher, Reply};
use crate::form::Form;
use crate::issuer::Issuer;
use crate::jwt::SigningKey;
use crate::place::Place;
use crate::record::{ClientIdentity, TokenKind, Tokens};
use crate::scope::Scopes;
use crate::secret::Secret;

/// Who asks whom for tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenAsker<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) issuer: &'a Issuer,
    pub(crate) client: &'a ClientIdentity,
    /// What the client signs with, if it does.
    pub(crate) key: Option<&'a SigningKey>,
    /// What the tokens are to be bound to, if they are.
    pub(crate) prover: Option<&'a Prover>,
    /// Seconds since 1970.
    pub(crate) now: u64,
}

impl TokenAsker<'_> {
    /// Asks for tokens. A refresh token that is not replaced stays.
    ///
    /// # Errors
    /// When there are none, or none that can be used.
    pub(crate) async fn ask(
        &self,
        step: Step,
        form: Form,
        requested: &Scopes,
    ) -> Result<Tokens, AuthError> {
        let (mut answer, has_nonce) = self.attempt(step, &form).await?;
        let wants_nonce = |error: &AuthError| error.code() == Some("use_dpop_nonce");
        if has_nonce && answer.as_ref().is_err_and(wants_nonce) {
            debug!(issuer = %self.issuer.issuer, "the proof wants a nonce; asking once more");
            (answer, _) = self.attempt(step, &form).await?;
        }
        let mut tokens = self.check(step, &form, answer?, requested)?;
        if tokens.refresh.is_none() {
            tokens.refresh = form.value("refresh_token").map(Secret::new);
        }
        debug!(issuer = %self.issuer.issuer, has_refresh = tokens.refresh.is_some(), "got {step}");
        Ok(tokens)
    }

    /// Says that tokens count no longer, where that can be said. The refresh token goes first:
    /// with it, most issuers end the other one too.
    ///
    /// # Errors
    /// The first one, after both were tried.
    pub(crate) async fn revoke(&self, tokens: &Tokens) -> Result<(), AuthError> {
        let Some(place) = &self.issuer.revocation_endpoint else {
            return Ok(());
        };
        let refresh = match &tokens.refresh {
            Some(refresh) => self.revoke_one(place, refresh, "refresh_token").await,
            None => Ok(()),
        };
        let access = self.revoke_one(place, &tokens.access, "access_token").await;
        refresh.and(access)
    }

    /// Posts a form with the client's proof of itself, and gives back what was sent.
    pub(crate) async fn post(
        &self,
        step: Step,
        place: &Place,
        form: &Form,
        mut headers: HeaderMap,
    ) -> Result<(Reply, Form), AuthError> {
        let Self {
            issuer,
            client,
            key,
            now,
            ..
        } = *self;
        // Anew for each request: an assertion is good for one.
        let sent = add_client_proof(issuer, client, key, now, form.clone(), &mut headers)?;
        let body = sent.encode();
        let reply = self.fetcher.post(step, place, headers, FORM, body).await?;
        Ok((reply, sent))
    }

    /// Asks once. Was also said what the next proof must have in it?
    async fn attempt(
        &self,
        step: Step,
        form: &Form,
    ) -> Result<(Result<Given, AuthError>, bool), AuthError> {
        let place = &self.issuer.token_endpoint;
        let mut headers = HeaderMap::new();
        if let Some(prover) = self.prover {
            let proof = prover.proof(&Method::POST, place.uri(), None, self.now)?;
            headers.insert(DPOP, proof);
        }
        let (reply, sent) = self.post(step, place, form, headers).await?;
        let prover = self.prover;
        let has_nonce =
            prover.is_some_and(|prover| prover.remember_nonce(place.uri(), &reply.headers));
        Ok((read_answer(step, place, &reply, &sent), has_nonce))
    }

    async fn revoke_one(&self, place: &Place, token: &Secret, hint: &str) -> Result<(), AuthError> {
        let step = Step::Revocation;
        let mut form = Form::new()
            .add_secret("token", token)
            .add("token_type_hint", hint);
        loop {
            let (reply, sent) = self.post(step, place, &form, HeaderMap::new()).await?;
            if reply.status.is_success() {
                return Ok(());
            }
            let Err(error) = read_answer::<Value>(step, place, &reply, &sent) else {
                return Ok(());
            };
            match error.code() {
                // An issuer need not be able to end access tokens.
                Some("unsupported_token_type") => return Ok(()),
                // The servers of the Python SDK want a secret in the form, of clients too that
                // have none or show it elsewhere. To all others an empty one is none (RFC 6749,
                // section 3.2).
                Some("invalid_request") if sent.value("client_secret").is_none() => {
                    form = form.add("client_secret", "");
                }
                _ => return Err(error),
            }
        }
    }

    fn check(
        &self,
        step: Step,
        form: &Form,
        given: Given,
        requested: &Scopes,
    ) -> Result<Tokens, AuthError> {
        let place = &self.issuer.token_endpoint;
        let fault = |reason: &str| AuthError::answer(step, place, reason);
        let access = given.access_token.filter(|token| !token.is_empty());
        let access = access.ok_or_else(|| fault("there is no access_token in the answer"))?;
        if access.header("Bearer").is_none() || access.reveal().contains(' ') {
            return Err(fault("the access_token cannot stand in a header"));
        }
        if access.reveal().len() > LONGEST_TOKEN {
            return Err(fault("the access_token is longer than 64 KiB"));
        }
        let mut tokens = Tokens::new(access, self.now);
        let kind = given.token_type.as_deref().unwrap_or("Bearer");
        tokens.kind = if step == Step::Exchange {
            // An assertion, which no server is shown: RFC 8693 calls its type N_A.
            let wanted = form.value("requested_token_type");
            if given.issued_token_type.as_deref() != wanted {
                return Err(fault("it is not the type of token that was asked for"));
            }
            TokenKind::Bearer
        } else if kind.eq_ignore_ascii_case("Bearer") {
            TokenKind::Bearer
        } else if !kind.eq_ignore_ascii_case("DPoP") {
            return Err(fault("the token_type is neither Bearer nor DPoP"));
        } else if self.prover.is_none() {
            return Err(fault(
                "the token is bound to a key, although none was shown",
            ));
        } else {
            TokenKind::Dpop
        };
        tokens.refresh = given.refresh_token.filter(|token| !token.is_empty());
        // No life at all would be no token: whoever says that does not mean it.
        let life = given.expires_in.and_then(|life| seconds(&life));
        let life = life.filter(|life| *life > 0);
        tokens.expires_at = life.map(|life| self.now.saturating_add(life));
        tokens.granted = given.scope.and_then(|scope| scopes(&scope, requested));
        tokens.requested = requested.clone();
        Ok(tokens)
    }
}

/// What an issuer answers, as far as it is used.
#[derive(Deserialize)]
struct Given {
    access_token: Option<Secret>,
    token_type: Option<String>,
    issued_token_type: Option<String>,
    refresh_token: Option<Secret>,
    expires_in: Option<Value>,
    scope: Option<Value>,
}

/// A time to live: a number, or a number in a text. None if it is neither.
pub(crate) fn seconds(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    // Casts of floats stop at the ends, and what is no number is zero.
    (!number.is_nan()).then_some((number as u64).min(LONGEST_LIFE))
}

/// Scopes in a text or in a list. GitHub separates them by commas.
fn scopes(value: &Value, requested: &Scopes) -> Option<Scopes> {
    match value {
        Value::String(text) if requested.iter().any(|scope| scope.contains(',')) => {
            Some(Scopes::parse(text))
        }
        Value::String(text) => Some(text.split([' ', ',']).collect()),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

// No server takes a header of this size.
const LONGEST_TOKEN: usize = 64 * 1024;
// Ten years: what is said to live longer is not trusted to.
const LONGEST_LIFE: u64 = 10 * 365 * 24 * 60 * 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::{exchange_form, refresh_form};
    use crate::record::ClientOrigin;
    use crate::test_server::{Answer, TestServer, fetcher};

    const NOW: u64 = 1_800_000_000;

    struct Run {
        server: TestServer,
        outcome: Result<Tokens, AuthError>,
    }

    async fn run(
        answers: Vec<Answer>,
        step: Step,
        form: Form,
        requested: &str,
        prover: Option<&Prover>,
    ) -> Run {
        let server = TestServer::playing(answers).await;
        let (issuer, fetcher) = (server.issuer(), fetcher());
        let mut client = ClientIdentity::new("client", ClientOrigin::Configured);
        client.secret = Some(Secret::new("client-s3cret"));
        let asker = TokenAsker {
            fetcher: &fetcher,
            issuer: &issuer,
            client: &client,
            key: None,
            prover,
            now: NOW,
        };
        let outcome = asker.ask(step, form, &Scopes::parse(requested)).await;
        Run { server, outcome }
    }

    fn form() -> Form {
        Form::of_grant("authorization_code").add_secret("code", &Secret::new("c0de-s3cret"))
    }

    /// What becomes of an answer of JSON with this status.
    async fn answered(status: u16, body: &str) -> Result<Tokens, AuthError> {
        let answers = vec![Answer::json(status, body)];
        run(answers, Step::Token, form(), "a b", None).await.outcome
    }

    #[tokio::test]
    async fn a_token_is_asked_for_and_kept_with_all_that_is_said_of_it() {
        let body = r#"{"access_token":"acc3ss","token_type":"bearer","expires_in":3600,
            "refresh_token":"r3fresh","scope":"a c","id_token":"x","more":[1]}"#;
        let run = run(
            vec![Answer::json(200, body)],
            Step::Token,
            form(),
            "a b",
            None,
        )
        .await;
        let tokens = run.outcome.unwrap();
        assert_eq!(tokens.access.reveal(), "acc3ss");
        assert_eq!(tokens.kind, TokenKind::Bearer);
        assert_eq!(tokens.refresh.unwrap().reveal(), "r3fresh");
        assert_eq!(
            (tokens.issued_at, tokens.expires_at),
            (NOW, Some(NOW + 3600))
        );
        assert_eq!(tokens.requested, Scopes::parse("a b"));
        assert_eq!(tokens.granted, Some(Scopes::parse("a c")));
        let seen = run.server.seen();
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].line, "POST /token HTTP/1.1");
        assert_eq!(
            seen[0].header("content-type"),
            Some("application/x-www-form-urlencoded")
        );
        assert_eq!(seen[0].header("accept"), Some("application/json"));
        assert_eq!(
            seen[0].header("authorization"),
            Some("Basic Y2xpZW50OmNsaWVudC1zM2NyZXQ=")
        );
        assert_eq!(seen[0].header("dpop"), None);
        assert_eq!(
            seen[0].body,
            "grant_type=authorization_code&code=c0de-s3cret&client_id=client"
        );
    }

    #[tokio::test]
    async fn what_is_not_said_is_not_known() {
        let tokens = answered(200, r#"{"access_token":"t","refresh_token":""}"#)
            .await
            .unwrap();
        assert_eq!(tokens.kind, TokenKind::Bearer);
        assert_eq!(tokens.expires_at, None);
        assert_eq!((tokens.refresh, tokens.granted), (None, None));
    }

    #[tokio::test]
    async fn answers_like_those_of_github_are_read() {
        let head = "content-type: application/x-www-form-urlencoded; charset=utf-8\r\n";
        let body = "access_token=gho_1&scope=repo%2Cgist&token_type=bearer&expires_in=60";
        let answers = vec![Answer::with(200, head, body)];
        let run = run(answers, Step::Token, form(), "repo gist", None).await;
        let tokens = run.outcome.unwrap();
        assert_eq!(tokens.access.reveal(), "gho_1");
        assert_eq!(tokens.granted, Some(Scopes::parse("repo gist")));
        assert_eq!(tokens.expires_at, Some(NOW + 60));
    }

    #[tokio::test]
    async fn a_refusal_names_its_code_and_no_secret() {
        let body =
            r#"{"error":"invalid_grant","error_description":"c0de-s3cret of client-s3cret"}"#;
        for status in [200, 400, 401] {
            let error = answered(status, body).await.unwrap_err();
            assert_eq!(error.code(), Some("invalid_grant"));
            assert!(error.to_string().ends_with("(*** of ***)"), "{error}");
            assert!(!format!("{error:?}").contains("s3cret"));
        }
        assert!(answered(503, "").await.unwrap_err().is_passing());
    }

    #[tokio::test]
    async fn a_token_that_cannot_be_used_is_refused() {
        for (body, reason) in [
            ("{}", "no access_token"),
            (r#"{"access_token":""}"#, "no access_token"),
            (r#"{"access_token":null}"#, "no access_token"),
            (r#"{"access_token":"a\nb"}"#, "cannot stand in a header"),
            (r#"{"access_token":"a b"}"#, "cannot stand in a header"),
            (r#"{"access_token":7}"#, "not what OAuth says"),
            (
                r#"{"access_token":"s3cret","token_type":"mac"}"#,
                "neither Bearer nor DPoP",
            ),
            (
                r#"{"access_token":"s3cret","token_type":"DPoP"}"#,
                "although none was shown",
            ),
            (
                r#"{"access_token":"s3cret","token_type":"N_A"}"#,
                "neither Bearer nor DPoP",
            ),
        ] {
            let error = answered(200, body).await.unwrap_err();
            assert!(matches!(error, AuthError::Answer { .. }));
            assert!(error.to_string().contains(reason), "{body}: {error}");
            assert!(!format!("{error:?}").contains("s3cret"));
        }
    }

    #[tokio::test]
    async fn a_token_is_not_asked_for_elsewhere() {
        let other = TestServer::playing(vec![Answer::json(200, r#"{"access_token":"t"}"#)]).await;
        for status in [301, 302, 303, 307, 308] {
            let head = format!("location: {}/token\r\n", other.origin);
            let answers = vec![Answer::with(status, &head, "")];
            let run = run(answers, Step::Token, form(), "", None).await;
            assert!(run.outcome.is_err(), "{status}");
        }
        assert!(other.seen().is_empty());
    }

    #[test]
    fn a_life_is_a_number_however_it_is_written() {
        for (text, life) in [
            ("3600", Some(3600)),
            (r#""3600""#, Some(3600)),
            ("3599.9", Some(3599)),
            ("0", Some(0)),
            ("-5", Some(0)),
            ("1e300", Some(LONGEST_LIFE)),
            ("18446744073709551615", Some(LONGEST_LIFE)),
            (r#""inf""#, Some(LONGEST_LIFE)),
            (r#""NaN""#, None),
            (r#""soon""#, None),
            ("null", None),
            ("[]", None),
            ("true", None),
        ] {
            let value = serde_json::from_str(text).unwrap();
            assert_eq!(seconds(&value), life, "{text}");
        }
    }

    #[test]
    fn scopes_are_a_text_or_a_list() {
        let read = |text, requested| {
            let value = serde_json::from_str(text).unwrap();
            scopes(&value, &Scopes::parse(requested)).map(|scopes| scopes.to_string())
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read(r#""a b""#, ""), some("a b"));
        assert_eq!(read(r#""a,b""#, "a b"), some("a b"));
        assert_eq!(read(r#""a,b c""#, "a,b c"), some("a,b c"));
        assert_eq!(read(r#"["a","b",7]"#, ""), some("a b"));
        assert_eq!(read(r#""""#, "a"), some(""));
        assert_eq!(read("7", ""), None);
    }

    #[tokio::test]
    async fn a_refresh_token_is_replaced_or_stays() {
        let old = refresh_form(&Secret::new("old"), Some("https://r"));
        let rotated = r#"{"access_token":"t","refresh_token":"new"}"#;
        let kept = r#"{"access_token":"t"}"#;
        for (body, refresh) in [(rotated, "new"), (kept, "old")] {
            let answers = vec![Answer::json(200, body)];
            let run = run(answers, Step::Refresh, old.clone(), "", None).await;
            assert_eq!(run.outcome.unwrap().refresh.unwrap().reveal(), refresh);
            let seen = &run.server.seen()[0];
            assert_eq!(seen.field("refresh_token").unwrap(), "old");
            assert_eq!(seen.field("resource").unwrap(), "https://r");
        }
    }

    #[tokio::test]
    async fn an_assertion_is_of_the_type_that_was_asked_for() {
        let scopes = Scopes::default();
        let form = exchange_form(&Secret::new("id"), "as", None, &scopes);
        let answer = |issued: &str| {
            let body = format!(
                r#"{{"access_token":"jag","token_type":"N_A","issued_token_type":"{issued}"}}"#
            );
            vec![Answer::json(200, &body)]
        };
        let right = answer("urn:ietf:params:oauth:token-type:id-jag");
        let run_right = run(right, Step::Exchange, form.clone(), "", None).await;
        assert_eq!(run_right.outcome.unwrap().access.reveal(), "jag");
        let wrong = answer("urn:ietf:params:oauth:token-type:access_token");
        let run_wrong = run(wrong, Step::Exchange, form, "", None).await;
        let error = run_wrong.outcome.unwrap_err().to_string();
        assert!(error.contains("not the type of token"), "{error}");
    }

    fn wants_nonce(status: u16, nonce: &str) -> Answer {
        let head = format!("dpop-nonce: {nonce}\r\n");
        Answer::with(status, &head, r#"{"error":"use_dpop_nonce"}"#)
    }

    fn nonce_in(seen: &crate::test_server::Seen) -> Value {
        nonce_of(seen.header("dpop").unwrap())
    }

    fn nonce_of(proof: &str) -> Value {
        use base64::Engine as _;
        let claims = proof.split('.').nth(1).unwrap();
        let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims);
        let claims: Value = serde_json::from_slice(&claims.unwrap()).unwrap();
        assert_eq!(claims["htm"], "POST");
        assert!(claims["htu"].as_str().unwrap().ends_with("/token"));
        assert_eq!(claims.get("ath"), None);
        claims["nonce"].clone()
    }

    #[tokio::test]
    async fn a_proof_is_sent_again_once_with_the_nonce_that_is_wanted() {
        for status in [400, 401] {
            let prover = Prover::generate().unwrap();
            let given = r#"{"access_token":"t","token_type":"dpop"}"#;
            let answers = vec![
                wants_nonce(status, "one"),
                Answer::with(200, "dpop-nonce: two\r\n", given),
            ];
            let run = run(answers, Step::Token, form(), "", Some(&prover)).await;
            assert_eq!(run.outcome.unwrap().kind, TokenKind::Dpop);
            let seen = run.server.seen();
            assert_eq!(seen.len(), 2);
            assert_eq!(nonce_in(&seen[0]), Value::Null);
            assert_eq!(nonce_in(&seen[1]), "one");
            assert_ne!(seen[0].header("dpop"), seen[1].header("dpop"));
            assert_eq!(seen[0].body, seen[1].body);
            // What came with the tokens is for the next time.
            let place = run.server.issuer().token_endpoint;
            let proof = prover.proof(&Method::POST, place.uri(), None, NOW);
            assert_eq!(nonce_of(proof.unwrap().to_str().unwrap()), "two");
        }
    }

    #[tokio::test]
    async fn a_nonce_that_does_not_help_is_not_asked_for_again() {
        let prover = Prover::generate().unwrap();
        let answers = vec![wants_nonce(400, "one"), wants_nonce(400, "two")];
        let run_1 = run(answers, Step::Token, form(), "", Some(&prover)).await;
        assert_eq!(run_1.outcome.unwrap_err().code(), Some("use_dpop_nonce"));
        assert_eq!(run_1.server.seen().len(), 2);
        // Without a nonce to use, and without a key to prove, there is nothing to try.
        let answers = vec![Answer::json(400, r#"{"error":"use_dpop_nonce"}"#)];
        let run_2 = run(answers, Step::Token, form(), "", Some(&prover)).await;
        assert_eq!(run_2.server.seen().len(), 1);
        let run_3 = run(vec![wants_nonce(400, "one")], Step::Token, form(), "", None).await;
        assert_eq!(run_3.server.seen().len(), 1);
    }

    #[tokio::test]
    async fn an_issuer_that_ignores_proofs_gives_a_plain_token() {
        let prover = Prover::generate().unwrap();
        let body = r#"{"access_token":"t","token_type":"Bearer"}"#;
        let answers = vec![Answer::json(200, body)];
        let run = run(answers, Step::Token, form(), "", Some(&prover)).await;
        assert_eq!(run.outcome.unwrap().kind, TokenKind::Bearer);
    }

    async fn revoked(answers: Vec<Answer>, refresh: bool) -> (TestServer, Result<(), AuthError>) {
        let server = TestServer::playing(answers).await;
        let (issuer, fetcher) = (server.issuer(), fetcher());
        let client = ClientIdentity::new("client", ClientOrigin::Registered);
        let asker = TokenAsker {
            fetcher: &fetcher,
            issuer: &issuer,
            client: &client,
            key: None,
            prover: None,
            now: NOW,
        };
        let mut tokens = Tokens::new("acc3ss", NOW);
        tokens.refresh = refresh.then(|| Secret::new("r3fresh"));
        let outcome = asker.revoke(&tokens).await;
        (server, outcome)
    }

    #[tokio::test]
    async fn both_tokens_are_ended_the_refresh_token_first() {
        let (server, outcome) = revoked(vec![Answer::with(200, "", "")], true).await;
        outcome.unwrap();
        let bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
        assert_eq!(
            bodies,
            [
                "token=r3fresh&token_type_hint=refresh_token&client_id=client",
                "token=acc3ss&token_type_hint=access_token&client_id=client",
            ]
        );
        let (server, outcome) = revoked(vec![Answer::with(200, "", "")], false).await;
        outcome.unwrap();
        assert_eq!(server.seen().len(), 1);
        assert_eq!(server.seen()[0].line, "POST /revoke HTTP/1.1");
    }

    #[tokio::test]
    async fn an_end_that_is_refused_is_told_after_both_were_tried() {
        let ok = Answer::with(200, "", "");
        let refused = Answer::json(
            400,
            r#"{"error":"invalid_client","error_description":"r3fresh"}"#,
        );
        let (server, outcome) = revoked(vec![refused, ok.clone()], true).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), Some("invalid_client"));
        assert!(!error.to_string().contains("r3fresh"));
        assert_eq!(server.seen().len(), 2);
        let unable = Answer::json(400, r#"{"error":"unsupported_token_type"}"#);
        let (_, outcome) = revoked(vec![ok, unable], true).await;
        outcome.unwrap();
    }

    #[tokio::test]
    async fn an_issuer_that_misses_a_secret_in_the_form_gets_an_empty_one() {
        let ok = Answer::with(200, "", "");
        let missed = Answer::json(400, r#"{"error":"invalid_request"}"#);
        let (server, outcome) = revoked(vec![missed.clone(), ok], false).await;
        outcome.unwrap();
        assert_eq!(
            server.seen()[1].body,
            "token=acc3ss&token_type_hint=access_token&client_secret=&client_id=client"
        );
        // It was not that.
        let (server, outcome) = revoked(vec![missed], false).await;
        assert_eq!(outcome.unwrap_err().code(), Some("invalid_request"));
        assert_eq!(server.seen().len(), 2);
    }

    #[tokio::test]
    async fn where_nothing_can_be_ended_nothing_is_asked() {
        let server = TestServer::playing(vec![Answer::with(200, "", "")]).await;
        let (mut issuer, fetcher) = (server.issuer(), fetcher());
        issuer.revocation_endpoint = None;
        let client = ClientIdentity::new("client", ClientOrigin::Registered);
        let asker = TokenAsker {
            fetcher: &fetcher,
            issuer: &issuer,
            client: &client,
            key: None,
            prover: None,
            now: NOW,
        };
        asker.revoke(&Tokens::new("t", NOW)).await.unwrap();
        assert!(server.seen().is_empty());
    }
}
