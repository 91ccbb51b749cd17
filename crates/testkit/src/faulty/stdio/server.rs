//! The honest server on its standard streams, and where a defect comes in.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::Value;

use super::{Defect, Kind, LIFETIME};
use crate::faulty::Role;
use crate::faulty::honest::{Honest, Reply, is_call};
use crate::faulty::message::{notification, text};

/// One server, in its own process.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) honest: Honest,
    /// All messages that came, for the tool `received`.
    pub(super) received: Vec<Value>,
    /// Requests that a kind keeps for later.
    pub(super) held: Vec<Value>,
    /// The id of the latest `subscriptions/listen`.
    pub(super) listening: Option<Value>,
    out: Out,
    cancelled: Arc<Mutex<Vec<Value>>>,
    defect: Defect,
    is_everywhere: bool,
}

impl Server {
    pub(super) fn new(kind: &'static Kind, role: &Role) -> Self {
        let line = match kind.defect {
            Defect::Line(write) => write,
            _ => Pipe::line,
        };
        // The shell that started this process put the real stdout there.
        let file = OpenOptions::new().write(true).open("/dev/fd/3");
        let pipe = Pipe(file.expect("a launch opens descriptor 3"));
        Self {
            honest: Honest::new(role.eras),
            received: Vec::new(),
            held: Vec::new(),
            listening: None,
            out: Out {
                pipe: Arc::new(Mutex::new(pipe)),
                line,
            },
            cancelled: Arc::default(),
            defect: kind.defect,
            is_everywhere: role.is_everywhere,
        }
    }

    /// Serves until the end of input.
    pub(super) fn run(mut self) {
        if let Defect::Start(act) = self.defect {
            act(&mut self);
        }
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if let Ok(message) = serde_json::from_str(&line) {
                self.take(message);
            }
        }
        if let Defect::End(act) = self.defect {
            act(&mut self);
        }
    }

    fn take(&mut self, message: Value) {
        let is_request = message.get("id").is_some() && message.get("method").is_some();
        match self.defect {
            Defect::Message(act) => act(self, &message),
            Defect::Opening(act) if is_opening(&message) => act(self, &message),
            Defect::Method(method, act) if message["method"] == method => act(self, &message),
            Defect::Call(act)
                if is_call(&message, "defect") || (self.is_everywhere && is_request) =>
            {
                act(self, &message);
            }
            _ => self.serve(&message),
        }
        self.received.push(message);
    }

    /// Does what an honest server does with a message.
    pub(super) fn serve(&mut self, message: &Value) {
        if is_call(message, "received") {
            let all = text(&Value::from(self.received.clone()).to_string());
            self.answer_with(message, all);
        } else if message["method"] == "notifications/cancelled" {
            let mut cancelled = lock(&self.cancelled);
            cancelled.push(message["params"]["requestId"].clone());
        } else {
            match self.honest.reply(message) {
                Reply::Now(answer) => self.send(&answer),
                Reply::Later(wait, answer) => {
                    let (out, cancelled) = (self.out.clone(), Arc::clone(&self.cancelled));
                    thread::spawn(move || {
                        thread::sleep(wait);
                        if !lock(&cancelled).contains(&answer["id"]) {
                            out.send(&answer);
                        }
                    });
                }
                Reply::Listening(notification) => {
                    self.listening = message.get("id").cloned();
                    self.send(&notification);
                }
                Reply::Nothing => {}
            }
        }
    }

    /// The honest answer, not sent.
    pub(super) fn answer(&self, request: &Value) -> Value {
        self.honest.answer(request)
    }

    /// Answers with another result; what the era adds to results is added.
    pub(super) fn answer_with(&self, request: &Value, result: Value) {
        let mut answer = self.answer(request);
        if answer.get("error").is_some() {
            answer = self.honest.answer(&as_honest(request));
        }
        if let (Some(to), Value::Object(from)) = (answer["result"].as_object_mut(), result) {
            to.extend(from);
        }
        self.send(&answer);
    }

    /// Writes a message as a line.
    pub(super) fn send(&self, message: &Value) {
        self.out.send(message);
    }

    /// Writes a notification.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.send(&notification(method, params.clone()));
    }

    /// Writes bytes as they are.
    pub(super) fn raw(&self, bytes: impl AsRef<[u8]>) {
        lock(&self.out.pipe).raw(bytes.as_ref());
    }

    /// Where to send from another thread.
    pub(super) fn out(&self) -> Out {
        self.out.clone()
    }

    /// Keeps a request; once so many have come as its argument `after` says, gives them all back.
    pub(super) fn hold(&mut self, request: &Value) -> Vec<Value> {
        self.held.push(request.clone());
        let wanted = request["params"]["arguments"]["after"].as_u64();
        if self.held.len() as u64 >= wanted.unwrap_or(1) {
            std::mem::take(&mut self.held)
        } else {
            Vec::new()
        }
    }
}

/// Where messages are written, also by threads that answer later.
#[derive(Clone, Debug)]
pub(super) struct Out {
    pipe: Arc<Mutex<Pipe>>,
    line: fn(&mut Pipe, &str),
}

impl Out {
    pub(super) fn send(&self, message: &Value) {
        (self.line)(&mut lock(&self.pipe), &message.to_string());
    }
}

/// The stream to the client. Without a client there is nothing left to do.
#[derive(Debug)]
pub(super) struct Pipe(File);

impl Pipe {
    pub(super) fn line(&mut self, text: &str) {
        self.raw(format!("{text}\n").as_bytes());
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        if self.0.write_all(bytes).is_err() {
            end(0);
        }
    }
}

/// Ends the process at once.
#[expect(clippy::exit, reason = "the harness would print behind the answers")]
pub(super) fn end(code: i32) -> ! {
    std::process::exit(code)
}

/// Becomes this shell script: closing descriptors and dying of signals needs `unsafe` here.
pub(super) fn become_script(script: &str) -> ! {
    let error = Command::new("sh").args(["-c", script]).exec();
    panic!("no shell: {error}")
}

/// Does nothing for the rest of the process's life, which may end by a signal before.
pub(super) fn idle() -> ! {
    thread::sleep(LIFETIME);
    end(0)
}

/// Writes to stderr; it does not matter if nobody reads it.
pub(super) fn complain(bytes: impl AsRef<[u8]>) {
    let _ = std::io::stderr().write_all(bytes.as_ref());
}

fn is_opening(message: &Value) -> bool {
    message["method"] == "server/discover" || message["method"] == "initialize"
}

/// A call of a tool that the honest server does not know, as one that it knows.
fn as_honest(request: &Value) -> Value {
    let mut request = request.clone();
    request["params"]["name"] = "defect".into();
    request
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
