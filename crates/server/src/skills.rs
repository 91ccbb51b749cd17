//! A folder of skills, served by the skills extension.
//!
//! [`Skills`] reads a folder once, keeps it in memory and answers `skills/list`,
//! `skills/get`, `resources/directory/read` and its part of `resources/list` and
//! `resources/read` from there. It opens no file on behalf of a peer: a URI is looked
//! up among those that the folder has, and what is served always matches the digests
//! that were published with it. [`Skills::reload`] reads the folder anew and says what
//! changed; clients are told by [`Handle::skills_changed`](crate::Handle::skills_changed).
//! Calling these functions for their methods is left to the rest of the crate.
//!
//! ```text
//! skills/                        not served itself
//!   api-review/SKILL.md          skill://api-review/SKILL.md
//!   api-review/references/a.md   skill://api-review/references/a.md
//!   billing/refunds/SKILL.md     skill://billing/refunds/SKILL.md: `billing` is a group
//!   billing/README.md            not served: part of no skill
//!   .git/                        not served: hidden, as every name that begins with `.`
//! ```
//!
//! A skill may lie inside of another; its files then belong to both. Links are followed
//! unless they lead out of the folder, to something hidden, or in circles.
//!
//! Specification: SEP-2640, extension `io.modelcontextprotocol/skills`.

mod changes;
mod entry;
mod fault;
mod media_type;
mod options;
mod page;
mod snapshot;
mod stored;
#[cfg(test)]
mod tests;
mod uri;
mod walk;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    Cacheable as _, ReadResourceResult, Resource, ResourceNotFoundData,
};

use crate::skills::snapshot::Snapshot;
use crate::skills::stored::StoredFile;

pub use changes::SkillChanges;
pub use entry::{
    GetSkillResult, ListSkillsResult, ReadResourceDirectoryRequestParams,
    ReadResourceDirectoryResult, Skill, SkillResource,
};
pub use fault::{SkillError, SkillFault};
pub use options::SkillsOptions;
pub use switchboard_skills::{FormatFault, SKILLS_EXTENSION};

/// A folder of skills.
///
/// Clones share what they serve.
#[derive(Clone)]
pub struct Skills {
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    options: SkillsOptions,
    is_lenient: bool,
    /// Replaced as a whole; whoever answers holds on to the one that it began with.
    snapshot: RwLock<Arc<Snapshot>>,
}

impl Skills {
    /// Reads a folder of skills.
    ///
    /// # Errors
    /// When the folder or any skill in it cannot be served; the error names the file
    /// and the reason.
    pub fn folder(path: impl AsRef<Path>) -> Result<Self, SkillError> {
        Self::folder_with(path, SkillsOptions::default())
    }

    /// Reads a folder of skills, with limits and caching of one's own.
    ///
    /// # Errors
    /// When the folder or any skill in it cannot be served.
    pub fn folder_with(path: impl AsRef<Path>, options: SkillsOptions) -> Result<Self, SkillError> {
        Self::open(path.as_ref(), options, false).map(|(skills, _)| skills)
    }

    /// Reads a folder of skills and leaves out those that cannot be served.
    ///
    /// # Errors
    /// When the folder as a whole cannot be served.
    pub fn folder_lenient(
        path: impl AsRef<Path>,
        options: SkillsOptions,
    ) -> Result<(Self, Vec<SkillError>), SkillError> {
        Self::open(path.as_ref(), options, true)
    }

