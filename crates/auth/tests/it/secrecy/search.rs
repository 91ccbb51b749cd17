//! Looks for secrets in texts, however they are spelled.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// The secrets that are in a text, each with what stands around it.
pub(super) fn found(text: &str, secrets: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for secret in secrets {
        for spelled in spellings(secret) {
            if let Some(at) = text.find(&spelled) {
                let start = text[..at].rfind('\n').unwrap_or(0);
                let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
                found.push(format!("{secret} as {spelled} in {}", &text[start..end]));
            }
        }
    }
    found
}

fn spellings(secret: &str) -> Vec<String> {
    assert!(secret.len() >= 6, "{secret:?} would be found everywhere");
    let percent: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let all: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let hexadecimal: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let bytes: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
    let mut spellings = vec![
        secret.to_owned(),
        percent,
        all,
        hexadecimal,
        // As bytes are printed.
        bytes.join(", "),
        secret.chars().rev().collect(),
    ];
    // In the midst of something that is encoded, it begins at any of three places.
    for before in 0..3 {
        let mut padded = vec![0; before];
        padded.extend(secret.bytes());
        // The last letters depend on what comes after it.
        let whole = padded.len() / 3 * 4;
        let start = [0, 2, 3][before];
        for encoded in [STANDARD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            spellings.push(encoded[start..whole].to_owned());
        }
    }
    spellings
}

#[test]
fn a_secret_is_found_in_every_spelling() {
    let secret = "s3cret/with+odd=letters";
    let secrets = [secret.to_owned()];
    let joined = |prefix: &str| STANDARD.encode(format!("{prefix}{secret}:and more"));
    for text in [
        secret.to_owned(),
        format!("token={secret}&x"),
        "s3cret%2Fwith%2Bodd%3Dletters".to_owned(),
        joined(""),
        joined("a"),
        joined("ab"),
        joined("client:"),
        URL_SAFE_NO_PAD.encode(format!("x{secret}x")),
        format!("{:?}", secret.as_bytes()),
    ] {
        let text = format!("before\n{text}\nafter");
        assert!(!found(&text, &secrets).is_empty(), "{text}");
    }
    let others = ["s3cret", "***", "s3cret/with+odd=letter", "c2VjcmV0"];
    assert!(found(&others.join("\n"), &secrets).is_empty());
}
