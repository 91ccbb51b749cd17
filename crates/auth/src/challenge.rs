//! What a server wants to see, read from its `WWW-Authenticate`.
//!
//! Servers write this header in many ways, so that reading it is liberal: parameters without
//! commas between them, URLs without quotes, several challenges in one line or in several. What
//! makes no sense is passed over. Whether a URL in it is asked is for `resource`.
//!
//! Specification: RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1; RFC 9449,
//! sections 7.1 and 9.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

use crate::scope::Scopes;

/// What the challenges for `Bearer` and `DPoP` say together; of each the first that says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    /// Where the metadata of the server is.
    pub(crate) resource_metadata: Option<String>,
    /// What a token must allow.
    pub(crate) scopes: Option<Scopes>,
    /// The code, such as `invalid_token`. One that is about a proof comes before others.
    pub(crate) error: Option<String>,
    /// Is a token alone not enough?
    pub(crate) wants_proof: bool,
}

impl Demand {
    /// Reads all challenges of an answer.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut demand = Self::default();
        let (mut knows_bearer, mut knows_proof) = (false, false);
        for line in headers.get_all(WWW_AUTHENTICATE) {
            let line = line.as_bytes();
            let mut scheme = None;
            for item in Items::new(line.get(..LONGEST_LINE).unwrap_or(line)) {
                match item {
                    Item::Scheme(name) => scheme = Scheme::of(name),
                    Item::Parameter { name, value } if scheme.is_some() => demand.add(name, value),
                    // Of a scheme that is not ours, or of none.
                    Item::Parameter { .. } => {}
                }
                knows_bearer |= scheme == Some(Scheme::Bearer);
                knows_proof |= scheme == Some(Scheme::Dpop);
            }
        }
        let is_about_proof = demand.error.as_deref().is_some_and(is_about_proof);
        demand.wants_proof = is_about_proof || (knows_proof && !knows_bearer);
        demand
    }

    /// Does the token that was sent not allow enough?
    pub(crate) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Must the proof hold the number that came with this answer?
    pub(crate) fn wants_nonce(&self) -> bool {
        self.error.as_deref() == Some(NONCE_MISSING)
    }

    fn add(&mut self, name: &[u8], value: Vec<u8>) {
        if value.is_empty() || value.len() > LONGEST_VALUE {
            return;
        }
        let value = String::from_utf8_lossy(&value).into_owned();
        match name.to_ascii_lowercase().as_slice() {
            b"resource_metadata" => {
                self.resource_metadata.get_or_insert(value);
            }
            b"scope" => {
                let scopes = Scopes::parse(&value);
                if !scopes.is_empty() {
                    self.scopes.get_or_insert(scopes);
                }
            }
            b"error" if is_about_proof(&value) => self.error = Some(value),
            b"error" => {
                self.error.get_or_insert(value);
            }
            // `realm`, `error_description`, and whatever others have thought of.
            _ => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Bearer,
    Dpop,
}

impl Scheme {
    fn of(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"bearer") {
            Some(Self::Bearer)
        } else if name.eq_ignore_ascii_case(b"dpop") {
            Some(Self::Dpop)
        } else {
            None
        }
    }
}

