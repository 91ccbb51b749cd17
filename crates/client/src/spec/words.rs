//! A server from one line of text.

use http::Uri;
use switchboard_transport::http::client::shown;

use super::BadSpec;

/// A URL of HTTP.
pub(super) fn url(text: &str) -> Result<Uri, BadSpec> {
    let uri: Uri = text
        .trim()
        .parse()
        .map_err(|_| BadSpec(format!("{:?} is no URL", crate::words::plain(text, 80))))?;
    let bad = |why: &str| {
        Err(BadSpec(format!(
            "{:?} {why}",
            crate::words::plain(&shown(&uri), 80)
        )))
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return bad("is no URL of HTTP, expected it to begin with https:// or http://");
    }
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => {
            bad("has a user or a password in it, set a header instead")
        }
        Some(authority) if !authority.host().is_empty() => Ok(uri),
        _ => bad("names no host"),
    }
}

/// Words as a shell would cut them, with quotes and backslashes and nothing more.
pub(super) fn split(text: &str) -> Result<Vec<String>, BadSpec> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    let open = |quote: char| BadSpec(format!("the command ends within {quote}quotes{quote}"));
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(inner) => word.push(inner),
                        None => return Err(open('\'')),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some('\\') => match characters.next() {
                            Some(inner @ ('"' | '\\')) => word.push(inner),
                            Some(inner) => word.extend(['\\', inner]),
                            None => return Err(open('"')),
                        },
                        Some(inner) => word.push(inner),
                        None => return Err(open('"')),
                    }
                }
            }
            '\\' => match characters.next() {
                Some(inner) => word.get_or_insert_default().push(inner),
                None => return Err(BadSpec("the command ends with a backslash".to_owned())),
            },
            space if space.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_a_shell_cuts_them() {
        let check = |text: &str, expected: &[&str]| assert_eq!(split(text).unwrap(), expected);
        check("npx -y  pkg", &["npx", "-y", "pkg"]);
        check(r#"a 'b c' "d e""#, &["a", "b c", "d e"]);
        check(r#"a "x\"y\\z\n" b\ c"#, &["a", r#"x"y\z\n"#, "b c"]);
        check("a '' b", &["a", "", "b"]);
        check(r#"pre'fix 'post"#, &["prefix post"]);
        check("$HOME `x` a;b", &["$HOME", "`x`", "a;b"]);
        check("", &[]);
    }

    #[test]
    fn an_open_quote_is_said() {
        assert!(split("a 'b").is_err());
        assert!(split("a \"b").is_err());
        assert!(split("a \\").is_err());
    }

    #[test]
    fn only_http_is_a_url() {
        assert!(url("https://example.com/mcp").is_ok());
        assert!(url("http://127.0.0.1:8080/mcp?x=1").is_ok());
        for bad in [
            "ftp://example.com",
            "https://",
            "https://user:word@example.com/",
            "file:///etc/passwd",
            "not a url",
        ] {
            assert!(url(bad).is_err(), "{bad}");
        }
        let error = url("https://user:word@example.com/").unwrap_err();
        assert!(!error.to_string().contains("word@"), "{error}");
    }
}
