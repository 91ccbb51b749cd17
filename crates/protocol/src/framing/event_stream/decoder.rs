//! Bytes of a stream in, events out.

use bytes::BytesMut;

use super::block::Block;
use super::{Event, EventId, EventStreamError};
use crate::framing::buffer::Buffer;
use crate::framing::{BYTE_ORDER_MARK, DEFAULT_LIMIT, PREFIX_KEPT};

/// Cuts a stream of bytes into events.
///
/// Lines end with CR, LF or CR LF in any mixture. A block of lines that has an
/// `id`, a `data` or a `retry` is an event. The events are the same however the
/// bytes were cut into pieces.
///
/// ```
/// use switchboard_protocol::framing::EventDecoder;
///
/// let mut decoder = EventDecoder::new();
/// decoder.push(b": hello\n\nid: 7\ndata: {}\n");
/// assert!(decoder.next_event().is_none());
/// decoder.push(b"\n");
/// let event = decoder.next_event().unwrap().unwrap();
/// assert_eq!(event.data, "{}");
/// assert_eq!(decoder.last_event_id(), Some("7"));
/// ```
#[derive(Debug)]
pub struct EventDecoder {
    buffer: Buffer,
    limit: usize,
    place: Place,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_carriage_return: bool,
    block: Block,
    last_event_id: Option<EventId>,
    comments: u64,
}

/// Where in the stream the front of the buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first byte: a byte order mark may come.
    Start,
    /// At the start of a line of an event.
    Line,
    /// Within a comment, which is not kept.
    Comment,
    /// At the start of a line of an event that was too large.
    DroppedLine,
    /// Within a line of an event that was too large.
    Dropped,
}

