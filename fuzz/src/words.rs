//! Short texts that peers and people write: addresses, traces, patterns, names, variables. A line
//! each.

use switchboard_auth::{Place, without_query};
use switchboard_hub::{Naming, Pattern, Prefix, Template, TraceContext};

/// Each is read as a plain reading has it, or refused.
pub fn words(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    check_place(line());
    check_trace(line(), line(), line());
    check_pattern(line(), line());
    check_name(line(), line());
    check_template(line());
}

/// Nothing is sent in the clear, but to this machine; and none of it is for a shell.
fn check_place(text: &str) {
    let Ok(place) = Place::parse(text) else {
        return;
    };
    assert_eq!(place.as_str(), text);
    let lower = text.to_ascii_lowercase();
    let rest = match lower.strip_prefix("https://") {
        Some(rest) => rest,
        None => {
            assert!(place.is_loopback(), "{text}");
            lower.strip_prefix("http://").expect("there is no other")
        }
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    assert!(!authority.is_empty() && !authority.contains('@'), "{text}");
    if place.is_loopback() {
        let host = authority.trim_end_matches(|c: char| c.is_ascii_digit());
        let host = host.strip_suffix(':').unwrap_or(authority);
        let is_local = host == "localhost" || host.starts_with("127.") || host.starts_with('[');
        assert!(is_local, "{text}");
    }
    assert!(!text.contains(['#', ' ', '\\', '"', '<', '>', '`', '\n', '\r']));
    assert!(place.is_same_origin(&place));
    let canonical = Place::parse(&place.canonical()).expect("it is a place too");
    assert_eq!(canonical.canonical(), place.canonical());
    assert!(canonical.is_same_origin(&place));
    assert_eq!(place.to_string(), without_query(text));
}

/// What is passed on is what came, or nothing.
fn check_trace(parent: &str, state: &str, baggage: &str) {
    let Ok(context) = TraceContext::parse(parent) else {
        return;
    };
    let written = context.traceparent();
    assert_eq!(written.len(), 55);
    assert_eq!(written[2..53], parent[2..53]);
    assert_eq!(TraceContext::parse(&written), Ok(context.clone()));
    let child = context.child();
    assert_eq!(child.trace_id(), context.trace_id());
    let context = context.with_state(state).with_baggage(baggage);
    for (name, value) in context.meta() {
        assert!(value.len() <= 8192, "{name} has {} bytes", value.len());
        let is_plain = |byte: u8| byte >= b' ' || byte == b'\t';
        assert!(value.bytes().all(is_plain), "{name}: {value:?}");
    }
    let again = context
        .clone()
        .with_state(context.state().unwrap_or_default())
        .with_baggage(context.baggage().unwrap_or_default());
    assert_eq!(again, context);
}

/// A name fits as a table of all beginnings says.
fn check_pattern(pattern: &str, name: &str) {
    let letters: Vec<char> = pattern.chars().take(200).collect();
    let text: Vec<char> = name.chars().take(200).collect();
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for letter in &letters {
        if *letter == '*' {
            for at in 1..fits.len() {
                fits[at] |= fits[at - 1];
            }
            continue;
        }
        for at in (1..fits.len()).rev() {
            fits[at] = fits[at - 1] && (*letter == '?' || *letter == text[at - 1]);
        }
        fits[0] = false;
    }
    let pattern = Pattern::new(letters.iter().collect::<String>());
    let name: String = text.iter().collect();
    assert_eq!(pattern.matches(&name), fits[text.len()], "{pattern} {name}");
}

/// Any two names make one that every host takes, and that says where it comes from.
fn check_name(server: &str, tool: &str) {
    for prefix in [Prefix::Mcp, Prefix::Server] {
        let naming = Naming::new(prefix);
        let name = naming.tool(server, tool);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        assert!(name.as_str().bytes().all(is_plain), "{}", name.as_str());
        assert!((1..=64).contains(&name.as_str().len()));
        assert!(name.as_str().starts_with(&naming.server_prefix(server)));
        let (part, rest) = naming.split(name.as_str()).expect("it has both parts");
        assert!(!part.is_empty() && !part.contains("__") && !rest.is_empty());
        assert_eq!(naming.tool(server, tool), name);
    }
}

/// What is not filled in is said as it stands.
fn check_template(text: &str) {
    let template = Template::parse(text);
    assert_eq!(template.to_string(), text);
    assert_eq!(Template::parse(text), template);
    let mut parts = template.references().chain(template.left_alone());
    assert!(parts.all(|part| text.contains(part)));
    if let Some(literal) = template.as_literal() {
        assert_eq!(template.references().count(), 0);
        assert!(literal.len() <= text.len());
        if !text.contains('$') {
            assert_eq!(literal, text);
        }
    }
    let hidden = Template::parse(text).secret().to_string();
    if template.references().next().is_none() && !text.is_empty() {
        assert!(
            !hidden.contains(text) || text.chars().all(|c| c == '*'),
            "{hidden}"
        );
    }
}
