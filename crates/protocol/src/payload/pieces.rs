//! A large payload behind what somebody adds to it, without a copy of it.
//!
//! What the next in line adds is short, and what it is added to may have megabytes: the two are kept
//! as they are, and written one behind the other. Whoever wants the text as a whole gets it, and
//! pays for a copy then.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::{Noted, Payload, has_no_line_break};

/// What stands around the text of a payload.
#[derive(Clone, Debug)]
pub(super) struct Around(Arc<Pieces>);

#[derive(Debug)]
struct Pieces {
    /// Begins with the brace of the object.
    front: Bytes,
    /// Does the brace that ends the object not stand in the text?
    is_open: bool,
    whole: OnceLock<Bytes>,
}

impl Around {
    /// The text as a whole, for whoever cannot do with less.
    #[cold]
    pub(super) fn whole(&self, text: &[u8]) -> &Bytes {
        self.0.whole.get_or_init(|| {
            let mut whole = Vec::with_capacity(self.length_with(text));
            whole.extend_from_slice(&self.0.front);
            whole.extend_from_slice(text);
            whole.extend_from_slice(self.end());
            whole.into()
        })
    }

    pub(super) fn length_with(&self, text: &[u8]) -> usize {
        self.0.front.len() + text.len() + self.end().len()
    }

    /// A part of the whole, in the one piece or the other.
    pub(super) fn get<'a>(&'a self, text: &'a [u8], part: Range<usize>) -> Option<&'a [u8]> {
        let front = self.0.front.len();
        if part.end <= front {
            return self.0.front.get(part);
        }
        let within = part
            .start
            .checked_sub(front)
            .and_then(|start| text.get(start..part.end - front));
        within.or_else(|| self.whole(text).get(part))
    }

    fn end(&self) -> &'static [u8] {
        match self.0.is_open {
            true => b"}",
            false => b"",
        }
    }

    /// This piece of the whole as bytes of its own, if it is one of these.
    fn share(&self, part: &[u8]) -> Option<Bytes> {
        [Some(&self.0.front), self.0.whole.get()]
            .into_iter()
            .flatten()
            .find_map(|piece| part_of(piece, part))
    }
}

impl Payload {
    /// An object that begins with one text and goes on with another; the brace that ends it may be
    /// still to come. There is no line break in either.
    pub(super) fn in_pieces(front: Vec<u8>, text: Bytes, is_open: bool, noted: Noted) -> Self {
        let pieces = Pieces {
            front: front.into(),
            is_open,
            whole: OnceLock::new(),
        };
        Self {
            text,
            noted: noted.with_lines(true),
            around: Some(Around(Arc::new(pieces))),
        }
    }

    /// The object behind other members, as text of the form `"name":value,…`, if it is large enough
    /// for that and one line.
    pub(crate) fn behind(&self, front: &[u8]) -> Option<Self> {
        if self.text.len() < LARGE || !self.noted.one_line.is_set() || !has_no_line_break(front) {
            return None;
        }
        let (old, text, is_open) = match &self.around {
            Some(Around(pieces)) => (
                pieces.front.strip_prefix(b"{")?,
                self.text.clone(),
                pieces.is_open,
            ),
            None => {
                let inner = self.text.strip_prefix(b"{")?.trim_ascii_start();
                (&b""[..], self.text.slice_ref(inner), false)
            }
        };
        if old.is_empty() && text.first() == Some(&b'}') {
            return None;
        }
        let mut out = Vec::with_capacity(front.len() + old.len() + 2);
        out.push(b'{');
        out.extend_from_slice(front);
        if !front.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(old);
        Some(Self::in_pieces(out, text, is_open, Noted::NOT_YET))
    }

    /// What is written before [the text that is not copied](Self::last_piece).
    pub(crate) fn first_piece(&self) -> &[u8] {
        match &self.around {
            Some(around) => &around.0.front,
            None => b"",
        }
    }

