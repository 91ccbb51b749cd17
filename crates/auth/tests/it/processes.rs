//! A folder of logins that many processes use, some of which are killed on the way.
//!
//! A test starts this test binary again; [`a_process_of_these_tests`] is what runs there.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::thread::{self, JoinHandle};

use switchboard_auth::{FileStore, Store};

use crate::child::{Child, expect_all, say, tell_all};
use crate::folder::{Folder, entry, kinds, number_of, only};

#[tokio::test]
async fn a_thousand_saves_by_threads_and_processes_never_show_a_torn_entry() {
    let folder = Folder::new("torn");
    let store = folder.store();
    store.save(&entry(SERVER, 0)).await.unwrap();
    let mut processes: Vec<_> = (0..3).map(|_| process("save", &store)).collect();
    expect_all(&mut processes, "ready").await;
    let mut seen = 0;
    let threads = [(); 2].map(|()| {
        let store = store.clone();
        thread::spawn(move || save_often(&store, SAVES / 2))
    });
    tell_all(&mut processes, "go").await;
    while !threads.iter().all(JoinHandle::is_finished) {
        number_of(&store.load(SERVER).await.unwrap().unwrap());
        seen += 1;
    }
    for thread in threads {
        thread.join().unwrap();
    }
    expect_all(&mut processes, "done").await;
    assert!(seen > 0);
    number_of(&store.load(SERVER).await.unwrap().unwrap());
    assert!(!kinds(&store).contains("tmp"), "nothing is left behind");
}

#[tokio::test]
async fn kills_in_the_middle_of_saves_leave_the_store_whole() {
    let folder = Folder::new("killed");
    let store = folder.store();
    let mut random = Random(std::process::id());
    for _ in 0..50 {
        let mut process = process("save-on", &store);
        process.expect("ready").await;
        process.tell("go").await;
        process.expect("saved").await;
        // A moment: as long as it takes to read some entries, while others are written.
        for _ in 0..random.below(30) {
            number_of(&store.load(SERVER).await.unwrap().unwrap());
        }
        process.kill().await;
        let number = number_of(&store.load(SERVER).await.unwrap().unwrap());
        assert!(number > 0);
        let files = fs::read_dir(store.folder()).unwrap().count();
        assert!(
            files <= 3,
            "saving.lock, the entry, and one that was not finished"
        );
    }
    store.save(&entry(SERVER, 1)).await.unwrap();
    assert!(
        !kinds(&store).contains("tmp"),
        "the next save takes it away"
    );
}

#[tokio::test]
async fn of_ten_processes_one_holds_the_lock() {
    let folder = Folder::new("ten");
    let store = folder.store();
    store.save(&entry(SERVER, 0)).await.unwrap();
    let mut processes: Vec<_> = (0..10).map(|_| process("log", &store)).collect();
    expect_all(&mut processes, "ready").await;
    tell_all(&mut processes, "go").await;
    expect_all(&mut processes, "done").await;
    let log = fs::read_to_string(log_of(&store)).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 10 * ROUNDS * 2);
    for pair in lines.chunks(2) {
        let began = pair[0].strip_prefix("begins ");
        assert!(began.is_some(), "{pair:?}");
        assert_eq!(began, pair[1].strip_prefix("ends "));
    }
    // What each read and wrote under the lock, none wrote over.
    let found = store.load(SERVER).await.unwrap().unwrap();
    assert_eq!(number_of(&found), 10 * ROUNDS as u64);
}

#[tokio::test]
async fn a_lock_is_free_when_its_holder_was_killed() {
    let folder = Folder::new("freed");
    let store = folder.store();
    let mut process = process("hold", &store);
    process.expect("ready").await;
    process.tell("go").await;
    process.expect("held").await;
    let file = File::open(only(&store, "lock")).unwrap();
    assert!(matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
    process.kill().await;
    drop(file);
    store.lock(SERVER).await.unwrap();
}

/// Not a test by itself: what the others start.
#[test]
fn a_process_of_these_tests() {
    let (Ok(task), Some(folder)) = (env::var(TASK), env::var_os(FOLDER)) else {
        return;
    };
    let store = FileStore::new(folder);
    say("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    assert_eq!(line, "go\n");
    // Whoever started us is gone, and so are we.
    thread::spawn(|| {
        let mut line = String::new();
        while std::io::stdin()
            .read_line(&mut line)
            .is_ok_and(|length| length > 0)
        {}
        std::process::abort();
    });
    match task.as_str() {
        "save" => save_often(&store, SAVES),
        "save-on" => {
            save_often(&store, 1);
            say("saved");
            save_often(&store, usize::MAX);
        }
        "log" => (0..ROUNDS).for_each(|_| log_once(&store)),
        "hold" => {
            let _held = block_on(store.lock(SERVER)).unwrap();
            say("held");
            thread::park();
        }
        task => panic!("there is no task {task}"),
    }
    say("done");
}

fn save_often(store: &FileStore, times: usize) {
    let mut random = Random(std::process::id());
    for _ in 0..times {
        let number = 1 + random.below(100_000);
        block_on(store.save(&entry(SERVER, number.into()))).unwrap();
    }
}

/// Adds one to the number, and says so before and after.
fn log_once(store: &FileStore) {
    let held = block_on(store.lock(SERVER)).unwrap();
    let process = std::process::id();
    let mut log = File::options()
        .append(true)
        .create(true)
        .open(log_of(store))
        .unwrap();
    writeln!(log, "begins {process}").unwrap();
    let number = number_of(&block_on(store.load(SERVER)).unwrap().unwrap());
    block_on(store.save(&entry(SERVER, number + 1))).unwrap();
    writeln!(log, "ends {process}").unwrap();
    drop(held);
}

fn log_of(store: &FileStore) -> std::path::PathBuf {
    store.folder().parent().unwrap().join("log")
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().unwrap().block_on(work)
}

fn process(task: &str, store: &FileStore) -> Child {
    let variables = [
        (TASK, OsStr::new(task)),
        (FOLDER, store.folder().as_os_str()),
    ];
    Child::start("processes::a_process_of_these_tests", &variables)
}

/// Enough for moments that differ.
struct Random(u32);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        // Marsaglia's xorshift, which stays at zero only from zero.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % end
    }
}

const SERVER: &str = "https://example.com/mcp";

const SAVES: usize = 250;

const ROUNDS: usize = 10;

const TASK: &str = "SWITCHBOARD_STORE_TASK";

const FOLDER: &str = "SWITCHBOARD_STORE_FOLDER";
