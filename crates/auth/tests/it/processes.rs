//! A folder of logins that many processes use, some of which are killed on the way.
//!
//! A test starts this test binary again; [`a_process_of_these_tests`] is what runs there.

use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{env, thread};

use switchboard_auth::{FileStore, Store};

use crate::folder::{Folder, entry, kinds, number_of, only};

#[test]
fn a_thousand_saves_by_threads_and_processes_never_show_a_torn_entry() {
    let folder = Folder::new("torn");
    let store = folder.store();
    block_on(store.save(&entry(SERVER, 0))).unwrap();
    let mut processes: Vec<_> = (0..3).map(|_| Process::start("save", &store)).collect();
    processes.iter_mut().for_each(Process::expect_ready);
    let mut seen = 0;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| save_often(&store, SAVES / 2)))
            .collect();
        processes.iter_mut().for_each(Process::go);
        while !threads.iter().all(|thread| thread.is_finished()) {
            number_of(&block_on(store.load(SERVER)).unwrap().unwrap());
            seen += 1;
        }
    });
    for process in &mut processes {
        process.expect("done");
    }
    assert!(seen > 0);
    number_of(&block_on(store.load(SERVER)).unwrap().unwrap());
    assert!(!kinds(&store).contains("tmp"), "nothing is left behind");
}

#[test]
fn kills_in_the_middle_of_saves_leave_the_store_whole() {
    let folder = Folder::new("killed");
    let store = folder.store();
    let mut random = Random(std::process::id());
    for _ in 0..50 {
        let mut process = Process::start("save-on", &store);
        process.expect_ready();
        process.go();
        process.expect("saved");
        // A moment: as long as it takes to read some entries, while others are written.
        for _ in 0..random.below(30) {
            number_of(&block_on(store.load(SERVER)).unwrap().unwrap());
        }
        process.kill();
        let number = number_of(&block_on(store.load(SERVER)).unwrap().unwrap());
        assert!(number > 0);
        let files = fs::read_dir(store.folder()).unwrap().count();
        assert!(
            files <= 3,
            "saving.lock, the entry, and one that was not finished"
        );
    }
    block_on(store.save(&entry(SERVER, 1))).unwrap();
    assert!(
        !kinds(&store).contains("tmp"),
        "the next save takes it away"
    );
}

#[test]
fn of_ten_processes_one_holds_the_lock() {
    let folder = Folder::new("ten");
    let store = folder.store();
    block_on(store.save(&entry(SERVER, 0))).unwrap();
    let mut processes: Vec<_> = (0..10).map(|_| Process::start("log", &store)).collect();
    processes.iter_mut().for_each(Process::expect_ready);
    processes.iter_mut().for_each(Process::go);
    for process in &mut processes {
        process.expect("done");
    }
    let log = fs::read_to_string(log_of(&store)).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 10 * ROUNDS * 2);
    for pair in lines.chunks(2) {
        let began = pair[0].strip_prefix("begins ");
        assert!(began.is_some(), "{pair:?}");
        assert_eq!(began, pair[1].strip_prefix("ends "));
    }
    // What each read and wrote under the lock, none wrote over.
    let found = block_on(store.load(SERVER)).unwrap().unwrap();
    assert_eq!(number_of(&found), 10 * ROUNDS as u64);
}

#[test]
fn a_lock_is_free_when_its_holder_was_killed() {
    let folder = Folder::new("freed");
    let store = folder.store();
    let mut process = Process::start("hold", &store);
    process.expect_ready();
    process.go();
    process.expect("held");
    let file = File::open(only(&store, "lock")).unwrap();
    assert!(matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
    process.kill();
    drop(file);
    block_on(store.lock(SERVER)).unwrap();
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

fn say(word: &str) {
    let mut output = std::io::stdout().lock();
    // The test harness may have begun the line.
    writeln!(output, "\n{MARK}{word}").unwrap();
    output.flush().unwrap();
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().unwrap().block_on(work)
}

/// A process that ends with this value at the latest.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(task: &str, store: &FileStore) -> Self {
        let folder: &Path = store.folder();
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "processes::a_process_of_these_tests",
                "--nocapture",
            ])
            .env(TASK, task)
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn expect_ready(&mut self) {
        self.expect("ready");
    }

    fn go(&mut self) {
        self.input.write_all(b"go\n").unwrap();
    }

    fn expect(&mut self, word: &str) {
        let said = (&mut self.output)
            .lines()
            .find_map(|line| line.unwrap().strip_prefix(MARK).map(str::to_owned));
        assert_eq!(said.as_deref(), Some(word));
    }

    /// With SIGKILL.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

const MARK: &str = "store: ";
