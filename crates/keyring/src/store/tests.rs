//! The store over a keyring that is only memory.

use std::any::Any;
use std::collections::HashMap;
use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use keyring_core::api::CredentialStoreApi;
use keyring_core::{CredentialStore, Entry as Item, Error, mock};
use switchboard_auth::{ClientIdentity, ClientOrigin, Record, Tokens};

use super::*;

/// A store, its keyring, and a folder that is removed at the end.
struct Case {
    store: KeyringStore,
    keyring: Arc<CredentialStore>,
}

impl Case {
    fn new(test: &str, limit: usize) -> Self {
        let keyring: Arc<CredentialStore> = mock::Store::new().unwrap();
        let store = KeyringStore {
            keyring: Keyring::with(Some(Arc::clone(&keyring)), limit),
            list: FileStore::new(folder(test)),
        };
        Self { store, keyring }
    }

    /// The next question about this item is answered with an error.
    fn fail(&self, error: Error) {
        let item = self.keyring.build("switchboard", SERVER, None).unwrap();
        let credential: &mock::Cred = item.as_any().downcast_ref().unwrap();
        credential.set_error(error);
    }

    fn put(&self, secret: &[u8]) {
        let item = self.keyring.build("switchboard", SERVER, None).unwrap();
        item.set_secret(secret).unwrap();
    }

    async fn load_error(&self) -> String {
        let error = self.store.load(SERVER).await.unwrap_err();
        let shown = format!("{error:?}");
        assert!(
            !shown.contains("t0ken") && !shown.contains("116"),
            "{shown}"
        );
        error.to_string()
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.store.folder());
    }
}

fn folder(test: &str) -> PathBuf {
    let name = format!("switchboard-keyring-{test}-{}", std::process::id());
    std::env::temp_dir().join(name)
}

fn entry(server: &str, length: usize) -> Entry {
    let client = ClientIdentity::new("client", ClientOrigin::Registered);
    let mut record = Record::new("https://issuer.example", server, client);
    record.tokens = Some(Tokens::new("t0ken".repeat(length), 7));
    let mut entry = Entry::new(server);
    entry.put(record);
    entry
}

#[tokio::test]
async fn entries_are_kept_replaced_and_forgotten() {
    for limit in [usize::MAX, 256] {
        let case = Case::new("kept", limit);
        let store = &case.store;
        assert!(store.load(SERVER).await.unwrap().is_none());
        for length in [1, 1000, 10] {
            let kept = entry(SERVER, length);
            store.save(&kept).await.unwrap();
            let found = store.load(SERVER).await.unwrap().unwrap();
            assert_eq!(found.to_text(), kept.to_text());
        }
        store.save(&entry("https://a.example", 1)).await.unwrap();
        assert_eq!(
            store.servers().await.unwrap(),
            ["https://a.example", SERVER]
        );
        assert!(store.remove(SERVER).await.unwrap());
        assert!(!store.remove(SERVER).await.unwrap());
        assert!(store.load(SERVER).await.unwrap().is_none());
        assert_eq!(store.servers().await.unwrap(), ["https://a.example"]);
    }
}

#[tokio::test]
async fn no_secret_is_in_the_files() {
    let case = Case::new("files", usize::MAX);
    case.store.save(&entry(SERVER, 3)).await.unwrap();
    let mut count = 0;
    for file in fs::read_dir(case.store.folder()).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("t0ken"));
        count += 1;
    }
    assert!(count > 0);
}

#[tokio::test(start_paused = true)]
async fn a_lock_keeps_out_others() {
    let case = Case::new("lock", usize::MAX);
    let held = case.store.lock(SERVER).await.unwrap();
    let error = case.store.lock(SERVER).await.unwrap_err();
    let folder = case.store.folder().display().to_string();
    assert!(error.to_string().contains(&folder), "{error}");
    drop(held);
    case.store.lock(SERVER).await.unwrap();
}