impl EventDecoder {
    /// A decoder that takes events up to [`DEFAULT_LIMIT`].
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// A decoder that takes events up to `limit` bytes: the data so far and the
    /// line that is being read.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Buffer::new(BytesMut::new()),
            limit,
            place: Place::Start,
            after_carriage_return: false,
            block: Block::default(),
            last_event_id: None,
            comments: 0,
        }
    }

    /// The buffer with room for a read, for a reader that appends to it.
    ///
    /// Take all events out between two reads: what is here is held in memory.
    pub fn buffer_mut(&mut self) -> &mut BytesMut {
        self.buffer.spare(self.limit)
    }

    /// Appends bytes that stand elsewhere. Take all events out afterwards.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk, self.limit);
    }

    /// Makes room at once for what will be [pushed](Self::push) in several parts.
    pub fn reserve(&mut self, more: usize) {
        self.buffer.reserve(more, self.limit);
    }

    /// The next event, or what is wrong with a part of the stream, if enough of
    /// it has come.
    pub fn next_event(&mut self) -> Option<Result<Event, EventStreamError>> {
        loop {
            if !self.pass_marks() {
                return None;
            }
            let end = self
                .buffer
                .find(|bytes| memchr::memchr2(b'\r', b'\n', bytes));
            let output = match end {
                Some(end) => self.handle_line(end),
                None => return self.wait(),
            };
            if output.is_some() {
                return output;
            }
        }
    }

    /// Says that the stream is over, and whether that cut an event short.
    ///
    /// What was left of it is dropped. The decoder is ready for the stream that
    /// takes this one up again and still knows the last id.
    pub fn finish(&mut self) -> bool {
        let rest = !self.buffer.is_empty() && self.place != Place::Comment;
        let was_dropping = matches!(self.place, Place::Dropped | Place::DroppedLine);
        let was_cut = rest || was_dropping || self.block.has_begun();
        self.buffer.clear();
        self.buffer.shrink();
        self.block = Block::default();
        self.place = Place::Start;
        self.after_carriage_return = false;
        was_cut
    }

    /// The id to resume from: that of the last event that had one, unless it was
    /// empty.
    pub fn last_event_id(&self) -> Option<&str> {
        let id = self.last_event_id.as_ref()?.as_str();
        (!id.is_empty()).then_some(id)
    }

    /// How many comments have begun. They carry nothing but tell that the peer is
    /// alive.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// How much there is of a line that has not ended, if it is kept.
    pub fn unfinished(&self) -> usize {
        self.buffer.len()
    }

    /// Gives up the event that the line [which has not ended](Self::unfinished) is of: with what stands
    /// elsewhere it is too large. What comes next goes on within that line.
    pub fn drop_unfinished(&mut self) -> EventStreamError {
        let error = self.drop_event();
        self.place = Place::Dropped;
        self.buffer.clear();
        self.buffer.shrink();
        error
    }

    /// How many bytes the buffer holds or has ready to be filled.
    pub fn allocated(&self) -> usize {
        self.buffer.allocated() + self.block.data_length()
    }

    /// How many these will be once so many more are [pushed](Self::push).
    pub fn allocated_with(&self, more: usize) -> usize {
        self.buffer.allocated_with(more, self.limit) + self.block.data_length()
    }

    /// Passes over what may stand before a line; `false` if more must come first.
    fn pass_marks(&mut self) -> bool {
        if self.place == Place::Start {
            let bytes = self.buffer.as_slice();
            if bytes.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(bytes) {
                return false;
            }
            if bytes.starts_with(BYTE_ORDER_MARK) {
                self.buffer.skip(BYTE_ORDER_MARK.len());
            }
            self.place = Place::Line;
        }
        if self.after_carriage_return && !self.buffer.is_empty() {
            self.after_carriage_return = false;
            if self.buffer.as_slice().first() == Some(&b'\n') {
                self.buffer.skip(1);
            }
        }
        if self.place == Place::Line && self.buffer.as_slice().first() == Some(&b':') {
            self.comments = self.comments.saturating_add(1);
            self.place = Place::Comment;
        }
        true
    }

    /// The end of the line has not come yet.
    fn wait(&mut self) -> Option<Result<Event, EventStreamError>> {
        let mut report = None;
        match self.place {
            Place::Comment | Place::Dropped => self.buffer.clear(),
            Place::DroppedLine if self.buffer.is_empty() => {}
            Place::DroppedLine => {
                self.place = Place::Dropped;
                self.buffer.clear();
            }
            Place::Start | Place::Line => {
                if self.is_too_large(self.buffer.len()) {
                    report = Some(Err(self.drop_event()));
                    self.place = Place::Dropped;
                    self.buffer.clear();
                }
            }
        }
        self.buffer.shrink();
        report
    }

    /// A line ends before the byte at `end`.
    fn handle_line(&mut self, end: usize) -> Option<Result<Event, EventStreamError>> {
        self.after_carriage_return = self.buffer.as_slice().get(end) == Some(&b'\r');
        let is_blank = end == 0;
        match self.place {
            Place::Comment => self.place = Place::Line,
            Place::Dropped => self.place = Place::DroppedLine,
            Place::DroppedLine if is_blank => self.place = Place::Line,
            Place::DroppedLine => {}
            Place::Start | Place::Line if is_blank => {
                self.buffer.skip(1);
                return self.take_block().into_event().map(Ok);
            }
            Place::Start | Place::Line if self.is_too_large(end) => {
                let error = self.drop_event();
                self.buffer.skip(end + 1);
                return Some(Err(error));
            }
            Place::Start | Place::Line => {
                let line = self.buffer.take(end + 1);
                return self.block.handle_line(&line.slice(..end)).err().map(Err);
            }
        }
        self.buffer.skip(end + 1);
        None
    }

    fn is_too_large(&self, line: usize) -> bool {
        line.saturating_add(self.block.data_length()) > self.limit
    }

    /// Gives up the current event. Its id counts as seen: to resume before it
    /// would only bring it again.
    fn drop_event(&mut self) -> EventStreamError {
        let kept = PREFIX_KEPT.min(self.limit);
        let prefix = self.block.data_prefix(kept).unwrap_or_else(|| {
            let line = self.buffer.copy_prefix(kept);
            let value = line.strip_prefix(b"data:").unwrap_or_default();
            line.slice_ref(value.strip_prefix(b" ").unwrap_or(value))
        });
        self.take_block();
        self.place = Place::DroppedLine;
        EventStreamError::TooLarge {
            limit: self.limit,
            prefix,
        }
    }

    fn take_block(&mut self) -> Block {
        let block = std::mem::take(&mut self.block);
        if let Some(id) = block.id() {
            self.last_event_id = Some(id.clone());
        }
        block
    }
}

