//! How a client shows who it is where tokens are given out.
//!
//! Specification: RFC 6749, section 2.3; RFC 7523, section 2.2; RFC 8414
//! (`token_endpoint_auth_methods_supported`); the extension OAuth client credentials.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::byte_serialize;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::{Map, json};
use zeroize::Zeroizing;

use crate::error::AuthError;
use crate::form::Form;
use crate::issuer::Issuer;
use crate::jwt::SigningKey;
use crate::pkce::random_text;
use crate::record::{ClientIdentity, ClientMethod};
use crate::secret::Secret;

/// Adds who the client is to a form, or to the headers that go with it.
///
/// # Errors
/// When it cannot prove itself in the way that it was told to.
pub(crate) fn add_client_proof(
    issuer: &Issuer,
    client: &ClientIdentity,
    key: Option<&SigningKey>,
    now: u64,
    form: Form,
    headers: &mut HeaderMap,
) -> Result<Form, AuthError> {
    match (method(issuer, client, key), &client.secret, key) {
        (ClientMethod::ClientSecretBasic, Some(secret), _) => {
            let encoded = basic(&client.id, secret);
            let header = encoded.header("Basic");
            headers.extend(header.map(|header| (AUTHORIZATION, header)));
            // The id is in the header, but the servers of the Python SDK look here for it.
            Ok(form
                .add("client_id", &client.id)
                .hide(secret)
                .hide(&encoded))
        }
        (ClientMethod::ClientSecretPost, Some(secret), _) => Ok(form
            .add("client_id", &client.id)
            .add_secret("client_secret", secret)),
        (ClientMethod::PrivateKeyJwt, _, Some(key)) => {
            let assertion = assertion(issuer, client, key, now)?;
            // The id is optional here, but some do not look into the assertion for it.
            Ok(form
                .add("client_id", &client.id)
                .add("client_assertion_type", ASSERTION_TYPE)
                .add_secret("client_assertion", &assertion))
        }
        (ClientMethod::PrivateKeyJwt, _, None) => Err(AuthError::Setup {
            reason: format!(
                "the client {:?} proves itself to {} with a signature, and there is no key for it",
                client.id, issuer.issuer
            ),
        }),
        // A workload is known by its assertion.
        _ if client.id.is_empty() => Ok(form),
        // A method that wants a secret, of a client that was given none: it has only its id.
        _ => Ok(form.add("client_id", &client.id)),
    }
}

/// What was agreed on counts; else the strongest that the issuer knows and the client can.
fn method(issuer: &Issuer, client: &ClientIdentity, key: Option<&SigningKey>) -> ClientMethod {
    if let Some(method) = client.method {
        return method;
    }
    let knows = |method: ClientMethod| {
        let known = issuer.client_methods.as_deref().unwrap_or_default();
        known.iter().any(|known| known == method.as_str())
    };
    match (&client.secret, key) {
        (None, None) => ClientMethod::None,
        (None, Some(_)) => ClientMethod::PrivateKeyJwt,
        (Some(_), Some(_)) if knows(ClientMethod::PrivateKeyJwt) => ClientMethod::PrivateKeyJwt,
        (Some(_), _) => [
            ClientMethod::ClientSecretBasic,
            ClientMethod::ClientSecretPost,
            ClientMethod::None,
        ]
        .into_iter()
        .find(|method| knows(*method))
        // RFC 8414: what is not said is basic.
        .unwrap_or(ClientMethod::ClientSecretBasic),
    }
}

/// RFC 6749, section 2.3.1: id and secret are encoded as in a form before they are joined.
fn basic(id: &str, secret: &Secret) -> Secret {
    let mut joined = Zeroizing::new(String::with_capacity(
        3 * (id.len() + secret.reveal().len()),
    ));
    joined.extend(byte_serialize(id.as_bytes()));
    joined.push(':');
    joined.extend(byte_serialize(secret.reveal().as_bytes()));
    Secret::new(STANDARD.encode(joined.as_bytes()))
}

