//! Where the workspace is, what is in it, and the commands of the toolchain.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::{self, Show};

/// The workspace as cargo describes it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) rust_version: Option<String>,
    /// The names of its examples.
    pub(crate) examples: Vec<String>,
    /// Its cargo features, but for `default`.
    pub(crate) features: Vec<String>,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self, String> {
        // Cargo tells a program it runs where its package is; ours is directly below the root.
        let package = env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .ok_or("this program runs as `cargo xtask`")?;
        let mut command = cargo_in(package.parent().unwrap_or(&package));
        command.args(["metadata", "--format-version", "1", "--no-deps"]);
        let described = process::run(&mut command, Show::OnlyErrors)?;
        described.check("cargo metadata")?;
        let described: Value = serde_json::from_str(&described.stdout.concat())
            .map_err(|error| format!("cargo metadata printed no JSON: {error}"))?;
        Self::read(&described).ok_or_else(|| "cargo metadata left something out".to_owned())
    }

    /// `cargo`, the same that runs us, in the root of the workspace.
    pub(crate) fn cargo(&self) -> Command {
        cargo_in(&self.root)
    }

    /// `cargo` of another toolchain.
    pub(crate) fn cargo_of(&self, toolchain: &str) -> Command {
        let mut command = Command::new("rustup");
        command.args(["run", toolchain, "cargo"]);
        command.current_dir(&self.root);
        // Both name the toolchain that runs us.
        command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        command.env("CARGO_TERM_COLOR", "never");
        command
    }

    /// Where cargo puts an example of the dev profile.
    pub(crate) fn example(&self, name: &str) -> PathBuf {
        let mut path = self.target.join("debug").join("examples").join(name);
        path.set_extension(env::consts::EXE_EXTENSION);
        path
    }

    /// Where cargo puts a binary of the dev profile.
    pub(crate) fn binary(&self, name: &str) -> PathBuf {
        let mut path = self.target.join("debug").join(name);
        path.set_extension(env::consts::EXE_EXTENSION);
        path
    }

    /// Builds the example servers.
    pub(crate) fn build_examples(&self) -> Result<(), String> {
        let mut command = self.cargo();
        command.args(["build", "--package", EXAMPLES, "--bins"]);
        process::run(&mut command, Show::All)?.check("cargo build")
    }

    /// Builds the programs in which our client meets foreign servers.
    pub(crate) fn build_interop(&self) -> Result<(), String> {
        let mut command = self.cargo();
        command.args(["build", "--package", INTEROP, "--bins"]);
        process::run(&mut command, Show::All)?.check("cargo build")
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    fn read(described: &Value) -> Option<Self> {
        let packages = described.get("packages")?.as_array()?;
        Some(Self {
            root: described.get("workspace_root")?.as_str()?.into(),
            target: described.get("target_directory")?.as_str()?.into(),
            packages: packages.iter().map(read_package).collect::<Option<_>>()?,
        })
    }
}

fn read_package(package: &Value) -> Option<Package> {
    let is_example = |target: &&Value| {
        let kinds = target.get("kind").and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "example"))
    };
    let targets = package.get("targets")?.as_array()?;
    let examples = targets.iter().filter(is_example);
    let rust_version = package.get("rust_version").and_then(Value::as_str);
    let features = package.get("features")?.as_object()?.keys();
    Some(Package {
        name: package.get("name")?.as_str()?.to_owned(),
        rust_version: rust_version.map(str::to_owned),
        examples: examples
            .filter_map(|target| target.get("name")?.as_str())
            .map(str::to_owned)
            .collect(),
        features: features
            .filter(|name| *name != "default")
            .cloned()
            .collect(),
    })
}

fn cargo_in(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    // What we read must not have colours in it, whatever the user's settings are.
    command.env("CARGO_TERM_COLOR", "never");
    // Nobody changes a line there and builds again, and it is most of what a build leaves on the disk.
    if env::var_os("CI").is_some() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    // Cargo sets them for us. A build script that looks at them would run anew, and everything
    // above it be built anew, each time that somebody builds with and without us.
    for (name, _) in env::vars_os() {
        let is_ours = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if is_ours {
            command.env_remove(name);
        }
    }
    command
}

/// The package of the example servers.
const EXAMPLES: &str = "switchboard-examples";
/// The package of our client's side of interop.
const INTEROP: &str = "switchboard-interop";
