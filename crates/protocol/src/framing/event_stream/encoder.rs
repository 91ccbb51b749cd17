//! Events in, bytes of a stream out.
//!
//! Nothing that is written can end a field or an event early: ids are checked
//! when they are made, and a raw line break in data or a name becomes a space.

use super::Event;
use crate::framing::append_without_line_breaks;

/// Appends an event, its data on one line.
///
/// In JSON a raw line break can only stand between tokens, where a space means
/// the same; other text does not belong in an event of ours.
pub fn write_event(event: &Event, out: &mut Vec<u8>) {
    // First the id: a reader that gives the event up for its size has seen it.
    if let Some(id) = &event.id {
        write_field(b"id", id.as_str().as_bytes(), out);
    }
    if let Some(retry) = event.retry {
        write_field(b"retry", retry.as_millis().to_string().as_bytes(), out);
    }
    if let Some(name) = event.name.as_ref().filter(|name| !name.is_empty()) {
        write_field(b"event", name, out);
    }
    write_field(b"data", &event.data, out);
    out.push(b'\n');
}

/// Appends a comment, which keeps an idle stream alive.
pub fn write_comment(text: &str, out: &mut Vec<u8>) {
    write_field(b"", text.as_bytes(), out);
    out.push(b'\n');
}

fn write_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.push(b':');
    if !value.is_empty() {
        out.push(b' ');
        append_without_line_breaks(value, out);
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::framing::{EventDecoder, EventId, EventIdError};

    fn check(event: &Event, expected: &str) {
        let mut out = Vec::new();
        write_event(event, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    fn id(text: &str) -> EventId {
        EventId::new(text).unwrap()
    }

    #[test]
    fn events_are_written_field_by_field() {
        check(&Event::message("{}".into()), "data: {}\n\n");
        check(&Event::priming(id("s:0")), "id: s:0\ndata:\n\n");
        let event = Event {
            name: Some("endpoint".into()),
            data: "/post".into(),
            id: Some(id("1")),
            retry: Some(Duration::from_millis(1500)),
        };
        check(
            &event,
            "id: 1\nretry: 1500\nevent: endpoint\ndata: /post\n\n",
        );
    }

    #[test]
    fn nothing_in_an_event_can_start_another() {
        check(
            &Event::message("{\n\r\"a\":1}".into()),
            "data: {  \"a\":1}\n\n",
        );
        let event = Event {
            name: Some("x\ndata: y".into()),
            ..Event::default()
        };
        check(&event, "event: x data: y\ndata:\n\n");
        let mut out = Vec::new();
        write_comment("a\r\n\ndata: x\n\n", &mut out);
        assert_eq!(out, b": a   data: x  \n\n");
    }

    #[test]
    fn an_id_that_would_break_the_stream_cannot_be_made() {
        assert_eq!(
            EventId::new("ab\n"),
            Err(EventIdError::Forbidden { position: 2 })
        );
        assert_eq!(
            EventId::new("\r"),
            Err(EventIdError::Forbidden { position: 0 })
        );
        assert_eq!(
            EventId::new("a\0"),
            Err(EventIdError::Forbidden { position: 1 })
        );
        let long = "i".repeat(EventId::LONGEST + 1);
        assert_eq!(
            EventId::new(&long),
            Err(EventIdError::TooLong { length: 1025 })
        );
        assert!(EventId::new(&long[1..]).is_ok());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            name in proptest::option::of("[^\r\n]{1,9}"),
            data in "[^\r\n]{0,40}",
            event_id in proptest::option::of("[^\r\n\0]{0,9}"),
            retry in proptest::option::of(any::<u64>()),
        ) {
            let event = Event {
                name: name.map(Into::into),
                data: data.into(),
                id: event_id.map(|text| id(&text)),
                retry: retry.map(Duration::from_millis),
            };
            let mut out = Vec::new();
            write_comment("before", &mut out);
            write_event(&event, &mut out);
            let mut decoder = EventDecoder::new();
            decoder.push(&out);
            prop_assert_eq!(decoder.next_event(), Some(Ok(event)));
            prop_assert_eq!(decoder.next_event(), None);
            prop_assert!(!decoder.finish());
        }
    }
}
