//! Authorization servers: where their metadata is, what it says, whether to believe it.
//!
//! Specification: RFC 8414; OpenID Connect Discovery 1.0; basic/authorization, "Authorization
//! Server Metadata Discovery"; 2025-03-26, "Fallbacks for Servers without Metadata Discovery".

use http::{HeaderMap, HeaderValue};
use switchboard_protocol::http::header::PROTOCOL_VERSION;
use switchboard_protocol::revision::Revision;

use crate::document::{Document, excerpt};
use crate::error::{AuthError, Step};
use crate::fetch::Fetcher;
use crate::place::{BadPlace, Place};
use crate::scope::Scopes;

/// What an authorization server says about itself, checked.
#[derive(Clone, Debug)]
pub(crate) struct Issuer {
    /// Its name: a URL, compared as text.
    pub(crate) issuer: String,
    /// Where people log in.
    pub(crate) authorization_endpoint: Option<Place>,
    /// Where tokens are given out.
    pub(crate) token_endpoint: Place,
    /// Where clients register.
    pub(crate) registration_endpoint: Option<Place>,
    /// Where tokens are ended.
    pub(crate) revocation_endpoint: Option<Place>,
    /// Where codes for other devices are given out.
    pub(crate) device_authorization_endpoint: Option<Place>,
    /// What may be asked for, as far as it says.
    pub(crate) scopes_supported: Scopes,
    /// How clients may prove themselves. None: it does not say.
    pub(crate) client_methods: Option<Vec<String>>,
    /// Which grants there are. None: it does not say.
    pub(crate) grant_types: Option<Vec<String>>,
    /// How challenges may be hashed. None: it does not say.
    pub(crate) challenge_methods: Option<Vec<String>>,
    /// Which signatures of proofs it takes. Empty: it knows no proofs.
    pub(crate) proof_algorithms: Vec<String>,
    /// May a client id be the URL of a document?
    pub(crate) takes_documents: bool,
    /// Does it say who it is when it sends a browser back?
    pub(crate) names_itself: bool,
    /// Was no metadata found, so that the places are those of 2025-03-26?
    pub(crate) is_assumed: bool,
}

impl Issuer {
    /// One of which only the place of its tokens is known, and that by ourselves.
    pub(crate) fn at(token_endpoint: &Place) -> Self {
        Self {
            issuer: token_endpoint.origin().to_owned(),
            authorization_endpoint: None,
            token_endpoint: token_endpoint.clone(),
            registration_endpoint: None,
            revocation_endpoint: None,
            device_authorization_endpoint: None,
            scopes_supported: Scopes::default(),
            client_methods: None,
            grant_types: None,
            challenge_methods: None,
            proof_algorithms: Vec::new(),
            takes_documents: false,
            names_itself: false,
            is_assumed: false,
        }
    }

    /// Does it hash challenges as we do? Without, a code is worth a token to whoever sees it.
    ///
    /// # Errors
    /// When its metadata does not say so.
    pub(crate) fn check_challenge_method(&self) -> Result<(), AuthError> {
        let named = self.challenge_methods.as_deref().unwrap_or_default();
        if self.is_assumed || named.iter().any(|method| method == "S256") {
            return Ok(());
        }
        let found = match &self.challenge_methods {
            None => "is missing".to_owned(),
            Some(methods) => format!("is {}", excerpt(&methods.join(" "))),
        };
        let reason = format!("its code_challenge_methods_supported {found}, expected S256");
        Err(AuthError::metadata(&self.issuer, reason))
    }

    /// Where people log in.
    ///
    /// # Errors
    /// When nobody can.
    pub(crate) fn login_page(&self) -> Result<&Place, AuthError> {
        let page = self.authorization_endpoint.as_ref();
        let reason = "it names no authorization_endpoint, so nobody can log in there";
        page.ok_or_else(|| AuthError::metadata(&self.issuer, reason))
    }

    fn read(document: &Document) -> Result<Self, AuthError> {
        let missing = |name| document.unusable(format!("its {name} is missing"));
        let list = |name| {
            let texts = document.texts(name)?;
            Some(texts.map(str::to_owned).collect::<Vec<_>>())
        };
        let token_endpoint = document.url("token_endpoint")?;
        let scopes = document.texts("scopes_supported");
        Ok(Self {
            issuer: document
                .text("issuer")
                .ok_or_else(|| missing("issuer"))?
                .to_owned(),
            authorization_endpoint: document.url("authorization_endpoint")?,
            token_endpoint: token_endpoint.ok_or_else(|| missing("token_endpoint"))?,
            registration_endpoint: document.url("registration_endpoint")?,
            revocation_endpoint: document.url("revocation_endpoint")?,
            device_authorization_endpoint: document.url("device_authorization_endpoint")?,
            scopes_supported: scopes.into_iter().flatten().collect(),
            client_methods: list("token_endpoint_auth_methods_supported"),
            grant_types: list("grant_types_supported"),
            challenge_methods: list("code_challenge_methods_supported"),
            proof_algorithms: list("dpop_signing_alg_values_supported").unwrap_or_default(),
            takes_documents: document.is_set("client_id_metadata_document_supported"),
            names_itself: document.is_set("authorization_response_iss_parameter_supported"),
            is_assumed: false,
        })
    }

