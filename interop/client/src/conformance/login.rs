//! How the client under test gets its tokens.
//!
//! Scenarios whose names begin with `auth/` are about that. Most want a person, who here is a
//! request for the page of the login; a few have something in their context that takes a
//! person's place.

use std::sync::Arc;

use http::{Request, Uri};
use serde_json::Value;
use switchboard_auth::{
    Asking, AuthError, Grant, IdentityProvider, Interaction, LoginPage, MemoryStore, OAuth, Secret,
    SigningKey, TokenSource, Visit,
};

use crate::{Failure, redirects};

/// The login that a scenario wants.
pub(crate) fn credentials(scenario: &str, url: &str, context: &Value) -> Result<OAuth, Failure> {
    let login = OAuth::for_server(url)?
        .store(Arc::new(MemoryStore::new()))
        .interaction(Person)
        .client_name("conformance-client")
        .client_document(DOCUMENT)?;
    let text = |name: &str| {
        let value = context.get(name).and_then(Value::as_str);
        value.ok_or_else(|| format!("the context has no {name}"))
    };
    let secret = |name: &str| text(name).map(Secret::from);
    let login = match scenario {
        "auth/pre-registration" => login
            .client(text("client_id")?, Some(secret("client_secret")?))
            .client_issuer(text("issuer")?),
        "auth/client-credentials-basic" => login
            .client(text("client_id")?, Some(secret("client_secret")?))
            .grant(Grant::ClientCredentials),
        "auth/client-credentials-jwt" => {
            let algorithm = text("signing_algorithm")?;
            let key = SigningKey::from_pem(&secret("private_key_pem")?, Some(algorithm), None)?;
            login
                .client(text("client_id")?, None)
                .signing_key(key)
                .grant(Grant::ClientCredentials)
        }
        "auth/wif-jwt-bearer" => login
            .client(text("client_id")?, None)
            .grant(Grant::Workload(TokenSource::fixed(secret("valid_jwt")?))),
        "auth/enterprise-managed-authorization" => {
            let provider = IdentityProvider::new(
                text("idp_token_endpoint")?,
                text("idp_client_id")?,
                None,
                TokenSource::fixed(secret("idp_id_token")?),
            )?;
            login
                .client(text("client_id")?, Some(secret("client_secret")?))
                .grant(Grant::Enterprise(Box::new(provider)))
        }
        _ => login,
    };
    Ok(login.build()?)
}

/// Somebody who agrees to everything at once.
#[derive(Debug)]
struct Person;

impl Interaction for Person {
    fn prepare<'a>(&'a self, _known: &'a [String]) -> Asking<'a, Box<dyn Visit>> {
        Box::pin(async { Ok(Box::new(Browser) as Box<dyn Visit>) })
    }
}

/// Looks at one page, and at where it leads.
struct Browser;

impl Visit for Browser {
    fn redirect_uri(&self) -> &str {
        // Nobody listens there: what comes back is read from the answer that leads to it.
        "http://127.0.0.1:53682/callback"
    }

    fn go<'a>(&'a mut self, page: &'a LoginPage) -> Asking<'a, Secret> {
        Box::pin(async move {
            let aborted = |reason: String| AuthError::LoginAborted { reason };
            let client = redirects::client().map_err(aborted)?;
            let mut request = Request::new(bytes::Bytes::new());
            let uri: Result<Uri, _> = page.url.as_str().parse();
            *request.uri_mut() = uri.map_err(|error| aborted(error.to_string()))?;
            let answer = client.send(request).await;
            let answer = answer.map_err(|error| aborted(error.to_string()))?;
            let location = redirects::location(&answer.headers).map_err(aborted)?;
            Ok(Secret::new(location))
        })
    }
}

/// What the suite expects as the client id, and never asks for.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
