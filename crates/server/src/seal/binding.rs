//! What a seal is bound to: purpose, caller, method, name, arguments.
//!
//! Nothing of this is stored in the seal. It is computed anew from the request that
//! brings the seal back, so that a seal is of no use with any other request.
//!
//! Arguments count by value: a client may order members anew, space them out, escape
//! strings or write a number in another way, and still sends the same arguments.

use std::borrow::Cow;

use ring::digest::{Context, Digest, SHA256, digest};

use switchboard_transport::http::Principal;

/// What the seal is for. Whatever is not set must be unset again on opening.
#[derive(Clone, Debug, Default)]
pub(crate) struct Binding {
    purpose: &'static str,
    caller: Option<(Option<String>, String)>,
    method: Option<String>,
    name: Option<String>,
    arguments: Option<[u8; 32]>,
}

impl Binding {
    /// A seal of one kind, such as `requestState`; one is not taken for another.
    pub(crate) fn new(purpose: &'static str) -> Self {
        Self {
            purpose,
            ..Self::default()
        }
    }

    /// Only this caller may bring it back, with whatever token; nobody in particular
    /// where callers are not identified.
    pub(crate) fn caller(mut self, caller: Option<&Principal>) -> Self {
        self.caller = caller.map(|caller| (caller.issuer.clone(), caller.subject.clone()));
        self
    }

    /// Only with this method.
    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Only for this tool, prompt or resource.
    pub(crate) fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only with these arguments: JSON text, or nothing where there are none.
    pub(crate) fn arguments(mut self, arguments: Option<&str>) -> Self {
        self.arguments = arguments.map(digest_of);
        self
    }

    /// The bytes to authenticate, with the header of the seal in front.
    ///
    /// Every part has its length before it and says whether it is there, so that no
    /// two bindings have the same bytes.
    pub(super) fn authenticated(&self, header: &[u8]) -> Vec<u8> {
        let (issuer, subject) = match &self.caller {
            Some((issuer, subject)) => (issuer.as_deref(), Some(subject.as_str())),
            None => (None, None),
        };
        let parts = [
            Some(header),
            Some(self.purpose.as_bytes()),
            issuer.map(str::as_bytes),
            subject.map(str::as_bytes),
            self.method.as_deref().map(str::as_bytes),
            self.name.as_deref().map(str::as_bytes),
            self.arguments.as_ref().map(<[u8; 32]>::as_slice),
        ];
        let mut bytes = Vec::with_capacity(256);
        for part in parts {
            match part {
                Some(part) => {
                    bytes.push(1);
                    bytes.extend_from_slice(&length(part));
                    bytes.extend_from_slice(part);
                }
                None => bytes.push(0),
            }
        }
        bytes
    }
}

/// A digest of the value of JSON text, the same however the value is written.
fn digest_of(text: &str) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    let mut reader = Reader {
        bytes: text.as_bytes(),
        text,
        at: 0,
    };
    let whole = reader.value(&mut context, 0).is_some() && {
        reader.skip_space();
        reader.at == text.len()
    };
    if whole {
        taken(context.finish())
    } else {
        // Arguments were checked on arrival, so this is text that nobody reads by
        // value, such as a lone surrogate: it must come back as it was.
        taken(digest(&SHA256, &[b"text ", text.as_bytes()].concat()))
    }
}

/// Reads JSON text once, from left to right, and feeds what it means to a digest.
///
/// Members of an object are digested one by one and fed in the order of their
/// digests: sorted without keeping more than 32 bytes of each.
struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Nothing when the text is not JSON, or nested deeper than messages may be.
    fn value(&mut self, context: &mut Context, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_space();
        match self.bytes.get(self.at)? {
            b'{' => self.object(context, depth),
            b'[' => self.array(context, depth),
            b'"' => {
                let string = self.string()?;
                feed(context, b's', string.as_bytes());
                Some(())
            }
            b'-' | b'0'..=b'9' => {
                let number = self
                    .run(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))?;
                feed(context, b'n', plain_number(number).as_bytes());
                Some(())
            }
            _ => {
                let word = self.run(|byte| byte.is_ascii_lowercase())?;
                if !matches!(word, "true" | "false" | "null") {
                    return None;
                }
                feed(context, b'w', word.as_bytes());
                Some(())
            }
        }
    }

    fn object(&mut self, context: &mut Context, depth: usize) -> Option<()> {
        self.at += 1;
        let mut members = Vec::new();
        if !self.takes(b'}') {
            loop {
                self.skip_space();
                let mut member = Context::new(&SHA256);
                let name = self.string()?;
                feed(&mut member, b'm', name.as_bytes());
                if !self.takes(b':') {
                    return None;
                }
                self.value(&mut member, depth + 1)?;
                members.push(taken(member.finish()));
                if self.takes(b'}') {
                    break;
                }
                if !self.takes(b',') {
                    return None;
                }
            }
        }
        members.sort_unstable();
        feed(context, b'o', members.as_flattened());
        Some(())
    }

    fn array(&mut self, context: &mut Context, depth: usize) -> Option<()> {
        self.at += 1;
        context.update(b"[");
        if !self.takes(b']') {
            loop {
                self.value(context, depth + 1)?;
                if self.takes(b']') {
                    break;
                }
                if !self.takes(b',') {
                    return None;
                }
            }
        }
        context.update(b"]");
        Some(())
    }

    /// The string that begins here, unescaped.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        if self.bytes.get(start) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        let mut escaped = false;
        loop {
            match self.bytes.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at)?;
        if escaped {
            serde_json::from_str(quoted).ok().map(Cow::Owned)
        } else {
            quoted.get(1..quoted.len() - 1).map(Cow::Borrowed)
        }
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> Option<&'a str> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| belongs(*byte)) {
            self.at += 1;
        }
        self.text.get(start..self.at)
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }
}

