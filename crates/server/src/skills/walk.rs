//! Which folders are skills, and which files they have.
//!
//! Looks at names and kinds only; the bytes are read in `snapshot`. What cannot be
//! served is noted where it lies, and the skills around it are then not served.
//!
//! - A folder with a `SKILL.md` is a skill; everything below it belongs to it, skills
//!   inside of it included, which are skills of their own as well.
//! - Folders above are groups, of which only the way to the skills is served.
//! - Names that begin with a full stop are hidden: not looked at, not served.
//! - A link counts as what it leads to, unless it leads out of the folder of skills,
//!   to something hidden, or in circles.
//!
//! Specification: SEP-2640 (resource mapping, nested skills).

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use switchboard_skills::SKILL_FILE;

use crate::skills::fault::{SkillError, SkillFault};
use crate::skills::options::SkillsOptions;
use crate::skills::uri;

/// A folder in which skills are, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) name: String,
    pub(super) uri: String,
    pub(super) path: PathBuf,
    /// Has it a `SKILL.md`?
    pub(super) is_skill: bool,
    /// Was something found in it, or below, that cannot be served?
    pub(super) is_faulty: bool,
    pub(super) folders: Vec<Self>,
    /// Its files, unless it is a group.
    pub(super) files: Vec<File>,
}

/// A file of a skill.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) uri: String,
    /// As the user knows it.
    pub(super) path: PathBuf,
    /// With all links followed.
    pub(super) real: PathBuf,
    pub(super) size: u64,
}

/// The groups and skills of a folder, and what in it cannot be served.
///
/// # Errors
/// When the folder itself is not one.
pub(super) fn walk(
    root: &Path,
    options: &SkillsOptions,
) -> Result<(Vec<Folder>, Vec<SkillError>), SkillError> {
    let unreadable = |error| SkillError::new(root, SkillFault::Unreadable(error));
    let real = fs::canonicalize(root).map_err(unreadable)?;
    let mut walker = Walker {
        real_root: &real,
        options,
        chain: vec![real.clone()],
        seen: 0,
        faults: Vec::new(),
    };
    let mut top = Folder {
        path: root.to_owned(),
        ..Folder::default()
    };
    let entries = walker.entries(root).map_err(unreadable)?;
    if walker.seen > options.entries {
        return Err(walker.too_many(root));
    }
    if let Some(skill) = entries.iter().find(|name| *name == SKILL_FILE) {
        let path = root.join(skill);
        return Err(SkillError::new(&path, SkillFault::NotInAFolder));
    }
    walker.fill(&mut top, &real, entries, false);
    if walker.seen > options.entries {
        return Err(walker.too_many(root));
    }
    Ok((top.folders, walker.faults))
}

struct Walker<'a> {
    real_root: &'a Path,
    options: &'a SkillsOptions,
    /// The folders from the top to here, with all links followed.
    chain: Vec<PathBuf>,
    seen: usize,
    faults: Vec<SkillError>,
}

enum Kind {
    Folder,
    File { size: u64 },
}

impl Walker<'_> {
    /// The names in a folder that are not hidden, in order.
    fn entries(&mut self, folder: &Path) -> std::io::Result<Vec<std::ffi::OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            // Hidden ones count too: they cost as much.
            self.seen += 1;
            if self.seen > self.options.entries {
                break;
            }
            let name = entry?.file_name();
            if !is_hidden(&name) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Looks at everything in a folder.
    fn fill(
        &mut self,
        folder: &mut Folder,
        real: &Path,
        entries: Vec<std::ffi::OsString>,
        in_skill: bool,
    ) {
        folder.is_skill = entries.iter().any(|name| name == SKILL_FILE);
        let in_skill = in_skill || folder.is_skill;
        for name in entries {
            if self.seen > self.options.entries {
                return;
            }
            let path = folder.path.join(&name);
            if let Err(fault) = self.take(folder, real, &name, &path, in_skill) {
                folder.is_faulty = true;
                self.faults.push(SkillError::new(&path, fault));
            }
        }
        folder.is_faulty |= folder.folders.iter().any(|below| below.is_faulty);
    }

    /// Takes one thing in a folder.
    fn take(
        &mut self,
        folder: &mut Folder,
        real: &Path,
        name: &OsStr,
        path: &Path,
        in_skill: bool,
    ) -> Result<(), SkillFault> {
        let (kind, real) = self.resolve(&real.join(name))?;
        let is_folder = matches!(kind, Kind::Folder);
        if name == SKILL_FILE && is_folder {
            return Err(SkillFault::NotAFile);
        }
        let Some(name) = name.to_str() else {
            // Beside the skills lies what it will; but this could have been one.
            return match in_skill || is_folder {
                true => Err(SkillFault::NameNotUtf8),
                false => Ok(()),
            };
        };
        let uri = match folder.uri.as_str() {
            "" => uri::of_first(name),
            above => uri::of_child(above, name),
        };
        match kind {
            Kind::Folder => {
                let below = self.descend(name, uri, path, real, in_skill)?;
                if in_skill || below.leads_to_skill() || below.is_faulty {
                    folder.folders.push(below);
                }
            }
            Kind::File { size } if in_skill => folder.files.push(File {
                name: name.to_owned(),
                uri,
                path: path.to_owned(),
                real,
                size,
            }),
            Kind::File { .. } if name.eq_ignore_ascii_case(SKILL_FILE) => {
                return Err(SkillFault::Misspelled);
            }
            // Not part of any skill.
            Kind::File { .. } => {}
        }
        Ok(())
    }

    fn descend(
        &mut self,
        name: &str,
        uri: String,
        path: &Path,
        real: PathBuf,
        in_skill: bool,
    ) -> Result<Folder, SkillFault> {
        // The chain begins with the folder of skills itself.
        let limit = self.options.depth;
        if self.chain.len() > limit {
            return Err(SkillFault::TooDeep { limit });
        }
        if self.chain.contains(&real) {
            return Err(SkillFault::LeadsInCircles);
        }
        let entries = self.entries(&real).map_err(SkillFault::Unreadable)?;
        let mut folder = Folder {
            name: name.to_owned(),
            uri,
            path: path.to_owned(),
            ..Folder::default()
        };
        self.chain.push(real.clone());
        self.fill(&mut folder, &real, entries, in_skill);
        self.chain.pop();
        Ok(folder)
    }

    /// What something is, and where, with all links followed.
    fn resolve(&self, path: &Path) -> Result<(Kind, PathBuf), SkillFault> {
        let mut found = fs::symlink_metadata(path).map_err(SkillFault::Unreadable)?;
        let mut real = path.to_owned();
        if found.is_symlink() {
            real = fs::canonicalize(path).map_err(SkillFault::Unreadable)?;
            let inside = real
                .strip_prefix(self.real_root)
                .map_err(|_| SkillFault::LeadsOut)?;
            if inside.iter().any(is_hidden) {
                return Err(SkillFault::LeadsToHidden);
            }
            found = fs::symlink_metadata(&real).map_err(SkillFault::Unreadable)?;
        }
        let kind = if found.is_dir() {
            Kind::Folder
        } else if found.is_file() {
            Kind::File { size: found.len() }
        } else {
            // Opening a pipe could wait for ever.
            return Err(SkillFault::NotAFile);
        };
        Ok((kind, real))
    }

    fn too_many(&self, root: &Path) -> SkillError {
        let limit = self.options.entries;
        SkillError::new(root, SkillFault::TooManyEntries { limit })
    }
}

impl Folder {
    fn leads_to_skill(&self) -> bool {
        self.is_skill || self.folders.iter().any(Self::leads_to_skill)
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}
