//! A host that is killed while five servers run, each started by `npx`: nothing survives it.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use switchboard_client::{Client, NoHost, Spec};

use crate::places::Places;
use crate::processes::{self, VARIABLE};
use crate::report::{self, Report};

/// Starts a host, waits until its servers run, kills it, and counts.
pub(crate) async fn check(name: &str, places: &Places, report: &mut Report) {
    let mark = processes::new_mark();
    report.check(name, kill(name, places, &mark));
    // Whatever is left must not stay for that.
    for left in processes::left(&mark).unwrap_or_default() {
        let id = left.split(' ').next().unwrap_or_default();
        let _ = Command::new("kill").args(["-KILL", id]).status();
    }
}

fn kill(name: &str, places: &Places, mark: &str) -> Result<(), String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut host = Command::new(program)
        .args(["--hold", mark, "--node"])
        .arg(&places.node)
        .arg("--scratch")
        .arg(&places.scratch)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the host could not be started: {error}"))?;
    let mut said = String::new();
    if let Some(stdout) = host.stdout.take() {
        // It ends the line when all servers answer, or when it gives up.
        BufReader::new(stdout)
            .read_line(&mut said)
            .map_err(|error| error.to_string())?;
    }
    let before = processes::left(mark)?.len();
    // SIGKILL, and to the host alone.
    let killed = host.kill().and_then(|()| host.wait());
    killed.map_err(|error| error.to_string())?;
    let begun = Instant::now();
    if said.trim() != HOLDING {
        return Err(format!("the host said {said:?}"));
    }
    if before < SERVERS.len() {
        return Err(format!("only {before} processes ran"));
    }
    loop {
        let left = processes::left(mark)?;
        if left.is_empty() {
            report::line(&format!(
                "{name}: {before} processes before, 0 after {:.1} s",
                begun.elapsed().as_secs_f64()
            ));
            return Ok(());
        }
        if begun.elapsed() > SURVIVAL {
            return Err(format!(
                "of {before} processes {} survive: {}",
                left.len(),
                left.join(", ")
            ));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Is the host: starts the servers, says so, and waits for its end.
pub(crate) async fn hold(places: &Places, mark: &str) {
    let mut clients = Vec::new();
    for (package, argument) in SERVERS {
        let spec = Spec::command("npx")
            .args(["--offline", "--no-install", package])
            .args(argument.map(|argument| argument.to_owned()))
            .env(VARIABLE, mark)
            .cwd(&places.node);
        clients.push((package, Client::start(spec, NoHost)));
    }
    for (package, client) in &clients {
        if let Err(error) = client.tools().await {
            return report::line(&format!("{package}: {error}"));
        }
    }
    report::line(HOLDING);
    std::future::pending().await
}

pub(crate) const NAME: &str = "kill -9 of a host with 5 servers of npx";
pub(crate) const HOLDING: &str = "holding";
pub(crate) const SERVERS: [(&str, Option<&str>); 5] = [
    ("@modelcontextprotocol/server-everything", None),
    ("@modelcontextprotocol/server-filesystem", Some(".")),
    ("@modelcontextprotocol/server-memory", None),
    ("@modelcontextprotocol/server-sequential-thinking", None),
    ("@modelcontextprotocol/server-github", None),
];
/// Servers may end by themselves within their patience before they are made to.
const SURVIVAL: Duration = Duration::from_secs(10);
