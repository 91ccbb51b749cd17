//! How the command line reads files of other syntaxes. Its parts are nobody else's, so they are
//! taken by their files.

#[path = "../../../crates/cli/src/import/place.rs"]
mod place;
#[path = "../../../crates/cli/src/import/toml.rs"]
mod toml;
#[path = "../../../crates/cli/src/import/tree.rs"]
mod tree;
#[path = "../../../crates/cli/src/import/yaml.rs"]
mod yaml;

use switchboard_hub::{Dialect, Position};

/// A file as JSON, where each of its lines stands, and in whose words it is. Or the line in which it
/// is none.
pub(super) fn read(syntax: u8, text: &str) -> Result<(String, Vec<Position>, Dialect), u32> {
    let (node, key, own) = match syntax {
        b't' => (toml::read(text), "mcp_servers", Dialect::Codex),
        _ => (yaml::read(text), "extensions", Dialect::Goose),
    };
    let node = node.map_err(|bad| {
        assert!(!bad.reason.is_empty());
        bad.position.line
    })?;
    let (json, places) = node.to_json();
    let dialect = if node.has(key) {
        own
    } else {
        Dialect::Standard
    };
    Ok((json, places, dialect))
}
