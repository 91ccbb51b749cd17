//! Lines on a server's standard output that are no messages.
//!
//! Careless servers print banners and logs there. They are passed over and counted; the first
//! one is kept and the last, because one of them often says what is wrong.

use bytes::Bytes;
use serde::de::IgnoredAny;
use switchboard_protocol::framing::Line;
use switchboard_protocol::jsonrpc::{Frame, Limits, Malformed, Message, Problem};

use crate::report::Report;

/// What was heard that is no message.
#[derive(Debug, Default)]
pub(super) struct Noise {
    count: u64,
    first: Option<String>,
    last: Option<String>,
    /// The last one, until somebody has heard it.
    fresh: Option<String>,
}

impl Noise {
    /// Reads a line, and notes it if it is none of the protocol's.
    pub(super) fn read(&mut self, line: &Line, limits: &Limits) -> Result<Frame, Malformed> {
        match (line.read(limits), line) {
            (Err(malformed), Line::Text(text)) => self.note(text, malformed, limits),
            (read, _) => read,
        }
    }

    /// Notes a line that is malformed, if it is none of the protocol's. There may be a message in it all the
    /// same.
    pub(super) fn note(
        &mut self,
        text: &Bytes,
        malformed: Malformed,
        limits: &Limits,
    ) -> Result<Frame, Malformed> {
        if !matches!(
            malformed.problem,
            Problem::NotJson(_) | Problem::NotAnObject
        ) {
            return Err(malformed);
        }
        self.count += 1;
        let beginning = text.get(..LONGEST.min(text.len())).unwrap_or_default();
        let beginning = String::from_utf8_lossy(beginning).into_owned();
        if self.first.is_none() {
            self.first = Some(beginning.clone());
        }
        self.last = Some(beginning.clone());
        self.fresh = Some(beginning);
        glued(text, limits).ok_or(malformed)
    }

    /// What the last line was, if it was none of the protocol's and nobody has heard it.
    pub(super) fn take_fresh(&mut self) -> Option<String> {
        self.fresh.take()
    }

    pub(super) fn describe(&self, report: &mut Report) {
        report.noise = self.count;
        report.first_noise.clone_from(&self.first);
        report.last_noise.clone_from(&self.last);
    }
}

/// An answer that stands between other text on its line, as when a program prints without a
/// line feed.
fn glued(text: &Bytes, limits: &Limits) -> Option<Frame> {
    let starts = text.windows(OBJECT.len()).enumerate();
    let starts = starts.filter(|(_, window)| *window == OBJECT);
    for (start, _) in starts.take(MOST_TRIES) {
        let rest = text.slice(start..);
        let mut values = serde_json::Deserializer::from_slice(&rest).into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else {
            continue;
        };
        let end = values.byte_offset();
        if let Ok(frame @ Frame::Single(Message::Response(_))) =
            Frame::read(&rest.slice(..end), limits)
        {
            return Some(frame);
        }
    }
    None
}

/// How an object with members begins.
const OBJECT: &[u8] = b"{\"";

/// A log line may have objects of its own before the answer, but not many.
const MOST_TRIES: usize = 4;

/// So much of a line is kept.
const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> (Noise, Result<Frame, Malformed>) {
        let mut noise = Noise::default();
        let line = Line::Text(Bytes::from_static(text.as_bytes()));
        let frame = noise.read(&line, &Limits::default());
        (noise, frame)
    }

    #[test]
    fn a_banner_is_counted_and_kept() {
        let (noise, frame) = read("Server running on stdio");
        assert!(frame.is_err());
        assert_eq!(noise.count, 1);
        assert_eq!(noise.first.as_deref(), Some("Server running on stdio"));
    }

    #[test]
    fn an_answer_behind_a_banner_is_found() {
        let (noise, frame) = read(r#"ready{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(matches!(frame, Ok(Frame::Single(Message::Response(_)))));
        assert_eq!(noise.count, 1);
    }

    #[test]
    fn an_answer_before_and_between_other_text_is_found() {
        for text in [
            r#"{"id":1,"jsonrpc":"2.0","result":{}} done in 3 ms"#,
            r#"[info] {"level":3} {"id":1,"jsonrpc":"2.0","result":{}}!"#,
        ] {
            let (_, frame) = read(text);
            assert!(matches!(frame, Ok(Frame::Single(Message::Response(_)))));
        }
    }

    #[test]
    fn only_answers_are_looked_for_in_noise() {
        let text = r#"sent {"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(read(text).1.is_err());
    }

    #[test]
    fn a_broken_message_is_no_noise() {
        let (noise, frame) = read(r#"{"jsonrpc":"2.0","id":1}"#);
        assert!(frame.is_err());
        assert_eq!(noise.count, 0);
    }
}
