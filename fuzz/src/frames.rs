//! The frames of one peer, a line each, read one after another by a reader that remembers.

use bytes::Bytes;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{Frame, FrameReader, Limits, Message};

/// Whatever came before, a frame is read as if it came alone.
pub fn frames(data: &[u8]) {
    let mut reader = FrameReader::new(Limits::default());
    let mut results = FrameReader::new(Limits::default());
    for line in data.split(|byte| *byte == b'\n') {
        let frame = Bytes::copy_from_slice(line);
        let alone = Frame::read(&frame, &Limits::default());
        let found = reader.read(frame.clone());
        assert_eq!(found, alone);
        if let (Ok(Frame::Single(found)), Ok(Frame::Single(alone))) = (&found, &alone) {
            check_notes(found, alone);
        }
        let Ok(usual) = results.read_result(frame) else {
            continue;
        };
        let Ok(Frame::Single(Message::Response(response))) = alone else {
            panic!("{line:?} is no answer");
        };
        let id = response.id.as_ref().and_then(|id| id.as_integer());
        assert_eq!(id, Some(usual.id));
        let result = response.outcome.expect("a result");
        assert_eq!(usual.result, result);
        check_same_notes(&usual.result, &result);
    }
}

fn check_notes(found: &Message, alone: &Message) {
    let payload = |message: &Message| match message {
        Message::Request(request) => request.params.clone(),
        Message::Notification(notification) => notification.params.clone(),
        Message::Response(response) => response.outcome.as_ref().ok().cloned(),
    };
    if let (Some(found), Some(alone)) = (payload(found), payload(alone)) {
        check_same_notes(&found, &alone);
    }
}

/// Equal payloads have the same text; what was noted of them must say the same too. That one of them
/// was seen to be texts, and the other was not looked at for it, changes nothing of that.
fn check_same_notes(found: &Payload, alone: &Payload) {
    assert_eq!(found.meta(), alone.meta());
    assert_eq!(found.result_type(), alone.result_type());
    assert_eq!(found.is_complete(), alone.is_complete());
    assert_eq!(found.is_one_line(), alone.is_one_line());
    assert_eq!(found.is_error(), alone.is_error());
    assert_eq!(found.name(), alone.name());
    assert_eq!(found.arguments(), alone.arguments());
}
