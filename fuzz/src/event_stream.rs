//! Server-sent events.

#[path = "../../crates/protocol/src/framing/event_stream/reference.rs"]
mod reference;

use switchboard_protocol::framing::{
    DEFAULT_LIMIT, Event, EventDecoder, EventStreamError, write_event,
};

use crate::{pieces, settings};

type Output = Result<Event, EventStreamError>;

/// Events are those of the standard, at once and in pieces; a small limit holds,
/// in pieces too; what was read can be written and read again.
pub fn event_stream(data: &[u8]) {
    let Some((limit, largest, stream)) = settings(data) else {
        return;
    };
    let whole = decode(DEFAULT_LIMIT, std::iter::once(stream));
    assert_eq!(decode(DEFAULT_LIMIT, pieces(stream, largest)), whole);
    check_reference(stream, &whole);
    whole.outputs.iter().flatten().for_each(check_written);

    let limited = decode(limit, std::iter::once(stream));
    assert_eq!(decode(limit, pieces(stream, largest)), limited);
    for event in limited.outputs.iter().flatten() {
        assert!(event.data.len() <= limit);
    }
}

#[derive(Debug, PartialEq)]
struct Decoded {
    outputs: Vec<Output>,
    last_event_id: Option<String>,
    comments: u64,
    was_cut: bool,
}

fn decode<'a>(limit: usize, pieces: impl Iterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder = EventDecoder::with_limit(limit);
    let mut outputs = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        outputs.extend(std::iter::from_fn(|| decoder.next_event()));
        assert!(decoder.allocated() <= 512 * 1024);
    }
    Decoded {
        outputs,
        last_event_id: decoder.last_event_id().map(str::to_owned),
        comments: decoder.comments(),
        was_cut: decoder.finish(),
    }
}

fn check_reference(stream: &[u8], whole: &Decoded) {
    let events = whole.outputs.iter().flatten().map(|event| {
        let id = event.id.as_ref().map(|id| id.as_str().to_owned());
        let retry = event.retry.map(|retry| retry.as_millis() as u64);
        let name = event.name.as_deref().unwrap_or_default();
        (name.to_vec(), event.data.to_vec(), id, retry)
    });
    let (expected, last_event_id) = reference::parse(stream);
    assert_eq!(events.collect::<Vec<_>>(), expected);
    assert_eq!(
        whole.last_event_id.as_deref().unwrap_or_default(),
        last_event_id
    );
}

fn check_written(event: &Event) {
    let mut out = Vec::new();
    write_event(event, &mut out);
    let expected = Event {
        data: event
            .data
            .iter()
            .map(|byte| if *byte == b'\n' { b' ' } else { *byte })
            .collect(),
        ..event.clone()
    };
    let again = decode(DEFAULT_LIMIT, std::iter::once(out.as_slice()));
    assert_eq!(again.outputs, [Ok(expected)]);
    assert!(!again.was_cut);
}
