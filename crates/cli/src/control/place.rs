//! Where the sockets of gateways are: a folder that only its user can enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// The folder, made if it is not there.
///
/// # Errors
/// When it cannot be made, or others can enter it.
pub(super) fn folder() -> io::Result<PathBuf> {
    let folder = named_folder();
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => check(&folder)?,
    }
    Ok(folder)
}

/// The sockets that are there, whoever may listen to them.
pub(super) fn sockets() -> Vec<PathBuf> {
    let folder = named_folder();
    if check(&folder).is_err() {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sockets: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .collect();
    sockets.sort();
    sockets
}

/// The socket of this process.
pub(super) fn own(folder: &Path) -> PathBuf {
    folder.join(format!("{}.{ENDING}", std::process::id()))
}

/// Is the process gone that made it? One that is there may be about to listen.
pub(super) fn is_left_over(socket: &Path) -> bool {
    let number = socket
        .file_stem()
        .and_then(|name| name.to_str()?.parse().ok());
    let process = number.and_then(Pid::from_raw);
    process.is_none_or(|process| test_kill_process(process) == Err(Errno::SRCH))
}

/// Lets nobody but the user open it.
pub(super) fn close_to_others(socket: &Path) -> io::Result<()> {
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600))
}

fn named_folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|folder| folder.is_absolute()) {
        Some(runtime) => runtime.join("switchboard"),
        None => {
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("switchboard-{user}"))
        }
    }
}

/// Somebody else may have made a folder of this name, where all may.
fn check(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if !found.is_dir() || !is_ours || found.mode() & 0o077 != 0 {
        let reason = format!("{} is open to others", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

const ENDING: &str = "sock";
