//! Where the servers are, as the arguments say.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the servers are, and which of them are wanted.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The npm packages, with copies of the scripts of `interop/` beside them.
    pub(crate) node: PathBuf,
    /// The programs of the Python SDK 2.x, and of the servers that use it.
    pub(crate) python: PathBuf,
    /// The programs of the Python SDK 1.x.
    pub(crate) python_v1: PathBuf,
    /// The programs of `interop/servers/`.
    pub(crate) rust: PathBuf,
    /// The scripts of `interop/`.
    pub(crate) scripts: PathBuf,
    /// An empty folder.
    pub(crate) scratch: PathBuf,
    /// The mark of what is held, if we are to be killed.
    pub(crate) hold: Option<String>,
    names: Vec<String>,
}

impl Places {
    pub(crate) fn from_arguments() -> Result<Self, String> {
        let mut places = Self::default();
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                places.names.push(word);
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{word} wants a value"))?;
            let place = match word.as_str() {
                "--node" => &mut places.node,
                "--python" => &mut places.python,
                "--python-v1" => &mut places.python_v1,
                "--rust" => &mut places.rust,
                "--scripts" => &mut places.scripts,
                "--scratch" => &mut places.scratch,
                "--hold" => {
                    places.hold = Some(value);
                    continue;
                }
                _ => return Err(format!("no option {word}")),
            };
            *place = PathBuf::from(value);
        }
        Ok(places)
    }

    /// Was this one asked for?
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| name.contains(wanted))
    }

    /// A program of an npm package.
    pub(crate) fn npm(&self, program: &str) -> PathBuf {
        self.node.join("node_modules").join(".bin").join(program)
    }

    /// Makes what `mcp-server-git` looks at.
    pub(crate) fn make_repository(&self) -> Result<(), String> {
        let mut command = Command::new("git");
        command.args(["init", "--quiet"]);
        let made = command.arg(self.in_scratch("repository")).status();
        match made {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("git init ended with {status}")),
            Err(error) => Err(format!("git could not be started: {error}")),
        }
    }

    pub(crate) fn in_scratch(&self, name: &str) -> String {
        absolute(&self.scratch.join(name))
    }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .display()
        .to_string()
}
