//! What a reload found changed.
//!
//! Whom to tell is the server's affair.

use std::collections::BTreeSet;

use crate::skills::fault::SkillError;
use crate::skills::snapshot::Snapshot;
use crate::skills::stored::StoredFile;

/// What differs from when the folder was last read.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SkillChanges {
    /// The URIs of skills that are new.
    pub added: Vec<String>,
    /// The URIs of skills that are gone.
    pub removed: Vec<String>,
    /// The URIs of skills of which some file, or the list of files, changed.
    pub changed: Vec<String>,
    /// The URIs of files that are new, gone or changed: whoever follows such a
    /// resource is to be told.
    pub files: Vec<String>,
    /// What cannot be served; always empty unless the folder was opened leniently.
    pub rejected: Vec<SkillError>,
}

impl SkillChanges {
    pub(super) fn between(old: &Snapshot, new: &Snapshot, rejected: Vec<SkillError>) -> Self {
        let mut changes = Self {
            rejected,
            ..Self::default()
        };
        let uris: BTreeSet<&String> = old.skills.keys().chain(new.skills.keys()).collect();
        for uri in uris {
            let list = match (old.skills.get(uri), new.skills.get(uri)) {
                (None, _) => &mut changes.added,
                (_, None) => &mut changes.removed,
                (before, after) if before != after => &mut changes.changed,
                _ => continue,
            };
            list.push(uri.clone());
        }
        let uris: BTreeSet<&String> = old.files.keys().chain(new.files.keys()).collect();
        changes.files = uris
            .into_iter()
            .filter(|uri| {
                let before = old.files.get(*uri).map(StoredFile::digest);
                before != new.files.get(*uri).map(StoredFile::digest)
            })
            .cloned()
            .collect();
        changes
    }

    /// Is everything that is served as it was?
    pub fn is_empty(&self) -> bool {
        // A skill cannot come, go or change without one of its files.
        self.files.is_empty() && self.added.is_empty() && self.removed.is_empty()
    }
}
