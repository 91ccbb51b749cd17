//! A copy of the workspace, elsewhere: one that may be broken, or that is built without knowing the
//! first.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Show};
use crate::workspace::Workspace;

/// The copy, in the folder of what is built.
pub(crate) struct Copy {
    folder: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// Copies whatever git knows or would take in. What is there as it should be is left alone, so
    /// that it is not built anew.
    pub(crate) fn make(workspace: &Workspace, name: &str) -> Result<Self, String> {
        let place = workspace.target.join(name);
        let copy = Self {
            folder: place.join("workspace"),
            target: place.join("target"),
        };
        let mut command = Command::new("git");
        command.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
        command.current_dir(&workspace.root);
        let listed = process::run(&mut command, Show::Nothing)?;
        listed.check("git ls-files")?;
        for name in &listed.stdout {
            let Ok(new) = fs::read(workspace.root.join(name)) else {
                // Listed, and removed since.
                continue;
            };
            let path = copy.folder.join(name);
            if fs::read(&path).is_ok_and(|old| old == new) {
                continue;
            }
            let folder = path.parent().unwrap_or(&copy.folder);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, new))
                .map_err(|error| unusable(&path, &error))?;
        }
        Ok(copy)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where it is built.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    pub(crate) fn read(&self, file: &str) -> Result<String, String> {
        let path = self.folder.join(file);
        fs::read_to_string(&path).map_err(|error| unusable(&path, &error))
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        fs::write(&path, text).map_err(|error| unusable(&path, &error))
    }

    /// `cargo` in the copy. A break may leave something unused, which is no error.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(&self.folder);
        command.env("CARGO_TARGET_DIR", &self.target);
        command.env("CARGO_TERM_COLOR", "never");
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env_remove("RUSTFLAGS");
        command
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
