//! The gateway as it is run: a process of its own, that finds its files in one folder only.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::proc;

/// A gateway over HTTP. It is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    /// What lets us see its numbers.
    key: String,
    child: Child,
}

impl Gateway {
    /// Starts one, and waits until it answers. Its configuration is `mcp.json` in the folder.
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        key: &str,
        options: &[&str],
    ) -> Result<Self, String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let log = OpenOptions::new()
            .append(true)
            .create(true)
            .open(folder.join("gateway.log"));
        let log = log.map_err(|error| error.to_string())?;
        let mut command = command(program, folder);
        command.arg("serve").arg("--http").arg(address.to_string());
        command.args(options);
        command.arg("--config").arg(config(folder));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let gateway = Self {
            address,
            key: key.to_owned(),
            child,
        };
        wait_for("the gateway", START, || gateway.page("/healthz").is_ok())?;
        Ok(gateway)
    }

    pub(crate) fn id(&self) -> i32 {
        self.child.id() as i32
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// A number of its own, summed over its labels.
    pub(crate) fn number(&self, name: &str) -> f64 {
        let Ok(page) = self.page("/metrics") else {
            return f64::NAN;
        };
        let lines = page.lines().filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
        });
        lines
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
            .sum()
    }

    /// Has it end, and says how it did and what it left behind.
    pub(crate) fn close(&mut self, patience: Duration) -> Result<(), String> {
        let before = proc::descendants(self.id());
        proc::signal(self.id(), rustix::process::Signal::TERM);
        let until = Instant::now() + patience;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
                _ => return Err("the gateway did not end when it was told to".to_owned()),
            }
        };
        if !status.success() {
            return Err(format!("the gateway ended with {status}"));
        }
        let left: Vec<String> = before
            .iter()
            .filter(|found| proc::is_alive(found.id))
            .map(|found| found.words.join(" "))
            .collect();
        match left.is_empty() {
            true => Ok(()),
            false => Err(format!("it left processes behind: {}", left.join("; "))),
        }
    }

    fn page(&self, path: &str) -> Result<String, String> {
        let asked = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
                 connection: close\r\n\r\n",
                self.address, self.key
            )?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let text = asked().map_err(|error| format!("{path}: {error}"))?;
        match text.starts_with("HTTP/1.1 200") {
            true => Ok(text),
            false => Err(format!(
                "{path}: {}",
                text.lines().next().unwrap_or_default()
            )),
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Only if it was not closed.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The program, so that it finds its files in this folder only.
pub(crate) fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("XDG_RUNTIME_DIR", folder);
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    command.env("XDG_CONFIG_HOME", folder.join("config"));
    command.env("XDG_DATA_HOME", folder.join("data"));
    command
}

/// The file with the servers.
pub(crate) fn config(folder: &Path) -> PathBuf {
    folder.join("mcp.json")
}

pub(crate) fn wait_for(
    what: &str,
    limit: Duration,
    is_there: impl Fn() -> bool,
) -> Result<(), String> {
    let until = Instant::now() + limit;
    while !is_there() {
        if Instant::now() > until {
            return Err(format!("{what} did not start"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|error| error.to_string())
}

pub(crate) const START: Duration = Duration::from_secs(30);
