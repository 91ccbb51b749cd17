//! Registers this client at an issuer that does not know it yet.
//!
//! Keeping what is given, and doing it again when it counts no longer, is for others.
//!
//! Specification: RFC 7591; OpenID Connect Dynamic Client Registration 1.0
//! (`application_type`); basic/authorization/client-registration.

use bytes::Bytes;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{debug, info};

use crate::answer::read_answer;
use crate::error::{AuthError, Step};
use crate::fetch::{Fetcher, JSON};
use crate::form::Form;
use crate::issuer::Issuer;
use crate::place::Place;
use crate::record::{ClientIdentity, ClientMethod, ClientOrigin};
use crate::scope::Scopes;
use crate::secret::Secret;

/// What is to be registered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration<'a> {
    /// What people are shown.
    pub(crate) client_name: &'a str,
    /// Where browsers come back to; empty if none will.
    pub(crate) redirect_uri: &'a str,
    /// What will be asked for.
    pub(crate) scopes: &'a Scopes,
    /// How it will be asked for. What the issuer does not know is left out.
    pub(crate) grants: &'a [&'a str],
}

/// Registers. If the issuer does not like something about it, once more with as little as
/// possible.
///
/// # Errors
/// When there is no client id.
pub(crate) async fn register(
    fetcher: &Fetcher,
    issuer: &Issuer,
    wanted: &Registration<'_>,
) -> Result<ClientIdentity, AuthError> {
    let Some(place) = &issuer.registration_endpoint else {
        let reason = "it names no registration_endpoint; a client id must be given";
        return Err(AuthError::metadata(&issuer.issuer, reason));
    };
    let method = method(issuer);
    let mut given = post(fetcher, place, &wanted.document(issuer, method)).await;
    if let Err(error) = &given
        && wanted.may_do_with_less(error)
    {
        debug!(%place, "the registration is refused; asking once more for less");
        let mut least = wanted.least();
        if issuer.grant_types.is_some() && !wanted.redirect_uri.is_empty() {
            // What it lists itself it cannot dislike, and without it no login lasts.
            least["grant_types"] = json!(wanted.known_grants(issuer));
        }
        given = post(fetcher, place, &least).await;
    }
    let client = given?.check(place, issuer, wanted)?;
    info!(%place, client = client.id, "registered");
    Ok(client)
}

impl Registration<'_> {
    fn document(&self, issuer: &Issuer, method: ClientMethod) -> Value {
        let mut document = self.least();
        document["token_endpoint_auth_method"] = method.as_str().into();
        document["grant_types"] = json!(self.known_grants(issuer));
        match self.redirect_uri {
            // Else it would be a code, and that needs somewhere to come back to.
            "" => {
                document["redirect_uris"] = json!([]);
                document["response_types"] = json!([]);
            }
            _ => document["response_types"] = json!(["code"]),
        }
        if !self.scopes.is_empty() {
            document["scope"] = self.scopes.to_string().into();
        }
        document
    }

    fn known_grants(&self, issuer: &Issuer) -> Vec<&str> {
        let known = issuer.grant_types.as_ref();
        let is_known =
            |grant: &&str| known.is_none_or(|known| known.iter().any(|known| known == *grant));
        self.grants.iter().copied().filter(is_known).collect()
    }

    /// What the defaults of RFC 7591 do not say.
    fn least(&self) -> Value {
        let is_web = Place::parse(self.redirect_uri).is_ok_and(|place| !place.is_loopback());
        let mut document = json!({
            "client_name": self.client_name,
            "redirect_uris": [self.redirect_uri],
            "application_type": if is_web { "web" } else { "native" },
            "token_endpoint_auth_method": ClientMethod::ClientSecretBasic.as_str(),
        });
        if self.redirect_uri.is_empty() {
            // For issuers to which every client has a browser.
            document["redirect_uris"] = json!([NOBODY_THERE]);
            document["grant_types"] = json!([self.grants, &[CODE]].concat());
        }
        document
    }

    /// Is it refused for something that can be left out?
    fn may_do_with_less(&self, error: &AuthError) -> bool {
        match error.code() {
            Some("invalid_client_metadata") => true,
            Some("invalid_redirect_uri") => self.redirect_uri.is_empty(),
            _ => false,
        }
    }
}

