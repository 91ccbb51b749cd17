//! What a server says about itself: its name, and who gives out tokens for it.
//!
//! Finds and checks the document. Which of the authorization servers is used is for the caller,
//! and so is what to do without a document.
//!
//! Specification: RFC 9728; basic/authorization/authorization-server-discovery, "Protected
//! Resource Metadata Discovery Requirements".

use http::HeaderMap;

use crate::challenge::Demand;
use crate::document::{Document, excerpt};
use crate::error::{AuthError, Step};
use crate::fetch::Fetcher;
use crate::place::Place;
use crate::scope::Scopes;

/// What a server says about itself, checked.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    /// Its name, as it stands in the document: that is how it is asked for. Without one, the
    /// canonical form of its URL.
    pub(crate) resource: String,
    /// Who gives out tokens for it, at least one; in its order.
    pub(crate) issuers: Vec<String>,
    /// What may be asked for.
    pub(crate) scopes: Scopes,
    /// Does it take only tokens that come with a proof?
    pub(crate) wants_proof: bool,
    /// Where the document is.
    pub(crate) place: Place,
}

/// Finds the document of a server: where its challenge says, and nowhere else if it does; else at
/// its path, else at the root. None if there is none, as with servers of 2025-03-26.
///
/// # Errors
/// When a document is found that cannot be used or cannot be read, or the challenge names one that
/// is not there or not the server's.
pub(crate) async fn find_resource(
    fetcher: &Fetcher,
    server: &Place,
    demand: &Demand,
) -> Result<Option<Resource>, AuthError> {
    let step = Step::ResourceMetadata;
    if let Some(url) = &demand.resource_metadata {
        let place = Place::parse(url);
        let place = place.map_err(AuthError::place("the resource_metadata of the server"))?;
        // The server decides who is asked for tokens; nobody else may decide for it.
        if !place.is_same_origin(server) {
            let reason = format!("it has another origin than the server, {}", server.origin());
            return Err(AuthError::metadata(&place, reason));
        }
        return match fetcher.document(step, &place, HeaderMap::new()).await? {
            Some(text) => read(server, &place, &text).map(Some),
            None => {
                let reason = "the server names it, but it is not there";
                Err(AuthError::metadata(&place, reason))
            }
        };
    }
    for path in [server.path(), ""] {
        let place = at(server, path)?;
        if let Some(text) = fetcher.document(step, &place, HeaderMap::new()).await? {
            return read(server, &place, &text).map(Some);
        }
        if path.is_empty() {
            break;
        }
    }
    Ok(None)
}

fn at(server: &Place, path: &str) -> Result<Place, AuthError> {
    let place = server.sibling(&format!("{WELL_KNOWN}{path}"));
    place.map_err(AuthError::place("the metadata of the server"))
}

fn read(server: &Place, place: &Place, text: &[u8]) -> Result<Resource, AuthError> {
    let document = Document::read(place, text)?;
    let resource = match document.url("resource")? {
        None => server.canonical(),
        Some(resource) if is_part_of(server, &resource) => resource.as_str().to_owned(),
        Some(resource) => {
            return Err(document.unusable(format!(
                "it is about {}, and the server is {server}",
                excerpt(resource.as_str())
            )));
        }
    };
    let mut issuers = Vec::new();
    let named = document.texts("authorization_servers");
    for issuer in named.into_iter().flatten().take(MOST_ISSUERS) {
        document.checked("authorization_servers", issuer)?;
        issuers.push(issuer.to_owned());
    }
    if issuers.is_empty() {
        return Err(
            document.unusable("its authorization_servers names none, expected at least one")
        );
    }
    Ok(Resource {
        resource,
        issuers,
        scopes: document
            .texts("scopes_supported")
            .into_iter()
            .flatten()
            .collect(),
        wants_proof: document.is_set("dpop_bound_access_tokens_required"),
        place: place.clone(),
    })
}

