//! Clients that register themselves.
//!
//! Specification: RFC 7591; OpenID Connect Dynamic Client Registration, `application_type`.

use serde_json::{Value, json};

use super::client::Client;
use super::jose::fresh;
use super::knobs::Knobs;
use super::message::{Asked, Reply};
use super::{GRANTS, Office, Outcome, Refused};

impl Office {
    pub(super) fn register(&self, asked: &Asked) -> Outcome<Reply> {
        let knobs = self.knobs();
        let bad = |why: &str| Refused::new("invalid_client_metadata", why);
        if asked.method != "POST" || asked.header("content-type") != Some("application/json") {
            return Err(bad("only a POST of JSON registers"));
        }
        let wanted = asked.json().filter(Value::is_object);
        let mut wanted = wanted.ok_or_else(|| bad("this is no JSON object"))?;
        let grants = match texts(&wanted["grant_types"]) {
            grants if grants.is_empty() => vec!["authorization_code".to_owned()],
            grants => grants,
        };
        if !grants.iter().all(|grant| GRANTS.contains(&grant.as_str())) {
            return Err(bad("there is no such grant"));
        }
        let redirect_uris = check_redirect_uris(&wanted, &grants)?;
        let responses = texts(&wanted["response_types"]);
        if responses.iter().any(|response| response != "code") {
            return Err(bad("only the response type code is answered"));
        }
        let method = check_method(&knobs, &wanted)?;
        let mut files = self.files();
        let client = Client {
            id: fresh("client"),
            secret: method
                .starts_with("client_secret")
                .then(|| files.secret("secret")),
            secret_end: knobs.secret_expires_at,
            method,
            point: None,
            redirect_uris,
            grants,
        };
        wanted["client_id"] = json!(client.id);
        wanted["client_id_issued_at"] = json!(super::now());
        wanted["grant_types"] = json!(client.grants);
        wanted["token_endpoint_auth_method"] = json!(client.method);
        if let Some(secret) = &client.secret {
            wanted["client_secret"] = json!(secret);
            wanted["client_secret_expires_at"] = json!(knobs.secret_expires_at);
        }
        files.clients.insert(client.id.clone(), client);
        Ok(Reply::json(201, &knobs.registered.apply(wanted)))
    }
}

/// A page, or an address of this machine; which of the two is said by `application_type`.
fn check_redirect_uris(wanted: &Value, grants: &[String]) -> Outcome<Vec<String>> {
    let bad = |why: &str| Refused::new("invalid_redirect_uri", why);
    let redirect_uris = texts(&wanted["redirect_uris"]);
    // RFC 7591, section 2: only grants that redirect need one.
    if redirect_uris.is_empty() && grants.iter().any(|grant| grant == "authorization_code") {
        return Err(bad("there is none"));
    }
    let is_native = wanted["application_type"] == "native";
    for redirect_uri in &redirect_uris {
        let is_here = ["http://127.0.0.1:", "http://[::1]:", "http://localhost:"]
            .iter()
            .any(|start| redirect_uri.starts_with(start));
        if redirect_uri.contains('#') {
            return Err(bad("it has a fragment"));
        }
        if is_here && !is_native {
            return Err(bad(
                "only a native application is on the machine of its user",
            ));
        }
        if !is_here && !redirect_uri.starts_with("https://") {
            return Err(bad("it is neither https nor on the machine of its user"));
        }
    }
    Ok(redirect_uris)
}

fn check_method(knobs: &Knobs, wanted: &Value) -> Outcome<String> {
    let bad = |why: &str| Refused::new("invalid_client_metadata", why);
    // RFC 7591, section 2: what is meant if nothing is said.
    let method = match &wanted["token_endpoint_auth_method"] {
        Value::Null => "client_secret_basic",
        method => method.as_str().unwrap_or_default(),
    };
    if !knobs.methods.contains(&method) || method == "private_key_jwt" {
        return Err(bad("no client may prove itself in this way"));
    }
    if knobs.needs_secret && method == "none" {
        return Err(bad("only clients with a secret may register"));
    }
    Ok(method.to_owned())
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}