    fn assumed(server: &Place) -> Result<Self, BadPlace> {
        Ok(Self {
            authorization_endpoint: Some(server.sibling("/authorize")?),
            registration_endpoint: Some(server.sibling("/register")?),
            is_assumed: true,
            ..Self::at(&server.sibling("/token")?)
        })
    }
}

/// Finds the metadata of an authorization server by its name, and checks that it is its own.
///
/// # Errors
/// When there is none, or what is found first cannot be used.
pub(crate) async fn find_issuer(fetcher: &Fetcher, issuer: &str) -> Result<Issuer, AuthError> {
    let named = Place::parse(issuer).map_err(not_asked)?;
    if named.uri().query().is_some() {
        return Err(AuthError::metadata(
            &named,
            "the name of an authorization server has no query",
        ));
    }
    for path in well_known(named.path()) {
        let place = named.sibling(&path).map_err(not_asked)?;
        let text = fetcher
            .document(Step::IssuerMetadata, &place, HeaderMap::new())
            .await?;
        if let Some(text) = text {
            let found = Document::read(&place, &text)?;
            check_name(&found, &[issuer])?;
            return Issuer::read(&found);
        }
    }
    Err(AuthError::metadata(
        &named,
        "none of the well-known places of this authorization server has any",
    ))
}

/// Finds the authorization server of a server of 2025-03-26: the server itself.
///
/// # Errors
/// When it has metadata that cannot be used.
pub(crate) async fn find_issuer_of_old(
    fetcher: &Fetcher,
    server: &Place,
) -> Result<Issuer, AuthError> {
    let place = server.sibling(OAUTH).map_err(not_asked)?;
    let revision = HeaderValue::from_static(Revision::V2025_03_26.as_str());
    let headers = HeaderMap::from_iter([(PROTOCOL_VERSION, revision)]);
    match fetcher
        .document(Step::IssuerMetadata, &place, headers)
        .await?
    {
        Some(text) => {
            let found = Document::read(&place, &text)?;
            let origin = server.origin();
            // The revision does not say how an origin is written.
            check_name(&found, &[origin, &format!("{origin}/")])?;
            Issuer::read(&found)
        }
        None => Issuer::assumed(server).map_err(not_asked),
    }
}

/// Where the metadata of an issuer with this path may be, in the order of asking. One with a path
/// is never asked at the root: another issuer may be there.
fn well_known(path: &str) -> Vec<String> {
    match path {
        "" => vec![OAUTH.to_owned(), OPENID.to_owned()],
        path => vec![
            format!("{OAUTH}{path}"),
            format!("{OPENID}{path}"),
            format!("{path}{OPENID}"),
        ],
    }
}

/// Names are compared as texts, nothing is normalized.
fn check_name(document: &Document, expected: &[&str]) -> Result<(), AuthError> {
    match document.text("issuer") {
        Some(found) if expected.contains(&found) => Ok(()),
        found => {
            let found = found.map_or("nobody".to_owned(), excerpt);
            let expected = expected.first().copied().unwrap_or_default();
            let reason = format!("its issuer is {found}, expected {}", excerpt(expected));
            Err(document.unusable(reason))
        }
    }
}