/// A secret on the machine of a user is none: it is done without, where that is possible.
fn method(issuer: &Issuer) -> ClientMethod {
    let Some(known) = &issuer.client_methods else {
        return ClientMethod::None;
    };
    [
        ClientMethod::None,
        ClientMethod::ClientSecretBasic,
        ClientMethod::ClientSecretPost,
    ]
    .into_iter()
    .find(|method| known.iter().any(|known| known == method.as_str()))
    .unwrap_or(ClientMethod::None)
}

async fn post(fetcher: &Fetcher, place: &Place, document: &Value) -> Result<Given, AuthError> {
    let step = Step::Registration;
    let body = Bytes::from(document.to_string());
    let posted = fetcher.post(step, place, HeaderMap::new(), JSON, body);
    read_answer(step, place, &posted.await?, &Form::new())
}

/// What an issuer answers, as far as it is used.
#[derive(Deserialize)]
struct Given {
    client_id: Option<String>,
    client_secret: Option<Secret>,
    client_secret_expires_at: Option<Value>,
    token_endpoint_auth_method: Option<String>,
    scope: Option<String>,
}

impl Given {
    fn check(
        self,
        place: &Place,
        issuer: &Issuer,
        wanted: &Registration<'_>,
    ) -> Result<ClientIdentity, AuthError> {
        let id = self.client_id.filter(|id| is_client_id(id));
        let reason = "there is no client_id in the answer that can be used";
        let id = id.ok_or_else(|| AuthError::answer(Step::Registration, place, reason))?;
        let mut client = ClientIdentity::new(id, ClientOrigin::Registered);
        client.secret = self.client_secret.filter(|secret| !secret.is_empty());
        let end = self
            .client_secret_expires_at
            .as_ref()
            .and_then(Value::as_u64);
        client.secret_expires_at = end.filter(|end| *end != 0);
        // What contradicts the metadata is not relied on.
        let method = self.token_endpoint_auth_method.as_deref();
        let known = issuer.client_methods.as_ref();
        client.method = method.and_then(ClientMethod::parse).filter(|method| {
            known.is_none_or(|known| known.iter().any(|known| known == method.as_str()))
        });
        let redirect_uri = Some(wanted.redirect_uri).filter(|uri| !uri.is_empty());
        // What was asked for and not given is not asked for again.
        let scopes = self.scope.as_deref().map(Scopes::parse);
        client.scopes = scopes.map(|scopes| scopes.union(wanted.scopes));
        client.redirect_uris = redirect_uri.map(str::to_owned).into_iter().collect();
        Ok(client)
    }
}

/// RFC 6749, appendix A.1: printable ASCII.
fn is_client_id(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_allowed)
}

