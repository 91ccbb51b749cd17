//! The format of agent skills: what the frontmatter of a `SKILL.md` says, which names skills
//! have, how the digests of their files are written.
//!
//! ```
//! let text = "---\nname: refunds\ndescription: How to refund an order.\n---\n# Refunds\n";
//! let frontmatter = switchboard_skills::frontmatter(text, "refunds")?;
//! assert_eq!(frontmatter["description"], "How to refund an order.");
//! # Ok::<(), switchboard_skills::FormatFault>(())
//! ```
//!
//! Whoever serves skills publishes the frontmatter as JSON, and whoever loads them compares it
//! with the file, member by member. Both read it here, so that they cannot disagree about what
//! a line of YAML means. Serving, listing and reading skills is left to `switchboard-server`
//! and `switchboard-client`.
//!
//! 1. [`frontmatter`]: what a `SKILL.md` says of itself
//! 2. [`FormatFault`]: why it cannot be used
//! 3. [`text`], [`is_name`], [`digest`]
//!
//! Specification: SEP-2640, extension `io.modelcontextprotocol/skills`; Agent Skills.

mod digest;
mod fault;
mod frontmatter;
mod scalar;
mod yaml;

use serde_json::{Map, Value};

pub use digest::digest;
pub use fault::FormatFault;
pub use frontmatter::{frontmatter, is_name};

/// The identifier of the extension.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// A text that a frontmatter holds, such as `name` or `description`; empty where it has none.
pub fn text<'a>(frontmatter: &'a Map<String, Value>, key: &str) -> &'a str {
    frontmatter
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
