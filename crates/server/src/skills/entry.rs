//! What the methods of the extension take and give.
//!
//! Served here are files, so a manifest is always a list; `"dynamic"`, for content
//! that is made up as it is read, is never sent. Whose turn it is to add
//! `resultType` is the machine's affair.
//!
//! Specification: SEP-2640 (skill entries, listing, getting, reading directories).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_protocol::types::{CacheScope, Resource};
use switchboard_skills::text;

/// A skill: what it says of itself, and its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Skill {
    /// Where its `SKILL.md` is.
    pub uri: String,
    /// The frontmatter of its `SKILL.md`, every member of it.
    pub frontmatter: Map<String, Value>,
    /// Every file of it once, its `SKILL.md` first.
    pub resources: Vec<SkillResource>,
}

impl Skill {
    /// Its name, which is also the last segment of its folder.
    pub fn name(&self) -> &str {
        text(&self.frontmatter, "name")
    }

    /// What it does and when to use it.
    pub fn description(&self) -> &str {
        text(&self.frontmatter, "description")
    }
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkillResource {
    /// Where it is.
    pub uri: String,
    /// `sha256:` and the digest of its bytes in lower-case hexadecimal.
    pub digest: String,
    /// How many bytes it has.
    pub size: u64,
}

/// One page of `skills/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListSkillsResult {
    /// The skills, by URI.
    pub skills: Vec<Skill>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long it stays fresh, in milliseconds.
    pub ttl_ms: u64,
    /// Who may share it.
    pub cache_scope: CacheScope,
}

/// The answer to `skills/get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetSkillResult {
    /// The skill.
    pub skill: Skill,
    /// How long it stays fresh, in milliseconds.
    pub ttl_ms: u64,
    /// Who may share it.
    pub cache_scope: CacheScope,
}

/// What `resources/directory/read` takes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ReadResourceDirectoryRequestParams {
    /// Where the directory is, without a slash at the end.
    pub uri: String,
    /// Where to go on.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// One page of `resources/directory/read`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceDirectoryResult {
    /// What lies directly in the directory; directories have the type `inode/directory`.
    pub resources: Vec<Resource>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
