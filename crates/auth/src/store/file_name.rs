//! What the files of a server are called.
//!
//! A person who looks into the folder finds the server; what no file name may hold, or two
//! servers share once it is left out, is told apart by a digest.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

use crate::place::without_query;

/// `example.com-mcp-0123456789abcdef0123456789abcdef`: at most 81 bytes of lower-case ASCII.
pub(super) fn file_name(server: &str) -> String {
    let mut name = String::with_capacity(LONGEST_READABLE + 1 + 2 * DIGEST_BYTES);
    let readable = server.split_once("://").map_or(server, |(_, rest)| rest);
    // Names of files stand in errors and in lists.
    for character in without_query(readable).chars() {
        if name.len() == LONGEST_READABLE {
            break;
        }
        let is_kept = character.is_ascii_alphanumeric() || character == '.';
        match is_kept {
            true => name.push(character.to_ascii_lowercase()),
            // Neither hidden, nor an option of a command, nor dash after dash.
            false if name.is_empty() || name.ends_with('-') => {}
            false => name.push('-'),
        }
        if name == "." {
            name.clear();
        }
    }
    if !name.is_empty() && !name.ends_with('-') {
        name.push('-');
    }
    let digest = digest(&SHA256, server.as_bytes());
    for byte in digest.as_ref().iter().take(DIGEST_BYTES) {
        // Writing into a text cannot go wrong.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

const LONGEST_READABLE: usize = 48;

// Nobody finds two servers with the same 128 bits.
const DIGEST_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(server: &str) -> String {
        let name = file_name(server);
        let (readable, digest) = name.split_at(name.len() - 2 * DIGEST_BYTES);
        assert!(digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        readable.to_owned()
    }

    #[test]
    fn a_name_shows_the_server() {
        assert_eq!(readable("https://example.com/mcp"), "example.com-mcp-");
        assert_eq!(readable("http://127.0.0.1:8080"), "127.0.0.1-8080-");
        assert_eq!(readable("http://[::1]:8080/a//b"), "1-8080-a-b-");
        assert_eq!(readable("https://a/mcp?key=secret#login"), "a-mcp-");
    }

    #[test]
    fn odd_servers_have_plain_names() {
        assert_eq!(readable(""), "");
        assert_eq!(readable("///"), "");
        assert_eq!(readable("../../etc/passwd"), "etc-passwd-");
        assert_eq!(readable("..\\..\\CON"), "con-");
        assert_eq!(readable("-rf\0 ~\n"), "rf-");
        assert_eq!(readable("https://bücher.example/書"), "b-cher.example-");
        assert_eq!(readable("https://☃"), "");
        assert_eq!(readable(&"a".repeat(100_000)).len(), 49);
    }

    #[test]
    fn servers_that_look_the_same_have_names_of_their_own() {
        let servers = [
            "https://a/b",
            "http://a/b",
            "https://a/B",
            "https://a-b",
            "https://a//b",
            "a/b",
            "https://a/b?x=1",
            "https://a/b?x=2",
            "",
        ];
        let names: std::collections::BTreeSet<_> = servers.map(file_name).into();
        assert_eq!(names.len(), servers.len());
    }
}
