//! A script of `interop/` that runs beside us and says where it is.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// It runs until this is dropped.
pub(crate) struct Script {
    child: Child,
    pub(crate) url: String,
}

impl Script {
    /// Starts a script and waits until it says where it is. What else it says goes to a file.
    pub(crate) fn start(
        python: &Path,
        script: &Path,
        arguments: &[&str],
        log: &Path,
    ) -> Result<Self, String> {
        let file = File::create(log);
        let file = file.map_err(|error| format!("{} cannot be made: {error}", log.display()))?;
        let mut command = Command::new(python.join("python"));
        command
            .arg(script)
            .args(arguments)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file);
        let child = command.spawn();
        let mut started = Self {
            child: child.map_err(|error| format!("python could not be started: {error}"))?,
            url: String::new(),
        };
        let mut line = String::new();
        let stdout = started.child.stdout.take().ok_or("no stdout")?;
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(|error| format!("it says nothing: {error}"))?;
        let said: Option<Value> = serde_json::from_str(&line).ok();
        let url = said.as_ref().and_then(|said| said["url"].as_str());
        started.url = url
            .ok_or_else(|| format!("it does not say where it is; see {}", log.display()))?
            .to_owned();
        Ok(started)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // It ends with its input, and this is for the case that it does not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
