//! Reads the frames of one peer.
//!
//! Nearly every request and every result is written in the same way: those are read in one go.
//! Whatever is not written so is left to `read`, from its beginning.
//!
//! Specification: basic (messages), every revision.

use std::ops::Range;

use bytes::Bytes;

use super::{
    ExtraMembers, Frame, LargeFrame, Limits, Malformed, Message, MethodName, Request, RequestId,
    Response,
};
use crate::framing::Line;
use crate::method::Method;
use crate::payload::{KnownMeta, KnownResult, Noted, Payload};
use crate::scan::{Scanner, Survey};

/// Reads the frames of one peer, which says much of the same in each.
///
/// ```
/// use switchboard_protocol::jsonrpc::{Frame, FrameReader, Limits};
///
/// let mut reader = FrameReader::new(Limits::default());
/// let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// assert!(matches!(reader.read(ping.into()), Ok(Frame::Single(_))));
/// ```
#[derive(Debug)]
pub struct FrameReader {
    limits: Limits,
    known_meta: KnownMeta,
    known_result: KnownResult,
}

impl FrameReader {
    /// A reader that takes frames within these limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            known_meta: KnownMeta::default(),
            known_result: KnownResult::default(),
        }
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// When the frame as a whole is not JSON, or not a message.
    pub fn read(&mut self, frame: Bytes) -> Result<Frame, Malformed> {
        match self.read_usual(&frame, None) {
            Some(usual) => Ok(Frame::Single(usual.message(frame))),
            None => Frame::read_any(&frame, None, &self.limits),
        }
    }

    /// Reads a frame that was looked through before: what is long in it is passed over.
    ///
    /// # Errors
    /// When the frame as a whole is not JSON, or not a message.
    pub fn read_large(&mut self, large: LargeFrame) -> Result<Frame, Malformed> {
        let (frame, survey) = large.into_parts()?;
        match self.read_usual(&frame, Some(&survey)) {
            Some(usual) => Ok(Frame::Single(usual.message(frame))),
            None => Frame::read_any(&frame, Some(&survey), &self.limits),
        }
    }

    /// Reads what stands on a line.
    ///
    /// # Errors
    /// When it is no message, or more than the limit.
    pub fn read_line(&mut self, line: Line) -> Result<Frame, Malformed> {
        match line {
            Line::Text(text) => self.read(text),
            Line::Oversized { prefix, limit } => Err(Malformed::too_large(&prefix, limit)),
        }
    }

    /// Reads a frame if it is a result that is written as most are, without the way through a
    /// message.
    ///
    /// # Errors
    /// Gives the frame back if it is anything else, which [`read`](Self::read) says.
    #[inline(always)]
    pub fn read_result(&mut self, frame: Bytes) -> Result<UsualResult, Bytes> {
        match self.find_result(&frame) {
            Some((id, part, noted)) => Ok(UsualResult {
                id,
                result: Payload::of_frame(frame, &part, noted),
            }),
            None => Err(frame),
        }
    }

    /// The id of a result that is written as most are, where it stands, and what was seen of it.
    fn find_result(&mut self, frame: &[u8]) -> Option<(i64, Range<usize>, Noted)> {
        let mut scanner = self.enter(frame, None)?;
        let id = scanner.guess_number()?;
        let start = scanner.position();
        let rest = frame.get(start..)?;
        if let Some((part, noted)) = self.known_result.find(rest) {
            return Some((id, start + part.start..start + part.end, noted));
        }
        if !scanner.guess(RESULT) {
            return None;
        }
        let (part, noted) = read_result(&mut scanner)?;
        let from_id = part.start - start..part.end - start;
        self.known_result.learn(rest, from_id, &noted);
        Some((id, part, noted))
    }

    /// Reads a request or a result if it is written as most are: JSON-RPC's own members in their
    /// order, a number for an id, a method of the table, and no white space between them.
    fn read_usual(&mut self, frame: &[u8], survey: Option<&Survey>) -> Option<Usual> {
        let mut scanner = self.enter(frame, survey)?;
        let id = scanner.guess_number()?;
        if scanner.guess(RESULT) {
            let (part, noted) = read_result(&mut scanner)?;
            return Some(Usual {
                id,
                method: None,
                part,
                noted,
            });
        }
        let is_call = scanner.guess_all(b",\"method\":\"tools/call\",\"params\":", 2);
        let method = if is_call {
            Method::ToolsCall
        } else {
            read_method(&mut scanner)?
        };
        if scanner.peek() != Ok(b'{') {
            return None;
        }
        let (part, noted) = Noted::scan(&mut scanner, Some(&mut self.known_meta)).ok()?;
        (scanner.guess_end() && scanner.is_at_end()).then_some(Usual {
            id,
            method: Some(method),
            part,
            noted,
        })
    }

    /// A scanner behind `"id":`, if the frame begins as most do.
    #[inline]
    fn enter<'a>(&self, frame: &'a [u8], survey: Option<&'a Survey>) -> Option<Scanner<'a>> {
        if frame.len() > self.limits.bytes {
            return None;
        }
        let mut scanner = Scanner::new(frame, self.limits.bounds());
        if let Some(survey) = survey {
            scanner = scanner.passing(survey);
        }
        scanner.enter(b'{').ok()?;
        scanner
            .guess_all(b"\"jsonrpc\":\"2.0\",\"id\":", 2)
            .then_some(scanner)
    }
}

