//! Lines of stdio.

use switchboard_protocol::framing::{Line, LineDecoder, write_line};

use crate::{pieces, settings};

/// Lines are those of a plain reading, at once and in pieces, and bounded.
pub fn line(data: &[u8]) {
    let Some((limit, largest, stream)) = settings(data) else {
        return;
    };
    let expected = reference(limit, stream);
    assert_eq!(decode(limit, std::iter::once(stream)), expected);
    assert_eq!(decode(limit, pieces(stream, largest)), expected);

    let mut out = Vec::new();
    write_line(stream, &mut out);
    assert_eq!(out.len(), stream.len() + 1);
    assert!(
        !out[..stream.len()]
            .iter()
            .any(|byte| matches!(byte, b'\r' | b'\n'))
    );
    assert_eq!(out.last(), Some(&b'\n'));
}

fn decode<'a>(limit: usize, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Line> {
    let mut decoder = LineDecoder::with_limit(limit);
    let mut lines = Vec::new();
    for piece in pieces {
        while !decoder.make_room() {}
        decoder.push(piece);
        lines.extend(std::iter::from_fn(|| decoder.next_line()));
        assert!(decoder.allocated() <= 256 * 1024);
    }
    lines.extend(std::iter::from_fn(|| decoder.finish()));
    assert_eq!(decoder.finish(), None);
    lines
}

fn reference(limit: usize, stream: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in stream.split(|byte| *byte == b'\n') {
        if line.len() > limit {
            let prefix = line[..limit].to_vec().into();
            lines.push(Line::Oversized { prefix, limit });
            continue;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if !line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            lines.push(Line::Text(line.to_vec().into()));
        }
    }
    lines
}
