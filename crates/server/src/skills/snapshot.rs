//! A folder of skills as it was at one moment: every byte, every digest.
//!
//! All of it is kept in memory, so that what is served is what the digests say,
//! whatever happens to the files afterwards. A URI is looked up in a map; none ever
//! becomes a path.
//!
//! Specification: SEP-2640 (resources, limits, integrity, directory resources).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use switchboard_protocol::types::Resource;
use switchboard_skills::{FormatFault, SKILL_FILE};

use crate::skills::entry::{Skill, SkillResource};
use crate::skills::fault::{SkillError, SkillFault};
use crate::skills::media_type;
use crate::skills::options::SkillsOptions;
use crate::skills::stored::StoredFile;
use crate::skills::walk::{File, Folder, walk};

/// What is served, each by its URI.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) skills: BTreeMap<String, Skill>,
    pub(super) files: BTreeMap<String, StoredFile>,
    pub(super) directories: BTreeMap<String, BTreeMap<String, Resource>>,
}

impl Snapshot {
    /// Reads a folder: what can be served, and why the rest cannot.
    ///
    /// # Errors
    /// When the folder as a whole cannot be served.
    pub(super) fn read(
        root: &Path,
        options: &SkillsOptions,
    ) -> Result<(Self, Vec<SkillError>), SkillError> {
        let (folders, rejected) = walk(root, options)?;
        let mut reader = Reader {
            options,
            snapshot: Self::default(),
            bytes: 0,
            rejected,
        };
        for folder in &folders {
            reader.read_skills(folder);
        }
        let mut snapshot = reader.snapshot;
        let limit = options.skills;
        if snapshot.skills.len() > limit {
            return Err(SkillError::new(root, SkillFault::TooManySkills { limit }));
        }
        for folder in &folders {
            snapshot.add_directories(folder, false);
        }
        Ok((snapshot, reader.rejected))
    }

    /// Makes a folder a directory if it is part of a skill or leads to one.
    fn add_directories(&mut self, folder: &Folder, in_skill: bool) -> bool {
        let in_skill = in_skill || self.skills.contains_key(&skill_uri(folder));
        let mut children = BTreeMap::new();
        for below in &folder.folders {
            if self.add_directories(below, in_skill) {
                let mut resource = Resource::new(&below.uri, &below.name);
                resource.mime_type = Some(media_type::DIRECTORY.to_owned());
                children.insert(below.uri.clone(), resource);
            }
        }
        if !in_skill && children.is_empty() {
            return false;
        }
        if in_skill {
            for file in &folder.files {
                if let Some(stored) = self.files.get(&file.uri) {
                    children.insert(file.uri.clone(), stored.resource.clone());
                }
            }
        }
        self.directories.insert(folder.uri.clone(), children);
        true
    }
}

/// Reads skill after skill.
struct Reader<'a> {
    options: &'a SkillsOptions,
    snapshot: Snapshot,
    /// How many bytes the files so far have.
    bytes: u64,
    rejected: Vec<SkillError>,
}