/// A result that is written as most are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsualResult {
    /// The number of the request that it answers.
    pub id: i64,
    /// The result.
    pub result: Payload,
}

/// Reads a result up to the end of its frame. If something stands behind it, there is none.
fn read_result(scanner: &mut Scanner<'_>) -> Option<(Range<usize>, Noted)> {
    let found = Noted::scan_result(scanner).ok()?;
    (scanner.guess_end() && scanner.is_at_end()).then_some(found)
}

/// Reads any method of the table, up to where the parameters begin.
fn read_method(scanner: &mut Scanner<'_>) -> Option<Method> {
    if !scanner.guess(b",\"method\":") {
        return None;
    }
    scanner.string().ok()?;
    let method = Method::from_bytes(scanner.text().of(scanner.source()))?;
    scanner.guess(b",\"params\":").then_some(method)
}

/// A message that is written as most are.
struct Usual {
    id: i64,
    /// What is asked for; without one it is a result.
    method: Option<Method>,
    /// Where the parameters stand, or the result.
    part: Range<usize>,
    noted: Noted,
}

impl Usual {
    /// The message, of which this was found in the frame.
    #[inline]
    fn message(self, frame: Bytes) -> Message {
        let id = RequestId::from(self.id);
        let payload = Payload::of_frame(frame, &self.part, self.noted);
        let extra = ExtraMembers::default();
        match self.method {
            Some(method) => Message::Request(Request {
                id,
                method: MethodName::Known(method),
                params: Some(payload),
                extra,
            }),
            None => Message::Response(Response {
                id: Some(id),
                outcome: Ok(payload),
                extra,
            }),
        }
    }
}

