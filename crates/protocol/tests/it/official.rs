//! Where the official schemas and examples are. They are not in the repository.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder with `<revision>.json` and `<revision>/examples`, if it exists.
///
/// `$SWITCHBOARD_SPEC/schema`, else `../shared/spec/schema` beside the workspace. If it does
/// not, the test that asks is noted as skipped.
#[expect(
    clippy::print_stderr,
    reason = "a skipped test must say that it was skipped"
)]
pub(crate) fn schema_folder() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = match std::env::var_os("SWITCHBOARD_SPEC") {
        Some(folder) => PathBuf::from(folder),
        None => workspace.join("../shared/spec"),
    }
    .join("schema");
    if folder.is_dir() {
        return Some(folder);
    }
    let reason = "official schemas not found (set SWITCHBOARD_SPEC)";
    eprintln!("skipped: {reason}");
    if let Some(file) = std::env::var_os("SWITCHBOARD_SKIPS") {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(file)
            .expect("the file of skips can be written");
        writeln!(file, "no-official-schemas: {test}: {reason}")
            .expect("the file of skips can be written");
    }
    None
}

/// Reads a file of JSON.
pub(crate) fn read_json(path: &Path) -> serde_json::Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