/// RFC 7523, section 3. The audience is the issuer and nobody else: an assertion that is good
/// at one server is of no use at another.
fn assertion(
    issuer: &Issuer,
    client: &ClientIdentity,
    key: &SigningKey,
    now: u64,
) -> Result<Secret, AuthError> {
    let header = Map::from_iter([("typ".to_owned(), "JWT".into())]);
    let claims = json!({
        "iss": client.id,
        "sub": client.id,
        "aud": issuer.issuer,
        "iat": now,
        "exp": now.saturating_add(ASSERTION_LIFE),
        "jti": random_text(ID_BYTES)?,
    });
    key.sign(header, &claims)
}

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
// Long enough for clocks that differ.
const ASSERTION_LIFE: u64 = 5 * 60;
const ID_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::rand::SystemRandom;
    use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;
    use crate::record::ClientOrigin;
    use crate::test_server::issuer;

    const NOW: u64 = 1_800_000_000;

    fn client(secret: Option<&str>) -> ClientIdentity {
        let mut client = ClientIdentity::new("an id", ClientOrigin::Configured);
        client.secret = secret.map(Secret::new);
        client
    }

    fn key() -> (SigningKey, Vec<u8>) {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        let text = STANDARD.encode(made.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
        let key = SigningKey::from_pem(&Secret::new(pem), None, Some("k1".to_owned()));
        (key.unwrap(), pair.public_key().as_ref().to_vec())
    }

    fn proof(
        methods: Option<&[&str]>,
        client: &ClientIdentity,
        key: Option<&SigningKey>,
    ) -> Result<(Form, HeaderMap), AuthError> {
        let mut issuer = issuer("https://as.example");
        issuer.client_methods =
            methods.map(|methods| methods.iter().map(|method| (*method).to_owned()).collect());
        let mut headers = HeaderMap::new();
        let form = add_client_proof(&issuer, client, key, NOW, Form::new(), &mut headers)?;
        Ok((form, headers))
    }

    /// The names in the form, and the header.
    fn shape(methods: Option<&[&str]>, client: &ClientIdentity) -> String {
        let (form, headers) = proof(methods, client, None).unwrap();
        let header = headers.get(AUTHORIZATION);
        let header = header.map_or("", |header| header.to_str().unwrap());
        let body = String::from_utf8(form.encode().to_vec()).unwrap();
        format!("{header}|{body}")
    }

    const BASIC: &str = "Basic YW4raWQ6cyUyRnQ=|client_id=an+id";
    const POST: &str = "|client_id=an+id&client_secret=s%2Ft";
    const NONE: &str = "|client_id=an+id";

    #[test]
    fn a_client_proves_itself_as_the_issuer_says_it_may() {
        let secret = client(Some("s/t"));
        for (methods, expected) in [
            (None, BASIC),
            (Some(&["client_secret_basic"][..]), BASIC),
            (Some(&["client_secret_post"]), POST),
            (Some(&["client_secret_post", "client_secret_basic"]), BASIC),
            (Some(&["none", "client_secret_post"]), POST),
            (Some(&["none"]), NONE),
            (Some(&["tls_client_auth"]), BASIC),
            (Some(&[]), BASIC),
        ] {
            assert_eq!(shape(methods, &secret), expected, "{methods:?}");
            assert_eq!(shape(methods, &client(None)), NONE, "{methods:?}");
        }
    }

    #[test]
    fn what_was_agreed_on_at_registration_counts_more() {
        let mut client = client(Some("s/t"));
        let all = Some(&["none", "client_secret_basic", "client_secret_post"][..]);
        for (method, expected) in [
            (ClientMethod::None, NONE),
            (ClientMethod::ClientSecretBasic, BASIC),
            (ClientMethod::ClientSecretPost, POST),
        ] {
            client.method = Some(method);
            assert_eq!(shape(all, &client), expected);
        }
        client.secret = None;
        client.method = Some(ClientMethod::ClientSecretBasic);
        assert_eq!(shape(all, &client), NONE);
    }

    #[test]
    fn id_and_secret_are_encoded_before_they_are_joined() {
        for (id, secret, joined) in [
            ("plain", "s3cret-._*", "plain:s3cret-._*"),
            ("a:b", "c:d", "a%3Ab:c%3Ad"),
            ("a b", "100%", "a+b:100%25"),
            ("a+b", "&=/?~", "a%2Bb:%26%3D%2F%3F%7E"),
            ("ü", "", "%C3%BC:"),
            (
                "https://app.example/c.json",
                "s",
                "https%3A%2F%2Fapp.example%2Fc.json:s",
            ),
        ] {
            let encoded = basic(id, &Secret::new(secret));
            let decoded = STANDARD.decode(encoded.reveal()).unwrap();
            assert_eq!(String::from_utf8(decoded).unwrap(), joined);
        }
    }

    #[test]
    fn a_signature_says_who_we_are_to_this_issuer_only() {
        let (key, public) = key();
        let mut agreed = client(Some("s"));
        agreed.method = Some(ClientMethod::PrivateKeyJwt);
        let listed: &[&str] = &["client_secret_basic", "private_key_jwt"];
        let mut ids = Vec::new();
        for (methods, client) in [
            (None, &client(None)),
            (Some(listed), &client(Some("s"))),
            (None, &agreed),
        ] {
            let (form, headers) = proof(methods, client, Some(&key)).unwrap();
            assert!(headers.is_empty() && form.value("client_secret").is_none());
            assert_eq!(form.value("client_id"), Some("an id"));
            assert_eq!(form.value("client_assertion_type"), Some(ASSERTION_TYPE));
            let assertion = form.value("client_assertion").unwrap();
            let (signed, signature) = assertion.rsplit_once('.').unwrap();
            let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
            UnparsedPublicKey::new(&ED25519, &public)
                .verify(signed.as_bytes(), &decode(signature))
                .unwrap();
            let (header, claims) = signed.split_once('.').unwrap();
            let read = |part| -> Value { serde_json::from_slice(&decode(part)).unwrap() };
            assert_eq!(
                read(header),
                json!({"alg": "EdDSA", "kid": "k1", "typ": "JWT"})
            );
            let mut claims = read(claims);
            ids.push(claims.as_object_mut().unwrap().remove("jti").unwrap());
            assert_eq!(
                claims,
                json!({
                    "iss": "an id", "sub": "an id", "aud": "https://as.example",
                    "iat": NOW, "exp": NOW + 300,
                })
            );
        }
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }

    #[test]
    fn a_key_that_is_wanted_and_not_there_is_missed() {
        let mut client = client(Some("s3cret"));
        client.method = Some(ClientMethod::PrivateKeyJwt);
        let error = proof(None, &client, None).unwrap_err().to_string();
        assert!(error.contains("an id") && error.contains("no key") && !error.contains("s3cret"));
    }

    #[test]
    fn a_secret_is_neither_printed_nor_answered_back() {
        let (form, headers) = proof(None, &client(Some("s3cret")), None).unwrap();
        assert!(!format!("{headers:?}").contains("Basic"));
        let encoded = basic("an id", &Secret::new("s3cret"));
        let said = format!("no s3cret, no {}", encoded.reveal());
        assert_eq!(form.cut_out_of(&said), "no ***, no ***");
    }
}
