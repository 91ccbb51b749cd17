//! A program of `interop/client/`: built, and told where everything is that it needs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::tools;
use crate::workspace::Workspace;

/// A program, and the options that say where things are.
pub(super) struct Program {
    binary: PathBuf,
    places: Vec<(&'static str, PathBuf)>,
    scratch: PathBuf,
}

impl Program {
    /// Builds the programs. What this one leaves behind is below `target/interop/<part>`.
    pub(super) fn build(workspace: &Workspace, name: &str, part: &str) -> Result<Self, String> {
        workspace.build_interop()?;
        Ok(Self {
            binary: workspace.binary(name),
            places: vec![("--scripts", workspace.root.join("interop"))],
            scratch: workspace.target.join("interop").join(part),
        })
    }

    /// An option, and the folder that it names.
    pub(super) fn place(mut self, option: &'static str, place: PathBuf) -> Self {
        self.places.push((option, place));
        self
    }

    /// The packages of npm and PyPI that are peers.
    pub(super) fn packages(self, workspace: &Workspace) -> Result<Self, String> {
        let node = tools::node(workspace)?;
        let python = tools::python(workspace, "requirements.txt")?;
        let python_v1 = tools::python(workspace, "requirements-v1.txt")?;
        let program = self.place("--node", node).place("--python", python);
        Ok(program.place("--python-v1", python_v1))
    }

    /// The servers that others wrote: packages, and programs in Rust.
    pub(super) fn servers(self, workspace: &Workspace) -> Result<Self, String> {
        let rust = tools::rust_servers(workspace)?;
        Ok(self.packages(workspace)?.place("--rust", rust))
    }

    /// The command for one run, with nothing left of the run before.
    pub(super) fn command(&self) -> Result<Command, String> {
        let scratch = &self.scratch;
        // It is not there the first time.
        let _ = fs::remove_dir_all(scratch);
        fs::create_dir_all(scratch)
            .map_err(|error| format!("{} cannot be made: {error}", scratch.display()))?;
        let mut command = Command::new(&self.binary);
        for (option, place) in &self.places {
            command.arg(option).arg(place);
        }
        command.arg("--scratch").arg(scratch);
        Ok(command)
    }
}
