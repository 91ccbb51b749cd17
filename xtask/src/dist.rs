//! `cargo xtask dist`: the program as it is given to others, what is in it, and a sum of each.
//!
//! Nothing in the program says where it was built: from the same sources, by the same toolchain,
//! everybody has the same bytes. `--twice` shows it, by a copy of the workspace elsewhere.

mod sbom;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::copy::Copy;
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::workspace::Workspace;

/// Builds into `target/dist`; twice, if so wanted.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Outcome {
    let outcome = match words {
        [] => once(workspace).map(|_| ()),
        ["--twice"] => twice(workspace),
        ["--sbom"] => describe(workspace),
        _ => Err("`cargo xtask dist` knows --twice and --sbom, and nothing else".to_owned()),
    };
    outcome.into()
}

fn once(workspace: &Workspace) -> Result<PathBuf, String> {
    describe(workspace)?;
    let folder = workspace.target.join("dist");
    let built = build(&workspace.root, &workspace.target)?;
    let program = folder
        .join(PROGRAM)
        .with_extension(env::consts::EXE_EXTENSION);
    fs::copy(&built, &program).map_err(|error| unusable(&built, &error))?;
    let sums = sums(&folder)?;
    report::line(&sums);
    fs::write(folder.join("SHA256SUMS"), sums).map_err(|error| unusable(&folder, &error))?;
    Ok(program)
}

/// Writes what the program is made of.
fn describe(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.target.join("dist");
    let parts = folder.join(PARTS);
    let text = sbom::write(workspace)?;
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&parts, text))
        .map_err(|error| unusable(&parts, &error))
}

fn twice(workspace: &Workspace) -> Result<(), String> {
    let program = once(workspace)?;
    let copy = Copy::make(workspace, "again")?;
    let again = build(copy.folder(), copy.target())?;
    let read = |path: &Path| fs::read(path).map_err(|error| unusable(path, &error));
    if read(&program)? == read(&again)? {
        report::line("built twice, in two places: the same bytes");
        return Ok(());
    }
    let (one, other) = (program.display(), again.display());
    Err(format!(
        "{one} and {other} differ, and are built from the same"
    ))
}

/// Where the program is.
fn build(root: &Path, target: &Path) -> Result<PathBuf, String> {
    let mut command = std::process::Command::new("cargo");
    command.current_dir(root);
    command.args(["build", "--release", "--locked"]);
    command.args(["--package", "switchboard-cli", "--target-dir"]);
    let folder = target.join("dist-build");
    command.arg(&folder);
    // The flags of cargo's settings and of the surroundings are not ours.
    command.env_remove("RUSTFLAGS");
    command.env("CARGO_ENCODED_RUSTFLAGS", flags(root)?);
    command.env("CARGO_TERM_COLOR", "never");
    // It may be in comments of compiled C.
    command.env("SOURCE_DATE_EPOCH", "0");
    process::run(&mut command, Show::AsProgress)?.check("cargo build")?;
    let name = folder.join("release").join(PROGRAM);
    Ok(name.with_extension(env::consts::EXE_EXTENSION))
}

/// Has paths of this machine written as if they were the same everywhere, and names left out.
fn flags(root: &Path) -> Result<OsString, String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let home = home.ok_or("there is no home folder, and CARGO_HOME is not set")?;
    let mut flags = OsString::from("--remap-path-prefix=");
    flags.push(root);
    flags.push("=/switchboard\x1f--remap-path-prefix=");
    flags.push(home);
    flags.push("=/cargo\x1f-Cstrip=symbols");
    Ok(flags)
}

/// A line for each file, as `sha256sum --check` reads it.
fn sums(folder: &Path) -> Result<String, String> {
    let mut command = std::process::Command::new("sha256sum");
    command.current_dir(folder);
    command.args([PROGRAM, PARTS]);
    let finished = process::run(&mut command, Show::Nothing)?;
    finished.check("sha256sum")?;
    Ok(finished.stdout.join("\n") + "\n")
}

fn unusable(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

const PROGRAM: &str = "switchboard";
const PARTS: &str = "switchboard.cdx.json";
