//! What servers offered when they last ran, in files: so that one that is started by the first
//! call can be seen, searched and called before.
//!
//! A file for each server. One that does not fit its server any more, or cannot be read, is as
//! good as none; one that cannot be written is a pity and no error. Nothing secret is in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::config::ServerConfig;
use crate::registry::MemberCatalog;

/// What a server offered when it last ran.
pub(crate) async fn read(
    folder: &Arc<PathBuf>,
    server: &Arc<ServerConfig>,
) -> Option<MemberCatalog> {
    let (folder, server) = (Arc::clone(folder), Arc::clone(server));
    let reading = spawn_blocking(move || read_file(&folder, &server));
    reading.await.ok()?
}

/// Writes down what a server offers.
pub(crate) async fn write(
    folder: &Arc<PathBuf>,
    server: &Arc<ServerConfig>,
    listed: MemberCatalog,
) {
    let (folder, server) = (Arc::clone(folder), Arc::clone(server));
    let writing = spawn_blocking(move || {
        if let Err(error) = write_file(&folder, &server, listed) {
            let name = &server.name;
            tracing::warn!("what server {name:?} offers is not kept in {folder:?}: {error}");
        }
    });
    let _ = writing.await;
}

#[derive(Serialize, Deserialize)]
struct Page {
    version: u32,
    server: String,
    /// What the server was when it offered this.
    fingerprint: String,
    catalog: MemberCatalog,
}

fn read_file(folder: &Path, server: &ServerConfig) -> Option<MemberCatalog> {
    let mut text = Vec::new();
    let file = File::open(folder.join(file_name(&server.name))).ok()?;
    // One more byte than there may be tells that there are too many.
    file.take(LARGEST + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > LARGEST {
        return None;
    }
    let page: Page = serde_json::from_slice(&text).ok()?;
    let fits = page.version == VERSION
        && page.server == server.name
        && page.fingerprint == fingerprint(server);
    fits.then_some(page.catalog)
}

fn write_file(folder: &Path, server: &ServerConfig, catalog: MemberCatalog) -> io::Result<()> {
    let page = Page {
        version: VERSION,
        server: server.name.clone(),
        fingerprint: fingerprint(server),
        catalog,
    };
    let text = serde_json::to_vec(&page)?;
    let name = file_name(&server.name);
    let path = folder.join(&name);
    if fs::read(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    create_folder(folder)?;
    sweep(folder, &name);
    // Whoever reads meanwhile sees the old one or the new one.
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let new = folder.join(format!("{name}.{}-{count}.new", std::process::id()));
    let written = create(&new).and_then(|mut file| {
        // Not every disk has locks; then it may be taken for one that nobody writes any more.
        let _ = file.lock();
        file.write_all(&text)?;
        fs::rename(&new, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Removes what was being written by whoever was killed. Whoever still writes holds a lock.
fn sweep(folder: &Path, name: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let other = entry.file_name();
        let other = other.to_string_lossy();
        let rest = other.strip_prefix(name);
        if rest.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".new"))
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(unix)]
fn create_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(not(unix))]
fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Readable, and different for different servers.
fn file_name(server: &str) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => character,
        _ => '_',
    };
    let readable: String = server.chars().take(READABLE).map(plain).collect();
    format!("{readable}-{}.json", hash(server))
}

/// Changes when another program or URL is behind the name. Values that are secret are not shown
/// by what it is made of, and have no say.
fn fingerprint(server: &ServerConfig) -> String {
    hash(&format!("{:?} {:?}", server.transport, server.folder))
}

fn hash(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let bytes = digest.as_ref().iter().take(HASHED);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// So that no two write into the same file.
static COUNT: AtomicUsize = AtomicUsize::new(0);

const VERSION: u32 = 1;
const LARGEST: u64 = 64 * 1024 * 1024;
const READABLE: usize = 32;
const HASHED: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!(
            "switchboard-hub-cache-{name}-{}",
            std::process::id()
        ));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn catalog() -> MemberCatalog {
        let tool = r#"{"name":"read","inputSchema":{"type":"object","x-own":[1.0,"é"]}}"#;
        MemberCatalog::empty().with_tools(vec![serde_json::from_str(tool).unwrap()])
    }

    #[test]
    fn what_was_written_is_read_by_the_same_server_only() {
        let folder = folder("same");
        let server = ServerConfig::command("a/b", ["program", "x"]).env("KEY", "hunter2");
        assert_eq!(read_file(&folder, &server), None);
        write_file(&folder, &server, catalog()).unwrap();
        assert_eq!(read_file(&folder, &server), Some(catalog()));
        let rotated = ServerConfig::command("a/b", ["program", "x"]).env("KEY", "hunter3");
        assert_eq!(read_file(&folder, &rotated), Some(catalog()));
        let other = ServerConfig::command("a/b", ["program", "y"]);
        assert_eq!(read_file(&folder, &other), None);
        let alike = ServerConfig::command("a_b", ["program", "x"]).env("KEY", "hunter2");
        assert_eq!(read_file(&folder, &alike), None);
        let files: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(files.len(), 1);
        let text = fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
        assert!(!text.contains("hunter"), "{text}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_too_large_is_not_read() {
        let folder = folder("large");
        let server = ServerConfig::command("one", ["program"]);
        write_file(&folder, &server, catalog()).unwrap();
        let path = folder.join(file_name("one"));
        let mut text = fs::read(&path).unwrap();
        text.resize(usize::try_from(LARGEST).unwrap(), b' ');
        fs::write(&path, &text).unwrap();
        assert_eq!(read_file(&folder, &server), Some(catalog()));
        text.push(b' ');
        fs::write(&path, &text).unwrap();
        assert_eq!(read_file(&folder, &server), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_was_left_by_whoever_was_killed_is_removed_and_what_is_written_stays() {
        let folder = folder("left");
        let server = ServerConfig::command("one", ["program"]);
        create_folder(&folder).unwrap();
        let name = file_name("one");
        let left = folder.join(format!("{name}.4000001-0.new"));
        fs::write(&left, "{\"vers").unwrap();
        let busy = folder.join(format!("{name}.4000002-0.new"));
        let writing = create(&busy).unwrap();
        writing.lock().unwrap();
        let other = folder.join(format!("{}.4000001-0.new", file_name("other")));
        fs::write(&other, "").unwrap();
        write_file(&folder, &server, catalog()).unwrap();
        assert_eq!(read_file(&folder, &server), Some(catalog()));
        assert!(!left.exists() && busy.exists() && other.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_as_good_as_nothing() {
        let folder = folder("broken");
        let server = ServerConfig::command("one", ["program"]);
        write_file(&folder, &server, catalog()).unwrap();
        let path = folder.join(file_name("one"));
        let whole = fs::read(&path).unwrap();
        for length in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(read_file(&folder, &server), None, "{length}");
        }
        fs::write(&path, b"\xff\xfe").unwrap();
        assert_eq!(read_file(&folder, &server), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_it() {
        use std::os::unix::fs::PermissionsExt;

        let folder = folder("private");
        let server = ServerConfig::command("one", ["program"]);
        write_file(&folder, &server, catalog()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join(file_name("one"))), 0o600);
        fs::remove_dir_all(&folder).unwrap();
    }
}