/// A number in one way of writing, without loss: `1.50e1`, `15.0`, `15` are `15e0`.
fn plain_number(text: &str) -> Cow<'_, str> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let significant = digits.trim_end_matches('0');
    let dropped = digits.len() - significant.len();
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Cow::Borrowed("0");
    }
    let exponent = exponent.parse::<i64>().ok().and_then(|exponent| {
        exponent
            .checked_add(i64::try_from(dropped).ok()?)?
            .checked_sub(i64::try_from(fraction.len()).ok()?)
    });
    match exponent {
        Some(exponent) => Cow::Owned(format!("{sign}{significant}e{exponent}")),
        None => Cow::Borrowed(text),
    }
}

fn feed(context: &mut Context, kind: u8, bytes: &[u8]) {
    context.update(&[kind]);
    context.update(&length(bytes));
    context.update(bytes);
}

fn length(bytes: &[u8]) -> [u8; 8] {
    (bytes.len() as u64).to_be_bytes()
}

fn taken(digest: Digest) -> [u8; 32] {
    digest
        .as_ref()
        .try_into()
        .expect("invariant: SHA-256 gives 32 bytes")
}

/// As deep as messages may be, with room for where the arguments stand in them.
const MAX_DEPTH: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) {
        assert_eq!(digest_of(one), digest_of(other), "{one} {other}");
    }

    fn differ(one: &str, other: &str) {
        assert_ne!(digest_of(one), digest_of(other), "{one} {other}");
    }

    #[test]
    fn arguments_are_the_same_however_they_are_written() {
        same(
            r#"{"a":1,"b":[2,3]}"#,
            "{ \"b\" : [ 2 , 3 ] ,\n\t\"a\" : 1 }",
        );
        same(r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#);
        same(r#"{"name":"ü\n/"}"#, r#"{"n\u0061me":"\u00fc\u000a\/"}"#);
        same(r#"["\ud83d\ude00"]"#, r#"["😀"]"#);
        same("[1,100,0.5,0]", "[1.0,1e2,5E-1,-0.0]");
        same("[15]", "[1.50e+1]");
        same("{}", " { } ");
        same("[]", "[ ]");
        same("[true,false,null]", "[ true , false , null ]");
    }

    #[test]
    fn other_arguments_are_told_apart() {
        differ(r#"{"a":1}"#, r#"{"a":2}"#);
        differ(r#"{"a":1}"#, r#"{"b":1}"#);
        differ(r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#);
        differ(r#"{"a":{"b":1}}"#, r#"{"a":{},"b":1}"#);
        differ(r#"{"a":1}"#, r#"{"a":1,"a":1}"#);
        differ(r#"["a","b"]"#, r#"["b","a"]"#);
        differ(r#"["ab",""]"#, r#"["a","b"]"#);
        differ("[[],[]]", "[[[]]]");
        differ("[[1],2]", "[[1,2]]");
        differ("[1]", r#"["1"]"#);
        differ("[1]", "[-1]");
        differ("[null]", r#"["null"]"#);
        differ("[null]", "[]");
        differ("{}", "[]");
        differ("9007199254740993", "9007199254740992");
        differ("0.1", "0.10000000000000000001");
        differ("1e400", "1e401");
        differ("1e99999999999999999999", "1e99999999999999999998");
    }

    #[test]
    fn what_cannot_be_read_by_value_counts_as_text() {
        same(r#"["\ud800"]"#, r#"["\ud800"]"#);
        differ(r#"["\ud800"]"#, r#"["\ud801"]"#);
        differ("[1", "[1 ");
        differ("", " ");
        differ("\"\\", "\"");
        differ("[1]x", "[1]");
        let deep = "[".repeat(100_000);
        differ(&deep, "[");
    }

    #[test]
    fn no_part_of_a_binding_passes_for_another() {
        let mut issuer = Principal::new("b");
        issuer.issuer = Some("a".to_owned());
        let bindings = [
            Binding::new("a"),
            Binding::new("ab"),
            Binding::new("a").caller(Some(&Principal::new(""))),
            Binding::new("a").caller(Some(&Principal::new("b"))),
            Binding::new("a").caller(Some(&issuer)),
            Binding::new("a").method("b"),
            Binding::new("a").name("b"),
            Binding::new("a").method("").name("b"),
            Binding::new("a").method("b").name(""),
            Binding::new("a").method("b").name("c\u{1}d"),
            Binding::new("a").method("b\u{1}c").name("d"),
            Binding::new("a").arguments(Some("{}")),
            Binding::new("a").arguments(Some("{\"b\":1}")),
        ];
        for (one, binding) in bindings.iter().enumerate() {
            for (other, different) in bindings.iter().enumerate() {
                let equal = binding.authenticated(b"h") == different.authenticated(b"h");
                assert_eq!(equal, one == other, "{one} {other}");
            }
        }
    }
}
