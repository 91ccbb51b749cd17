//! A small process that ends our servers when we cannot.
//!
//! `SIGKILL` and the out-of-memory killer give no time to stop anybody. So while servers run,
//! a shell runs too that reads from a pipe which only we hold: a line `+GROUP` for each server
//! that starts and `-GROUP` for each that has ended. The pipe ends when we do, in whatever way;
//! then the shell gives the groups that are left the time that [`Patience`](super::Patience)
//! gives them by default, and `SIGTERM`, and `SIGKILL`, and ends.
//!
//! - It starts with the first server and is killed with the last: a host without servers has no
//!   process left. If somebody else has killed it, it is started again with the next server
//!   that starts or ends.
//! - It leads a group of its own and ignores what terminals and service managers send, so that
//!   Ctrl-C does not end it before us. It holds nothing of ours open but the pipe.
//! - The pipe is closed by `exec`: a host that replaces itself has lost its servers, and they
//!   are ended. A fork without `exec` holds the pipe too, and the watcher waits for both.
//! - A host killed between the start of a server and the line about it, which are microseconds
//!   apart, leaves a server that has only the end of its input to tell it.
//! - Where there is no shell, there is no watcher: [`is_watched`](super::Process::is_watched).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;

/// Starts the watcher if it does not run.
pub(super) fn prepare() {
    let _ = lock().ensure();
}

/// Ends the watcher if there is nobody to watch: a server could not be started.
pub(super) fn rest() {
    lock().rest();
}

/// Has a group watched. `false` if that cannot be.
pub(super) fn add(group: Pid) -> bool {
    let mut watcher = lock();
    watcher.groups.insert(group.as_raw_nonzero().get());
    let is_watched = watcher.say('+', group).is_ok();
    if !is_watched {
        watcher.groups.remove(&group.as_raw_nonzero().get());
    }
    is_watched
}

/// No longer has a group watched. Before its leader is reaped, for then the number is not ours.
pub(super) fn remove(group: Pid) {
    let mut watcher = lock();
    watcher.groups.remove(&group.as_raw_nonzero().get());
    if watcher.groups.is_empty() {
        watcher.rest();
    } else {
        let _ = watcher.say('-', group);
    }
}

#[derive(Debug)]
struct Watcher {
    /// Whose it is. A fork has copies of everything here, and none of it is its own.
    host: u32,
    groups: BTreeSet<i32>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    shell: Child,
    pipe: ChildStdin,
}

impl Watcher {
    /// Writes a line. A watcher that does not take it is replaced by one that knows everything.
    fn say(&mut self, sign: char, group: Pid) -> io::Result<()> {
        if self.ensure()? {
            return Ok(());
        }
        let line = format!("{sign}{}\n", group.as_raw_nonzero());
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        if running.pipe.write_all(line.as_bytes()).is_err() {
            self.end();
            self.ensure()?;
        }
        Ok(())
    }

    /// Has the watcher run. `true` if it has been started just now and knows every group.
    fn ensure(&mut self) -> io::Result<bool> {
        if let Some(running) = &mut self.running
            && !matches!(running.shell.try_wait(), Ok(None))
        {
            self.running = None;
        }
        if self.running.is_some() {
            return Ok(false);
        }
        let mut running = Running::start()?;
        let mut lines = String::new();
        for group in &self.groups {
            let _ = writeln!(lines, "+{group}");
        }
        let written = running.pipe.write_all(lines.as_bytes());
        self.running = Some(running);
        written.inspect_err(|_| self.end())?;
        Ok(true)
    }

    fn rest(&mut self) {
        if self.groups.is_empty() {
            self.end();
        }
    }

    /// Not by the end of the pipe: it would act, and this way it is reaped at once.
    fn end(&mut self) {
        if let Some(mut running) = self.running.take() {
            end(&mut running.shell);
        }
    }
}

impl Running {
    fn start() -> io::Result<Self> {
        let mut shell = Command::new(SHELL)
            .args(["-c", SCRIPT, NAME])
            .env_clear()
            .env("PATH", PATH)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // One that was stopped and does not read is replaced; it is not waited for.
        let pipe = shell.stdin.take();
        match pipe.filter(|pipe| rustix::io::ioctl_fionbio(pipe, true).is_ok()) {
            Some(pipe) => Ok(Self { shell, pipe }),
            None => {
                end(&mut shell);
                Err(io::ErrorKind::NotConnected.into())
            }
        }
    }
}

fn end(shell: &mut Child) {
    let _ = shell.kill();
    let _ = shell.wait();
}

fn lock() -> MutexGuard<'static, Watcher> {
    let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    if watcher.host != std::process::id() {
        *watcher = Watcher {
            host: std::process::id(),
            groups: BTreeSet::new(),
            running: None,
        };
    }
    watcher
}

static WATCHER: Mutex<Watcher> = Mutex::new(Watcher {
    host: 0,
    groups: BTreeSet::new(),
    running: None,
});

const SHELL: &str = "/bin/sh";

/// What lists of processes show.
const NAME: &str = "switchboard-watcher";

/// For `sleep`.
const PATH: &str = "/usr/bin:/bin";

/// `left` forgets the groups that have ended, so that nobody is signalled who comes by such
/// a number later. A `sleep` that knows no fractions waits longer and is as good.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
groups=' '
while read -r line; do
    group=${line#?}
    case $line in
    +*) groups="$groups$group " ;;
    -*) case $groups in
        *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
        esac ;;
    esac
done
left() {
    remaining=' '
    for group in $groups; do
        kill -s 0 -- "-$group" && remaining="$remaining$group "
    done
    groups=$remaining
    test "$groups" != ' '
}
patience() {
    tenths=0
    while left; do
        test "$tenths" -lt 20 || return 1
        tenths=$((tenths + 1))
        sleep 0.1 || sleep 1
    done
    exit 0
}
patience
for group in $groups; do
    kill -s TERM -- "-$group"
    kill -s CONT -- "-$group"
done
patience
for group in $groups; do
    kill -s KILL -- "-$group"
done
"#;

#[cfg(test)]
mod tests {
    use super::*;

    /// What the script does to whom, if nobody ever ends.
    fn signals(shell: &str, lines: &str) -> String {
        let script =
            format!("kill() {{ test \"$2\" = 0 || echo \"$2 $4\"; }}\nsleep() {{ :; }}\n{SCRIPT}");
        let mut shell = Command::new(shell)
            .args(["-c", &script, NAME])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = shell.stdin.take().unwrap();
        pipe.write_all(lines.as_bytes()).unwrap();
        drop(pipe);
        let output = shell.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn those_who_are_left_are_told_and_killed_and_nobody_else_is() {
        let shells = [SHELL, "/bin/bash", "/bin/dash", "/bin/ksh"];
        for shell in shells
            .into_iter()
            .filter(|shell| std::path::Path::new(shell).exists())
        {
            let check = |lines: &str, groups: &[&str]| {
                let told = groups
                    .iter()
                    .map(|group| format!("TERM -{group}\nCONT -{group}\n"));
                let killed = groups.iter().map(|group| format!("KILL -{group}\n"));
                let expected: String = told.chain(killed).collect();
                assert_eq!(signals(shell, lines), expected, "{shell} {lines:?}");
            };
            check("", &[]);
            check("+12\n", &["12"]);
            check("+12\n-12\n", &[]);
            check("+1\n+22\n+2\n-22\n-9\n+222\n", &["1", "2", "222"]);
            check("+1\n+22\n+2\n-1\n", &["22", "2"]);
            check("+1\n+22\n+2\n-2\n", &["1", "22"]);
        }
    }
}
