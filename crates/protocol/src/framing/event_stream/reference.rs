//! The WHATWG algorithm written down as it reads, to compare the decoder with.
//!
//! It wants the whole stream at once and knows no limit. The fuzz crate includes
//! this file too.

/// Name, data, id and retry of an event.
pub(super) type ReferenceEvent = (Vec<u8>, Vec<u8>, Option<String>, Option<u64>);

/// The events of a whole stream, and the last event id after it.
pub(super) fn parse(stream: &[u8]) -> (Vec<ReferenceEvent>, String) {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let (mut events, mut last_event_id) = (Vec::new(), String::new());
    let (mut name, mut data) = (Vec::new(), Vec::new());
    let (mut id, mut retry, mut has_data) = (None, None, false);

    for line in lines(stream) {
        if line.is_empty() {
            if let Some(id) = &id {
                last_event_id = String::clone(id);
            }
            // Ours: browsers drop an event without data.
            if has_data || id.is_some() || retry.is_some() {
                if data.last() == Some(&b'\n') {
                    data.pop();
                }
                events.push((name, data, id, retry));
            }
            (name, data) = (Vec::new(), Vec::new());
            (id, retry, has_data) = (None, None, false);
            continue;
        }
        if line.first() == Some(&b':') {
            continue;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => name = value.to_vec(),
            b"data" => {
                data.extend_from_slice(value);
                data.push(b'\n');
                has_data = true;
            }
            // Ours: a bound on the id.
            b"id" if !value.contains(&0) && value.len() <= 1024 => {
                let text = String::from_utf8_lossy(value).into_owned();
                if text.len() <= 1024 {
                    id = Some(text);
                }
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = String::from_utf8_lossy(value);
                retry = Some(digits.parse().unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }
    (events, last_event_id)
}

/// The lines that have an end.
fn lines(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        lines.push(&rest[..end]);
        let length = if rest[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + length..];
    }
    lines
}
