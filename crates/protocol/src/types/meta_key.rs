//! Keys of `_meta`: their grammar and those that the specification reserves.
//!
//! Specification: basic/index, section `_meta`.

/// Does the key follow the grammar of 2025-06-18 and later?
///
/// `[label.label/]name`: labels begin with a letter and end with a letter or
/// digit; the name, unless empty, begins and ends with a letter or digit.
pub fn is_valid_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => prefix.split('.').all(is_label) && is_name(name),
        None => is_name(key),
    }
}

/// Does the specification keep the key for itself?
///
/// The rule of 2025-11-25 and later: the second label of the prefix is
/// `modelcontextprotocol` or `mcp`. Names without prefix are reserved one by one.
pub fn is_reserved_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, _)) => matches!(
            prefix.split('.').nth(1),
            Some("modelcontextprotocol" | "mcp")
        ),
        None => [PROGRESS_TOKEN, TRACEPARENT, TRACESTATE, BAGGAGE].contains(&key),
    }
}

fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_alphanumeric())
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn is_name(name: &str) -> bool {
    name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// What the keys of the specification itself begin with.
pub(crate) const PREFIX: &str = "io.modelcontextprotocol/";

/// The token under which a request wants progress.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The revision that a request speaks.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Who sends a request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the sender of a request can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The lowest level of log messages wanted for a request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Who sends a result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The listen request that a message belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The task of 2025-11-25 that a message belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// What to tell the model while a new task of 2025-11-25 runs.
pub const MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
/// W3C trace context: the caller's span.
pub const TRACEPARENT: &str = "traceparent";
/// W3C trace context: what vendors add.
pub const TRACESTATE: &str = "tracestate";
/// W3C baggage.
pub const BAGGAGE: &str = "baggage";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_grammar_of_prefix_and_name() {
        for good in [
            "a",
            "",
            "progressToken",
            "com.example/a_b.c-d",
            "a1.b-2/",
            "io.x/9",
        ] {
            assert!(is_valid_key(good), "{good}");
        }
        for bad in [
            "-a", "a-", "a b", "1a.b/c", "a-.b/c", "/c", "a..b/c", "a/b/c", "a_b/c", "ä",
        ] {
            assert!(!is_valid_key(bad), "{bad}");
        }
    }

    #[test]
    fn a_prefix_is_reserved_by_its_second_label() {
        for reserved in [
            "io.modelcontextprotocol/x",
            "dev.mcp/",
            "org.modelcontextprotocol.api/x",
            "com.mcp.tools/x",
            "progressToken",
            "traceparent",
        ] {
            assert!(is_reserved_key(reserved), "{reserved}");
        }
        for free in ["com.example.mcp/x", "com.example/x", "mcp", "x"] {
            assert!(!is_reserved_key(free), "{free}");
        }
    }
}
