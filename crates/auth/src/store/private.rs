//! Files and folders that only their user can read.
//!
//! On Unix by their modes, which are repaired where they were lost (a backup, a copy). On Windows
//! by where they are: what is below the user's own folders is the user's.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use super::StoreError;

/// How a file is opened so that it is private if that creates it.
pub(super) fn options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there is no mode to set"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options
}

/// Makes the folder if there is none, and makes it private.
pub(super) fn prepare_folder(folder: &Path) -> Result<(), StoreError> {
    if close_folder(folder)? {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder
        .create(folder)
        .map_err(|error| StoreError::of_file("cannot make the folder", folder, error))
}

/// Makes a folder private. Is there one?
pub(super) fn close_folder(folder: &Path) -> Result<bool, StoreError> {
    match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::of_file("cannot look at", folder, error)),
        Ok(metadata) => repair_folder(folder, &metadata).map(|()| true),
    }
}

#[cfg(unix)]
fn repair_folder(folder: &Path, metadata: &fs::Metadata) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;

    let mode = metadata.permissions().mode();
    // `/tmp` and its like. Others would lose it if we took it for ourselves.
    if mode & STICKY != 0 {
        let what = format!(
            "{} is a folder for all users: name one for logins alone",
            folder.display()
        );
        return Err(StoreError::new(what, None));
    }
    if mode & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER_MODE))
        .map_err(|error| StoreError::of_file("cannot keep others out of", folder, error))
}

#[cfg(not(unix))]
fn repair_folder(_: &Path, _: &fs::Metadata) -> Result<(), StoreError> {
    Ok(())
}

/// Makes an open file private.
#[cfg(unix)]
pub(super) fn close_file(file: &File, path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;

    let repair = || {
        let mode = file.metadata()?.permissions().mode();
        match mode & OTHERS {
            0 => Ok(()),
            _ => file.set_permissions(fs::Permissions::from_mode(FILE_MODE)),
        }
    };
    repair().map_err(|error| StoreError::of_file("cannot keep others out of", path, error))
}

#[cfg(not(unix))]
pub(super) fn close_file(_: &File, _: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// Waits until the names in a folder are on the disk. Elsewhere a folder cannot be opened.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Runs what waits for a disk where it holds up nobody.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => Err(StoreError::new(
            "the stored logins were not reached before the program ended",
            Some(error.into()),
        )),
    }
}

#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;

/// What anybody but the owner may.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

#[cfg(unix)]
const STICKY: u32 = 0o1000;
