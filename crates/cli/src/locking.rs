//! Where the lock is, and whether one is required.
//!
//! `--lock FILE`, else the one that the configuration names, else `mcp.lock` beside it. It is required by
//! `--locked`, by `--lock`, or by the configuration.

use std::path::{Path, PathBuf};

use switchboard_hub::{LOCK_FILE, Lock};

use crate::args::Global;
use crate::exit::Failure;
use crate::source::Source;

/// Where the lock is, or would be.
pub(crate) fn place(global: &Global, source: &Source) -> PathBuf {
    if let Some(file) = &global.lock {
        return file.clone();
    }
    let folder = source.file.as_deref().and_then(Path::parent);
    let named = source.config.settings.lock.as_deref();
    folder
        .unwrap_or(Path::new(""))
        .join(named.unwrap_or(Path::new(LOCK_FILE)))
}

/// Is nothing to be used that is not in the lock?
pub(crate) fn is_required(global: &Global, source: &Source) -> bool {
    global.locked || global.lock.is_some() || source.config.settings.lock.is_some()
}

/// The lock, if one is required.
///
/// # Errors
/// When there is none then, or it cannot be read.
pub(crate) fn required(global: &Global, source: &Source) -> Result<Option<Lock>, Failure> {
    if !is_required(global, source) {
        return Ok(None);
    }
    Ok(Some(Lock::read(place(global, source))?))
}
