//! What a store of files keeps, refuses and repairs.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use switchboard_auth::{Store, StoreError};
use tokio::time::Instant;

use crate::folder::{Folder, entry, kinds, number_of, only};

#[tokio::test]
async fn entries_are_kept_replaced_and_forgotten() {
    let folder = Folder::new("kept");
    let store = folder.store();
    assert!(store.load(SERVER).await.unwrap().is_none());
    assert!(!store.remove(SERVER).await.unwrap());
    assert!(store.servers().await.unwrap().is_empty());
    assert!(!store.folder().exists(), "who only asks leaves nothing");

    for number in [1, 2] {
        store.save(&entry(SERVER, number)).await.unwrap();
        // Another store of the same folder: nothing is remembered in this one.
        let found = folder.store().load(SERVER).await.unwrap().unwrap();
        assert_eq!(number_of(&found), number);
    }
    store.save(&entry("https://a.example", 3)).await.unwrap();
    assert_eq!(
        store.servers().await.unwrap(),
        ["https://a.example", SERVER]
    );
    assert!(store.remove(SERVER).await.unwrap());
    assert!(!store.remove(SERVER).await.unwrap());
    assert!(store.load(SERVER).await.unwrap().is_none());
    assert_eq!(store.servers().await.unwrap(), ["https://a.example"]);
}

#[tokio::test]
async fn odd_names_of_servers_stay_in_the_folder() {
    let folder = Folder::new("odd");
    let store = folder.store();
    let long = format!("https://example.com/{}", "x".repeat(9000));
    let servers = [
        "",
        ".",
        "..",
        "/",
        "../../../etc/passwd",
        "..\\..\\secret",
        "https://a/b",
        "https://a-b",
        "https://a/B",
        "a\0b",
        "a\nb",
        "https://bücher.example/書",
        "https://bücher.example/本",
        "CON",
        "saving",
        long.as_str(),
    ];
    for (number, server) in (0..).zip(servers) {
        store.save(&entry(server, number)).await.unwrap();
        drop(store.lock(server).await.unwrap());
    }
    for (number, server) in (0..).zip(servers) {
        let found = store.load(server).await.unwrap().unwrap();
        assert_eq!((found.server.as_str(), number_of(&found)), (server, number));
    }
    let listed: BTreeSet<_> = store.servers().await.unwrap().into_iter().collect();
    assert_eq!(listed, servers.map(str::to_owned).into());
    let files = fs::read_dir(store.folder()).unwrap().count();
    assert_eq!(files, servers.len() * 2 + 1);
    let around = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(around, 1, "nothing beside the store");
    for server in servers {
        assert!(store.remove(server).await.unwrap(), "{server:?}");
    }
    assert_eq!(kinds(&store), BTreeSet::from(["lock".to_owned()]));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_can_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt;

    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let set = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let folder = Folder::new("modes");
    let store = folder.store();
    store.save(&entry(SERVER, 1)).await.unwrap();
    let _held = store.lock(SERVER).await.unwrap();
    assert_eq!(mode(store.folder()), 0o700);
    assert_eq!(mode(store.folder().parent().unwrap()), 0o700);
    for file in fs::read_dir(store.folder()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }

    // Reading repairs.
    let path = only(&store, "json");
    set(&path, 0o644);
    set(store.folder(), 0o755);
    store.load(SERVER).await.unwrap().unwrap();
    assert_eq!((mode(&path), mode(store.folder())), (0o600, 0o700));

    // Writing repairs, also what a save that did not end left behind.
    let left = path.with_extension("tmp");
    fs::write(&left, "{").unwrap();
    for found in [&path, &left] {
        set(found, 0o666);
    }
    set(store.folder(), 0o777);
    store.save(&entry(SERVER, 2)).await.unwrap();
    assert_eq!((mode(&path), mode(store.folder())), (0o600, 0o700));
    assert!(!left.exists());
    let found = store.load(SERVER).await.unwrap().unwrap();
    assert_eq!(number_of(&found), 2);

    // Stricter than ours is left alone.
    set(&path, 0o400);
    store.load(SERVER).await.unwrap().unwrap();
    assert_eq!(mode(&path), 0o400);
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_of_all_users_is_not_taken() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("sticky");
    let store = folder.store();
    fs::create_dir_all(store.folder()).unwrap();
    fs::set_permissions(store.folder(), fs::Permissions::from_mode(0o1777)).unwrap();
    let error = store.save(&entry(SERVER, 1)).await.unwrap_err();
    assert!(error.to_string().contains("for all users"), "{error}");
    let mode = fs::metadata(store.folder()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o1777);
}

#[cfg(unix)]
#[tokio::test]
async fn a_reader_of_the_old_file_keeps_the_old_entry() {
    use std::io::Read;

    let folder = Folder::new("atomic");
    let store = folder.store();
    store.save(&entry(SERVER, 1)).await.unwrap();
    let mut old = fs::File::open(only(&store, "json")).unwrap();
    store.save(&entry(SERVER, 2)).await.unwrap();
    let mut text = String::new();
    old.read_to_string(&mut text).unwrap();
    assert_eq!(text, entry(SERVER, 1).to_text().reveal());
}