fn not_asked(source: BadPlace) -> AuthError {
    AuthError::place("the authorization server")(source)
}

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::chain;
    use crate::test_server::{TestServer, fetcher, fetcher_within};

    const GOOD: &str =
        r#"{"issuer":"{here}","authorization_endpoint":"{here}/a","token_endpoint":"{here}/t"}"#;
    const TENANT: &str = r#"{"issuer":"{here}/tenant1","token_endpoint":"{here}/t"}"#;

    /// Asks for the issuer with this path at the origin: what was asked, and what was found.
    async fn find(script: &TestServer, path: &str) -> (Vec<String>, Result<Issuer, AuthError>) {
        let found = find_issuer(&fetcher(), &format!("{}{path}", script.origin)).await;
        (script.asked(), found)
    }

    #[track_caller]
    fn check_asked(asked: &[String], paths: &[&str]) {
        let expected: Vec<String> = paths.iter().map(|path| format!("GET {path}")).collect();
        assert_eq!(asked, expected);
    }

    /// Why the metadata of the root issuer is not used; nothing else is asked.
    async fn refused(text: &str) -> String {
        let script = TestServer::by_path(&[(OAUTH, text), (OPENID, GOOD)]).await;
        let (asked, found) = find(&script, "").await;
        check_asked(&asked, &[OAUTH]);
        chain(&found.unwrap_err()).replace(&script.origin, "{here}")
    }

    // Conformance: metadata-default, metadata-var1.
    #[tokio::test]
    async fn a_root_issuer_is_asked_as_oauth_and_then_as_openid() {
        let script = TestServer::by_path(&[(OAUTH, GOOD), (OPENID, "500")]).await;
        let (asked, found) = find(&script, "").await;
        check_asked(&asked, &[OAUTH]);
        assert_eq!(found.unwrap().issuer, script.origin);

        let script = TestServer::by_path(&[(OPENID, GOOD)]).await;
        let (asked, found) = find(&script, "").await;
        check_asked(&asked, &[OAUTH, OPENID]);
        assert_eq!(found.unwrap().token_endpoint, script.place("/t"));

        let script = TestServer::by_path(&[]).await;
        let (asked, found) = find(&script, "").await;
        check_asked(&asked, &[OAUTH, OPENID]);
        let error = found.unwrap_err().to_string();
        assert!(error.contains("none of the well-known places"), "{error}");
    }

    // Conformance: metadata-var2, metadata-var3.
    #[tokio::test]
    async fn an_issuer_with_a_path_is_asked_at_three_places_and_never_at_the_root() {
        let places = [
            "/.well-known/oauth-authorization-server/tenant1",
            "/.well-known/openid-configuration/tenant1",
            "/tenant1/.well-known/openid-configuration",
        ];
        for count in 1..=3 {
            let last = places[count - 1];
            let script =
                TestServer::by_path(&[(last, TENANT), (OAUTH, GOOD), (OPENID, GOOD)]).await;
            let (asked, found) = find(&script, "/tenant1").await;
            check_asked(&asked, &places[..count]);
            assert_eq!(found.unwrap().issuer, format!("{}/tenant1", script.origin));
        }
        let script = TestServer::by_path(&[(OAUTH, TENANT), (OPENID, TENANT)]).await;
        let (asked, found) = find(&script, "/tenant1").await;
        check_asked(&asked, &places);
        assert!(found.is_err());
    }

    #[tokio::test]
    async fn the_slash_at_the_end_is_part_of_the_name_and_not_of_the_place() {
        let text = r#"{"issuer":"{here}/","token_endpoint":"{here}/t"}"#;
        let script = TestServer::by_path(&[(OAUTH, text)]).await;
        let (asked, found) = find(&script, "/").await;
        check_asked(&asked, &[OAUTH]);
        assert_eq!(found.unwrap().issuer, format!("{}/", script.origin));

        let place = "/.well-known/oauth-authorization-server/a/b";
        let text = r#"{"issuer":"{here}/a/b/","token_endpoint":"{here}/t"}"#;
        let script = TestServer::by_path(&[(place, text)]).await;
        let (asked, found) = find(&script, "/a/b/").await;
        check_asked(&asked, &[place]);
        assert!(found.is_ok());
    }

    // Conformance: metadata-issuer-mismatch.
    #[tokio::test]
    async fn metadata_of_another_issuer_is_refused() {
        for (issuer, shown) in [
            (
                "\"https://attacker.example.com\"",
                "\"https://attacker.example.com\"",
            ),
            ("\"{here}/\"", "\"{here}/\""),
            ("\"{here}/tenant1\"", "\"{here}/tenant1\""),
            ("\"HTTP://{host}\"", "\"HTTP://{host}\""),
            ("\"\\u001b[31m\"", "\"\\\\x1b[31m\""),
            ("\"\"", "nobody"),
            ("null", "nobody"),
            ("[\"{here}\"]", "nobody"),
        ] {
            let script = TestServer::by_path(&[(
                OAUTH,
                &format!(r#"{{"issuer":{issuer},"token_endpoint":"{{here}}/t"}}"#),
            )])
            .await;
            let (asked, found) = find(&script, "").await;
            check_asked(&asked, &[OAUTH]);
            let error = found
                .unwrap_err()
                .to_string()
                .replace(&script.origin, "{here}");
            let shown = shown.replace("{host}", script.origin.trim_start_matches("http://"));
            assert_eq!(
                error,
                format!(
                    "the metadata at {{here}}{OAUTH} is not used: its issuer is {shown}, \
                     expected \"{{here}}\""
                )
            );
        }
    }

    #[tokio::test]
    async fn endpoints_that_may_not_be_asked_or_opened_are_refused() {
        let endpoints = [
            "authorization_endpoint",
            "token_endpoint",
            "registration_endpoint",
            "revocation_endpoint",
            "device_authorization_endpoint",
        ];
        for endpoint in endpoints {
            for (url, reason) in [
                ("javascript:alert(1)", "it is neither https nor http"),
                ("file:///etc/passwd", "it is neither https nor http"),
                ("data:text/html,x", "it is neither https nor http"),
                (
                    "http://evil.test/a",
                    "it is not https, which only this machine itself may do without",
                ),
                ("https://evil.test/a#b", "it has a fragment"),
                ("https://user@evil.test/a", "it has a user in it"),
                (
                    "https://evil.test/`id`",
                    "it has characters that do not belong in a URL",
                ),
                ("/a", "it is neither https nor http"),
            ] {
                let mut members = serde_json::json!({
                    "issuer": "{here}",
                    "token_endpoint": "{here}/t",
                });
                members[endpoint] = url.into();
                let error = refused(&members.to_string()).await;
                assert!(
                    error.contains(&format!("in its {endpoint}, the URL ")),
                    "{error}"
                );
                assert!(error.ends_with(reason), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn what_is_no_metadata_is_an_error_and_not_a_reason_to_look_elsewhere() {
        assert!(refused("<html>").await.ends_with("it is not JSON"));
        assert!(
            refused("null")
                .await
                .ends_with("it is not an object of JSON")
        );
        assert!(refused("500").await.ends_with(": status 500"));
        assert!(refused("503").await.ends_with(": status 503"));
        assert!(
            refused("302 http://169.254.169.254/")
                .await
                .contains("leads out of its origin")
        );
        assert!(
            refused(r#"{"issuer":"{here}"}"#)
                .await
                .ends_with("its token_endpoint is missing")
        );
        let number = r#"{"issuer":"{here}","token_endpoint":7}"#;
        assert!(
            refused(number)
                .await
                .ends_with("its token_endpoint is not a text")
        );
        let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(300_000));
        assert!(refused(&large).await.contains("its answer cannot be read"));
        let script = TestServer::by_path(&[(OAUTH, "silence"), (OPENID, GOOD)]).await;
        let found = find_issuer(&fetcher_within(Duration::from_millis(50)), &script.origin).await;
        assert!(
            matches!(found, Err(AuthError::TimedOut { .. })),
            "{found:?}"
        );
        check_asked(&script.asked(), &[OAUTH]);
    }

    #[tokio::test]
    async fn an_issuer_that_may_not_be_asked_is_refused() {
        for issuer in [
            "http://as.test",
            "javascript:alert(1)",
            "",
            "https://as.test/#x",
        ] {
            let error = find_issuer(&fetcher(), issuer).await.unwrap_err();
            assert!(matches!(error, AuthError::Place { .. }), "{error:?}");
        }
        let script = TestServer::by_path(&[(OAUTH, GOOD)]).await;
        let (asked, found) = find(&script, "?x=secret").await;
        check_asked(&asked, &[]);
        let error = found.unwrap_err().to_string();
        assert!(
            error.ends_with("has no query") && !error.contains("secret"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn everything_that_counts_is_read() {
        let script = TestServer::by_path(&[(
            OPENID,
            r#"{"issuer":"{here}","token_endpoint":"{here}/t",
               "authorization_endpoint":"{here}/a?x=1",
               "registration_endpoint":"{here}/r","revocation_endpoint":"{here}/v",
               "device_authorization_endpoint":"{here}/d",
               "scopes_supported":["openid","offline_access"],
               "token_endpoint_auth_methods_supported":["none"],
               "grant_types_supported":["authorization_code"],
               "code_challenge_methods_supported":["plain","S256"],
               "dpop_signing_alg_values_supported":["ES256"],
               "client_id_metadata_document_supported":true,
               "authorization_response_iss_parameter_supported":true}"#,
        )])
        .await;
        let found = find(&script, "").await.1.unwrap();
        assert_eq!(found.authorization_endpoint, Some(script.place("/a?x=1")));
        assert_eq!(found.registration_endpoint, Some(script.place("/r")));
        assert_eq!(found.revocation_endpoint, Some(script.place("/v")));
        assert_eq!(
            found.device_authorization_endpoint,
            Some(script.place("/d"))
        );
        assert_eq!(
            found.scopes_supported,
            Scopes::parse("openid offline_access")
        );
        assert_eq!(
            found.client_methods.as_deref(),
            Some(&["none".to_owned()][..])
        );
        assert_eq!(
            found.grant_types.as_deref(),
            Some(&["authorization_code".to_owned()][..])
        );
        assert_eq!(found.proof_algorithms, ["ES256"]);
        assert!(found.takes_documents && found.names_itself && !found.is_assumed);
        assert!(found.check_challenge_method().is_ok());
    }

    #[tokio::test]
    async fn what_is_not_said_is_not_assumed() {
        let text = r#"{"issuer":"{here}","token_endpoint":"{here}/t","registration_endpoint":null,
                      "authorization_endpoint":"","client_id_metadata_document_supported":"true"}"#;
        let script = TestServer::by_path(&[(OAUTH, text)]).await;
        let found = find(&script, "").await.1.unwrap();
        assert_eq!(found.authorization_endpoint, None);
        assert_eq!(found.registration_endpoint, None);
        assert_eq!((found.client_methods, found.grant_types), (None, None));
        assert!(!found.takes_documents && !found.names_itself);
        assert!(found.scopes_supported.is_empty() && found.proof_algorithms.is_empty());
    }

    #[tokio::test]
    async fn an_issuer_that_does_not_say_s256_is_refused() {
        for (methods, reason) in [
            (
                "null",
                "its code_challenge_methods_supported is missing, expected S256",
            ),
            (
                "\"S256\"",
                "its code_challenge_methods_supported is missing, expected S256",
            ),
            (
                "[]",
                "its code_challenge_methods_supported is \"\", expected S256",
            ),
            (
                "[\"plain\",\"s256\"]",
                "its code_challenge_methods_supported is \"plain s256\", expected S256",
            ),
        ] {
            let text = format!(
                r#"{{"issuer":"{{here}}","token_endpoint":"{{here}}/t",
                    "code_challenge_methods_supported":{methods}}}"#
            );
            // An OpenID document may do without no more than others.
            let script = TestServer::by_path(&[(OPENID, &text)]).await;
            let found = find(&script, "").await.1.unwrap();
            let error = found.check_challenge_method().unwrap_err().to_string();
            assert!(error.ends_with(reason), "{error}");
        }
    }

    // Conformance: 2025-03-26-oauth-metadata-backcompat.
    #[tokio::test]
    async fn an_old_server_is_its_own_issuer() {
        for issuer in ["{here}", "{here}/"] {
            let text = format!(
                r#"{{"issuer":"{issuer}","token_endpoint":"{{here}}/oauth/token",
                    "authorization_endpoint":"{{here}}/oauth/authorize"}}"#
            );
            let script = TestServer::by_path(&[(OAUTH, &text)]).await;
            let found = find_issuer_of_old(&fetcher(), &script.place("/mcp?key=1"))
                .await
                .unwrap();
            check_asked(&script.asked(), &[OAUTH]);
            let seen = &script.seen()[0];
            assert_eq!(seen.header("mcp-protocol-version"), Some("2025-03-26"));
            assert_eq!(found.token_endpoint, script.place("/oauth/token"));
            assert_eq!(found.issuer, issuer.replace("{here}", &script.origin));
            assert!(!found.is_assumed);
        }
        for text in [
            r#"{"issuer":"https://evil.test","token_endpoint":"{here}/t"}"#,
            "500",
            "<html>",
        ] {
            let script = TestServer::by_path(&[(OAUTH, text)]).await;
            assert!(
                find_issuer_of_old(&fetcher(), &script.place("/mcp"))
                    .await
                    .is_err()
            );
        }
    }

    // Conformance: 2025-03-26-oauth-endpoint-fallback.
    #[tokio::test]
    async fn an_old_server_without_metadata_has_three_known_places() {
        let script = TestServer::by_path(&[]).await;
        let found = find_issuer_of_old(&fetcher(), &script.place("/deep/mcp"))
            .await
            .unwrap();
        check_asked(&script.asked(), &[OAUTH]);
        assert_eq!(found.issuer, script.origin);
        assert_eq!(
            found.authorization_endpoint,
            Some(script.place("/authorize"))
        );
        assert_eq!(found.token_endpoint, script.place("/token"));
        assert_eq!(found.registration_endpoint, Some(script.place("/register")));
        assert!(found.is_assumed && found.check_challenge_method().is_ok());
    }
}
