//! Runs what a transcript says, in a folder of its own, and compares what comes of it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::interop::cli::transcript::{
    Expected, Names, Step, Then, Transcript, expand, fits, shorten, words,
};
use crate::process;

/// Where a transcript is played.
pub(super) struct Stage {
    folder: PathBuf,
    /// What is run when `switchboard` is typed.
    program: PathBuf,
    names: Names,
    /// Programs that go on behind the steps, the last one last.
    behind: Vec<(Running, Seen)>,
}

/// How many lines of each stream have been compared.
type Seen = (usize, usize);

impl Stage {
    /// `names` are those that transcripts know from the start.
    pub(super) fn new(folder: PathBuf, program: PathBuf, mut names: Names) -> Self {
        names.insert("HERE".to_owned(), folder.display().to_string());
        Self {
            folder,
            program,
            names,
            behind: Vec::new(),
        }
    }

    /// Writes a file, with names in it replaced.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(name);
        let parent = path.parent().unwrap_or(&self.folder);
        let made = fs::create_dir_all(parent);
        let written = made.and_then(|()| fs::write(&path, expand(text, &self.names)));
        written.map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// Plays all of it; the first thing that is not as expected ends it.
    pub(super) fn play(&mut self, transcript: &Transcript) -> Result<(), String> {
        for step in &transcript.steps {
            let played = self.step(step);
            played.map_err(|reason| format!("line {}: {}\n{reason}", step.line, step.command))?;
        }
        match self.behind.is_empty() {
            true => Ok(()),
            false => Err("something still runs behind it; `$ fg` is missing".to_owned()),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let typed: Vec<String> = words(&step.command)
            .iter()
            .map(|word| expand(word, &self.names))
            .collect();
        let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
        let (mut running, seen) = match *typed {
            ["write", name] => {
                return self.write(name, step.input.as_deref().unwrap_or_default());
            }
            ["fg"] => self.behind.pop().ok_or("nothing runs behind it")?,
            _ => (self.start(&typed, step)?, (0, 0)),
        };
        let Some(then) = step.then else {
            // Some end with their input.
            drop(running.input.take());
            return self.end(&mut running, seen, step);
        };
        let ready = self.wait_for(&mut running, seen, &step.first)?;
        match then {
            Then::Meanwhile => {
                self.behind.push((running, ready));
                Ok(())
            }
            Then::Interrupt => {
                running.interrupt()?;
                self.end(&mut running, ready, step)
            }
        }
    }

    fn start(&self, typed: &[&str], step: &Step) -> Result<Running, String> {
        let (program, arguments) = typed.split_first().ok_or("nothing is typed")?;
        let program = match *program {
            "switchboard" => self.program.as_path(),
            other => Path::new(other),
        };
        let mut command = Command::new(program);
        let home = self.folder.join("home");
        command.args(arguments).current_dir(&self.folder);
        command.env_clear().env("HOME", home);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        // The file of the stage is ours.
        command.env("SWITCHBOARD_TRUST", "1");
        // One that is given nothing to read gets its end at once, unless it is to go on.
        let input = match (&step.input, step.then) {
            (None, Some(Then::Interrupt) | None) => None,
            (input, _) => Some(expand(input.as_deref().unwrap_or_default(), &self.names)),
        };
        Running::start(&mut command, input.as_deref())
    }

    /// Waits for these lines; how many there are of each stream then.
    fn wait_for(
        &mut self,
        running: &mut Running,
        seen: Seen,
        expected: &Expected,
    ) -> Result<Seen, String> {
        let ends = Instant::now() + LIMIT;
        loop {
            let is_over = running.is_over();
            let (out, err) = self.read(running, seen);
            let found = fits(&expected.out, &out, false).zip(fits(&expected.err, &err, false));
            if let Some(((outs, names), (errs, more))) = found {
                self.learn(names);
                self.learn(more);
                return Ok((seen.0 + outs, seen.1 + errs));
            }
            if is_over || Instant::now() > ends {
                running.kill();
                let ended = if is_over {
                    "it ended"
                } else {
                    "nothing more came"
                };
                return Err(format!("{ended}\n{}", differ(expected, &out, &err)));
            }
            thread::sleep(POLL);
        }
    }

    /// Waits for the end, and compares what came.
    fn end(&mut self, running: &mut Running, seen: Seen, step: &Step) -> Result<(), String> {
        let ends = Instant::now() + LIMIT;
        while !running.is_over() {
            if Instant::now() > ends {
                running.kill();
                let (out, err) = self.read(running, seen);
                let shown = differ(&step.first, &out, &err);
                return Err(format!("it did not end within {LIMIT:?}\n{shown}"));
            }
            thread::sleep(POLL);
        }
        let code = running.finish();
        let (out, err) = self.read(running, seen);
        let expected = match step.then {
            Some(_) => &step.rest,
            None => &step.first,
        };
        let found = fits(&expected.out, &out, true).zip(fits(&expected.err, &err, true));
        match found {
            Some(((_, names), (_, more))) if code == step.code => {
                self.learn(names);
                self.learn(more);
                Ok(())
            }
            _ => Err(format!(
                "it ended with {code}, expected {}\n{}",
                step.code,
                differ(expected, &out, &err)
            )),
        }
    }

    /// What came since, as transcripts write it.
    fn read(&self, running: &Running, seen: Seen) -> (Vec<String>, Vec<String>) {
        let lines = |lines: &Lines, seen: usize| -> Vec<String> {
            let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            let fresh = lines.iter().skip(seen);
            fresh.map(|line| shorten(line, &self.names)).collect()
        };
        let mut out = lines(&running.out, seen.0);
        while out.last().is_some_and(String::is_empty) {
            out.pop();
        }
        (out, lines(&running.err, seen.1))
    }

    fn learn(&mut self, names: Names) {
        for (name, found) in names {
            let found = expand(&found, &self.names);
            self.names.insert(name, found);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for (running, _) in &mut self.behind {
            running.kill();
        }
    }
}

type Lines = Arc<Mutex<Vec<String>>>;

/// A program that was started, and what it has said so far.
struct Running {
    child: Child,
    input: Option<ChildStdin>,
    out: Lines,
    err: Lines,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    fn start(command: &mut Command, input: Option<&str>) -> Result<Self, String> {
        process::own_group(command);
        let stdin = match input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| format!("it could not be started: {error}"))?;
        let mut stdin = child.stdin.take();
        if let (Some(stdin), Some(input)) = (&mut stdin, input) {
            // One that does not read it is none the worse.
            let _ = stdin.write_all(input.as_bytes());
        }
        let (out, err) = (Lines::default(), Lines::default());
        let mut readers = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            readers.push(reader(stdout, &out));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.push(reader(stderr, &err));
        }
        Ok(Self {
            child,
            input: stdin,
            out,
            err,
            readers,
        })
    }

    fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// As by Ctrl-C. The standard library can only kill.
    ///
    /// What we run behind a shell's back may have been told to ignore it, and tells its children;
    /// one that does so is killed, which no transcript of ours expects of a program of ours.
    fn interrupt(&mut self) -> Result<(), String> {
        let status = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        match status {
            Ok(status) if status.success() => {}
            _ => return Err("it could not be interrupted".to_owned()),
        }
        let ends = Instant::now() + PATIENCE;
        while !self.is_over() {
            if Instant::now() > ends {
                self.kill();
                break;
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// The number that it ended with. Everything that it said has been read then.
    fn finish(&mut self) -> i32 {
        let status = self.child.wait();
        for reader in self.readers.drain(..) {
            // One that it left behind may hold the pipe.
            let ends = Instant::now() + GRACE;
            while !reader.is_finished() && Instant::now() < ends {
                thread::sleep(POLL);
            }
        }
        process::kill_group(&mut self.child);
        status.ok().and_then(|status| status.code()).unwrap_or(-1)
    }

    fn kill(&mut self) {
        process::kill_group(&mut self.child);
    }
}

fn reader(pipe: impl Read + Send + 'static, lines: &Lines) -> JoinHandle<()> {
    let lines = Arc::clone(lines);
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while let Ok(1..) = pipe.read_until(b'\n', &mut bytes) {
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim_end_matches(['\n', '\r']).to_owned();
            lines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(line);
            bytes.clear();
        }
    })
}

/// What was expected and what came, as transcripts write it.
fn differ(expected: &Expected, out: &[String], err: &[String]) -> String {
    let shown = |out: &[String], err: &[String]| {
        let out = out.iter().map(|line| format!("    {line}\n"));
        let err = err.iter().map(|line| format!("    ! {line}\n"));
        out.chain(err).collect::<String>()
    };
    format!(
        "  expected\n{}  came\n{}",
        shown(&expected.out, &expected.err),
        shown(out, err)
    )
}

/// The slowest of them, a server in Python, takes three seconds to start on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);
/// How long a program has to end once it is interrupted.
const PATIENCE: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_secs(2);
