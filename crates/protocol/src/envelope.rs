//! The reserved keys of `_meta`, read from and put into text without decoding the rest.
//!
//! In the stateless era every request carries its context here; in both eras
//! the progress token and the trace context do. A payload keeps its text: members are added
//! in front of it and nothing else is rewritten.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/progress.

use std::borrow::Cow;

use bytes::Bytes;

use crate::json_string::unescape;
use crate::jsonrpc::RequestId;
use crate::payload::{Members, Payload, string_of};
use crate::scan::names;
use crate::types::meta_key as key;

/// What the reserved keys of a message's `_meta` say, as raw text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Envelope<'a> {
    /// Is there a `_meta`, and is it an object?
    pub is_object: bool,
    /// `io.modelcontextprotocol/protocolVersion`
    pub protocol_version: Option<&'a [u8]>,
    /// `io.modelcontextprotocol/clientCapabilities`
    pub client_capabilities: Option<&'a [u8]>,
    /// `io.modelcontextprotocol/clientInfo`
    pub client_info: Option<&'a [u8]>,
    /// `io.modelcontextprotocol/logLevel`
    pub log_level: Option<&'a [u8]>,
    /// `io.modelcontextprotocol/subscriptionId`
    pub subscription_id: Option<&'a [u8]>,
    /// `progressToken`
    pub progress_token: Option<&'a [u8]>,
}

impl<'a> Envelope<'a> {
    /// Reads the `_meta` of params or of a result.
    #[inline]
    pub fn of(payload: Option<&'a Payload>) -> Self {
        match payload.and_then(Payload::meta) {
            Some(meta) => Self::of_meta(meta),
            None => Self::default(),
        }
    }

    /// The envelope that the text of a `_meta` is.
    pub fn of_meta(meta: &'a [u8]) -> Self {
        let mut envelope = Self {
            is_object: meta.first() == Some(&b'{'),
            ..Self::default()
        };
        for (name, value) in Members::of(meta) {
            if let Some(place) = envelope.place(name) {
                *place = Some(value);
            }
        }
        envelope
    }

    /// Does a `_meta` say nothing but what these keys say?
    pub fn is_all_of(meta: &[u8]) -> bool {
        let mut envelope = Self::default();
        meta.first() == Some(&b'{')
            && Members::of(meta).all(|(name, _)| envelope.place(name).is_some())
    }

    /// The revision that the request names, if it names one as a string.
    pub fn protocol_version(&self) -> Option<Cow<'a, str>> {
        self.protocol_version.and_then(string_of)
    }

    /// Does it say who calls, as only requests of the stateless era do?
    ///
    /// Half of it counts too: what it lacks is told. No handshake has these keys.
    pub const fn is_stateless(&self) -> bool {
        self.protocol_version.is_some() || self.client_capabilities.is_some()
    }

    /// Is there a progress token that is one: a string or an integer?
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress_token.is_some_and(RequestId::is_one)
    }

    /// The text of the progress token, sharing that of the params, if it is one.
    pub(crate) fn progress_token_of(&self, params: Option<&Payload>) -> Option<Bytes> {
        let token = self
            .progress_token
            .filter(|token| RequestId::is_one(token))?;
        Some(params?.share(token))
    }

    pub(crate) fn place(&mut self, name: &[u8]) -> Option<&mut Option<&'a [u8]>> {
        let name = if memchr::memchr(b'\\', name).is_some() {
            Cow::Owned(unescape(name)?.into_owned().into_bytes())
        } else {
            Cow::Borrowed(name)
        };
        // The prefix is compared once for all.
        if let Some(short) = name.strip_prefix(key::PREFIX.as_bytes()) {
            return match short {
                PROTOCOL_VERSION => Some(&mut self.protocol_version),
                CLIENT_CAPABILITIES => Some(&mut self.client_capabilities),
                CLIENT_INFO => Some(&mut self.client_info),
                LOG_LEVEL => Some(&mut self.log_level),
                SUBSCRIPTION_ID => Some(&mut self.subscription_id),
                _ => None,
            };
        }
        (name.as_ref() == key::PROGRESS_TOKEN.as_bytes()).then_some(&mut self.progress_token)
    }
}

