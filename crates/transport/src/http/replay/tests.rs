use switchboard_protocol::jsonrpc::{MethodName, Notification};

use super::*;

fn limits() -> ReplayLimits {
    ReplayLimits {
        events: 3,
        bytes: 1000,
        session_bytes: 1500,
        ended: 1,
    }
}

fn message(name: &str) -> Message {
    Message::Notification(Notification::new(MethodName::new(name), None))
}

fn check_resumed(replay: &Replay, id: &str, expected: Result<&[&str], ResumeError>) {
    let names = replay.resume(id).map(|resumed| {
        let event = |event: &Bytes| String::from_utf8_lossy(event).into_owned();
        resumed.events.iter().map(event).collect::<Vec<_>>()
    });
    match (names, expected) {
        (Ok(events), Ok(expected)) => {
            assert_eq!(events.len(), expected.len(), "{id}: {events:?}");
            for (event, name) in events.iter().zip(expected) {
                assert!(event.contains(&format!("\"{name}\"")), "{id}: {event}");
            }
        }
        (found, expected) => assert_eq!(found.err(), expected.err(), "{id}"),
    }
}

#[test]
fn a_stream_goes_on_after_any_event_that_is_kept() {
    let mut replay = Replay::new();
    let one = replay.open();
    let two = replay.open();
    assert_eq!(replay.prime(one, None), "id: 1-0\ndata:\n\n");
    let first = replay.push(&limits(), one, &message("a"));
    assert!(first.starts_with(b"id: 1-1\ndata: {"), "{first:?}");
    replay.push(&limits(), two, &message("other"));
    replay.push(&limits(), one, &message("b"));
    check_resumed(&replay, "1-0", Ok(&["a", "b"]));
    check_resumed(&replay, "1-1", Ok(&["b"]));
    check_resumed(&replay, "1-2", Ok(&[]));
    check_resumed(&replay, "2-0", Ok(&["other"]));
    let retry = replay.prime(one, Some(Duration::from_millis(500)));
    assert_eq!(retry, "id: 1-2\nretry: 500\ndata:\n\n");
}

#[test]
fn what_is_not_kept_is_lost_and_what_never_was_is_unknown() {
    let mut replay = Replay::new();
    let one = replay.open();
    for name in ["a", "b", "c", "d"] {
        replay.push(&limits(), one, &message(name));
    }
    check_resumed(&replay, "1-0", Err(ResumeError::Lost));
    check_resumed(&replay, "1-1", Ok(&["b", "c", "d"]));
    for id in [
        "1-5",
        "2-0",
        "0-0",
        "1",
        "",
        "-",
        "1-",
        "+1-1",
        "1-1-1",
        "1-99999999999999999999",
    ] {
        check_resumed(&replay, id, Err(ResumeError::Unknown));
    }
    replay.forget(one);
    check_resumed(&replay, "1-1", Err(ResumeError::Lost));
    assert_eq!(replay.bytes, 0);
}

#[test]
fn memory_is_bounded_by_stream_and_by_session() {
    let mut replay = Replay::new();
    let large = "x".repeat(600);
    let one = replay.open();
    replay.push(&limits(), one, &message(&large));
    replay.push(&limits(), one, &message(&large));
    check_resumed(&replay, "1-0", Err(ResumeError::Lost));
    check_resumed(&replay, "1-1", Ok(&[&large]));
    let two = replay.open();
    replay.push(&limits(), two, &message(&large));
    let three = replay.open();
    replay.push(&limits(), three, &message(&large));
    assert!(replay.bytes <= 1500);
    check_resumed(&replay, "1-1", Err(ResumeError::Lost));
    check_resumed(&replay, "3-0", Ok(&[&large]));
    let huge = "x".repeat(2000);
    replay.push(&limits(), three, &message(&huge));
    check_resumed(&replay, "3-1", Err(ResumeError::Lost));
    check_resumed(&replay, "3-2", Ok(&[]));
}

#[test]
fn streams_that_ended_are_kept_for_a_while() {
    let mut replay = Replay::new();
    let one = replay.open();
    replay.push(&limits(), one, &message("a"));
    replay.end(&limits(), one);
    assert!(replay.resume("1-0").unwrap().is_ended);
    let two = replay.open();
    let three = replay.open();
    replay.end(&limits(), three);
    check_resumed(&replay, "1-0", Err(ResumeError::Lost));
    assert!(replay.resume("3-0").unwrap().is_ended);
    assert!(!replay.resume("2-0").unwrap().is_ended);
    assert_eq!(two, 2);
    let after = replay.push(&limits(), one, &message("late"));
    assert!(after.starts_with(b"data: "), "{after:?}");
}
