//! A client that does what it is told, as `interop/gateway/driver.mjs` describes, and what it has said.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process;

pub(super) struct Driven {
    /// What it calls itself, to servers too.
    pub(super) name: String,
    /// The era that it speaks with the gateway.
    pub(super) era: &'static str,
    child: Child,
    orders: Mutex<(ChildStdin, u64)>,
    said: Arc<Said>,
}

/// What a client has said so far.
#[derive(Default)]
struct Said {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    answers: HashMap<u64, Value>,
    events: Vec<Value>,
    has_ended: bool,
}

impl Driven {
    /// Starts a client and waits until it is connected. What it says beside goes into the log.
    pub(super) fn start(
        name: &str,
        era: &'static str,
        command: &mut Command,
        log: &Path,
    ) -> Result<Self, String> {
        let log = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        process::own_group(command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{name} could not be started: {error}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{name} has no pipes"));
        };
        let said = Arc::new(Said::default());
        let hears = Arc::clone(&said);
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Whatever is not ours is of no interest.
                if let Ok(line) = serde_json::from_str(&line) {
                    hears.take(line);
                }
            }
            hears.state().has_ended = true;
            hears.more.notify_all();
        });
        Ok(Self {
            name: name.to_owned(),
            era,
            child,
            orders: Mutex::new((stdin, 0)),
            said,
        })
    }

    /// The revision that it speaks, once it is connected.
    pub(super) fn revision(&self) -> Result<String, String> {
        let opened = self.answer(0)?;
        let revision = opened["revision"].as_str().unwrap_or_default();
        Ok(revision.to_owned())
    }

    /// Gives an order and does not wait for what comes of it.
    pub(super) fn begin(&self, mut order: Value) -> Result<u64, String> {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.1 += 1;
        let id = orders.1;
        order["id"] = json!(id);
        writeln!(orders.0, "{order}").map_err(|error| format!("it takes no order: {error}"))?;
        Ok(id)
    }

    /// What came of an order.
    pub(super) fn answer(&self, id: u64) -> Result<Value, String> {
        let answer = self.said.wait(|state| state.answers.get(&id).cloned())?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(format!("error: {}", answer["error"])),
        }
    }

    pub(super) fn order(&self, order: Value) -> Result<Value, String> {
        self.answer(self.begin(order)?)
    }

    pub(super) fn call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        self.order(json!({"do": "call", "tool": tool, "arguments": arguments}))
    }

    /// How much was heard so far, for [`Driven::hears`] and [`Driven::heard`].
    pub(super) fn now(&self) -> usize {
        self.said.state().events.len()
    }

    /// What was heard since then.
    pub(super) fn heard(&self, since: usize) -> Vec<Value> {
        let state = self.said.state();
        state.events.get(since..).unwrap_or_default().to_vec()
    }

    /// Waits until something fitting has been heard.
    pub(super) fn hears(
        &self,
        since: usize,
        what: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Value, String> {
        let heard = self.said.wait(|state| {
            let events = state.events.get(since..).unwrap_or_default();
            events.iter().find(|event| fits(event)).cloned()
        });
        heard.map_err(|reason| format!("no {what}: {reason}"))
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        process::kill_group(&mut self.child);
    }
}

impl Said {
    fn take(&self, line: Value) {
        let mut state = self.state();
        match line.get("id").and_then(Value::as_u64) {
            // The first word about an order is what came of it.
            Some(id) => drop(state.answers.entry(id).or_insert(line)),
            None => state.events.push(line),
        }
        drop(state);
        self.more.notify_all();
    }

    fn wait<T>(&self, mut find: impl FnMut(&State) -> Option<T>) -> Result<T, String> {
        let ends = Instant::now() + PATIENCE;
        let mut state = self.state();
        loop {
            if let Some(found) = find(&state) {
                return Ok(found);
            }
            if state.has_ended {
                return Err("the client has ended".to_owned());
            }
            let left = ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("nothing within {} s", PATIENCE.as_secs()));
            }
            let waited = self.more.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
