//! Messages on a pipe, one per line.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use switchboard_protocol::framing::Line;
use switchboard_protocol::jsonrpc::{
    ErrorCode, ErrorObject, Frame, Limits, Message, RequestId, Response,
};
use switchboard_protocol::{Payload, framing};
use switchboard_transport::lines::Lines;
use switchboard_transport::memory;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// Gives out its chunks one by one, each as far as there is room, then the end.
#[derive(Default)]
struct Chunks(VecDeque<Vec<u8>>);

impl Chunks {
    fn of<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self(chunks.into_iter().map(<[u8]>::to_vec).collect())
    }
}

impl AsyncRead for Chunks {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut chunk) = self.0.pop_front() {
            let rest = chunk.split_off(chunk.len().min(target.remaining()));
            target.put_slice(&chunk);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Notes what it was given: where each piece stood in memory, and how many calls there were.
#[derive(Default)]
struct Recorder {
    bytes: Vec<u8>,
    places: Vec<usize>,
    writes: usize,
    /// How many bytes it still takes before it says "not now".
    room: usize,
    /// How many at once.
    most: usize,
}

impl Recorder {
    fn with_room(room: usize) -> Self {
        Self {
            room,
            most: usize::MAX,
            ..Self::default()
        }
    }
}

impl AsyncWrite for Recorder {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.room == 0 {
            return Poll::Pending;
        }
        self.writes += 1;
        let before = self.bytes.len();
        let mut left = self.room.min(self.most);
        for slice in slices {
            let part = left.min(slice.len());
            self.places.push(slice.as_ptr() as usize);
            self.bytes.extend_from_slice(&slice[..part]);
            left -= part;
        }
        let count = self.bytes.len() - before;
        self.room -= count;
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Every line until the end of input; an oversized one as `!` and its prefix.
async fn all_lines(read: impl AsyncRead + Unpin, limit: usize) -> Vec<String> {
    let mut limits = Limits::default();
    limits.bytes = limit;
    let mut lines = Lines::new(read, tokio::io::sink(), limits);
    let mut all = Vec::new();
    let text = |line| match line {
        Line::Text(text) => String::from_utf8_lossy(&text).into_owned(),
        Line::Oversized { prefix, .. } => format!("!{}", String::from_utf8_lossy(&prefix)),
        _ => unreachable!("there is no other kind"),
    };
    loop {
        all.extend(std::iter::from_fn(|| lines.next_line()).map(text));
        if !poll_fn(|cx| lines.poll_read(cx)).await.unwrap() {
            break;
        }
    }
    all.extend(std::iter::from_fn(|| lines.finish_line()).map(text));
    assert!(!poll_fn(|cx| lines.poll_read(cx)).await.unwrap());
    all
}

fn response(id: i64, payload: &Payload) -> Response {
    Response::new(RequestId::from(id), Ok(payload.clone()))
}

fn string_of(length: usize) -> Payload {
    Payload::encode(&"x".repeat(length)).unwrap()
}

/// The messages as they are written one by one.
fn expected(messages: &[Message]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        framing::write_line(&message.to_bytes(), &mut out);
    }
    out
}

/// Polls once, as a driver would that has other things to do.
fn flush<R>(lines: &mut Lines<R, Recorder>) -> Poll<io::Result<()>> {
    lines.poll_flush(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn lines_are_the_same_wherever_the_bytes_are_cut() {
    let text = "{\"a\":1}\r\n\n{\"b\":\"é\"}\n\u{feff}[]\n{\"c\":3}".as_bytes();
    for cut in 0..=text.len() {
        let (before, after) = text.split_at(cut);
        let chunks = [before, after].into_iter().filter(|part| !part.is_empty());
        let lines = all_lines(Chunks::of(chunks), 100).await;
        assert_eq!(lines, ["{\"a\":1}", "{\"b\":\"é\"}", "[]", "{\"c\":3}"]);
    }
    let lines = all_lines(Chunks::of(text.chunks(1)), 100).await;
    assert_eq!(lines.len(), 4);
}

#[tokio::test]
async fn a_line_over_the_limit_is_reported_and_the_next_one_read() {
    let long = [b"before\n", [b'x'; 100_000].as_slice(), b"\nafter\n"].concat();
    let lines = all_lines(Chunks::of([long.as_slice()]), 10).await;
    assert_eq!(lines, ["before", "!xxxxxxxxxx", "after"]);
}

#[tokio::test]
async fn a_line_over_the_limit_is_reported_before_it_ends() {
    let (read, mut write) = memory::pair();
    let mut limits = Limits::default();
    limits.bytes = 10;
    let mut lines = Lines::new(read, tokio::io::sink(), limits);
    write.write_all(&[b'x'; 11]).await.unwrap();
    assert!(poll_fn(|cx| lines.poll_read(cx)).await.unwrap());
    assert!(matches!(
        lines.next_line(),
        Some(Line::Oversized { limit: 10, .. })
    ));
}

#[tokio::test]
async fn the_last_line_needs_no_end() {
    assert_eq!(
        all_lines(Chunks::of([b"a\nb".as_slice()]), 9).await,
        ["a", "b"]
    );
    assert_eq!(
        all_lines(Chunks::of([b"a\nb\n".as_slice()]), 9).await,
        ["a", "b"]
    );
    assert!(all_lines(Chunks::default(), 9).await.is_empty());
}

#[test]
fn a_line_is_not_finished_before_the_end_of_input() {
    let mut cx = Context::from_waker(Waker::noop());
    let chunks = Chunks::of([b"a\nb".as_slice(), b"c\n"]);
    let mut lines = Lines::new(chunks, tokio::io::sink(), Limits::default());
    assert!(matches!(lines.poll_read(&mut cx), Poll::Ready(Ok(true))));
    assert_eq!(lines.finish_line(), Some(Line::Text("a".into())));
    assert_eq!(lines.finish_line(), None);
    assert!(matches!(lines.poll_read(&mut cx), Poll::Ready(Ok(true))));
    assert_eq!(lines.finish_line(), Some(Line::Text("bc".into())));
}

#[test]
fn a_busy_peer_is_read_in_large_pieces() {
    let mut cx = Context::from_waker(Waker::noop());
    let line = [[b'x'; 99].as_slice(), b"\n"].concat();
    let chunks = Chunks::of([line.repeat(100_000).as_slice()]);
    let mut lines = Lines::new(chunks, tokio::io::sink(), Limits::default());
    let (mut reads, mut count) = (0, 0);
    while let Poll::Ready(Ok(true)) = lines.poll_read(&mut cx) {
        reads += 1;
        count += std::iter::from_fn(|| lines.next_line()).count();
    }
    assert_eq!(count, 100_000);
    assert!(reads <= 10_000_000 / (32 * 1024), "{reads} reads");
}

#[tokio::test]
async fn a_message_of_many_megabytes_is_read() {
    let long = [vec![b'x'; 16 << 20].as_slice(), b"\nnext\n"].concat();
    let lines = all_lines(Chunks::of([long.as_slice()]), 16 << 20).await;
    assert_eq!(
        lines.iter().map(String::len).collect::<Vec<_>>(),
        [16 << 20, 4]
    );
}

#[test]
fn many_small_answers_are_one_write() {
    let mut lines = Lines::new(
        Chunks::default(),
        Recorder::with_room(usize::MAX),
        Limits::default(),
    );
    let messages: Vec<Message> = (0..64)
        .map(|id| response(id, &string_of(9)).into())
        .collect();
    for message in &messages {
        lines.send(message);
    }
    let wanted = expected(&messages);
    assert_eq!(lines.queued(), wanted.len());
    assert!(flush(&mut lines).is_ready());
    assert_eq!(lines.queued(), 0);
    let (_, recorder) = lines.into_inner();
    assert_eq!(recorder.writes, 1);
    assert_eq!(recorder.bytes, wanted);
}

#[test]
fn a_large_payload_is_written_from_where_it_stands() {
    let payload = string_of(1 << 20);
    let messages = [
        response(1, &string_of(3)).into(),
        response(2, &payload).into(),
        response(3, &string_of(3)).into(),
    ];
    let mut lines = Lines::new(
        Chunks::default(),
        Recorder::with_room(usize::MAX),
        Limits::default(),
    );
    for message in &messages {
        lines.send(message);
    }
    assert!(flush(&mut lines).is_ready());
    let (_, recorder) = lines.into_inner();
    assert_eq!(recorder.writes, 1);
    assert!(
        recorder
            .places
            .contains(&(payload.text().as_ptr() as usize))
    );
    assert_eq!(recorder.bytes, expected(&messages));
}

#[test]
fn what_is_written_does_not_depend_on_how_much_is_taken_at_once() {
    let sizes = [3, 20_000, 40_000, 5, 17_000, 2];
    let messages: Vec<Message> = (0..)
        .zip(sizes.into_iter().cycle().take(60))
        .map(|(id, size)| response(id, &string_of(size)).into())
        .collect();
    let wanted = expected(&messages);
    for most in [1_000, 4_099, 65_536, 1 << 20, usize::MAX] {
        let recorder = Recorder {
            most,
            ..Recorder::with_room(usize::MAX)
        };
        let mut lines = Lines::new(Chunks::default(), recorder, Limits::default());
        for message in &messages {
            lines.send(message);
        }
        assert_eq!(lines.queued(), wanted.len());
        assert!(flush(&mut lines).is_ready());
        let (_, recorder) = lines.into_inner();
        assert!(recorder.bytes == wanted, "at most {most}");
    }
}

#[tokio::test]
async fn what_a_slow_reader_does_not_take_stays_queued() {
    let payload = string_of(30_000);
    let (near, mut far) = memory::pair_holding(4_096);
    let mut lines = Lines::new(Chunks::default(), near, Limits::default());
    let mut cx = Context::from_waker(Waker::noop());
    let (mut wanted, mut taken) = (Vec::new(), Vec::new());
    let mut piece = vec![0; 4_096];
    for id in 0..100 {
        let result = if id % 3 == 0 {
            &payload
        } else {
            &Payload::empty()
        };
        let message = response(id, result).into();
        lines.send(&message);
        wanted.extend(expected(&[message]));
        // So that a task's share of I/O, which the runtime counts, is no reason to wait.
        tokio::task::yield_now().await;
        assert!(lines.poll_flush(&mut cx).is_pending());
        let count = far.read(&mut piece).await.unwrap();
        taken.extend_from_slice(&piece[..count]);
        // Part of it is in the pipe, the rest is here.
        let behind = wanted.len() - taken.len();
        assert!((behind - 4_096..=behind).contains(&lines.queued()));
    }
    drop(tokio::spawn(async move {
        poll_fn(|cx| lines.poll_shutdown(cx)).await.unwrap();
    }));
    far.read_to_end(&mut taken).await.unwrap();
    assert!(taken == wanted);
}

#[test]
fn raw_line_breaks_of_a_payload_become_spaces() {
    let text = format!("{{\n\"a\":\r\n\"{}\"}}", "x".repeat(20_000));
    for text in ["{\n\"a\": 1}".to_owned(), text] {
        let payload = Payload::parse(text.clone().into(), &Limits::default()).unwrap();
        let mut lines = Lines::new(
            Chunks::default(),
            Recorder::with_room(usize::MAX),
            Limits::default(),
        );
        lines.send(&response(1, &payload).into());
        assert!(flush(&mut lines).is_ready());
        let (_, recorder) = lines.into_inner();
        let flat = text.replace(['\n', '\r'], " ");
        let wanted = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{flat}}}\n");
        assert!(recorder.bytes == wanted.into_bytes());
    }
}

#[test]
fn a_batch_is_one_line() {
    let mut lines = Lines::new(
        Chunks::default(),
        Recorder::with_room(usize::MAX),
        Limits::default(),
    );
    let failed = ErrorObject::new(ErrorCode::INVALID_REQUEST, "no");
    let responses = [
        response(1, &Payload::empty()),
        response(2, &string_of(20_000)),
        Response::without_id(failed),
    ];
    lines.send_batch(&responses);
    assert!(flush(&mut lines).is_ready());
    let (_, recorder) = lines.into_inner();
    let (end, line) = recorder.bytes.split_last().unwrap();
    assert_eq!((*end, line.contains(&b'\n')), (b'\n', false));
    let frame = Frame::read(&line.to_vec().into(), &Limits::default()).unwrap();
    let Frame::Batch(entries) = frame else {
        panic!("an array was written");
    };
    let read: Vec<Message> = entries.into_iter().map(Result::unwrap).collect();
    assert_eq!(read, responses.map(Message::from));
}

#[test]
fn an_error_of_the_writer_is_passed_on() {
    let (near, far) = memory::pair();
    drop(far);
    let mut lines = Lines::new(Chunks::default(), near, Limits::default());
    lines.send(&response(1, &Payload::empty()).into());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(lines.poll_flush(&mut cx), Poll::Ready(Err(_))));
}
