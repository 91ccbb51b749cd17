//! How much a folder of skills may hold, and how it is given out.

use std::time::Duration;

use switchboard_protocol::types::CacheScope;

/// Limits of a folder of skills, and how its answers are cut and cached.
///
/// ```
/// use switchboard_server::skills::SkillsOptions;
///
/// let mut options = SkillsOptions::default();
/// options.page_size = 20;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillsOptions {
    /// How many files a skill may have, `SKILL.md` included. 512: what every host accepts.
    pub files_per_skill: usize,
    /// How many bytes these may have in all. 16 MiB: what every host accepts.
    pub bytes_per_skill: u64,
    /// How many skills there may be. 1024.
    pub skills: usize,
    /// How many bytes all skills may have; so much stays in memory. 256 MiB.
    pub bytes: u64,
    /// How deep folders may be nested. 16.
    pub depth: usize,
    /// How many files and folders are looked at before giving up: a wrong folder,
    /// such as a home directory, should not be read to its end. 100 000.
    pub entries: usize,
    /// How many skills, or children of a directory, a page holds. A page of skills
    /// also ends before it names more than two thousand files. 100.
    pub page_size: usize,
    /// How long answers stay fresh. A host that holds an older entry notices when it
    /// reads, because the digest differs. 5 minutes.
    pub time_to_live: Duration,
    /// Who may share answers. `Private` unless said otherwise: a folder is the same
    /// for all callers, but only its owner knows whether everyone may call.
    pub cache_scope: CacheScope,
}

impl Default for SkillsOptions {
    fn default() -> Self {
        Self {
            files_per_skill: 512,
            bytes_per_skill: 16 * 1024 * 1024,
            skills: 1024,
            bytes: 256 * 1024 * 1024,
            depth: 16,
            entries: 100_000,
            page_size: 100,
            time_to_live: Duration::from_secs(5 * 60),
            cache_scope: CacheScope::Private,
        }
    }
}
