//! Which callers a guard lets in.

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Uri};
use switchboard_protocol::http::origin::Guard;
use switchboard_protocol::http::server::Fields;

use super::only;

pub(super) fn check(target: &[u8], headers: &HeaderMap) {
    let Ok(target) = Uri::try_from(target) else {
        return;
    };
    let local = Guard::for_address("127.0.0.1:8080".parse().expect("an address"));
    if local.check(&target, &Fields::of(headers)).is_ok() {
        check_local(&target, headers);
        // Less said is not more foreign.
        let mut fewer = headers.clone();
        fewer.remove(ORIGIN);
        assert_eq!(local.check(&target, &Fields::of(&fewer)), Ok(()));
    }
    // Without hosts to answer to, a page proves nothing by naming one.
    if Guard::default()
        .check(&target, &Fields::of(headers))
        .is_ok()
    {
        assert!(!headers.contains_key(ORIGIN));
    }
    check_allowed(&target, headers);
}

/// Every name of the caller and of its page is of this machine.
pub(crate) fn check_local(target: &Uri, headers: &HeaderMap) {
    let host = only(headers, HOST.as_str());
    assert!(host.is_some() || !headers.contains_key(HOST));
    assert!(host.is_some() || target.authority().is_some());
    let authority = target
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    for place in [host.map(HeaderValue::as_bytes), authority]
        .into_iter()
        .flatten()
    {
        assert!(is_local(place), "{}", place.escape_ascii());
    }
    let Some(origin) = only(headers, ORIGIN.as_str()) else {
        return assert!(!headers.contains_key(ORIGIN));
    };
    let origin = origin.as_bytes().to_ascii_lowercase();
    let place = origin
        .strip_prefix(b"http://")
        .or(origin.strip_prefix(b"https://"));
    assert!(place.is_some_and(is_local), "{}", origin.escape_ascii());
}

/// A name of this machine, and maybe a port.
fn is_local(place: &[u8]) -> bool {
    let place = place.to_ascii_lowercase();
    let (host, port) = match place.iter().rposition(|byte| *byte == b':') {
        Some(colon) if !place.ends_with(b"]") => (&place[..colon], Some(&place[colon + 1..])),
        _ => (&place[..], None),
    };
    let is_port = |port: &[u8]| {
        let port = std::str::from_utf8(port).unwrap_or_default();
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
    };
    let is_v6 = |host: &[u8]| {
        let inner = host
            .strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"));
        let inner = inner.and_then(|inner| std::str::from_utf8(inner).ok());
        inner.and_then(|inner| inner.parse().ok()) == Some(std::net::Ipv6Addr::LOCALHOST)
    };
    port.is_none_or(is_port) && (matches!(host, b"localhost" | b"127.0.0.1") || is_v6(host))
}

/// What the request itself names can be allowed, and then it is let in.
fn check_allowed(target: &Uri, headers: &HeaderMap) {
    let mut guard = Guard::default();
    let named = |name| {
        let value: &HeaderValue = headers.get(&name)?;
        std::str::from_utf8(value.as_bytes()).ok()
    };
    let host = target
        .authority()
        .map(|authority| authority.as_str())
        .or(named(HOST));
    let is_host = host.is_some_and(|host| guard.allow_host(host).is_ok());
    let origin = named(ORIGIN);
    let is_origin = origin.is_some_and(|origin| guard.allow_origin(origin).is_ok());
    let is_single = |name| headers.get_all(&name).iter().count() < 2;
    // With both, they may differ.
    let has_one_host = target.authority().is_none() || !headers.contains_key(HOST);
    if is_host && has_one_host && is_single(HOST) && is_single(ORIGIN) {
        let expected = is_origin || !headers.contains_key(ORIGIN);
        assert_eq!(guard.check(target, &Fields::of(headers)).is_ok(), expected);
    }
}