impl Reader<'_> {
    /// Reads the skills at and below a folder.
    fn read_skills(&mut self, folder: &Folder) {
        if self.snapshot.skills.len() > self.options.skills {
            return;
        }
        if folder.is_skill
            && !folder.is_faulty
            && let Err(error) = self.read_skill(folder)
        {
            self.rejected.push(error);
        }
        for below in &folder.folders {
            self.read_skills(below);
        }
    }

    fn read_skill(&mut self, folder: &Folder) -> Result<(), SkillError> {
        let at_folder = |fault| SkillError::new(&folder.path, fault);
        if !switchboard_skills::is_name(&folder.name) {
            let name = folder.name.clone();
            return Err(at_folder(FormatFault::BadName { name }.into()));
        }
        let mut files = Vec::new();
        collect(folder, &mut files);
        self.check_size(files.len(), files.iter().map(|file| file.size))
            .map_err(at_folder)?;

        // Files of a skill around this one have been read already.
        let mut new = BTreeMap::new();
        for file in &files {
            if !self.snapshot.files.contains_key(&file.uri) {
                let stored = self.read_file(file)?;
                new.insert(file.uri.clone(), stored);
            }
        }
        let stored = |uri: &str| new.get(uri).or_else(|| self.snapshot.files.get(uri));

        // Once more: a file may have grown since it was looked at.
        let sizes = files.iter().filter_map(|file| stored(&file.uri));
        self.check_size(files.len(), sizes.map(StoredFile::size))
            .map_err(at_folder)?;
        let added: u64 = new.values().map(StoredFile::size).sum();
        let bytes = self.bytes.saturating_add(added);
        let limit = self.options.bytes;
        if bytes > limit {
            return Err(at_folder(SkillFault::TooManyBytesInAll { limit }));
        }

        let uri = skill_uri(folder);
        let path = folder.path.join(SKILL_FILE);
        let at_file = |fault| SkillError::new(&path, fault);
        let Some(text) = stored(&uri).and_then(StoredFile::text) else {
            return Err(at_file(SkillFault::NotUtf8));
        };
        let frontmatter = switchboard_skills::frontmatter(text, &folder.name)
            .map_err(|fault| at_file(fault.into()))?;
        let resources = files
            .iter()
            .filter_map(|file| stored(&file.uri))
            .map(|file| SkillResource {
                uri: file.resource.uri.clone(),
                digest: file.digest().to_owned(),
                size: file.size(),
            })
            .collect();
        let skill = Skill {
            uri: uri.clone(),
            frontmatter,
            resources,
        };

        self.bytes = bytes;
        self.snapshot.files.append(&mut new);
        if let Some(file) = self.snapshot.files.get_mut(&uri) {
            skill.name().clone_into(&mut file.resource.name);
            file.resource.description = Some(skill.description().to_owned());
        }
        self.snapshot.skills.insert(uri, skill);
        Ok(())
    }

    fn check_size(
        &self,
        files: usize,
        mut sizes: impl Iterator<Item = u64>,
    ) -> Result<(), SkillFault> {
        let limit = self.options.files_per_skill;
        if files > limit {
            return Err(SkillFault::TooManyFiles { limit });
        }
        let limit = self.options.bytes_per_skill;
        match sizes.try_fold(0_u64, u64::checked_add) {
            Some(bytes) if bytes <= limit => Ok(()),
            _ => Err(SkillFault::TooManyBytes { limit }),
        }
    }

    fn read_file(&self, file: &File) -> Result<StoredFile, SkillError> {
        let unreadable = |error| SkillError::new(&file.path, SkillFault::Unreadable(error));
        let mut bytes = Vec::new();
        // One byte more than allowed is enough to know that it is too much.
        open_itself(&file.real)
            .map_err(unreadable)?
            .take(self.options.bytes_per_skill.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        Ok(StoredFile::new(&file.uri, &file.name, bytes))
    }
}

/// Opens a file that was found to be no link, and is none still: whoever put a link in its place
/// meanwhile could have any file served.
fn open_itself(real: &Path) -> io::Result<fs::File> {
    let file = fs::File::open(real)?;
    let (opened, found) = (file.metadata()?, fs::symlink_metadata(real)?);
    match found.is_file() && is_same(&opened, &found) {
        true => Ok(file),
        false => Err(io::Error::other("it changed while it was read")),
    }
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// There is no number to know a file by; making links takes rights of an administrator there.
#[cfg(not(unix))]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    one.len() == other.len()
}

fn skill_uri(folder: &Folder) -> String {
    format!("{}/{SKILL_FILE}", folder.uri)
}

/// All files of a skill, its `SKILL.md` first, the rest by URI.
fn collect<'a>(folder: &'a Folder, into: &mut Vec<&'a File>) {
    fn below<'a>(folder: &'a Folder, into: &mut Vec<&'a File>) {
        into.extend(&folder.files);
        for folder in &folder.folders {
            below(folder, into);
        }
    }
    below(folder, into);
    let first = skill_uri(folder);
    into.sort_by(|a, b| (a.uri != first, &a.uri).cmp(&(b.uri != first, &b.uri)));
}