/// The parts of a line of challenges, one after the other.
struct Items<'a> {
    rest: &'a [u8],
    /// Was there a comma, or nothing at all, since the last part? Only then a name is a scheme.
    is_start: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Item<'a> {
    Scheme(&'a [u8]),
    Parameter { name: &'a [u8], value: Vec<u8> },
}

impl<'a> Items<'a> {
    fn new(line: &'a [u8]) -> Self {
        Self {
            rest: line,
            is_start: true,
        }
    }

    fn take(&mut self, is_wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self
            .rest
            .iter()
            .take_while(|byte| is_wanted(**byte))
            .count();
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// What stands behind a `=`.
    fn value(&mut self) -> Vec<u8> {
        match self.rest.strip_prefix(b"\"") {
            None => self.take(|byte| byte != b',' && !is_space(byte)).to_vec(),
            Some(rest) => {
                self.rest = rest;
                self.quoted()
            }
        }
    }

    /// Up to the closing quote, or to the end if there is none.
    fn quoted(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        while let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            match (byte, rest.split_first()) {
                (b'"', _) => break,
                (b'\\', Some((&escaped, rest))) => {
                    self.rest = rest;
                    text.push(escaped);
                }
                _ => text.push(byte),
            }
        }
        text
    }

    /// Something like `YWJj==`, which a scheme may have instead of parameters.
    fn skip_token68(&mut self) {
        let before = self.rest;
        self.take(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte));
        self.take(|byte| byte == b'=');
        self.take(is_space);
        if !matches!(self.rest.first(), None | Some(b',')) {
            self.rest = before;
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        loop {
            let separators = self.take(|byte| byte == b',' || is_space(byte));
            self.is_start |= separators.contains(&b',');
            let name = self.take(is_token);
            if name.is_empty() {
                // Nothing that belongs here, or the end.
                let (&byte, rest) = self.rest.split_first()?;
                self.rest = rest;
                if byte == b'"' {
                    self.quoted();
                }
                continue;
            }
            let is_start = std::mem::take(&mut self.is_start);
            self.take(is_space);
            if let Some(rest) = self.rest.strip_prefix(b"=") {
                self.rest = rest;
                self.take(is_space);
                let value = self.value();
                return Some(Item::Parameter { name, value });
            }
            if is_start {
                self.skip_token68();
                return Some(Item::Scheme(name));
            }
        }
    }
}

fn is_about_proof(error: &str) -> bool {
    matches!(error, NONCE_MISSING | "invalid_dpop_proof")
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

const NONCE_MISSING: &str = "use_dpop_nonce";

// A URL of more than 8192 bytes is not asked. Scopes and a few challenges fit as well.
const LONGEST_VALUE: usize = 8 * 1024;
const LONGEST_LINE: usize = 64 * 1024;
// It is shown in a line.

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn demand(lines: &[&str]) -> Demand {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(line).unwrap());
        }
        Demand::of(&headers)
    }

    fn metadata(line: &str) -> Option<String> {
        demand(&[line]).resource_metadata
    }

    #[track_caller]
    fn check_metadata(line: &str, expected: &str) {
        assert_eq!(metadata(line).as_deref(), Some(expected), "{line}");
    }

    /// Scheme by scheme, parameter by parameter.
    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let items: Vec<String> = Items::new(line.as_bytes())
            .map(|item| match item {
                Item::Scheme(name) => text(name),
                Item::Parameter { name, value } => format!("{}={}", text(name), text(&value)),
            })
            .collect();
        assert_eq!(items, expected, "{line}");
    }

    #[test]
    fn a_line_holds_schemes_and_parameters() {
        check("Bearer", &["Bearer"]);
        check("Bearer, Basic", &["Bearer", "Basic"]);
        check("Bearer a=b", &["Bearer", "a=b"]);
        check("Bearer a=b,c=d", &["Bearer", "a=b", "c=d"]);
        check("Bearer a=\"b\", c = \"d\"", &["Bearer", "a=b", "c=d"]);
        check(
            "Basic r=\"x\", Bearer a=b",
            &["Basic", "r=x", "Bearer", "a=b"],
        );
        check(
            "Newauth r=\"apps\", type=1, title=\"Log \\\"in\\\"\", Basic r=\"s\"",
            &[
                "Newauth",
                "r=apps",
                "type=1",
                "title=Log \"in\"",
                "Basic",
                "r=s",
            ],
        );
    }

    #[test]
    fn quotes_hold_commas_and_escapes() {
        check(
            "Bearer a=\"b, Basic c=d\", e=f",
            &["Bearer", "a=b, Basic c=d", "e=f"],
        );
        check(r#"Bearer a="\"\\\,x", b=c"#, &["Bearer", "a=\"\\,x", "b=c"]);
        check(r#"Bearer a="x\"#, &["Bearer", "a=x\\"]);
        check("Bearer a=\"\", b=\"c\"", &["Bearer", "a=", "b=c"]);
        check("Bearer a=\"open, b=c", &["Bearer", "a=open, b=c"]);
    }

    #[test]
    fn token68_is_passed_over() {
        check(
            "Negotiate YWJj==, Bearer a=b",
            &["Negotiate", "Bearer", "a=b"],
        );
        check("NTLM TlRMTVNTUAA+/-._~=", &["NTLM"]);
        check("Negotiate a, Bearer a=b", &["Negotiate", "Bearer", "a=b"]);
        check("Negotiate abc= , Bearer", &["Negotiate", "Bearer"]);
        check("Bearer realm=, error=x", &["Bearer", "error=x"]);
    }

    #[test]
    fn what_servers_really_write_is_understood() {
        check(
            "Bearer realm=\"a\" error=\"b\"",
            &["Bearer", "realm=a", "error=b"],
        );
        check(
            "Bearer a=https://x.test/y?z=1, b=c",
            &["Bearer", "a=https://x.test/y?z=1", "b=c"],
        );
        check("Bearer scope=a b, c=d", &["Bearer", "scope=a", "c=d"]);
        check("bearer,, , a=b ,", &["bearer", "a=b"]);
        check("  Bearer\ta=b", &["Bearer", "a=b"]);
        check("Bearer; a=\"b\"; c=\"d\"", &["Bearer", "a=b", "c=d"]);
    }

    #[test]
    fn garbage_is_passed_over() {
        check("", &[]);
        check(",,,", &[]);
        check("=", &[]);
        check("\"", &[]);
        check("\"Bearer a=b\"", &[]);
        check("(Bearer)", &["Bearer"]);
        check("= = =, Bearer a==b", &["Bearer", "a==b"]);
        check("a=b, Bearer", &["a=b", "Bearer"]);
        check("[{\"Bearer\":1}], Bearer x=y", &["1", "Bearer", "x=y"]);
    }

    #[test]
    fn the_metadata_is_found_wherever_it_stands() {
        check_metadata("Bearer resource_metadata=\"https://a/b\"", "https://a/b");
        check_metadata("Bearer RESOURCE_METADATA=https://a/b", "https://a/b");
        check_metadata(
            "bearer realm=\"x\", resource_metadata=\"https://a\"",
            "https://a",
        );
        check_metadata(
            "Basic realm=\"x, y\", Bearer resource_metadata=\"https://a\"",
            "https://a",
        );
        check_metadata(
            "DPoP algs=\"ES256\", resource_metadata=\"https://a\"",
            "https://a",
        );
        check_metadata(
            "Bearer resource_metadata=\"https://a\", Bearer resource_metadata=\"https://b\"",
            "https://a",
        );
    }

    #[test]
    fn other_schemes_say_nothing_to_us() {
        for line in [
            "Basic resource_metadata=\"https://evil.test\"",
            "Basic realm=\"Bearer resource_metadata=https://evil.test\"",
            "Basic realm=\"\\\", Bearer resource_metadata=https://evil.test\"",
            "BearerX resource_metadata=\"https://evil.test\"",
            "resource_metadata=\"https://evil.test\"",
            "Bearer x=y, Basic resource_metadata=\"https://evil.test\"",
            "Bearer resource_metadata=\"\"",
        ] {
            assert_eq!(metadata(line), None, "{line}");
        }
        assert_eq!(demand(&["Basic realm=\"x\""]), Demand::default());
    }

    #[test]
    fn several_lines_are_read_together() {
        let demand = demand(&[
            "Negotiate",
            "Bearer error=\"insufficient_scope\", scope=\"a b\"",
            "resource_metadata=\"https://evil.test\"",
            r#"Bearer scope="c", resource_metadata="https://a\"b""#,
        ]);
        assert_eq!(demand.scopes, Some(Scopes::parse("a b")));
        assert_eq!(demand.resource_metadata.as_deref(), Some("https://a\"b"));
        assert!(demand.is_insufficient_scope() && !demand.wants_nonce());
        assert!(!demand.wants_proof);
    }

    #[test]
    fn scopes_that_are_none_are_not_there() {
        assert_eq!(demand(&["Bearer scope=\"\""]).scopes, None);
        assert_eq!(demand(&["Bearer scope=\" \""]).scopes, None);
        assert_eq!(demand(&["Bearer scope=a"]).scopes, Some(Scopes::parse("a")));
    }

    #[test]
    fn a_proof_is_wanted_where_nothing_else_will_do() {
        let wants = |lines: &[&str]| demand(lines).wants_proof;
        assert!(wants(&["DPoP algs=\"ES256\""]));
        assert!(wants(&["Basic, DPoP"]));
        assert!(wants(&["Negotiate abc", "DPoP"]));
        assert!(!wants(&["Bearer, DPoP algs=\"ES256\""]));
        assert!(!wants(&["DPoP", "bearer"]));
        assert!(!wants(&["Bearer"]));
        assert!(!wants(&["Basic"]));
        assert!(wants(&["Bearer, DPoP error=\"invalid_dpop_proof\""]));
        let both = demand(&[
            "Bearer error=\"invalid_token\"",
            "DPoP error=use_dpop_nonce",
        ]);
        assert!(both.wants_proof && both.wants_nonce());
    }

    #[test]
    fn large_lines_are_read_in_bounds() {
        let long = "x".repeat(100_000);
        assert_eq!(
            metadata(&format!("Bearer resource_metadata=\"{long}\"")),
            None
        );
        for filler in [
            "\"", "\\", ",", "=", "a ", "a,", "a=b ", "\"\\", "a=\"", "Bearer ",
        ] {
            let line = filler.repeat(100_000 / filler.len());
            demand(&[&line]);
            let line = format!("Bearer resource_metadata=https://a, {line}");
            check_metadata(&line, "https://a");
        }
    }

    #[test]
    fn bytes_that_are_no_text_harm_nobody() {
        let mut headers = HeaderMap::new();
        let value = b"Bearer \xff\xfe=\xff, error=\"\xff\", scope=\"a\"";
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_bytes(value).unwrap());
        let demand = Demand::of(&headers);
        assert_eq!(demand.error.as_deref(), Some("\u{fffd}"));
        assert_eq!(demand.scopes, Some(Scopes::parse("a")));
    }
}
