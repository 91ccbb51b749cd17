//! Where a peer may send us: nowhere but to its own origin.

use http::header::LOCATION;
use http::{HeaderMap, StatusCode, Uri};
use switchboard_protocol::http::client::follow_redirect;
use switchboard_protocol::http::location::{is_same_origin, resolve_same_origin};
use switchboard_protocol::http::old_sse::read_endpoint;

use super::only;

pub(super) fn check(base: &[u8], reference: &[u8], headers: &HeaderMap) {
    let Ok(base) = Uri::try_from(base) else {
        return;
    };
    let reference = String::from_utf8_lossy(reference);
    let resolved = resolve_same_origin(&base, &reference);
    if let Ok(resolved) = &resolved {
        check_resolved(&base, resolved);
    }
    let endpoint = read_endpoint(&base, "endpoint", &reference);
    assert_eq!(
        endpoint.ok(),
        resolved.ok().filter(|_| !reference.is_empty())
    );
    assert!(read_endpoint(&base, "message", &reference).is_err());

    if let Ok(followed) = follow_redirect(&base, StatusCode::PERMANENT_REDIRECT, headers, 0) {
        assert!(only(headers, LOCATION.as_str()).is_some());
        check_resolved(&base, &followed);
    }
    assert!(follow_redirect(&base, StatusCode::FOUND, headers, 0).is_err());
}

fn check_resolved(base: &Uri, resolved: &Uri) {
    assert!(is_same_origin(base, resolved) && is_same_origin(resolved, base));
    let (from, to) = (origin(&base.to_string()), origin(&resolved.to_string()));
    assert!(from.is_some(), "{base} has no origin");
    assert_eq!(from, to, "{base} {resolved}");
    assert!(!resolved.to_string().contains('#'));
    // What was resolved once stays where it is, unless our own URI has what we refuse in theirs.
    let text = resolved.to_string();
    if text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    {
        assert_eq!(resolve_same_origin(base, &text).as_ref(), Ok(resolved));
    }
}

/// Scheme, host and port out of the text of a URI.
fn origin(uri: &str) -> Option<(String, String, u16)> {
    let (scheme, rest) = uri.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let standard = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority
        .rsplit_once('@')
        .map_or(authority, |(_, place)| place);
    let end_of_host = place.rfind(']').map_or(0, |end| end + 1);
    let (host, port) = match place[end_of_host..].rfind(':') {
        Some(colon) => place.split_at(end_of_host + colon),
        None => (place, ""),
    };
    let port = match port.trim_start_matches(':') {
        "" => standard,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    (!host.is_empty()).then(|| (scheme, host.to_ascii_lowercase(), port))
}
