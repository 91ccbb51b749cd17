//! Where everything is, as the arguments say.

use std::env;
use std::path::PathBuf;

/// Where the authorization servers are, and which checks are wanted.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// The npm packages, with copies of the scripts of `interop/` beside them.
    pub(crate) node: PathBuf,
    /// The programs of the Python SDK 2.x.
    pub(crate) python: PathBuf,
    /// The programs of the Python SDK 1.x.
    pub(crate) python_v1: PathBuf,
    /// The scripts of `interop/`.
    pub(crate) scripts: PathBuf,
    /// An empty folder.
    pub(crate) scratch: PathBuf,
    /// The server that we call, if we are one of many processes; `scratch` is their folder.
    pub(crate) call: Option<String>,
    /// Checks whose names contain one of these; all of them if there is none.
    pub(crate) names: Vec<String>,
}

impl Arguments {
    pub(crate) fn parse() -> Result<Self, String> {
        let mut arguments = Self::default();
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                arguments.names.push(word);
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{word} wants a value"))?;
            let place = match word.as_str() {
                "--node" => &mut arguments.node,
                "--python" => &mut arguments.python,
                "--python-v1" => &mut arguments.python_v1,
                "--scripts" => &mut arguments.scripts,
                "--scratch" => &mut arguments.scratch,
                "--call" => {
                    arguments.call = Some(value);
                    continue;
                }
                _ => return Err(format!("no option {word}")),
            };
            *place = PathBuf::from(value);
        }
        Ok(arguments)
    }
}
