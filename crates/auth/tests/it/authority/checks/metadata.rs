//! What an authority says about itself, and where.

use serde_json::{Value, json};

use crate::authority::{Authority, Edit, MetadataAt, Proofs, ask};

async fn document(authority: &Authority, path: &str) -> Option<Value> {
    let reply = ask("GET", &authority.site.url(path), &[], "").await;
    (reply.status == 200).then(|| serde_json::from_str(&reply.body).unwrap())
}

#[tokio::test]
async fn metadata_is_only_where_it_is_told() {
    for path in ["", "/tenant/one"] {
        let places = [
            (
                MetadataAt::OAuth,
                format!("/.well-known/oauth-authorization-server{path}"),
            ),
            (
                MetadataAt::OpenId,
                format!("/.well-known/openid-configuration{path}"),
            ),
            (
                MetadataAt::OpenIdBehind,
                format!("{path}/.well-known/openid-configuration"),
            ),
        ];
        for (at, place) in &places {
            let authority = Authority::start_with(|knobs| {
                knobs.issuer_path = path.to_owned();
                knobs.metadata_at = vec![*at];
            });
            let authority = authority.await;
            for (_, asked) in &places {
                let found = document(&authority, asked).await;
                assert_eq!(found.is_some(), asked == place, "{asked} {place}");
                if let Some(found) = found {
                    assert_eq!(found["issuer"], authority.issuer());
                    assert_eq!(found["token_endpoint"], authority.url("/token"));
                }
            }
        }
    }
}

#[tokio::test]
async fn there_may_be_none_or_one_that_lies() {
    let authority = Authority::start_with(|knobs| knobs.metadata_at.clear()).await;
    let path = "/.well-known/oauth-authorization-server";
    assert_eq!(document(&authority, path).await, None);
    authority.change(|knobs| {
        knobs.metadata_at = vec![MetadataAt::OAuth];
        knobs.metadata = Edit::new(|document| document["issuer"] = json!("https://evil.example"));
    });
    let found = document(&authority, path).await.unwrap();
    assert_eq!(found["issuer"], "https://evil.example");
    assert_eq!(
        ask("POST", &authority.site.url(path), &[], "").await.status,
        405
    );
}

#[tokio::test]
async fn metadata_says_what_is_done() {
    let authority = Authority::start().await;
    let path = "/.well-known/oauth-authorization-server";
    let found = document(&authority, path).await.unwrap();
    assert_eq!(found["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(found["registration_endpoint"], authority.url("/register"));
    assert_eq!(found["dpop_signing_alg_values_supported"], json!(["ES256"]));
    assert_eq!(
        found["authorization_response_iss_parameter_supported"],
        true
    );
    assert_eq!(found["client_id_metadata_document_supported"], false);
    authority.change(|knobs| {
        knobs.registers = false;
        knobs.proofs = Proofs::Unknown;
        knobs.promises_iss = false;
        knobs.takes_documents = true;
        knobs.methods = vec!["client_secret_post"];
    });
    let found = document(&authority, path).await.unwrap();
    assert_eq!(found["registration_endpoint"], Value::Null);
    assert_eq!(found["dpop_signing_alg_values_supported"], Value::Null);
    assert_eq!(
        found["authorization_response_iss_parameter_supported"],
        false
    );
    assert_eq!(found["client_id_metadata_document_supported"], true);
    let methods = &found["token_endpoint_auth_methods_supported"];
    assert_eq!(methods, &json!(["client_secret_post"]));
    let url = authority.url("/register");
    assert_eq!(ask("POST", &url, &[], "{}").await.status, 404);
}
