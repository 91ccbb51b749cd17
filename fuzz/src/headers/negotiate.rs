//! `Accept`, `Content-Type` and `Mcp-Session-Id`.

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use switchboard_protocol::Revision;
use switchboard_protocol::http::header::SESSION_ID;
use switchboard_protocol::http::negotiate::{Accepted, Format, check_content_type};
use switchboard_protocol::http::server::{Endpoint, Fields, check_head};
use switchboard_protocol::http::session::{SessionError, SessionId};

use super::{only, plain};

pub(super) fn check(headers: &HeaderMap) {
    check_accept(headers);
    let format = Format::of(headers);
    let named = only(headers, CONTENT_TYPE.as_str()).and_then(plain);
    for known in [Format::Json, Format::EventStream] {
        let is_named = named.is_some_and(|text| {
            let media_type = text.split(';').next().unwrap_or_default();
            media_type.trim().eq_ignore_ascii_case(known.media_type())
        });
        assert_eq!(format == Some(known), is_named, "{named:?}");
    }
    if check_content_type(headers).is_ok() {
        assert_eq!(format, Some(Format::Json));
        for value in headers.get_all(CONTENT_ENCODING) {
            let encoding = plain(value).map(str::to_ascii_lowercase);
            assert_eq!(encoding.as_deref(), Some("identity"));
        }
    }
    for verb in [Method::GET, Method::POST, Method::DELETE, Method::PUT] {
        for revisions in [&Revision::ALL[..], &Revision::ALL[..4], &Revision::ALL[4..]] {
            let endpoint = Endpoint::new(revisions);
            match check_head(&endpoint, &verb, &Fields::of(headers)) {
                Ok(_) => assert!(endpoint.allow().contains(verb.as_str())),
                Err(refusal) => assert!(refusal.status().is_client_error()),
            }
        }
    }
}

/// Preferences are in range, one answer fits them, and it is the same whether the
/// entries stand in one header or in several.
fn check_accept(headers: &HeaderMap) {
    let accepted = Accepted::read(headers);
    assert!(accepted.json <= 1000 && accepted.event_stream <= 1000);
    for needs_stream in [false, true] {
        match accepted.choose(needs_stream) {
            Some(format) => {
                assert!(accepted.accepts(format));
                assert!(!needs_stream || format == Format::EventStream);
            }
            None => assert!(!accepted.accepts(Format::EventStream)),
        }
    }
    let mut split = HeaderMap::new();
    for value in headers.get_all(ACCEPT) {
        for entry in value.as_bytes().split(|byte| *byte == b',') {
            let entry = HeaderValue::from_bytes(entry).expect("a part of a header");
            // A header with other characters counts as empty, all of it.
            let is_plain = plain(value).is_some();
            split.append(
                ACCEPT,
                if is_plain {
                    entry
                } else {
                    HeaderValue::from_static("")
                },
            );
        }
    }
    assert_eq!(Accepted::read(&split), accepted);
}

/// An id is one header of visible ASCII, and is sent as it was read.
pub(super) fn check_session(headers: &HeaderMap) {
    let count = headers.get_all(SESSION_ID).iter().count();
    let text = only(headers, SESSION_ID.as_str()).and_then(plain);
    let is_id = |text: &&str| {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        (1..=1024).contains(&text.len()) && is_visible
    };
    match SessionId::read(headers) {
        Ok(None) => assert_eq!(count, 0),
        Ok(Some(id)) => {
            assert_eq!(Some(id.as_str()), text.filter(is_id));
            assert!(id.header_value().is_sensitive());
            assert_eq!(id.header_value(), id.as_str());
            assert!(
                id.as_str().len() < 4
                    || !format!("{id:?}").contains(id.as_str())
                    || "SessionId(***)".contains(id.as_str())
            );
            let mut again = HeaderMap::new();
            again.insert(SESSION_ID, id.header_value());
            assert_eq!(SessionId::read(&again), Ok(Some(id)));
        }
        Err(SessionError::Repeated) => assert!(count > 1),
        Err(_) => assert!(count == 1 && text.filter(is_id).is_none()),
    }
}