/// Is the server what the resource names, or within it?
fn is_part_of(server: &Place, resource: &Place) -> bool {
    let below = server.path().strip_prefix(resource.path());
    server.is_same_origin(resource)
        && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
// More than anybody has; a list without end would be asked for without end.
const MOST_ISSUERS: usize = 16;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::chain;
    use crate::test_server::{TestServer, fetcher, fetcher_within};

    const AT_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
    const AT_ROOT: &str = "/.well-known/oauth-protected-resource";
    const GOOD: &str = r#"{"resource":"{here}/mcp","authorization_servers":["https://as.test"]}"#;

    fn named(script: &TestServer, path: &str) -> Demand {
        Demand {
            resource_metadata: Some(format!("{}{path}", script.origin)),
            ..Demand::default()
        }
    }

    async fn find(script: &TestServer, demand: &Demand) -> Result<Option<Resource>, AuthError> {
        find_resource(&fetcher(), &script.place("/mcp"), demand).await
    }

    /// The reason why a document is not used, with `{here}` for the origin.
    async fn refused(document: &str) -> String {
        let script = TestServer::by_path(&[(AT_PATH, document), (AT_ROOT, GOOD)]).await;
        let error = find(&script, &Demand::default()).await.unwrap_err();
        // Nothing else is tried.
        assert_eq!(script.asked(), [format!("GET {AT_PATH}")]);
        chain(&error).replace(&script.origin, "{here}")
    }

    // Conformance: metadata-default, metadata-var3.
    #[tokio::test]
    async fn a_place_in_the_challenge_is_the_only_one_that_is_asked() {
        for path in [AT_PATH, "/custom/metadata/location.json"] {
            let script = TestServer::by_path(&[(path, GOOD), (AT_ROOT, "500")]).await;
            let found = find(&script, &named(&script, path)).await.unwrap().unwrap();
            assert_eq!(found.place, script.place(path));
            assert_eq!(script.asked(), [format!("GET {path}")]);
        }
        let script = TestServer::by_path(&[(AT_PATH, GOOD), (AT_ROOT, GOOD)]).await;
        let error = find(&script, &named(&script, "/gone")).await.unwrap_err();
        assert!(
            error.to_string().ends_with("but it is not there"),
            "{error}"
        );
        assert_eq!(script.asked(), ["GET /gone"]);
    }

    // Conformance: metadata-var1, metadata-var2.
    #[tokio::test]
    async fn without_one_the_path_comes_before_the_root() {
        let script = TestServer::by_path(&[(AT_PATH, GOOD), (AT_ROOT, "500")]).await;
        let found = find(&script, &Demand::default()).await.unwrap().unwrap();
        assert_eq!(found.resource, format!("{}/mcp", script.origin));
        assert_eq!(script.asked(), [format!("GET {AT_PATH}")]);

        let at_root = r#"{"resource":"{here}","authorization_servers":["{here}/tenant1"]}"#;
        let script = TestServer::by_path(&[(AT_ROOT, at_root)]).await;
        let found = find(&script, &Demand::default()).await.unwrap().unwrap();
        // Not a byte more: no slash at its end.
        assert_eq!(found.resource, script.origin);
        assert_eq!(found.issuers, [format!("{}/tenant1", script.origin)]);
        assert_eq!(
            script.asked(),
            [format!("GET {AT_PATH}"), format!("GET {AT_ROOT}")]
        );
    }

    #[tokio::test]
    async fn only_so_many_issuers_are_looked_at() {
        let named = (0..=MOST_ISSUERS).map(|number| format!("\"https://as{number}.test\""));
        let named = named.collect::<Vec<_>>().join(",");
        let document =
            format!(r#"{{"resource":"{{here}}/mcp","authorization_servers":[{named}]}}"#);
        let script = TestServer::by_path(&[(AT_PATH, &document)]).await;
        let found = find(&script, &Demand::default()).await.unwrap().unwrap();
        assert_eq!(found.issuers.len(), MOST_ISSUERS);
        assert_eq!(found.issuers[0], "https://as0.test");
    }

    #[tokio::test]
    async fn a_server_at_the_root_is_asked_once() {
        for path in ["", "/", "/?key=1"] {
            let script = TestServer::by_path(&[]).await;
            let server = script.place(path);
            let found = find_resource(&fetcher(), &server, &Demand::default()).await;
            assert!(found.unwrap().is_none());
            assert_eq!(script.asked(), [format!("GET {AT_ROOT}")]);
        }
    }

    #[tokio::test]
    async fn a_path_is_put_behind_the_well_known_one() {
        for (path, asked) in [
            ("/a/b", "GET /.well-known/oauth-protected-resource/a/b"),
            ("/a/b/", "GET /.well-known/oauth-protected-resource/a/b"),
            ("/a?key=1", "GET /.well-known/oauth-protected-resource/a"),
        ] {
            let script = TestServer::by_path(&[]).await;
            let server = script.place(path);
            let found = find_resource(&fetcher(), &server, &Demand::default()).await;
            assert!(found.unwrap().is_none());
            assert_eq!(script.asked(), [asked.to_owned(), format!("GET {AT_ROOT}")]);
        }
    }

    #[tokio::test]
    async fn everything_that_counts_is_read() {
        let script = TestServer::by_path(&[(
            AT_PATH,
            r#"{"resource":"{here}/mcp",
               "authorization_servers":["https://b.test/x/","https://a.test"],
               "scopes_supported":["b","a"],"dpop_bound_access_tokens_required":true,"more":[{}]}"#,
        )])
        .await;
        let found = find(&script, &Demand::default()).await.unwrap().unwrap();
        assert_eq!(found.issuers, ["https://b.test/x/", "https://a.test"]);
        assert_eq!(found.scopes, Scopes::parse("b a"));
        assert!(found.wants_proof);
        assert_eq!(found.place, script.place(AT_PATH));
    }

    #[tokio::test]
    async fn without_a_name_the_server_is_called_by_its_url() {
        let text = r#"{"authorization_servers":["https://a.test"]}"#;
        let script = TestServer::by_path(&[(AT_PATH, text)]).await;
        let found = find(&script, &Demand::default()).await.unwrap().unwrap();
        assert_eq!(found.resource, format!("{}/mcp", script.origin));
        assert!(found.scopes.is_empty() && !found.wants_proof);
    }

    #[test]
    fn a_resource_is_the_server_or_what_holds_it() {
        let check = |server, resource| {
            let place = |text| Place::parse(text).unwrap();
            is_part_of(&place(server), &place(resource))
        };
        for (server, resource) in [
            ("https://a.test/mcp", "https://a.test/mcp"),
            ("https://a.test/mcp", "https://a.test/mcp/"),
            ("https://a.test/mcp/", "https://a.test/mcp"),
            ("https://a.test/mcp", "https://a.test"),
            ("https://a.test/mcp", "https://A.test:443/"),
            ("https://a.test/x/y", "https://a.test/x"),
            ("https://a.test/mcp?key=1", "https://a.test/mcp"),
        ] {
            assert!(check(server, resource), "{server} {resource}");
        }
        for (server, resource) in [
            ("https://a.test/mcp", "https://b.test/mcp"),
            ("https://a.test/mcp", "https://a.test:8443/mcp"),
            ("https://a.test/mcp", "https://a.test.evil.test/mcp"),
            ("https://a.test/mcp", "https://a.test/mc"),
            ("https://a.test/mcp", "https://a.test/mcp/v2"),
            ("https://a.test/mcp-two", "https://a.test/mcp"),
            ("https://a.test/mcp", "https://a.test/MCP"),
            ("http://127.0.0.1/mcp", "http://localhost/mcp"),
            ("http://localhost/mcp", "https://localhost/mcp"),
        ] {
            assert!(!check(server, resource), "{server} {resource}");
        }
    }

    // Conformance: resource-mismatch.
    #[tokio::test]
    async fn a_document_about_another_server_is_refused() {
        for (resource, reason) in [
            (
                "https://evil.example.com/mcp",
                "it is about \"https://evil.example.com/mcp\", and the server is {here}/mcp",
            ),
            (
                "{here}/other",
                "it is about \"{here}/other\", and the server is {here}/mcp",
            ),
            (
                "{here}/mcp/deeper",
                "it is about \"{here}/mcp/deeper\", and the server is {here}/mcp",
            ),
            (
                "{here}/mcp#part",
                "in its resource, the URL \"{here}/mcp#part\" is not used: it has a fragment",
            ),
            (
                "http://evil.example.com/mcp",
                "it is not https, which only this machine itself may do without",
            ),
            ("mcp", "it is neither https nor http"),
        ] {
            let text = format!(
                r#"{{"resource":"{resource}","authorization_servers":["https://as.test"]}}"#
            );
            let error = refused(&text).await;
            assert!(
                error.starts_with(
                    "the metadata at {here}/.well-known/oauth-protected-resource/mcp is not used: "
                ),
                "{error}"
            );
            assert!(error.ends_with(reason), "{error}");
        }
        let error =
            refused(r#"{"resource":["{here}/mcp"],"authorization_servers":["https://as.test"]}"#)
                .await;
        assert!(error.ends_with("its resource is not a text"), "{error}");
    }

    #[tokio::test]
    async fn a_document_that_names_nobody_is_refused() {
        for text in [
            "{}",
            r#"{"authorization_servers":[]}"#,
            r#"{"authorization_servers":null}"#,
            r#"{"authorization_servers":"https://as.test"}"#,
            r#"{"authorization_servers":[7]}"#,
        ] {
            let error = refused(text).await;
            assert!(
                error.ends_with("names none, expected at least one"),
                "{error}"
            );
        }
    }

    #[tokio::test]
    async fn authorization_servers_that_may_not_be_asked_are_refused() {
        for (url, reason) in [
            ("javascript:alert(1)", "it is neither https nor http"),
            ("file:///etc/passwd", "it is neither https nor http"),
            (
                "http://as.test",
                "it is not https, which only this machine itself may do without",
            ),
            ("https://user:word@as.test", "it has a user in it"),
            ("https://as.test/#x", "it has a fragment"),
            ("", "it is neither https nor http"),
        ] {
            let error = refused(&format!(
                r#"{{"authorization_servers":["https://good.test","{url}"]}}"#
            ))
            .await;
            assert!(
                error.contains("in its authorization_servers, the URL "),
                "{error}"
            );
            assert!(error.ends_with(reason), "{error}");
        }
    }

    #[tokio::test]
    async fn what_is_no_document_is_an_error_and_not_a_reason_to_look_elsewhere() {
        assert!(refused("<html>").await.ends_with("it is not JSON"));
        assert!(refused("[]").await.ends_with("it is not an object of JSON"));
        assert!(refused("500").await.ends_with(": status 500"));
        assert!(refused("429").await.ends_with(": status 429"));
        let elsewhere = refused("302 https://evil.test/").await;
        assert!(elsewhere.contains("leads out of its origin"), "{elsewhere}");
        let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(300_000));
        assert!(refused(&large).await.contains("its answer cannot be read"));
        let script = TestServer::by_path(&[(AT_PATH, "silence"), (AT_ROOT, GOOD)]).await;
        let fetcher = fetcher_within(Duration::from_millis(50));
        let found = find_resource(&fetcher, &script.place("/mcp"), &Demand::default()).await;
        assert!(
            matches!(found, Err(AuthError::TimedOut { .. })),
            "{found:?}"
        );
        assert_eq!(script.asked(), [format!("GET {AT_PATH}")]);
    }

    #[tokio::test]
    async fn a_challenge_cannot_lead_out_of_the_origin() {
        let canary = TestServer::by_path(&[(AT_PATH, GOOD)]).await;
        let script = TestServer::by_path(&[(AT_PATH, GOOD)]).await;
        let port = script.origin.rsplit_once(':').unwrap().1;
        for url in [
            format!("{}{AT_PATH}?token=secret", canary.origin),
            format!("http://localhost:{port}{AT_PATH}"),
            "https://169.254.169.254/latest".to_owned(),
        ] {
            let demand = Demand {
                resource_metadata: Some(url),
                ..Demand::default()
            };
            let error = find(&script, &demand).await.unwrap_err().to_string();
            assert!(
                error.contains("it has another origin than the server, http://127"),
                "{error}"
            );
            assert!(!error.contains("secret"), "{error}");
        }
        for url in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "/relative",
            "http://evil.test/",
        ] {
            let demand = Demand {
                resource_metadata: Some(url.to_owned()),
                ..Demand::default()
            };
            let error = find(&script, &demand).await.unwrap_err();
            assert!(matches!(error, AuthError::Place { .. }), "{error:?}");
        }
        assert!(canary.asked().is_empty() && script.asked().is_empty());
    }

    #[tokio::test]
    async fn a_document_may_move_within_the_server() {
        let script =
            TestServer::by_path(&[(AT_PATH, "302 /elsewhere"), ("/elsewhere", GOOD)]).await;
        assert!(find(&script, &Demand::default()).await.unwrap().is_some());
    }
}
