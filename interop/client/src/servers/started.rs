//! A server behind a URL, started for the time that it is needed.
//!
//! It is no business of the client under test, so it is started and ended by other means.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::catalog::Listens;
use crate::processes::VARIABLE;

/// A server that runs until this is dropped.
pub(crate) struct Started {
    child: Child,
    /// Where it serves.
    pub(crate) url: String,
}

impl Started {
    /// Starts it and waits until it serves.
    pub(crate) fn new(words: &[String], listens: Listens, mark: &str) -> Result<Self, String> {
        let (program, arguments) = words.split_first().ok_or("no program")?;
        let mut command = Command::new(program);
        command.args(arguments).env(VARIABLE, mark);
        own_group(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let port = free_port()?;
        command.env("PORT", port.to_string());
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{program} could not be started: {error}"))?;
        let place = match listens {
            Listens::Says => wait_for_line(&mut child),
            Listens::OnPort(path) => wait_for_port(port, path),
        };
        let url = match place {
            Ok(url) => url,
            Err(reason) => {
                end(&mut child);
                return Err(reason);
            }
        };
        Ok(Self { child, url })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;

    command.process_group(0);
}

#[cfg(not(unix))]
fn own_group(_command: &mut Command) {}

fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    // They fail only for one that has ended.
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = child.kill();
    let _ = child.wait();
}

/// It says on stderr where it is, and goes on to say things that must be read.
fn wait_for_line(child: &mut Child) -> Result<String, String> {
    let stderr = child.stderr.take().ok_or("no stderr")?;
    let (sender, told) = mpsc::channel();
    thread::spawn(move || {
        let mut before = String::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some(url) = line.strip_prefix(LISTENING) {
                // Nobody waits for a second place.
                let _ = sender.send(Ok(url.to_owned()));
            }
            before = line;
        }
        let _ = sender.send(Err(format!("it ended, and said last {before:?}")));
    });
    let place = told.recv_timeout(START);
    place.unwrap_or_else(|_| Err(format!("it did not say where it is within {START:?}")))
}

fn wait_for_port(port: u16, path: &str) -> Result<String, String> {
    let ends = Instant::now() + START;
    while Instant::now() < ends {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(format!("http://127.0.0.1:{port}{path}"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(format!("it does not listen on its port within {START:?}"))
}

/// A port that was free just now, for servers that cannot find one by themselves.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|error| format!("no port is free: {error}"))
}

const LISTENING: &str = "listening on ";
const START: Duration = Duration::from_secs(30);