    /// The text, or the large piece of it, which is all but what stands
    /// [before](Self::first_piece) it and perhaps [a brace](Self::is_open).
    pub(crate) const fn last_piece(&self) -> &Bytes {
        &self.text
    }

    /// Is a brace to be written behind the text?
    pub(crate) fn is_open(&self) -> bool {
        self.around.as_ref().is_some_and(|around| around.0.is_open)
    }

    /// Is it kept in pieces?
    pub(crate) const fn is_in_pieces(&self) -> bool {
        self.around.is_some()
    }

    /// A part of the text as bytes of its own, without a copy.
    ///
    /// # Panics
    /// If it is not a part of this text.
    pub(crate) fn share(&self, part: &[u8]) -> Bytes {
        let around = self.around.as_ref();
        around
            .and_then(|around| around.share(part))
            .unwrap_or_else(|| self.text.slice_ref(part))
    }
}

/// The part as bytes that are shared, if it stands here.
fn part_of(piece: &Bytes, part: &[u8]) -> Option<Bytes> {
    let place = piece.as_ptr_range();
    let (from, to) = (part.as_ptr_range().start, part.as_ptr_range().end);
    (place.start <= from && to <= place.end).then(|| piece.slice_ref(part))
}

/// From this size on a text is not copied: of a smaller one a copy costs less than two pieces.
pub(super) const LARGE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::prepend;
    use crate::jsonrpc::{Frame, FrameReader, Limits, Message, Response};

    /// The arguments of a call or the content of a result, so large that they are not copied.
    fn large() -> String {
        format!(r#"[{{"type":"text","text":"{}"}}]"#, "x".repeat(LARGE))
    }

    fn read(text: &str) -> Payload {
        Payload::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    /// What is said of a payload, whether of pieces or of one text.
    fn said(payload: &Payload) -> Vec<Option<Vec<u8>>> {
        let members = [
            "_meta",
            "a",
            "resultType",
            "name",
            "arguments",
            "content",
            "no",
        ];
        let mut said: Vec<_> = members
            .into_iter()
            .map(|name| payload.member(name).map(<[u8]>::to_vec))
            .collect();
        for name in members {
            let part = payload.part(name);
            said.push(part.map(|part| part.text().to_vec()));
        }
        said.push(payload.meta().map(<[u8]>::to_vec));
        said.push(payload.arguments().map(<[u8]>::to_vec));
        said.push(payload.name().map(|name| name.as_bytes().to_vec()));
        said.push(payload.result_type().map(|kind| kind.as_bytes().to_vec()));
        said
    }

    fn check(payload: &Payload, expected: &str) {
        assert!(payload.is_in_pieces());
        assert!(payload.is_object() && payload.is_one_line());
        assert_eq!(payload.length(), expected.len());
        let response: Message = Response::new(1.into(), Ok(payload.clone())).into();
        let written = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{expected}}}"#);
        assert_eq!(response.to_bytes(), written);
        let is_whole = |payload: &Payload| {
            let around = payload.around.as_ref().unwrap();
            around.0.whole.get().is_some()
        };
        assert!(!is_whole(payload), "nothing needs a copy of it");
        let again = read(expected);
        assert_eq!(said(payload), said(&again));
        assert_eq!(payload, &again);
        assert!(is_whole(payload));
        assert_eq!(said(payload), said(&again));
    }

    #[test]
    fn what_is_added_stands_before_the_rest() {
        let content = large();
        for old in ["{\"content\":", "{ \"content\":"] {
            let result = read(&format!("{old}{content}}}"));
            let completed = prepend(br#""resultType":"complete","_meta":{}"#, &result);
            let expected =
                format!(r#"{{"resultType":"complete","_meta":{{}},"content":{content}}}"#);
            check(&completed, &expected);
            let twice = prepend(br#""a":1"#, &prepend(b"\"no\":[]", &result));
            check(&twice, &format!(r#"{{"a":1,"no":[],"content":{content}}}"#));
            check(
                &prepend(b"", &result),
                &format!(r#"{{"content":{content}}}"#),
            );
        }
    }

    #[test]
    fn texts_lose_what_stands_around_them_without_a_copy() {
        let texts = format!(r#""content":{}"#, large());
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"_meta":{{}},{texts}}}}}"#);
        let mut reader = FrameReader::new(Limits::default());
        let result = reader.read_result(frame.into()).unwrap().result;
        let only = result.with_only(result.texts().unwrap());
        assert_eq!(only.texts(), result.texts());
        check(&only, &format!("{{{texts}}}"));
    }

    #[test]
    fn a_call_passes_on_its_arguments_as_they_are() {
        let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(LARGE));
        for old in [
            format!(r#"{{"_meta":{{"progressToken":1}},"name":"b","arguments":{arguments}}}"#),
            format!(r#"{{"name":"b","arguments":{arguments} , "_meta":{{"progressToken":1}}}}"#),
        ] {
            let old = read(&old);
            let plain = old.without_meta();
            check(
                &plain,
                &format!(r#"{{"name":"b","arguments":{arguments}}}"#),
            );
            let again = old.without_meta();
            assert!(again.is_plain_call());
            let renamed = again
                .clone()
                .passed_on(&[("name", Some(b"\"c\"")), ("task", None)]);
            assert!(again.around.unwrap().0.whole.get().is_none());
            check(
                &renamed,
                &format!(r#"{{"name":"c","arguments":{arguments}}}"#),
            );
            let renamed = old.passed_on(&[("name", Some(b"\"c\""))]);
            let sent = prepend(br#""_meta":{"progressToken":7}"#, &renamed);
            check(
                &sent,
                &format!(r#"{{"_meta":{{"progressToken":7}},"name":"c","arguments":{arguments}}}"#),
            );
        }
    }

    #[test]
    fn a_small_part_does_not_keep_what_it_came_in() {
        let strange = "y".repeat(4 * LARGE);
        let texts = format!(r#""content":{}"#, large());
        let (small, large) = (format!("{{{texts}}}"), format!("{{{texts},{texts}}}"));
        for (result, is_copied) in [
            (small, true),
            (large.replacen("content", "other", 1), false),
        ] {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"x":"{strange}","result":{result}}}"#);
            let frame = match is_copied {
                true => Bytes::from(frame),
                false => Bytes::from(frame.replace(&strange, "")),
            };
            let Ok(Frame::Single(message)) = Frame::read(&frame, &Limits::default()) else {
                panic!("{result}");
            };
            let payload = message.payload().unwrap();
            assert_eq!(*payload.text(), result);
            let (place, text) = (frame.as_ptr_range(), payload.text().as_ptr());
            assert_eq!(!place.contains(&text), is_copied);
        }
        let whole = read(&format!(r#"{{{texts},"structuredContent":"{strange}"}}"#));
        let only = whole.with_only(texts.as_bytes());
        assert!(!only.is_in_pieces());
        assert_eq!(only, read(&format!("{{{texts}}}")));
    }

    #[test]
    fn what_is_small_or_has_line_breaks_is_one_text() {
        let content = large();
        let broken = read(&format!("{{\n\"content\":{content}}}"));
        for (front, object) in [
            (&b"\"a\":1"[..], read("{\"b\":[]}")),
            (b"\"a\":1", broken),
            (b"\"a\":\n1", read(&format!("{{\"content\":{content}}}"))),
            (b"\"a\":1", read(&format!("{{{}}}", " ".repeat(LARGE)))),
        ] {
            let added = prepend(front, &object);
            assert!(!added.is_in_pieces());
            let again = Payload::parse(added.text().clone(), &Limits::default());
            assert_eq!(added, again.unwrap());
        }
    }
}