impl Default for EventDecoder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reference;
    use super::*;

    type Output = Result<Event, EventStreamError>;

    fn decode(decoder: &mut EventDecoder, chunks: &[&[u8]]) -> Vec<Output> {
        let mut outputs = Vec::new();
        for chunk in chunks {
            decoder.push(chunk);
            outputs.extend(std::iter::from_fn(|| decoder.next_event()));
        }
        outputs
    }

    /// An event as `name|data|id|retry`, absent parts as `-`; an error as `!` and
    /// its text.
    fn show(output: &Output) -> String {
        let event = match output {
            Ok(event) => event,
            Err(EventStreamError::TooLarge { prefix, .. }) => return format!("!{prefix:?}"),
            Err(error) => return format!("!{error}"),
        };
        let name = event.name.as_deref().map(String::from_utf8_lossy);
        let data = String::from_utf8_lossy(&event.data);
        let id = event.id.as_ref().map_or("-", EventId::as_str);
        let retry = event.retry.map(|retry| retry.as_millis().to_string());
        let (name, retry) = (name.as_deref().unwrap_or("-"), retry.unwrap_or("-".into()));
        format!("{name}|{data}|{id}|{retry}")
    }

    fn check_limited(limit: usize, stream: &[u8], expected: &[&str]) {
        let whole = decode(&mut EventDecoder::with_limit(limit), &[stream]);
        let shown: Vec<String> = whole.iter().map(show).collect();
        assert_eq!(shown, expected);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode(&mut EventDecoder::with_limit(limit), &bytes), whole);
    }

    fn check(stream: &str, expected: &[&str]) {
        check_limited(DEFAULT_LIMIT, stream.as_bytes(), expected);
    }

    #[test]
    fn the_examples_of_the_standard() {
        check(
            "data: YHOO\ndata: +2\ndata: 10\n\n",
            &["-|YHOO\n+2\n10|-|-"],
        );
        check(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
            &["-|first event|1|-", "-|second event||-"],
        );
        check("data\n\ndata\ndata\n\ndata:", &["-||-|-", "-|\n|-|-"]);
        check("data:test\n\ndata: test\n\n", &["-|test|-|-", "-|test|-|-"]);
        check("event: add\ndata: 7\n\n", &["add|7|-|-"]);
    }

    #[test]
    fn a_line_that_is_given_up_takes_its_event_along_and_no_more() {
        let mut decoder = EventDecoder::new();
        decoder.push(b"data: one\n\ndata: tw");
        assert_eq!(show(&decoder.next_event().unwrap()), "-|one|-|-");
        assert!(decoder.next_event().is_none());
        assert_eq!(decoder.unfinished(), 8);
        assert_eq!(show(&Err(decoder.drop_unfinished())), "!b\"tw\"");
        assert_eq!(decoder.unfinished(), 0);
        decoder.push(b"o\ndata: of it\n\ndata: three\n\n");
        assert_eq!(show(&decoder.next_event().unwrap()), "-|three|-|-");
        assert!(decoder.next_event().is_none());
    }

    #[test]
    fn lines_end_with_cr_lf_or_both_in_any_mixture() {
        check(
            "data: a\r\rdata: b\n\ndata: c\r\n\r\n",
            &["-|a|-|-", "-|b|-|-", "-|c|-|-"],
        );
        check("data: a\r\n\rdata: b\n\r\n", &["-|a|-|-", "-|b|-|-"]);
        check("data: a\rdata: b\r\ndata: c\n\n", &["-|a\nb\nc|-|-"]);
    }

    #[test]
    fn fields() {
        check(
            "event: endpoint\ndata: /post?x=a:b\n\n",
            &["endpoint|/post?x=a:b|-|-"],
        );
        check("event:\ndata: x\n\n", &["-|x|-|-"]);
        check("event: a\n\ndata: x\n\n", &["-|x|-|-"]);
        check("data:  two spaces\n\n", &["-| two spaces|-|-"]);
        check("data : x\nDATA: y\n\n", &[]);
        check("unknown: x\nunknown\ndata: y\n\n", &["-|y|-|-"]);
        check("id: a\0b\ndata: x\n\n", &["-|x|-|-"]);
    }

    // the forty: 26
    #[test]
    fn the_time_to_wait_is_digits_and_stays_with_its_event() {
        check("retry: 250\n\n", &["-||-|250"]);
        check("retry: 2s\nretry: -1\nretry:\nretry: 7 \n\n", &[]);
        check(
            "retry: 99999999999999999999999\n\n",
            &["-||-|18446744073709551615"],
        );
        check("id: 1\nretry: 250\ndata:\n\n", &["-||1|250"]);
    }

    #[test]
    fn a_byte_order_mark_may_stand_at_the_start_only() {
        check("\u{feff}data: x\n\n", &["-|x|-|-"]);
        check("\u{feff}: x\ndata: x\n\n", &["-|x|-|-"]);
        check("\u{feff}\u{feff}data: x\n\n", &[]);
        check("\n\u{feff}data: x\n\n", &[]);
    }

    // the forty: 26
    #[test]
    fn an_event_without_data_is_delivered_for_its_id() {
        check("id: 1\ndata:\n\n", &["-||1|-"]);
        check("id: 1\n\n", &["-||1|-"]);
        check("id\n\n", &["-|||-"]);
    }

    #[test]
    fn comments_and_blank_lines_are_no_events() {
        check(":\n\n: ping\n\n\n\r\n\r", &[]);
        check("data: a\n: between\ndata: b\n\n", &["-|a\nb|-|-"]);
        let mut decoder = EventDecoder::with_limit(4);
        assert!(decode(&mut decoder, &[b": a long comment", b" goes on\n:\n"]).is_empty());
        assert_eq!(decoder.comments(), 2);
        assert!(!decoder.finish());
        let mut decoder = EventDecoder::new();
        assert!(decode(&mut decoder, &[b":"]).is_empty());
        assert_eq!(decoder.comments(), 1);
    }

    #[test]
    fn an_event_over_the_limit_is_reported_once_and_the_stream_goes_on() {
        check_limited(
            8,
            b"data: ab\n\ndata: abc\n\ndata: c\n\n",
            &["-|ab|-|-", "!b\"ab\"", "-|c|-|-"],
        );
        check_limited(
            8,
            b"data:abc\ndata:d\ndata: efg\ndata: h\n\ndata: i\n\n",
            &["!b\"abc\"", "-|i|-|-"],
        );
        check_limited(
            8,
            b"data: abcdef\r\n: x\r\nretry: 1\r\n\r\nid: 1\r\n\r\n",
            &["!b\"ab\"", "-||1|-"],
        );
        check_limited(8, b"unknown: x\n\ndata: i\n\n", &["!b\"\"", "-|i|-|-"]);
        check_limited(8, b"data: abc\r\r\rdata: i\r\r", &["!b\"ab\"", "-|i|-|-"]);
    }

    #[test]
    fn an_id_over_its_limit_is_reported_and_left_out() {
        let stream = format!("id: 1\n\nid: {}\ndata: x\n\n", "i".repeat(1025));
        check(&stream, &["-||1|-", "!event id cannot be kept", "-|x|-|-"]);
        let longest = "i".repeat(1024);
        check(&format!("id: {longest}\n\n"), &[&format!("-||{longest}|-")]);
    }

    #[test]
    fn the_last_id_stays_until_an_event_brings_another() {
        let mut decoder = EventDecoder::new();
        decode(&mut decoder, &[b"id: 1\ndata: x\n\ndata: y\n\nid: 2\n"]);
        assert_eq!(decoder.last_event_id(), Some("1"));
        assert!(decoder.finish());
        assert_eq!(decoder.last_event_id(), Some("1"));
        decode(&mut decoder, &["\u{feff}id: 3\n\n".as_bytes()]);
        assert_eq!(decoder.last_event_id(), Some("3"));
        decode(&mut decoder, &[b"id:\n\n"]);
        assert_eq!(decoder.last_event_id(), None);
        assert!(!decoder.finish());
    }

    #[test]
    fn an_event_that_is_too_large_leaves_its_id() {
        let mut decoder = EventDecoder::with_limit(8);
        decode(&mut decoder, &[b"id: 5\ndata: abcdefgh\n\n"]);
        assert_eq!(decoder.last_event_id(), Some("5"));
    }

    #[test]
    fn the_end_of_the_stream_tells_whether_an_event_was_cut() {
        let was_cut = |stream: &[u8]| {
            let mut decoder = EventDecoder::with_limit(20);
            decode(&mut decoder, &[stream]);
            decoder.finish()
        };
        assert!(!was_cut(b""));
        assert!(!was_cut(b"\xEF\xBB\xBF"));
        assert!(was_cut(b"\xEF\xBB"));
        assert!(!was_cut(b"data: x\n\n"));
        assert!(!was_cut(b"data: x\r\n\r\n"));
        assert!(!was_cut(b"data: x\n\n: ping"));
        assert!(was_cut(b"da"));
        assert!(was_cut(b"data: x"));
        assert!(was_cut(b"data: x\n"));
        assert!(was_cut(b"data: abcdefghijklmnopqrstuvwxyz"));
        assert!(was_cut(b"data: abcdefghijklmnopqrstuvwxyz\n"));
        assert!(!was_cut(b"data: abcdefghijklmnopqrstuvwxyz\n\n"));
    }

    #[test]
    fn one_line_of_data_is_not_copied() {
        let mut decoder = EventDecoder::new();
        decoder.push(b"data: 0123456789\n\n");
        let start = decoder.buffer_mut().as_ptr() as usize;
        let event = decoder.next_event().unwrap().unwrap();
        assert_eq!(event.data.as_ptr() as usize, start + "data: ".len());
    }

    #[test]
    fn an_endless_event_stays_within_its_bound() {
        let limit = 1 << 20;
        for line in [
            &b"data: 0123456789\n"[..],
            b"data:0123456789",
            b":0123",
            b"id: 1\n",
            b"x\n",
        ] {
            let chunk = line.repeat(1024);
            let mut decoder = EventDecoder::with_limit(limit);
            for _ in 0..1024 {
                decoder.push(&chunk);
                let _ = decoder.next_event();
                assert!(decoder.allocated() <= 2 * limit);
            }
        }
    }

    #[test]
    fn nothing_is_kept_of_an_event_that_was_too_large() {
        let mut decoder = EventDecoder::with_limit(8);
        decode(&mut decoder, &[b"data: abc\ndata: its second line"]);
        assert_eq!(decoder.unfinished(), 0);
    }

    #[test]
    fn what_will_be_held_is_known_before() {
        let mut decoder = EventDecoder::new();
        decode(&mut decoder, &[b"data: 0123456789\n"]);
        for more in [10, 100_000] {
            let expected = decoder.allocated_with(more);
            decoder.push(&vec![b'x'; more]);
            assert_eq!(decoder.allocated(), expected);
        }
    }

    #[test]
    fn room_that_was_made_is_enough_for_all_parts() {
        let mut decoder = EventDecoder::new();
        decoder.reserve(1 << 20);
        for _ in 0..16 {
            assert_eq!(decoder.allocated(), 1 << 20);
            decoder.push(&[b'x'; 1 << 16]);
        }
        assert_eq!(decoder.allocated(), 1 << 20);
    }

    #[test]
    fn a_great_many_empty_events_need_no_stack() {
        let stream = "event: x\n\n".repeat(300_000);
        assert!(decode(&mut EventDecoder::new(), &[stream.as_bytes()]).is_empty());
    }

    fn streams() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("\n"),
            Just("\r"),
            Just("\r\n"),
            Just("\n\n"),
            Just("data"),
            Just("data:"),
            Just("data: "),
            Just("id: "),
            Just("event:"),
            Just("retry:"),
            Just(":"),
            Just(" "),
            Just("\0"),
            Just("1"),
            Just("é"),
            Just("\u{feff}"),
            Just("{}"),
        ];
        let piece = prop_oneof![
            9 => piece.prop_map(|text| text.as_bytes().to_vec()),
            1 => proptest::collection::vec(any::<u8>(), 1..4),
        ];
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_the_pieces(
            stream in streams(),
            sizes in proptest::collection::vec(1_usize..9, 1..9),
            limit in 0_usize..40,
        ) {
            let mut rest = stream.as_slice();
            let mut chunks = Vec::new();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, after) = rest.split_at(rest.len().min(*size));
                chunks.push(chunk);
                rest = after;
            }
            let (mut whole, mut pieces) = (EventDecoder::with_limit(limit), EventDecoder::with_limit(limit));
            prop_assert_eq!(decode(&mut pieces, &chunks), decode(&mut whole, &[&stream]));
            prop_assert_eq!(pieces.last_event_id(), whole.last_event_id());
            prop_assert_eq!(pieces.comments(), whole.comments());
            prop_assert_eq!(pieces.finish(), whole.finish());
        }

        #[test]
        fn events_are_those_of_the_standard(stream in streams()) {
            let mut decoder = EventDecoder::new();
            let events: Vec<_> = decode(&mut decoder, &[&stream])
                .into_iter()
                .map(|output| {
                    let event = output.unwrap();
                    let id = event.id.map(|id| id.as_str().to_owned());
                    let retry = event.retry.map(|retry| retry.as_millis() as u64);
                    (event.name.unwrap_or_default().to_vec(), event.data.to_vec(), id, retry)
                })
                .collect();
            let (expected, last_event_id) = reference::parse(&stream);
            prop_assert_eq!(events, expected);
            prop_assert_eq!(decoder.last_event_id().unwrap_or_default(), last_event_id);
        }
    }
}