const CODE: &str = "authorization_code";
const LONGEST_ID: usize = 2048;
const NOBODY_THERE: &str = "http://127.0.0.1/callback";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::{Answer, Seen, TestServer, fetcher};

    const REDIRECT: &str = "http://127.0.0.1:7777/callback";
    const BOTH: &[&str] = &["authorization_code", "refresh_token"];

    async fn run(
        answers: Vec<Answer>,
        change: impl Fn(&mut Issuer),
        redirect_uri: &str,
    ) -> (Vec<Seen>, Result<ClientIdentity, AuthError>) {
        let server = TestServer::playing(answers).await;
        let mut issuer = server.issuer();
        change(&mut issuer);
        let wanted = Registration {
            client_name: "Some Program",
            redirect_uri,
            scopes: &Scopes::parse("a b"),
            grants: BOTH,
        };
        let outcome = register(&fetcher(), &issuer, &wanted).await;
        (server.seen(), outcome)
    }

    fn sent(seen: &Seen) -> Value {
        assert_eq!(seen.line, "POST /register HTTP/1.1");
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("authorization"), None);
        serde_json::from_str(&seen.body).unwrap()
    }

    fn listed(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn given() -> Vec<Answer> {
        vec![Answer::json(201, r#"{"client_id":"id-1"}"#)]
    }

    #[tokio::test]
    async fn a_client_says_what_it_is_and_gets_an_id() {
        let (seen, client) = run(given(), |_| {}, REDIRECT).await;
        assert_eq!(
            sent(&seen[0]),
            json!({
                "client_name": "Some Program",
                "redirect_uris": [REDIRECT],
                "application_type": "native",
                "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "scope": "a b",
            })
        );
        let client = client.unwrap();
        assert_eq!(client.id, "id-1");
        assert_eq!(client.origin, ClientOrigin::Registered);
        assert_eq!(client.redirect_uris, [REDIRECT]);
        assert_eq!((client.secret, client.method), (None, None));
        assert_eq!(client.scopes, None);
    }

    #[tokio::test]
    async fn what_a_client_may_ask_for_is_known_if_it_is_said() {
        let answer = Answer::json(201, r#"{"client_id":"id-1","scope":"b c"}"#);
        let (_, client) = run(vec![answer], |_| {}, REDIRECT).await;
        let scopes = client.unwrap().scopes.unwrap();
        assert!(scopes.has_all(&Scopes::parse("a b c")) && !scopes.has("d"));
    }

    #[tokio::test]
    async fn an_application_that_is_elsewhere_is_one_of_the_web() {
        for (redirect_uri, kind) in [
            ("http://localhost:1/cb", "native"),
            ("http://[::1]:1/cb", "native"),
            ("com.example.app:/cb", "native"),
            ("https://app.example/cb", "web"),
        ] {
            let (seen, _) = run(given(), |_| {}, redirect_uri).await;
            assert_eq!(sent(&seen[0])["application_type"], kind);
        }
    }

    #[tokio::test]
    async fn what_the_issuer_does_not_know_is_not_asked_for() {
        for (grants, expected) in [
            (&["authorization_code"][..], json!(["authorization_code"])),
            (&["refresh_token", "authorization_code", "x"], json!(BOTH)),
        ] {
            let change = |issuer: &mut Issuer| issuer.grant_types = listed(grants);
            let (seen, _) = run(given(), change, REDIRECT).await;
            assert_eq!(sent(&seen[0])["grant_types"], expected);
        }
        for (methods, expected) in [
            (&["client_secret_basic", "none"][..], "none"),
            (
                &["client_secret_post", "client_secret_basic"],
                "client_secret_basic",
            ),
            (&["client_secret_post"], "client_secret_post"),
            (&["private_key_jwt"], "none"),
        ] {
            let change = |issuer: &mut Issuer| issuer.client_methods = listed(methods);
            let (seen, _) = run(given(), change, REDIRECT).await;
            assert_eq!(sent(&seen[0])["token_endpoint_auth_method"], expected);
        }
    }

    #[tokio::test]
    async fn a_secret_is_kept_with_its_end_and_its_use() {
        for (members, end, method) in [
            ("", None, None),
            (
                r#","client_secret_expires_at":0,"token_endpoint_auth_method":"client_secret_post""#,
                None,
                Some(ClientMethod::ClientSecretPost),
            ),
            (
                r#","client_secret_expires_at":1900000000,"token_endpoint_auth_method":"mtls""#,
                Some(1_900_000_000),
                None,
            ),
        ] {
            let body = format!(r#"{{"client_id":"a","client_secret":"s3cret"{members}}}"#);
            let (_, client) = run(vec![Answer::json(200, &body)], |_| {}, REDIRECT).await;
            let client = client.unwrap();
            assert_eq!(client.secret.unwrap().reveal(), "s3cret");
            assert_eq!((client.secret_expires_at, client.method), (end, method));
        }
        let body = r#"{"client_id":"a","client_secret":"","token_endpoint_auth_method":"none"}"#;
        let basic = |issuer: &mut Issuer| issuer.client_methods = listed(&["client_secret_basic"]);
        let (_, client) = run(vec![Answer::json(200, body)], basic, REDIRECT).await;
        let client = client.unwrap();
        assert_eq!((client.secret, client.method), (None, None));
    }

    #[tokio::test]
    async fn a_registration_that_is_refused_is_asked_for_once_more_with_less() {
        let refused = Answer::json(400, r#"{"error":"invalid_client_metadata"}"#);
        let answers = vec![refused.clone(), given().remove(0)];
        let (seen, client) = run(answers, |_| {}, REDIRECT).await;
        assert_eq!(client.unwrap().id, "id-1");
        assert_eq!(seen.len(), 2);
        assert_eq!(
            sent(&seen[1]),
            json!({
                "client_name": "Some Program",
                "redirect_uris": [REDIRECT],
                "application_type": "native",
                "token_endpoint_auth_method": "client_secret_basic",
            })
        );
        let (seen, client) = run(vec![refused], |_| {}, REDIRECT).await;
        assert_eq!(client.unwrap_err().code(), Some("invalid_client_metadata"));
        assert_eq!(seen.len(), 2);
    }

    #[tokio::test]
    async fn a_client_without_a_browser_has_nowhere_to_come_back_to() {
        let refused = Answer::json(400, r#"{"error":"invalid_redirect_uri"}"#);
        let answers = vec![refused, given().remove(0)];
        let (seen, client) = run(answers, |_| {}, "").await;
        assert_eq!(sent(&seen[0])["redirect_uris"], json!([]));
        assert_eq!(sent(&seen[0])["response_types"], json!([]));
        // To some issuers everybody must have.
        assert_eq!(sent(&seen[1])["redirect_uris"], json!([NOBODY_THERE]));
        assert_eq!(client.unwrap().redirect_uris, [""; 0]);
    }

    #[tokio::test]
    async fn a_refusal_says_what_is_not_liked() {
        let body = r#"{"error":"invalid_redirect_uri","error_description":"no loopback"}"#;
        let (seen, client) = run(vec![Answer::json(400, body)], |_| {}, REDIRECT).await;
        let error = client.unwrap_err().to_string();
        assert!(error.contains("refused the registration of this client"));
        assert!(error.contains("invalid_redirect_uri (no loopback)"));
        assert_eq!(seen.len(), 1);
        let (_, client) = run(vec![Answer::json(403, "")], |_| {}, REDIRECT).await;
        assert!(client.unwrap_err().to_string().contains("status 403"));
    }

    #[tokio::test]
    async fn an_answer_without_an_id_that_can_be_sent_is_refused() {
        let long = format!(r#"{{"client_id":"{}"}}"#, "a".repeat(3000));
        for body in [
            "{}",
            r#"{"client_id":""}"#,
            r#"{"client_id":"a\nb"}"#,
            r#"{"client_id":7,"client_secret":"s3cret"}"#,
            &long,
        ] {
            let (_, client) = run(vec![Answer::json(201, body)], |_| {}, REDIRECT).await;
            let error = client.unwrap_err();
            assert!(matches!(error, AuthError::Answer { .. }), "{body}");
            assert!(!format!("{error:?}").contains("s3cret"));
        }
    }

    #[tokio::test]
    async fn where_nobody_can_register_that_is_said() {
        let change = |issuer: &mut Issuer| issuer.registration_endpoint = None;
        let (seen, client) = run(given(), change, REDIRECT).await;
        let error = client.unwrap_err().to_string();
        assert!(error.contains("no registration_endpoint") && seen.is_empty());
    }
}
