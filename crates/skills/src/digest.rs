//! How the digest of a file is written.
//!
//! Specification: SEP-2640 (resource metadata, integrity).

use std::fmt::Write as _;

use ring::digest::SHA256;

/// `sha256:` and the digest of these bytes, in lower-case hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in ring::digest::digest(&SHA256, bytes).as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_in_lower_case_hexadecimal() {
        assert_eq!(
            digest(b"abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
