//! What a server wants of a client: the lines of `WWW-Authenticate`, a line each.

#[path = "../../crates/auth/src/challenge.rs"]
mod read;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue};
use switchboard_server::access::{Challenge, ChallengeError};

use read::Demand;

/// Whatever stands there, what is taken from it stood there; and what our servers write is read as
/// it was meant, before or behind anything else.
pub fn challenge(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(16) {
        if let Ok(line) = HeaderValue::from_bytes(line) {
            headers.append(WWW_AUTHENTICATE, line);
        }
    }
    let demand = Demand::of(&headers);
    assert_eq!(Demand::of(&headers), demand);
    let whole = data.to_ascii_lowercase();
    if demand.resource_metadata.is_some() || demand.scopes.is_some() || demand.error.is_some() {
        let is_ours = |name: &[u8]| whole.windows(name.len()).any(|part| part == name);
        assert!(is_ours(b"bearer") || is_ours(b"dpop"), "{demand:?}");
    }
    for text in [&demand.resource_metadata, &demand.error]
        .into_iter()
        .flatten()
    {
        assert!(text.len() <= data.len());
    }
    if demand.wants_nonce() {
        assert!(demand.wants_proof);
    }
    check_own(&String::from_utf8_lossy(data), &headers);
}

/// Any text that our servers put into a challenge comes out of it, as far as a header can hold it.
fn check_own(text: &str, others: &HeaderMap) {
    let mut challenge = Challenge::default();
    challenge.error = Some(ChallengeError::InsufficientScope);
    challenge.description = Some(text.to_owned());
    let line = challenge.to_header();
    let mut headers = HeaderMap::new();
    headers.append(WWW_AUTHENTICATE, line);
    let own = Demand::of(&headers);
    assert!(own.is_insufficient_scope(), "{headers:?}");
    assert_eq!(
        (own.resource_metadata, own.scopes),
        (None, None),
        "{headers:?}"
    );
    // Of several lines, the first that says something counts.
    for other in others.get_all(WWW_AUTHENTICATE) {
        headers.append(WWW_AUTHENTICATE, other.clone());
    }
    let both = Demand::of(&headers);
    assert!(both.is_insufficient_scope() || both.wants_proof, "{both:?}");
}
