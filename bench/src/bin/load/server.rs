//! The server as a process: what it used, what it holds, and its end.

use std::fs;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

/// A server that runs until this is dropped.
pub struct Server {
    child: Child,
    clock: ClockId,
}

impl Server {
    /// Starts it with pipes.
    pub fn on_stdio(command: &[String]) -> Result<(Self, ChildStdin, ChildStdout), String> {
        let mut server = Self::start(command, Stdio::piped)?;
        let pipes = server.child.stdin.take().zip(server.child.stdout.take());
        let (input, output) = pipes.ok_or("the server has no pipes")?;
        Ok((server, input, output))
    }

    /// Starts it with nothing to read or write.
    pub fn on_http(command: &[String]) -> Result<Self, String> {
        Self::start(command, Stdio::null)
    }

    fn start(command: &[String], pipe: impl Fn() -> Stdio) -> Result<Self, String> {
        let [program, arguments @ ..] = command else {
            return Err("no command".to_owned());
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(pipe())
            .stdout(pipe())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let clock = i32::try_from(child.id())
            .map_err(|error| error.to_string())
            .and_then(|id| clock_getcpuclockid(Pid::from_raw(id)).map_err(|e| e.to_string()));
        match clock {
            Ok(clock) => Ok(Self { child, clock }),
            Err(reason) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("the CPU clock of {program}: {reason}"))
            }
        }
    }

    /// The time that all its threads have run, also those that have ended.
    pub fn cpu(&self) -> Result<Duration, String> {
        let now = self.clock.now();
        now.map(Duration::from)
            .map_err(|e| format!("the server's CPU clock: {e}"))
    }

    /// The memory it has in use.
    pub fn resident_bytes(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/smaps_rollup", self.child.id());
        let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok())
            .map(|kib| kib * 1024.0)
            .ok_or_else(|| format!("{path} says no Rss"))
    }

    /// Waits until it ends by itself, as it should when its input has ended.
    pub fn wait(mut self) -> Result<(), String> {
        let ends = Instant::now() + PATIENCE;
        while Instant::now() < ends {
            match self.child.try_wait() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!(
            "the server did not end within {} s",
            PATIENCE.as_secs()
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Long enough for one that runs under valgrind and writes its counts.
const PATIENCE: Duration = Duration::from_secs(20);
