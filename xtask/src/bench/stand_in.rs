//! A server that has its answers from another one, and gives them at once.
//!
//! What a command needs at it is the command's own time: the start of the real server, which for
//! most is a virtual machine, is not in it. It is this very program, started once more.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

/// What is asked of a server, and how long all of it took.
pub(crate) struct Visit {
    /// The results by their methods.
    pub(crate) answers: Map<String, Value>,
    pub(crate) time: Duration,
}

/// Starts a server, asks what the command line asks at least, lets it end.
pub(crate) fn visit(words: &[String], requests: &[(&str, Value)]) -> Result<Visit, String> {
    let (program, arguments) = words.split_first().ok_or("no server")?;
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let asked = ask(&mut child, requests);
    // It has no more input now, and ends.
    let ended = child.wait();
    let time = started.elapsed();
    ended.map_err(|error| format!("{program}: {error}"))?;
    Ok(Visit {
        answers: asked.map_err(|error| format!("{program}: {error}"))?,
        time,
    })
}

fn ask(child: &mut Child, requests: &[(&str, Value)]) -> io::Result<Map<String, Value>> {
    let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut output = BufReader::new(output);
    let mut answers = Map::new();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "bare", "version": "1"}});
    let all = std::iter::once(("initialize", hello)).chain(requests.iter().cloned());
    for (id, (method, params)) in (1..).zip(all) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}")?;
        let mut line = String::new();
        loop {
            line.clear();
            if output.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer.get("id") == Some(&json!(id)) {
                let result = answer.get("result").cloned().unwrap_or_default();
                answers.insert(method.to_owned(), result);
                break;
            }
        }
        if method == "initialize" {
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            writeln!(input, "{ready}")?;
        }
    }
    Ok(answers)
}

/// Is the server, until its input ends. What it was not told of it does not know.
pub(crate) fn answer(file: &str) -> Result<(), String> {
    let text = fs::read_to_string(Path::new(file)).map_err(|error| format!("{file}: {error}"))?;
    let answers: Value = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let (Some(id), Some(method)) = (message.get("id"), message.get("method")) else {
            continue;
        };
        let known = method.as_str().and_then(|method| answers.get(method));
        let answer = match known {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": -32601, "message": "Method not found"}}),
        };
        let written = writeln!(out, "{answer}").and_then(|()| out.flush());
        written.map_err(|error| format!("standard output: {error}"))?;
    }
    Ok(())
}
