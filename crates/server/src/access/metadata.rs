//! What a client needs to know to get a token for this server.
//!
//! The document itself; the HTTP endpoint serves it at the well-known place.
//!
//! Specification: 2026-07-28, basic/authorization/authorization-server-discovery;
//! RFC 9728 sections 2 and 3.

use std::error::Error;
use std::fmt;

use bytes::Bytes;
use http::Uri;
use serde::Serialize;

use switchboard_transport::http::is_scope;

/// This server as a protected resource, in the terms of RFC 9728.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProtectedResource {
    resource: String,
    authorization_servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_documentation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_policy_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_tos_uri: Option<String>,
}

impl ProtectedResource {
    /// The server at the address that clients use, such as `https://mcp.example.com/mcp`,
    /// and the issuer of the authorization server that gives out tokens for it.
    ///
    /// # Errors
    /// When one of them is not an `http` or `https` address, or holds a fragment.
    pub fn new(
        resource: impl Into<String>,
        authorization_server: impl Into<String>,
    ) -> Result<Self, ResourceError> {
        let (resource, issuer) = (resource.into(), authorization_server.into());
        check_address(&resource)?;
        check_address(&issuer)?;
        Ok(Self {
            resource,
            authorization_servers: vec![issuer],
            scopes_supported: Vec::new(),
            bearer_methods_supported: ["header"],
            resource_name: None,
            resource_documentation: None,
            resource_policy_uri: None,
            resource_tos_uri: None,
        })
    }

    /// One more authorization server, after the first.
    ///
    /// # Errors
    /// When it is not an `http` or `https` address, or holds a fragment.
    pub fn authorization_server(
        mut self,
        issuer: impl Into<String>,
    ) -> Result<Self, ResourceError> {
        let issuer = issuer.into();
        check_address(&issuer)?;
        self.authorization_servers.push(issuer);
        Ok(self)
    }

    /// The least that a client should ask for; it learns of more when it needs more.
    ///
    /// `offline_access` is left out, since it concerns clients and not this server, and
    /// so is what no scope may look like.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes = scopes.into_iter().map(Into::into);
        self.scopes_supported
            .extend(scopes.filter(|scope: &String| is_scope(scope) && scope != "offline_access"));
        self
    }

    /// A name for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.resource_name = Some(name.into());
        self
    }

    /// Where its documentation is.
    #[must_use]
    pub fn documentation(mut self, address: impl Into<String>) -> Self {
        self.resource_documentation = Some(address.into());
        self
    }

    /// Where it says how its data may be used.
    #[must_use]
    pub fn policy(mut self, address: impl Into<String>) -> Self {
        self.resource_policy_uri = Some(address.into());
        self
    }

    /// Where its terms of service are.
    #[must_use]
    pub fn terms_of_service(mut self, address: impl Into<String>) -> Self {
        self.resource_tos_uri = Some(address.into());
        self
    }

    /// The address of the server: the audience that its tokens must name.
    pub fn identifier(&self) -> &str {
        &self.resource
    }

    /// The issuer of the first authorization server.
    pub fn issuer(&self) -> &str {
        self.authorization_servers
            .first()
            .map_or("", String::as_str)
    }

    /// Where clients find this document: the well-known path goes between host and path.
    pub fn location(&self) -> String {
        let (origin, path) = self.split();
        format!("{origin}{WELL_KNOWN}{path}")
    }

    /// The path of [`location`](Self::location), for whoever mounts it.
    pub fn well_known_path(&self) -> String {
        let (_, path) = self.split();
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        format!("{WELL_KNOWN}{path}")
    }

    /// The document, as JSON.
    pub fn to_json(&self) -> Bytes {
        serde_json::to_vec(self)
            .expect("invariant: strings always become JSON")
            .into()
    }

    /// The address up to the host, and what follows it; a lone slash does not count.
    fn split(&self) -> (&str, &str) {
        let host = self.resource.find("://").map_or(0, |at| at + 3);
        let rest = self.resource.get(host..).unwrap_or_default();
        let path = rest
            .find(['/', '?'])
            .map_or(self.resource.len(), |at| host + at);
        let (origin, path) = self.resource.split_at(path);
        match path.strip_prefix('/') {
            Some(after) if after.is_empty() || after.starts_with('?') => (origin, after),
            _ => (origin, path),
        }
    }
}

/// An address that cannot name a resource or an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceError {
    /// What was given.
    pub address: String,
}

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not an address such as https://mcp.example.com/mcp, without a fragment",
            self.address
        )
    }
}

impl Error for ResourceError {}

fn check_address(address: &str) -> Result<(), ResourceError> {
    let usable = address.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri
                .authority()
                .is_some_and(|authority| !authority.as_str().contains('@'))
            && !address.contains('#')
    });
    if usable {
        Ok(())
    } else {
        Err(ResourceError {
            address: address.to_owned(),
        })
    }
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://login.example.com";

    #[test]
    fn the_document_says_what_a_client_needs() {
        let resource = ProtectedResource::new("https://mcp.example.com/mcp", ISSUER).unwrap();
        assert_eq!(
            resource.to_json(),
            r#"{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://login.example.com"],"bearer_methods_supported":["header"]}"#
        );
        let full = resource
            .authorization_server("https://other.example/tenant")
            .unwrap()
            .scopes(["files:read", "offline_access", "a b", ""])
            .name("Files \"of\" us")
            .documentation("https://d.example")
            .policy("https://p.example")
            .terms_of_service("https://t.example");
        assert_eq!(
            full.to_json(),
            r#"{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://login.example.com","https://other.example/tenant"],"scopes_supported":["files:read"],"bearer_methods_supported":["header"],"resource_name":"Files \"of\" us","resource_documentation":"https://d.example","resource_policy_uri":"https://p.example","resource_tos_uri":"https://t.example"}"#
        );
    }

    #[test]
    fn the_well_known_path_goes_between_host_and_path() {
        let check = |resource: &str, location: &str, path: &str| {
            let resource = ProtectedResource::new(resource, ISSUER).unwrap();
            assert_eq!(resource.location(), location);
            assert_eq!(resource.well_known_path(), path);
        };
        let known = "/.well-known/oauth-protected-resource";
        check(
            "https://a.example",
            &format!("https://a.example{known}"),
            known,
        );
        check(
            "https://a.example/",
            &format!("https://a.example{known}"),
            known,
        );
        check(
            "http://127.0.0.1:80/a/mcp",
            &format!("http://127.0.0.1:80{known}/a/mcp"),
            &format!("{known}/a/mcp"),
        );
        check(
            "https://a.example/mcp/?k=v",
            &format!("https://a.example{known}/mcp/?k=v"),
            &format!("{known}/mcp/"),
        );
        check(
            "https://a.example?k=/v",
            &format!("https://a.example{known}?k=/v"),
            known,
        );
        check(
            "https://a.example/?k=v",
            &format!("https://a.example{known}?k=v"),
            known,
        );
    }

    #[test]
    fn what_names_no_server_is_refused() {
        for address in [
            "",
            "mcp.example.com",
            "/mcp",
            "ftp://a.example",
            "https://a.example/#x",
            "https://user@a.example",
            "https://",
            "https://a example",
        ] {
            assert!(
                ProtectedResource::new(address, ISSUER).is_err(),
                "{address}"
            );
            assert!(
                ProtectedResource::new(ISSUER, address).is_err(),
                "{address}"
            );
        }
    }
}