/// Does the `_meta` of a result begin with who the server is, as ours do?
pub(crate) fn begins_with_server_info(meta: &[u8]) -> bool {
    let name = meta.strip_prefix(b"{\"");
    let rest = name.and_then(|name| name.strip_prefix(key::SERVER_INFO.as_bytes()));
    rest.is_some_and(|rest| rest.starts_with(b"\":"))
}

/// Members that we set, as text, ready to be put into many messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberText {
    /// `"name":value,"name":value`
    text: Vec<u8>,
    names: Vec<&'static str>,
}

impl MemberText {
    /// Adds a member whose value is already JSON text.
    pub(crate) fn push(&mut self, name: &'static str, value: &[u8]) {
        if !self.text.is_empty() {
            self.text.push(b',');
        }
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
        self.text.extend_from_slice(value);
        self.names.push(name);
    }

    /// Adds a member. Our own values always have a JSON form.
    pub(crate) fn push_value<T: serde::Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) {
        if let Ok(text) = serde_json::to_vec(value) {
            self.push(name, &text);
        }
    }

    /// Takes a member away that may be there, and puts nothing in its place.
    pub(crate) fn omit(&mut self, name: &'static str) {
        self.names.push(name);
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn sets(&self, name: &[u8]) -> bool {
        self.names.iter().any(|ours| names(name, ours))
    }
}

/// The payload with `front` as its first members and `meta` merged into its `_meta`.
///
/// Of a name that stands on both sides, ours wins. What was there before keeps its text and order.
pub(crate) fn with_members(
    payload: Option<&Payload>,
    front: &MemberText,
    meta: &MemberText,
) -> Payload {
    let old = payload.map_or(&b"{}"[..], |payload| payload.text());
    let old_meta = payload.and_then(Payload::meta);
    let mut out = Vec::with_capacity(old.len() + front.text.len() + meta.text.len() + 16);
    out.push(b'{');
    out.extend_from_slice(&front.text);
    if !meta.text.is_empty() || old_meta.is_some() {
        separate(&mut out);
        out.extend_from_slice(b"\"_meta\":{");
        out.extend_from_slice(&meta.text);
        for (name, value) in Members::of(old_meta.unwrap_or_default()) {
            if !meta.sets(name) {
                push_member(&mut out, name, value);
            }
        }
        out.push(b'}');
    }
    if old_meta.is_none() && front.names.is_empty() {
        append_rest(&mut out, old);
    } else {
        for (name, value) in Members::of(old) {
            if !names(name, "_meta") && !front.sets(name) {
                push_member(&mut out, name, value);
            }
        }
        out.push(b'}');
    }
    Payload::from_own(out)
}

/// The object with text of the form `"name":value,…` put in front of its members. A large one is not
/// copied.
///
/// None of the names may stand in the object already.
pub(crate) fn prepend(front: &[u8], object: &Payload) -> Payload {
    if let Some(payload) = object.behind(front) {
        return payload;
    }
    // One brace of the object is ours, and a comma comes in: exact, so that nothing moves later.
    let mut out = Vec::with_capacity(front.len() + object.length() + 1);
    out.push(b'{');
    out.extend_from_slice(front);
    append_rest(&mut out, object.text());
    Payload::from_own(out)
}

/// Appends the members of an object's text and its closing brace, without a look at them.
pub(crate) fn append_rest(out: &mut Vec<u8>, object: &[u8]) {
    let inner = object
        .strip_prefix(b"{")
        .map_or(&b"}"[..], <[u8]>::trim_ascii_start);
    if inner != b"}" && out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(inner);
}