#[tokio::test]
async fn a_broken_file_is_named_and_moved_aside_by_the_next_save() {
    let folder = Folder::new("broken");
    let store = folder.store();
    store.save(&entry(SERVER, 2)).await.unwrap();
    store.save(&entry("https://a.example", 1)).await.unwrap();
    store.remove("https://a.example").await.unwrap();
    let path = only(&store, "json");
    let whole = fs::read(&path).unwrap();
    let mut longer = whole.clone();
    longer.resize(1024 * 1024 + 1, b' ');
    let broken: [&[u8]; 7] = [
        b"",
        b"{",
        b"null",
        b"\xff\xfe",
        br#"{"version":1}"#,
        whole.get(..whole.len() / 2).unwrap(),
        &longer,
    ];
    for bytes in broken {
        fs::write(&path, bytes).unwrap();
        let error = store.load(SERVER).await.unwrap_err();
        assert_names(&error, &path);
        assert!(error.to_string().ends_with("log in again to replace it"));
        assert!(store.servers().await.unwrap().is_empty());
        assert_eq!(fs::read(&path).unwrap(), bytes, "reading changes nothing");

        store.save(&entry(SERVER, 3)).await.unwrap();
        assert_eq!(fs::read(only(&store, "broken")).unwrap(), bytes);
        let found = store.load(SERVER).await.unwrap().unwrap();
        assert_eq!(number_of(&found), 3);
    }
    store.remove(SERVER).await.unwrap();
    assert_eq!(kinds(&store), BTreeSet::from(["lock".to_owned()]));
}

#[tokio::test]
async fn an_entry_of_another_server_is_not_used() {
    let folder = Folder::new("other");
    let store = folder.store();
    store.save(&entry(SERVER, 1)).await.unwrap();
    let path = only(&store, "json");
    fs::write(&path, entry("https://evil.example", 6).to_text().reveal()).unwrap();
    let error = store.load(SERVER).await.unwrap_err();
    assert_names(&error, &path);
    assert!(error.to_string().contains("another server"), "{error}");
}

#[tokio::test]
async fn what_a_later_version_wrote_is_neither_used_nor_overwritten() {
    let folder = Folder::new("version");
    let store = folder.store();
    store.save(&entry(SERVER, 1)).await.unwrap();
    let path = only(&store, "json");
    let later = r#"{"version":2,"logins":{"s":"t0ken"}}"#;
    fs::write(&path, later).unwrap();
    let unread = store.load(SERVER).await.unwrap_err();
    let unsaved = store.save(&entry(SERVER, 2)).await.unwrap_err();
    for error in [unread, unsaved] {
        assert_names(&error, &path);
        assert!(error.to_string().contains("the form 2"), "{error}");
        assert!(!format!("{error:?}").contains("t0ken"));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), later);
    assert!(store.remove(SERVER).await.unwrap());
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new("unmade");
    let file = folder.path().join("state");
    fs::write(&file, "a file").unwrap();
    let store = folder.store();
    let error = store.save(&entry(SERVER, 1)).await.unwrap_err();
    assert_names(&error, &file);
    assert!(std::error::Error::source(&error).is_some() && !error.is_busy());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_gives_up_and_names_the_lock() {
    let folder = Folder::new("waiter");
    let store = folder.store();
    let held = store.lock(SERVER).await.unwrap();
    // Another server, and the files of this one, are free.
    drop(store.lock("https://a.example").await.unwrap());
    store.save(&entry(SERVER, 1)).await.unwrap();
    store.remove("https://a.example").await.unwrap();

    let began = Instant::now();
    let error = store.lock(SERVER).await.unwrap_err();
    assert!(began.elapsed() >= Duration::from_secs(300));
    assert!(began.elapsed() < Duration::from_secs(301));
    let name = only(&store, "json").with_extension("lock");
    assert_names(&error, &name);
    assert!(error.is_busy());
    drop(held);
    store.lock(SERVER).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_lock_goes_on_to_whoever_waits() {
    let folder = Folder::new("handover");
    let store = folder.store();
    let held = store.lock(SERVER).await.unwrap();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.lock(SERVER).await.map(drop) }
    });
    // This clock goes on only while everybody waits: it was tried many times by then.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!waiting.is_finished());
    drop(held);
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_save_that_nobody_waits_for_is_whole_or_not_at_all() {
    let folder = Folder::new("dropped");
    let store = folder.store();
    store.save(&entry(SERVER, 0)).await.unwrap();
    for number in 1..50 {
        let saved = entry(SERVER, number);
        let save = store.save(&saved);
        tokio::select! {
            biased;
            saved = save => saved.unwrap(),
            () = yields(number) => {}
        }
        number_of(&store.load(SERVER).await.unwrap().unwrap());
    }
    // Comes after all of them.
    store.save(&entry(SERVER, 99)).await.unwrap();
    let found = store.load(SERVER).await.unwrap().unwrap();
    assert_eq!(number_of(&found), 99);
}

async fn yields(times: u64) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

fn assert_names(error: &StoreError, path: &std::path::Path) {
    let path = path.display().to_string();
    assert!(error.to_string().contains(&path), "{error}");
}

const SERVER: &str = "https://example.com/mcp";
