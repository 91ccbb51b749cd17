//! A terminal that nobody sits at: tmux, typed into and read.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A shell in a terminal. It ends with this.
pub(crate) struct Terminal {
    socket: String,
}

impl Terminal {
    /// Of so many columns and rows, in this folder, with its `bin` before the usual programs.
    pub(crate) fn open(folder: &Path, columns: usize, rows: usize) -> Result<Self, String> {
        // One of its own: the last one may still be ending.
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = format!("switchboard-pictures-{}-{number}", std::process::id());
        let terminal = Self { socket };
        let home = format!("HOME={}", folder.display());
        let path = format!(
            "PATH={}:/usr/local/bin:/usr/bin:/bin",
            folder.join("bin").display()
        );
        let mut command = terminal.command();
        command.args(["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string(), "-c"]);
        command.arg(folder).args(["env", "-i", &home, &path]);
        // Those who print know how wide it is, and that it has colours.
        command.args(["TERM=xterm-256color", "LANG=C.UTF-8", "PS1=$ ", "sh"]);
        run(&mut command)?;
        terminal.wait(|lines| lines.last().is_some_and(|line| line.ends_with('$')))?;
        Ok(terminal)
    }

    /// Types a line, and gives what is there once this is so.
    pub(crate) fn see(
        &self,
        line: &str,
        is_there: impl Fn(&[String]) -> bool,
    ) -> Result<Vec<String>, String> {
        run(self.command().args(["send-keys", "-l", line]))?;
        run(self.command().args(["send-keys", "Enter"]))?;
        self.wait(is_there)
    }

    fn wait(&self, is_there: impl Fn(&[String]) -> bool) -> Result<Vec<String>, String> {
        let ends = Instant::now() + LIMIT;
        loop {
            let shown = run(self.command().args(["capture-pane", "-e", "-p"]))?;
            let mut lines: Vec<String> = shown.lines().map(str::to_owned).collect();
            while lines.last().is_some_and(|line| plain(line).is_empty()) {
                lines.pop();
            }
            let visible: Vec<String> = lines.iter().map(|line| plain(line)).collect();
            if is_there(&visible) {
                return Ok(lines);
            }
            if Instant::now() > ends {
                return Err(format!(
                    "it does not come; there is\n{}",
                    visible.join("\n")
                ));
            }
            thread::sleep(POLL);
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket]);
        command
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It fails only if there is none.
        let _ = run(self.command().arg("kill-server"));
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("tmux could not be started: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("tmux: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A line without its escape sequences, and without blanks at its end.
fn plain(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.filter_map(|part| part.split_once('m'));
    let text = rest.fold(first, |text, (_, part)| text + part);
    text.trim_end().to_owned()
}

const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(30);