const RESULT: &[u8] = b",\"result\":";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_string;
    use crate::types::CallToolResult;

    const META: &str =
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","a":[1,{}]}"#;

    fn calls() -> [String; 8] {
        let call = |params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{{{params}}}}}"#)
        };
        let result =
            |members: &str| format!(r#"{{"jsonrpc":"2.0","id":17,"result":{{{members}}}}}"#);
        let name = r#""name":"echo","arguments":{"text":"so \n long"}"#;
        [
            call(name),
            call(&format!("{name},{META}")),
            call(&format!("{META},{name}")),
            call(&format!(r#"{META},"cursor":"x""#)),
            result(r#""content":[{"type":"text","text":"so \n long"}],"isError":false"#),
            result(r#""resultType":"complete","content":[{"type":"text","text":"a"}]"#),
            result(r#""content":[{"type":"text","text":"a"}],"structuredContent":{"a":[]}"#),
            result(r#""tools":[{"name":"a"}],"_meta":{}"#),
        ]
    }

    /// The quick way must say of a frame what the rules say.
    fn check(reader: &mut FrameReader, text: &[u8]) {
        let frame = Bytes::copy_from_slice(text);
        let expected = Frame::read_any(&frame, None, &reader.limits);
        let shown = text.escape_ascii();
        let result = reader.read_result(frame.clone());
        let found = reader.read(frame);
        assert_eq!(found, expected, "{shown}");
        let noted = |frame: &Result<Frame, Malformed>| {
            let payload = match frame {
                Ok(Frame::Single(Message::Request(request))) => request.params.as_ref()?,
                Ok(Frame::Single(Message::Response(response))) => response.outcome.as_ref().ok()?,
                _ => return None,
            };
            Some((
                payload.name().map(|name| name.into_owned()),
                payload.meta().map(<[u8]>::to_vec),
                payload.arguments().map(<[u8]>::to_vec),
                payload.result_type().map(|kind| kind.into_owned()),
                payload.is_one_line(),
            ))
        };
        assert_eq!(noted(&found), noted(&expected), "{shown}");
        if let Ok(UsualResult { id, result }) = result {
            let message = Response::new(RequestId::from(id), Ok(result)).into();
            let result = Ok(Frame::Single(message));
            assert_eq!(result, expected, "{shown}");
            assert_eq!(noted(&result), noted(&expected), "{shown}");
        }
    }

    #[test]
    fn what_is_written_in_the_usual_way_is_read_in_one_go() {
        let mut reader = FrameReader::new(Limits::default());
        for call in calls() {
            for call in [call.replace("tools/call", "prompts/get"), call] {
                assert!(reader.read_usual(call.as_bytes(), None).is_some(), "{call}");
                check(&mut reader, call.as_bytes());
            }
        }
    }

    #[test]
    fn every_change_of_a_byte_is_read_by_the_rules() {
        for call in calls() {
            let mut reader = FrameReader::new(Limits::default());
            for at in 0..call.len() {
                check(&mut reader, &call.as_bytes()[..at]);
                for byte in *b"\"\\{}[],: \n\r0a\xff" {
                    let mut text = call.clone().into_bytes();
                    text.insert(at, byte);
                    check(&mut reader, &text);
                    text.remove(at + 1);
                    check(&mut reader, &text);
                    text.remove(at);
                    check(&mut reader, &text);
                    // What is known is what was valid, whatever came between.
                    check(&mut reader, call.as_bytes());
                }
            }
        }
    }

    #[test]
    fn a_known_result_is_read_with_any_text() {
        let mut reader = FrameReader::new(Limits::default());
        for around in [
            r#"{"content":[{"type":"text","text":"?"}]}"#,
            r#"{"resultType":"complete","content":[{"type":"text","text":"?"}]}"#,
            r#"{"content":[{"type":"text","text":"?"}],"resultType":"complete"}"#,
            r#"{"resultType":"complete","_meta":{"a":{}},"content":[{"type":"text","text":"?"}]}"#,
        ] {
            for text in [
                "long enough",
                "",
                "x",
                r"\u0061",
                r#"\""#,
                "\"",
                "é",
                "\u{1}",
                "?",
                r#"a"},{"b"#,
            ] {
                for id in [1, 1234] {
                    let result = around.replace('?', text);
                    let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                    check(&mut reader, frame.as_bytes());
                    let Ok(found) = reader.read_result(frame.clone().into()) else {
                        assert!(!json_string::is_plain(text.as_bytes()), "{frame}");
                        continue;
                    };
                    let decoded = found.result.decode::<CallToolResult>().ok();
                    let plain = CallToolResult::read_plain(&found.result);
                    assert_eq!(plain, decoded, "{frame}");
                }
            }
            for not_utf8 in [&b"\xff"[..], b"\xc3"] {
                let (before, after) = around.split_once('?').unwrap();
                let head = [br#"{"jsonrpc":"2.0","id":1,"result":"#, before.as_bytes()];
                let frame = [head[0], head[1], not_utf8, after.as_bytes(), b"}"].concat();
                check(&mut reader, &frame);
                assert!(reader.read_result(frame.into()).is_err());
            }
        }
    }

    #[test]
    fn a_result_is_known_by_what_stood_around_the_text_of_the_last_one() {
        let check = |before: &str, behind: &str, is_known: bool| {
            let rest = |text: &str| {
                let content = format!(r#""content":[{{"type":"text","text":"{text}"}}]"#);
                format!(r#","result":{{{before}{content}{behind}}}}}"#)
            };
            let read = |reader: &mut FrameReader, rest: &str| {
                let frame = format!(r#"{{"jsonrpc":"2.0","id":17{rest}"#);
                reader.read_result(frame.into()).unwrap().result
            };
            let mut reader = FrameReader::new(Limits::default());
            let (last, next) = (rest("a"), rest("a longer one"));
            assert!(reader.known_result.find(next.as_bytes()).is_none());
            read(&mut reader, &last);
            let found = reader.known_result.find(next.as_bytes());
            assert_eq!(found.is_some(), is_known, "{before}{behind}");
            if let Some((part, noted)) = found {
                let found = Payload::of_frame(next.clone().into(), &part, noted);
                let expected = read(&mut FrameReader::new(Limits::default()), &next);
                assert_eq!(found, expected);
                assert_eq!(found.one_text(), expected.one_text());
                assert_eq!(found.one_text().unwrap().0, b"a longer one");
                assert_eq!(found.texts(), expected.texts());
                assert_eq!(found.result_type(), expected.result_type());
                assert_eq!(found.meta(), expected.meta());
            }
        };
        check("", "", true);
        check(r#""resultType":"complete","#, "", true);
        check("", r#","resultType":"complete""#, true);
        check(r#""_meta":{"a":1},"#, "", true);
        let long = format!(r#""_meta":{{"a":"{}"}},"#, "x".repeat(2000));
        check(&long, "", false);
        check("", r#","isError":true"#, false);
    }

    #[test]
    fn a_message_of_two_kinds_is_refused() {
        let mut reader = FrameReader::new(Limits::default());
        for members in [
            r#""result":{},"method":"tools/call","params":{"name":"a"}"#,
            r#""result":{"content":[]},"method":"ping","params":{}"#,
            r#""method":"tools/call","params":{"name":"a"},"result":{}"#,
            r#""result":{},"error":{"code":1,"message":""}"#,
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,{members}}}"#);
            assert!(reader.read(Bytes::from(text.clone())).is_err(), "{text}");
            check(&mut reader, text.as_bytes());
        }
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        let mut reader = FrameReader::new(Limits::default());
        for id in [
            "0",
            "-0",
            "00",
            "01",
            "-1",
            "1.0",
            "1e3",
            "99999999999999999",
            "9223372036854775807",
            "9223372036854775808",
            "\"17\"",
            "null",
        ] {
            let [call, ..] = calls();
            check(&mut reader, call.replace("17", id).as_bytes());
        }
    }

    #[test]
    fn limits_hold_for_what_is_known_too() {
        for call in calls() {
            for items in 0..16 {
                for depth in 0..6 {
                    let limits = Limits {
                        items,
                        depth,
                        ..Limits::default()
                    };
                    let mut reader = FrameReader::new(limits);
                    check(&mut reader, call.as_bytes());
                    check(&mut reader, call.as_bytes());
                }
            }
            let limits = Limits {
                bytes: call.len() - 1,
                ..Limits::default()
            };
            check(&mut FrameReader::new(limits), call.as_bytes());
        }
    }
}