#[tokio::test]
async fn what_is_no_login_is_refused_and_replaced() {
    let case = Case::new("broken", usize::MAX);
    let other = entry("https://evil.example", 1).to_text();
    let broken: [&[u8]; 5] = [
        b"",
        b"\xff",
        b"t0ken",
        br#"{"version":1,"server":"t0ken"}"#,
        other.reveal().as_bytes(),
    ];
    for secret in broken {
        case.put(secret);
        let error = case.load_error().await;
        assert!(error.contains(SERVER), "{error}");
        assert!(error.ends_with("log in again to replace it"), "{error}");
        case.store.save(&entry(SERVER, 1)).await.unwrap();
        case.store.load(SERVER).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_a_later_version_wrote_is_not_overwritten() {
    let case = Case::new("version", usize::MAX);
    case.put(br#"{"version":2,"t0ken":1}"#);
    assert!(case.load_error().await.contains("the form 2"));
    let error = case.store.save(&entry(SERVER, 1)).await.unwrap_err();
    assert!(error.to_string().contains("the form 2"), "{error}");
    assert!(case.load_error().await.contains("the form 2"));
}

#[tokio::test]
async fn troubles_of_the_keyring_say_what_to_do_and_show_no_secret() {
    let case = Case::new("troubles", usize::MAX);
    let cause = || std::io::Error::other("the cause").into();
    let secret = || b"t0ken".to_vec();
    let cases = [
        (
            Error::NoStorageAccess(cause()),
            "is locked: unlock it, or keep",
        ),
        (Error::PlatformFailure(cause()), "try again, or keep"),
        (Error::BadEncoding(secret()), "is no login: log in again"),
        (
            Error::BadDataFormat(secret(), cause()),
            "is no login: log in again",
        ),
        (
            Error::Ambiguous(Vec::new()),
            "several logins for https://example",
        ),
        (
            Error::TooLong("user".to_owned(), 512),
            "no more than 512 bytes",
        ),
        (Error::NoDefaultStore, "keep logins in files instead"),
    ];
    for (error, expected) in cases {
        case.fail(error);
        let error = case.load_error().await;
        assert!(error.contains(expected), "{error}");
    }
}

/// Waits for its user before it answers.
struct Waiting {
    keyring: Arc<CredentialStore>,
    user: Mutex<Receiver<()>>,
}

impl CredentialStoreApi for Waiting {
    fn vendor(&self) -> String {
        self.keyring.vendor()
    }

    fn id(&self) -> String {
        self.keyring.id()
    }

    fn build(
        &self,
        service: &str,
        user: &str,
        modifiers: Option<&HashMap<&str, &str>>,
    ) -> keyring_core::Result<Item> {
        // Gone is as good as there.
        let _ = self.user.lock().unwrap().recv();
        self.keyring.build(service, user, modifiers)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Case {
    /// The same, over a keyring that waits for its user.
    fn waiting(test: &str) -> (Self, Sender<()>) {
        let mut case = Self::new(test, usize::MAX);
        let (user, waits) = mpsc::channel();
        let waiting = Waiting {
            keyring: Arc::clone(&case.keyring),
            user: Mutex::new(waits),
        };
        case.store.keyring = Keyring::with(Some(Arc::new(waiting)), usize::MAX);
        (case, user)
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_still_be_kept_stays_listed() {
    let (case, user) = Case::waiting("late");
    let error = case.store.save(&entry(SERVER, 1)).await.unwrap_err();
    assert!(error.to_string().contains("did not answer"), "{error}");
    assert_eq!(case.store.servers().await.unwrap(), [SERVER]);
    drop(user);
    tokio::time::resume();
    case.store.load(SERVER).await.unwrap().unwrap();
    assert_eq!(case.store.servers().await.unwrap(), [SERVER]);
    // What was refused is not.
    case.store.remove(SERVER).await.unwrap();
    case.fail(Error::NoStorageAccess(
        std::io::Error::other("locked").into(),
    ));
    case.store.save(&entry(SERVER, 1)).await.unwrap_err();
    assert!(case.store.servers().await.unwrap().is_empty());
}

#[tokio::test]
async fn no_error_shows_the_query_of_a_server() {
    let case = Case::new("query", usize::MAX);
    let server = format!("{SERVER}?key=t0ken");
    let item = case.keyring.build("switchboard", &server, None).unwrap();
    let credential: &mock::Cred = item.as_any().downcast_ref().unwrap();
    for error in [
        Error::BadEncoding(Vec::new()),
        Error::Ambiguous(Vec::new()),
        Error::TooLong("user".to_owned(), 512),
        Error::BadStoreFormat("broken".to_owned()),
        Error::NoDefaultStore,
    ] {
        credential.set_error(error);
        let error = case.store.load(&server).await.unwrap_err();
        assert!(error.to_string().contains(SERVER), "{error}");
        assert!(!format!("{error} {error:?}").contains("t0ken"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_keyring_that_waits_for_its_user_holds_up_nobody_for_ever() {
    let (case, user) = Case::waiting("waiting");
    // The second waits for its turn.
    for _ in 0..2 {
        let error = case.store.load(SERVER).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the keyring did not answer within 120 s: unlock it, or keep logins in files instead"
        );
    }
    drop(user);
    tokio::time::resume();
    assert!(case.store.load(SERVER).await.unwrap().is_none());
}

#[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
#[tokio::test]
async fn where_there_is_no_keyring_the_error_says_what_to_do() {
    if std::env::var_os(ALONE).is_none() {
        // A process of its own, so that a keyring of whoever runs this is not asked.
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("store::tests::where_there_is_no_keyring_the_error_says_what_to_do")
            .env(ALONE, "1")
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&status.stdout);
        assert!(
            status.status.success() && output.contains("1 passed"),
            "{output}"
        );
        return;
    }
    let path = folder("absent");
    let store = KeyringStore::new(&path);
    let unread = store.load(SERVER).await.unwrap_err();
    let unsaved = store.save(&entry(SERVER, 1)).await.unwrap_err();
    let unremoved = store.remove(SERVER).await.unwrap_err();
    assert!(store.servers().await.unwrap().is_empty());
    fs::remove_dir_all::<&Path>(&path).unwrap();
    for error in [unread, unsaved, unremoved] {
        assert_eq!(
            error.to_string(),
            "there is no keyring service here: keep logins in files instead"
        );
        assert!(error.source().is_some());
    }
}

const SERVER: &str = "https://example.com/mcp";

const ALONE: &str = "SWITCHBOARD_KEYRING_ALONE";