    /// Reads the folder again, and serves what it holds now. Give what changed to
    /// [`Handle::skills_changed`](crate::Handle::skills_changed), so that clients hear of it.
    ///
    /// This waits for the disk: in a task, call it through `spawn_blocking`. Of two calls at
    /// once, the one that ends last decides what is served.
    ///
    /// # Errors
    /// As when it was first read; what was served before is then served on.
    pub fn reload(&self) -> Result<SkillChanges, SkillError> {
        let shared = &self.shared;
        let (new, rejected) = read(&shared.folder, &shared.options, shared.is_lenient)?;
        let new = Arc::new(new);
        let old = {
            let mut current = shared
                .snapshot
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, Arc::clone(&new))
        };
        Ok(SkillChanges::between(&old, &new, rejected))
    }

    /// What to declare under `capabilities.extensions` for [`SKILLS_EXTENSION`].
    ///
    /// The capability `resources` must be declared as well.
    pub fn capability(&self) -> Value {
        json!({"directoryRead": true})
    }

    /// Answers `skills/list`.
    ///
    /// # Errors
    /// When the cursor is none that this list gave.
    pub fn list(&self, cursor: Option<&str>) -> Result<ListSkillsResult, ErrorObject> {
        let options = &self.shared.options;
        let snapshot = self.snapshot();
        // Skills with few files fill a page by their number, others by their files.
        let page_size = options.page_size.max(1);
        let weight = (MAX_FILES_PER_PAGE / page_size).max(1);
        let (skills, next_cursor) = page::page(
            &snapshot.skills,
            cursor,
            |key| key.starts_with("skill://") && key.ends_with("/SKILL.md"),
            weight.saturating_mul(page_size),
            |skill: &Skill| weight.max(skill.resources.len()),
        )?;
        Ok(ListSkillsResult {
            skills: skills.into_iter().cloned().collect(),
            next_cursor,
            ttl_ms: self.ttl_ms(),
            cache_scope: options.cache_scope,
        })
    }

    /// Answers `skills/get`, for the URI of a skill's `SKILL.md`.
    ///
    /// # Errors
    /// When no skill is served there.
    pub fn skill(&self, uri: &str) -> Result<GetSkillResult, ErrorObject> {
        let snapshot = self.snapshot();
        let skill = snapshot
            .skills
            .get(uri)
            .ok_or_else(|| not_found(format!("No skill is served at {uri}"), uri))?;
        Ok(GetSkillResult {
            skill: skill.clone(),
            ttl_ms: self.ttl_ms(),
            cache_scope: self.shared.options.cache_scope,
        })
    }

    /// Answers `resources/read`, if the URI is that of a file of a skill.
    pub fn read(&self, uri: &str) -> Option<ReadResourceResult> {
        let options = &self.shared.options;
        let snapshot = self.snapshot();
        let contents = snapshot.files.get(uri).map(StoredFile::contents)?;
        let mut result = ReadResourceResult::new(vec![contents]);
        result.set_cache(options.time_to_live, options.cache_scope);
        Some(result)
    }

    /// Answers `resources/directory/read`, for a folder of a skill, or for a group.
    ///
    /// # Errors
    /// When there is no such directory, or the cursor is none that it gave.
    pub fn directory(
        &self,
        uri: &str,
        cursor: Option<&str>,
    ) -> Result<ReadResourceDirectoryResult, ErrorObject> {
        let snapshot = self.snapshot();
        let Some(children) = snapshot.directories.get(uri) else {
            let message = if snapshot.files.contains_key(uri) {
                format!("{uri} is a file, not a directory")
            } else {
                format!("No directory is served at {uri}")
            };
            return Err(not_found(message, uri));
        };
        let (resources, next_cursor) = page::page(
            children,
            cursor,
            |key| {
                key.strip_prefix(uri)
                    .is_some_and(|rest| rest.starts_with('/'))
            },
            self.shared.options.page_size,
            |_| 1,
        )?;
        Ok(ReadResourceDirectoryResult {
            resources: resources.into_iter().cloned().collect(),
            next_cursor,
        })
    }

    /// What `resources/list` says of the skills: the `SKILL.md` of each, by URI.
    ///
    /// The other files are found through these and need no listing.
    pub fn resources(&self) -> Vec<Resource> {
        let snapshot = self.snapshot();
        snapshot
            .skills
            .keys()
            .filter_map(|uri| snapshot.files.get(uri))
            .map(|file| file.resource.clone())
            .collect()
    }

    /// Is this the URI of a file of a skill?
    pub(crate) fn has_file(&self, uri: &str) -> bool {
        self.snapshot().files.contains_key(uri)
    }

    fn open(
        path: &Path,
        options: SkillsOptions,
        is_lenient: bool,
    ) -> Result<(Self, Vec<SkillError>), SkillError> {
        let (snapshot, rejected) = read(path, &options, is_lenient)?;
        let shared = Shared {
            folder: path.to_owned(),
            options,
            is_lenient,
            snapshot: RwLock::new(Arc::new(snapshot)),
        };
        let shared = Arc::new(shared);
        Ok((Self { shared }, rejected))
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        let current = self.shared.snapshot.read();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    fn ttl_ms(&self) -> u64 {
        let milliseconds = self.shared.options.time_to_live.as_millis();
        u64::try_from(milliseconds).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Skills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the contents: they may be many megabytes.
        f.debug_struct("Skills")
            .field("folder", &self.shared.folder)
            .field("skills", &self.snapshot().skills.keys())
            .finish_non_exhaustive()
    }
}

fn read(
    folder: &Path,
    options: &SkillsOptions,
    is_lenient: bool,
) -> Result<(Snapshot, Vec<SkillError>), SkillError> {
    let (snapshot, mut rejected) = Snapshot::read(folder, options)?;
    rejected.sort_by(|a, b| a.path.cmp(&b.path));
    if is_lenient {
        return Ok((snapshot, rejected));
    }
    match rejected.into_iter().next() {
        Some(first) => Err(first),
        None => Ok((snapshot, Vec::new())),
    }
}

fn not_found(message: String, uri: &str) -> ErrorObject {
    ErrorObject::invalid_params(message).with_data(&ResourceNotFoundData::new(uri))
}

// A row of a manifest has some 150 bytes: a page stays well below a megabyte.
const MAX_FILES_PER_PAGE: usize = 2048;
