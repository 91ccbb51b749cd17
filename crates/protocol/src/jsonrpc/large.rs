//! A large frame, which is looked through before it is read.
//!
//! To look through some MiB takes longer than others should wait who share a thread with their reader.

use bytes::Bytes;

use super::{Limits, Malformed};
use crate::framing::PREFIX_KEPT;
use crate::scan::{Fault, Survey};

/// A frame that is looked through in steps, for [`FrameReader::read_large`](super::FrameReader::read_large).
///
/// ```
/// use switchboard_protocol::jsonrpc::{Frame, FrameReader, LargeFrame, Limits};
///
/// let limits = Limits::default();
/// let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":"{}"}}}}"#, "x".repeat(200_000));
/// let mut large = LargeFrame::new(text.into(), &limits);
/// while !large.step() {
///     // Others have their turn.
/// }
/// assert!(matches!(FrameReader::new(limits).read_large(large), Ok(Frame::Single(_))));
/// ```
#[derive(Clone, Debug)]
pub struct LargeFrame {
    frame: Bytes,
    survey: Survey,
    /// None as long as there is more to be looked at.
    outcome: Option<Result<(), Fault>>,
}

impl LargeFrame {
    /// From so many bytes on it pays to look through a frame in steps.
    pub const FROM: usize = 128 * 1024;

    /// One that is held to these limits.
    pub fn new(frame: Bytes, limits: &Limits) -> Self {
        // One that is too large is not read at all.
        let is_read = frame.len() <= limits.bytes;
        Self {
            survey: Survey::new(limits.bounds(), LONG),
            outcome: (!is_read).then_some(Ok(())),
            frame,
        }
    }

    /// Looks through a piece of it, which takes some microseconds. `true` when all was seen, or what was seen
    /// is wrong.
    pub fn step(&mut self) -> bool {
        if self.outcome.is_none() {
            self.outcome = match self.survey.step(&self.frame, STEP) {
                Ok(false) => None,
                Ok(true) => Some(Ok(())),
                Err(fault) => Some(Err(fault)),
            };
        }
        self.outcome.is_some()
    }

    /// The frame and what is known of it, unless that is no JSON.
    pub(super) fn into_parts(mut self) -> Result<(Bytes, Survey), Malformed> {
        while !self.step() {}
        match self.outcome {
            Some(Err(fault)) => {
                self.frame.truncate(PREFIX_KEPT);
                Err(Malformed::not_json_of(fault, &self.frame))
            }
            _ => Ok((self.frame, self.survey)),
        }
    }
}

/// So many bytes are looked through in one step.
const STEP: usize = 64 * 1024;

/// What is shorter is walked over again when the frame is read.
const LONG: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{ErrorCode, Frame, FrameReader, Message, Problem, Shape};

    fn in_steps(text: &str, limits: Limits) -> Result<Frame, Malformed> {
        let mut large = LargeFrame::new(text.to_owned().into(), &limits);
        let mut steps = 1;
        while !large.step() {
            steps += 1;
        }
        // What is wrong with it, if anything is, stands near its end.
        let pieces = text.len() / STEP;
        assert!((pieces / 2..=pieces + 1).contains(&steps), "{steps}");
        FrameReader::new(limits).read_large(large)
    }

    fn check(text: &str) {
        let limits = Limits::default();
        let expected = Frame::read(&text.to_owned().into(), &limits);
        let found = in_steps(text, limits);
        assert_eq!(found, expected);
        let (Ok(Frame::Single(found)), Ok(Frame::Single(expected))) = (found, expected) else {
            return;
        };
        let (Some(found), Some(expected)) = (payload(&found), payload(&expected)) else {
            return;
        };
        assert_eq!(found.name(), expected.name());
        assert_eq!(found.arguments(), expected.arguments());
        assert_eq!(found.meta(), expected.meta());
        assert_eq!(found.is_one_line(), expected.is_one_line());
        assert_eq!(found.is_texts(), expected.is_texts());
        assert_eq!(
            found.member("structuredContent"),
            expected.member("structuredContent")
        );
    }

    fn payload(message: &Message) -> Option<&crate::Payload> {
        match message {
            Message::Request(request) => request.params.as_ref(),
            Message::Response(response) => response.outcome.as_ref().ok(),
            Message::Notification(told) => told.params.as_ref(),
        }
    }

    #[test]
    fn a_large_frame_is_read_in_steps_as_it_is_read_at_once() {
        let plain = "x".repeat(300_000);
        let escaped = r#"{\"é\": \"\u20ac\n\"}, "#.repeat(9_000);
        let many = vec!["[1,{\"a\":null}]"; 20_000].join(",");
        let spaces = " \n".repeat(100_000);
        for inside in [
            format!("\"{plain}\""),
            format!("\"{escaped}\""),
            format!("[{many}]"),
            format!("{spaces}[1,{spaces}2]{spaces}"),
            format!("{{\"{plain}\":1,\"b\":{{\"{escaped}\":[{many}]}}}}"),
        ] {
            for text in [
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","arguments":{inside},"_meta":{{}}}}}}"#
                ),
                format!(
                    r#"{{"id":"x","params":{{"_meta":{inside},"name":"a"}},"jsonrpc":"2.0","method":"tools/call"}}"#
                ),
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":{inside}}}],"structuredContent":{inside}}}}}"#
                ),
                format!(r#"{{"jsonrpc":"2.0","id":1,"result":{inside}}}"#),
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":"a","data":{inside}}}}}"#
                ),
                format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{"a":1}},"b":{inside}}}"#),
                format!(
                    r#"[{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{inside},"a":1}}}},{{"jsonrpc":"2.0","method":{inside}}}]"#
                ),
                inside.clone(),
            ] {
                check(&text);
                check(&format!("{spaces}{text}{spaces}"));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_the_id_that_stands_before_it() {
        let long = "x".repeat(300_000);
        for (end, expected) in [
            ("\n\"}}", "unexpected byte"),
            ("\"}", "ends inside a value"),
            ("\",}}", "unexpected byte"),
        ] {
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"a","params":{{"x":"{long}{end}"#);
            check(&text);
            let malformed = in_steps(&text, Limits::default()).unwrap_err();
            assert_eq!(malformed.id, Some(7.into()));
            assert_eq!(malformed.error().code, ErrorCode::PARSE_ERROR);
            assert!(malformed.to_string().contains(expected), "{malformed}");
        }
    }

    #[test]
    fn one_that_is_too_large_is_not_looked_through() {
        let limits = Limits {
            bytes: 200_000,
            ..Limits::default()
        };
        let mut large = LargeFrame::new(vec![b'['; 300_000].into(), &limits);
        assert!(large.step());
        let malformed = FrameReader::new(limits).read_large(large).unwrap_err();
        assert_eq!(malformed.limit(), Some("message"));
    }

    #[test]
    fn what_is_wrong_is_told_without_a_walk_to_an_id_far_behind() {
        let long = "x".repeat(300_000);
        let text = format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{"x":"{long}"}},"id":7,]"#);
        let malformed = in_steps(&text, Limits::default()).unwrap_err();
        assert_eq!((malformed.id, malformed.shape), (None, Shape::Request));
        assert_eq!(
            malformed.problem,
            Problem::NotJson(Fault::Unexpected { at: text.len() - 1 })
        );
    }
}
