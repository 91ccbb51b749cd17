//! Reading a file, and replacing it as a whole.
//!
//! The new text is written beside the old one and renamed, so that whoever reads sees the one or
//! the other. A file that was changed since it was read is left alone. What somebody was writing
//! when they were killed is removed by whoever writes next.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// A file as it was when it was read.
#[derive(Debug)]
pub(crate) struct EditedFile {
    /// As it was named.
    pub(crate) path: PathBuf,
    /// What it leads to.
    real: PathBuf,
    /// None: there was none.
    before: Option<Vec<u8>>,
    /// Nobody but its user may read it.
    #[cfg_attr(not(unix), expect(dead_code, reason = "others have no such rights"))]
    is_private: bool,
}

impl EditedFile {
    /// Reads it. That there is none is fine.
    pub(crate) fn open(path: &Path) -> Result<(Self, String), Failure> {
        let real = follow(path);
        let before = match fs::read(&real) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let message = format!("{} cannot be read: {error}", path.display());
                return Err(Failure::usage(message));
            }
        };
        let text = match &before {
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => {
                    let message = format!("{} is not UTF-8, and stays as it is", path.display());
                    return Err(Failure::usage(message));
                }
            },
            None => String::new(),
        };
        let file = Self {
            path: path.to_owned(),
            real,
            before,
            is_private: false,
        };
        Ok((file, text))
    }

    /// A file that is made is for its user alone; one that is there keeps its rights.
    pub(crate) const fn private(mut self) -> Self {
        self.is_private = true;
        self
    }

    pub(crate) const fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// Replaces it.
    pub(crate) fn replace(&self, text: &str) -> Result<(), Failure> {
        let unwritten = |error: io::Error| {
            let message = format!("{} cannot be written: {error}", self.path.display());
            Failure::usage(message)
        };
        match self.write(text.as_bytes()).map_err(unwritten)? {
            true => Ok(()),
            false => {
                let message = format!(
                    "{} was changed by somebody else in the meantime, and stays as it is",
                    self.path.display()
                );
                Err(Failure::usage(message).hint("try again"))
            }
        }
    }

    /// False: somebody else was faster.
    fn write(&self, bytes: &[u8]) -> io::Result<bool> {
        let folder = self.real.parent().unwrap_or(Path::new(""));
        if !folder.as_os_str().is_empty() {
            fs::create_dir_all(folder)?;
        }
        // Of two of us the second waits here, and then sees that the file is another. On Windows
        // a lock would keep ourselves from reading it, too.
        let old = match &self.before {
            Some(_) => Some(File::open(&self.real)?),
            None => None,
        };
        #[cfg(unix)]
        if let Some(old) = &old {
            old.lock()?;
        }
        self.sweep(folder);
        let beside = self.beside();
        let outcome = self.write_beside(&beside, bytes, old.as_ref());
        if !matches!(outcome, Ok(true)) {
            let _ = fs::remove_file(&beside);
        }
        outcome
    }

    fn write_beside(&self, beside: &Path, bytes: &[u8], old: Option<&File>) -> io::Result<bool> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self.is_private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let mut file = options.open(beside)?;
        // Not every disk has locks; then it may be taken for one that nobody writes any more.
        let _ = file.lock();
        // Before there is anything to be read in it.
        if let Some(old) = old {
            keep_rights(old, &file)?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        let now = match fs::read(&self.real) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if now != self.before {
            return Ok(false);
        }
        if self.before.is_some() {
            fs::rename(beside, &self.real)?;
            return Ok(true);
        }
        // A link is not made where something is, unlike a renamed file.
        match fs::hard_link(beside, &self.real) {
            Ok(()) => {
                fs::remove_file(beside)?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // Somebody has swept it away, who makes the same file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            // Not every disk has links.
            Err(_) => fs::rename(beside, &self.real).map(|()| true),
        }
    }

    /// Removes what others have left beside it. Whoever still writes holds a lock.
    fn sweep(&self, folder: &Path) {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        let begins = self.beside_begins();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let number = name
                .strip_prefix(&*begins)
                .and_then(|rest| rest.strip_suffix(".tmp"));
            if number.is_some_and(|number| number.parse::<u32>().is_ok())
                && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn beside(&self) -> PathBuf {
        let number = std::process::id();
        let name = format!("{}{number}.tmp", self.beside_begins());
        self.real.with_file_name(name)
    }

    fn beside_begins(&self) -> String {
        let name = self.real.file_name().unwrap_or_default().to_string_lossy();
        format!(".{name}.")
    }
}

/// What a path leads to; also when there is nothing yet.
fn follow(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match fs::read_link(path) {
        Ok(target) => path.parent().unwrap_or(Path::new("")).join(target),
        Err(_) => path.to_owned(),
    }
}

fn keep_rights(old: &File, new: &File) -> io::Result<()> {
    let metadata = old.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};

        // Only an administrator can, and only they need to.
        let _ = fchown(new, Some(metadata.uid()), Some(metadata.gid()));
    }
    new.set_permissions(metadata.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("switchboard-edit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_that_changed_meanwhile_stays() {
        let folder = folder("changed");
        let path = folder.join("a.json");
        fs::write(&path, "one").unwrap();
        let (file, text) = EditedFile::open(&path).unwrap();
        assert_eq!(text, "one");
        fs::write(&path, "two").unwrap();
        let failure = file.replace("three").unwrap_err();
        assert!(failure.message.contains("meantime"), "{failure}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        let (new, _) = EditedFile::open(&folder.join("b.json")).unwrap();
        fs::write(folder.join("b.json"), "x").unwrap();
        assert!(new.replace("y").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_new_file_is_made_with_its_folder() {
        let folder = folder("new");
        let path = folder.join("deep/er/a.json");
        let (file, text) = EditedFile::open(&path).unwrap();
        assert!(file.is_new() && text.is_empty());
        file.replace("{}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_was_left_by_whoever_was_killed_is_removed_and_what_is_written_stays() {
        let folder = folder("left");
        let path = folder.join("a.json");
        fs::write(&path, "one").unwrap();
        let ours = folder.join(format!(".a.json.{}.tmp", std::process::id()));
        let left = [folder.join(".a.json.4000001.tmp"), ours];
        for left in &left {
            fs::write(left, "hal").unwrap();
        }
        let others = [folder.join(".b.json.4.tmp"), folder.join(".a.json.x.tmp")];
        for other in &others {
            fs::write(other, "not ours").unwrap();
        }
        let busy = folder.join(".a.json.4000002.tmp");
        let writing = File::create(&busy).unwrap();
        writing.lock().unwrap();
        let (file, _) = EditedFile::open(&path).unwrap();
        file.replace("two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert!(left.iter().all(|left| !left.exists()));
        assert!(busy.exists() && others.iter().all(|other| other.exists()));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_rights_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = folder("links");
        let (real, link) = (folder.join("real.json"), folder.join("link.json"));
        fs::write(&real, "one").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("real.json", &link).unwrap();
        let (file, _) = EditedFile::open(&link).unwrap();
        file.replace("two").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "two");
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        symlink("later.json", folder.join("dangling.json")).unwrap();
        let (file, _) = EditedFile::open(&folder.join("dangling.json")).unwrap();
        file.replace("{}").unwrap();
        assert_eq!(fs::read_to_string(folder.join("later.json")).unwrap(), "{}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
