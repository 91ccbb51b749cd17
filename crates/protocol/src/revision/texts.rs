//! Results of texts in the words of the handshake era, without decoding them.
//!
//! Every revision has texts, so nothing of their content is lost: only what the stateless era adds
//! beside it.
//!
//! Specification: server/tools (tool results); 2026-07-28 basic (`_meta`).

use crate::envelope::{begins_with_server_info, push_member};
use crate::jsonrpc::Limits;
use crate::payload::{Members, Payload};
use crate::revision::meta_keys::ENVELOPE_KEYS;
use crate::revision::{Era, Revision};
use crate::scan::{Scanner, names};
use crate::types::meta_key;

/// The result of a tool in the words of this revision, if it was seen to be one of texts when it
/// was read; it shares the bytes if it needs no other. `None` if it is to be decoded for that.
pub fn step_down_texts(result: &Payload, to: Revision) -> Option<Payload> {
    let texts = result.texts()?;
    if to.era() == Era::Stateless {
        return Some(result.clone());
    }
    let meta = result.meta().unwrap_or(b"{}");
    if meta.first() != Some(&b'{') {
        return None;
    }
    let mut others = Members::of(meta).filter(|(name, _)| !is_envelope(name));
    let first = match is_server_info(meta) {
        true => None,
        false => others.next(),
    };
    let Some(first) = first else {
        if result.meta().is_none() && result.result_type().is_none() {
            return Some(result.clone());
        }
        return Some(result.with_only(texts));
    };
    if to != Revision::V2025_11_25 {
        // Some of these may have come later.
        return None;
    }
    let mut text = Vec::with_capacity(texts.len() + meta.len() + "{\"_meta\":,}".len());
    text.extend_from_slice(b"{\"_meta\":{");
    for (name, value) in std::iter::once(first).chain(others) {
        push_member(&mut text, name, value);
    }
    text.extend_from_slice(b"},");
    text.extend_from_slice(texts);
    text.push(b'}');
    Some(Payload::from_own(text))
}

/// Is it who the server is and nothing else, as most servers say it?
fn is_server_info(meta: &[u8]) -> bool {
    if !begins_with_server_info(meta) {
        return false;
    }
    let mut scanner = Scanner::new(meta, Limits::default().bounds());
    let is_one = |scanner: &mut Scanner<'_>| {
        scanner.enter(b'{').ok()?;
        scanner.next_name(true).ok()?;
        scanner.value().ok()?;
        Some(scanner.guess_end())
    };
    is_one(&mut scanner).unwrap_or_default()
}

fn is_envelope(name: &[u8]) -> bool {
    // Nearly all have no escapes.
    if !name.starts_with(meta_key::PREFIX.as_bytes()) && memchr::memchr(b'\\', name).is_none() {
        return false;
    }
    ENVELOPE_KEYS.iter().any(|key| names(name, key))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::jsonrpc::{FrameReader, Limits};
    use crate::revision::StepDown;
    use crate::types::CallToolResult;

    fn read(result: &str) -> Payload {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let mut reader = FrameReader::new(Limits::default());
        reader.read_result(Bytes::from(frame)).unwrap().result
    }

    /// The quick way says what the long one says.
    fn check(result: &str, is_quick: bool) {
        let payload = read(result);
        for revision in Revision::ALL {
            let Some(found) = step_down_texts(&payload, revision) else {
                assert!(!is_quick || revision < Revision::V2025_11_25, "{result}");
                continue;
            };
            let mut expected: CallToolResult = payload.decode().unwrap();
            expected.step_down(revision);
            assert_eq!(found.decode::<CallToolResult>().unwrap(), expected);
            let again = Payload::parse(found.text().clone(), &Limits::default()).unwrap();
            for name in [
                "_meta",
                "resultType",
                "content",
                "isError",
                "task",
                "name",
                "arguments",
            ] {
                assert_eq!(found.member(name), again.member(name), "{name} of {result}");
            }
            assert_eq!(found.is_error(), again.is_error(), "{result}");
        }
    }

    #[test]
    fn texts_lose_what_their_era_added() {
        let content = r#""content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]"#;
        check(&format!("{{{content}}}"), true);
        check(&format!(r#"{{{content},"isError":true}}"#), true);
        check(&format!(r#"{{"resultType":"complete",{content}}}"#), true);
        check(
            &format!(r#"{{{content},"isError":false,"resultType":"complete"}}"#),
            true,
        );
        let one = r#""content":[{"type":"text","text":"a"}]"#;
        let info = r#""io.modelcontextprotocol/serverInfo":{"name":"a","version":"1"}"#;
        check(
            &format!(r#"{{"resultType":"complete","_meta":{{{info}}},{one}}}"#),
            true,
        );
        check(
            &format!(r#"{{"resultType":"complete","_meta":{{{info},"a\n":[1]}},{one}}}"#),
            true,
        );
        check(
            &format!(r#"{{"_meta":{{"io.modelcontextprotocol/x":1}},{one}}}"#),
            true,
        );
    }

    #[test]
    fn texts_are_found_in_results_that_are_written_like_the_last_one() {
        let info = r#""io.modelcontextprotocol/serverInfo":{"name":"a","version":"1"}"#;
        for (before, behind) in [
            (
                format!(r#""resultType":"complete","_meta":{{{info}}},"#),
                "",
            ),
            (String::new(), r#","resultType":"complete""#),
        ] {
            let mut reader = FrameReader::new(Limits::default());
            for text in ["a", "", "a longer one", "b"] {
                let content = format!(r#""content":[{{"type":"text","text":"{text}"}}]"#);
                let frame =
                    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{before}{content}{behind}}}}}"#);
                let result = reader.read_result(Bytes::from(frame)).unwrap().result;
                let found = step_down_texts(&result, Revision::V2025_06_18).unwrap();
                assert_eq!(found.text(), format!("{{{content}}}").as_bytes());
                assert_eq!(found.texts(), result.texts());
                assert!(found.is_texts() && !found.is_in_pieces());
                assert!(!result.is_error());
            }
        }
    }

    #[test]
    fn everything_else_is_to_be_decoded() {
        for result in [
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":[]}"#,
            r#"{"content":[{"type":"text","text":"a"}],"more":1}"#,
            r#"{"_meta":null,"content":[{"type":"text","text":"a"}]}"#,
        ] {
            check(result, false);
        }
    }
}