pub(crate) fn push_member(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    separate(out);
    out.push(b'"');
    out.extend_from_slice(name);
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
}

pub(crate) fn separate(out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

/// A reserved key without its prefix.
const fn short(key: &'static str) -> &'static [u8] {
    key.as_bytes().split_at(key::PREFIX.len()).1
}

const PROTOCOL_VERSION: &[u8] = short(key::PROTOCOL_VERSION);
const CLIENT_CAPABILITIES: &[u8] = short(key::CLIENT_CAPABILITIES);
const CLIENT_INFO: &[u8] = short(key::CLIENT_INFO);
const LOG_LEVEL: &[u8] = short(key::LOG_LEVEL);
const SUBSCRIPTION_ID: &[u8] = short(key::SUBSCRIPTION_ID);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::Limits;

    fn check(
        old: Option<&str>,
        front: &[(&'static str, &str)],
        meta: &[(&'static str, &str)],
        want: &str,
    ) {
        let payload = old.map(|text| {
            Payload::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).unwrap()
        });
        let text = |pairs: &[(&'static str, &str)]| {
            let mut members = MemberText::default();
            for (name, value) in pairs {
                members.push(name, value.as_bytes());
            }
            members
        };
        let got = with_members(payload.as_ref(), &text(front), &text(meta));
        assert_eq!(got.text(), want.as_bytes());
        Payload::parse(got.text().clone(), &Limits::default()).unwrap();
    }

    #[test]
    fn members_are_added_and_the_rest_keeps_its_text() {
        check(None, &[], &[], "{}");
        check(None, &[], &[("a", "1")], r#"{"_meta":{"a":1}}"#);
        check(Some("{ }"), &[], &[("a", "1")], r#"{"_meta":{"a":1}}"#);
        check(
            Some(r#"{"x": 1.0 }"#),
            &[],
            &[("a", "1")],
            r#"{"_meta":{"a":1},"x": 1.0 }"#,
        );
        check(Some(r#"{"x":1}"#), &[("r", "2")], &[], r#"{"r":2,"x":1}"#);
        check(
            Some(r#"{"r":1,"y":2}"#),
            &[("r", "2")],
            &[],
            r#"{"r":2,"y":2}"#,
        );
        check(
            Some(r#"{"x":1,"_meta":{"a":0,"b":{"c":[]}},"y":2}"#),
            &[],
            &[("a", "1")],
            r#"{"_meta":{"a":1,"b":{"c":[]}},"x":1,"y":2}"#,
        );
    }

    #[test]
    fn the_reserved_keys_are_found_whatever_their_spelling() {
        let text = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressT\u006fken":7,"x":1}}"#;
        let payload =
            Payload::parse(Bytes::from_static(text.as_bytes()), &Limits::default()).unwrap();
        let envelope = Envelope::of(Some(&payload));
        assert_eq!(envelope.protocol_version().as_deref(), Some("2026-07-28"));
        assert_eq!(envelope.progress_token, Some(&b"7"[..]));
        assert_eq!(envelope.client_capabilities, None);
    }

    #[test]
    fn a_progress_token_is_a_string_or_an_integer() {
        for (token, is_one) in [
            ("7", true),
            ("\"a\"", true),
            ("1.5", false),
            ("null", false),
            ("{}", false),
        ] {
            let meta = format!(r#"{{"progressToken":{token}}}"#);
            let envelope = Envelope::of_meta(meta.as_bytes());
            assert_eq!(envelope.wants_progress(), is_one, "{token}");
        }
        assert!(!Envelope::default().wants_progress());
    }

    #[test]
    fn only_an_object_is_a_meta() {
        let is_object = |meta: &str| Envelope::of_meta(meta.as_bytes()).is_object;
        assert!(is_object("{}") && is_object(r#"{"a":1}"#));
        assert!(!is_object("7") && !is_object("[]") && !is_object("null"));
    }
}
