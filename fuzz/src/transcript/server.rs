//! A transcript of a server machine.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};
use switchboard_protocol::jsonrpc::{
    Frame, Limits, Malformed, Message, MethodName, Notification, RequestId, Response,
};
use switchboard_protocol::machine::server::{
    Answer, AskKey, Change, Input, Output, ServeKey, ServerConfig, ServerMachine, ServerState,
};
use switchboard_protocol::machine::{Lane, Wire};
use switchboard_protocol::types::Implementation;
use switchboard_protocol::{Method, Revision};

use super::{Line, MOST_OUTPUTS, Script, Stage, bytes, check_readable, duration, error, payload};

pub(super) fn play(script: &Script<'_>) {
    let config = config(script);
    let revision = script.config.get("sessionless").and_then(Value::as_str);
    let machine = match revision.and_then(|revision| revision.parse().ok()) {
        Some(revision) => ServerMachine::sessionless(config, revision),
        None => ServerMachine::new(config),
    };
    let mut stage = Played {
        machine,
        now: Instant::now(),
        served: Vec::new(),
        open: Vec::new(),
        asks: Vec::new(),
        owed: BTreeMap::new(),
        is_over: false,
    };
    for line in &script.lines {
        if line.who == "wait" {
            stage.wait(duration(line.what).unwrap_or_default());
        } else if let Some(input) = stage.input(line) {
            stage.handle(input);
        }
    }
    stage.handle(Input::Close);
    assert!(stage.is_over);
    assert_eq!(stage.machine.state(), ServerState::Shutdown);
    assert_eq!(
        (stage.machine.open_calls(), stage.machine.open_questions()),
        (0, 0)
    );
    assert_eq!(stage.machine.deadline(), None);
}

fn config(script: &Script<'_>) -> ServerConfig {
    let all = json!({
        "tools": { "listChanged": true }, "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "completions": {}, "logging": {},
        "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } },
        "extensions": { "io.modelcontextprotocol/tasks": {} },
    });
    let wanted = script.config.get("capabilities").unwrap_or(&all);
    let capabilities = serde_json::from_value(wanted.clone()).unwrap_or_default();
    let mut config = ServerConfig::new(Implementation::new("switchboard", "1"), capabilities);
    if script.is_http {
        config.wire = Wire::Http;
    }
    config.max_calls = script.number("max_calls", 16);
    config.max_subscriptions = script.number("max_subscriptions", 16);
    config.max_rounds = script.number("max_rounds", 10) as u32;
    config.handler_timeout = script.duration("handler_timeout");
    config.ask_timeout = script.duration("ask_timeout").unwrap_or(config.ask_timeout);
    let revisions = script.config.get("revisions").and_then(Value::as_array);
    let revisions: Option<Vec<Revision>> = revisions.map(|revisions| {
        let texts = revisions.iter().filter_map(Value::as_str);
        texts.filter_map(|text| text.parse().ok()).collect()
    });
    if let Some(revisions) = revisions.filter(|revisions| !revisions.is_empty()) {
        config.revisions = revisions;
    }
    config
}

struct Played {
    machine: ServerMachine,
    now: Instant,
    /// Calls in the order in which they were served: a, b, c …
    served: Vec<ServeKey>,
    /// Those of them that have no answer and were not stopped, and whether they wait for input.
    open: Vec<(ServeKey, bool)>,
    /// Questions without a reply.
    asks: Vec<u64>,
    /// Answers that are owed, by id; those without an id under the empty text.
    owed: BTreeMap<String, usize>,
    is_over: bool,
}

impl Stage for Played {
    fn now(&mut self) -> &mut Instant {
        &mut self.now
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.deadline()
    }

    fn tick(&mut self) {
        self.handle(Input::Tick);
    }
}

impl Played {
    fn input(&mut self, line: &Line<'_>) -> Option<Input> {
        let (first, second, third) = line.words();
        Some(match line.who {
            "client" => {
                let frame = Frame::read(&bytes(line.what), &Limits::default());
                self.note_received(&frame);
                Input::Received {
                    lane: Lane(line.lane),
                    frame,
                }
            }
            "answer" | "error" | "need" => {
                let key = self.key(first)?;
                let answer = match line.who {
                    "error" => Answer::Error(error(line.rest())),
                    "need" => Answer::InputRequired(payload(line.rest())?),
                    _ => Answer::Result(payload(line.rest())?),
                };
                match &answer {
                    Answer::InputRequired(_) => {
                        let mut open = self.open.iter_mut();
                        open.find(|open| open.0 == key)
                            .into_iter()
                            .for_each(|open| open.1 = true);
                    }
                    // While it waits for input no handler is at it who could answer.
                    _ => self.open.retain(|open| open.0 != key || open.1),
                }
                Input::Answered { key, answer }
            }
            "ask" => {
                let (method, params) = third.split_once(' ').unwrap_or((third, "{}"));
                let method = Method::from_name(method)?;
                let key = self.key(first);
                let ask = self.asks.len() as u64;
                self.asks.push(ask);
                Input::Ask {
                    key,
                    ask: AskKey(ask),
                    method,
                    params: payload(params),
                }
            }
            "progress" => Input::Progress {
                key: self.key(first)?,
                params: payload(line.rest())?,
            },
            "log" => Input::Log {
                key: self.key(first),
                level: serde_json::from_value(json!(second)).ok()?,
                params: payload(third)?,
            },
            "changed" => Input::Changed(match first {
                "tools" => Change::Tools,
                "prompts" => Change::Prompts,
                "resources" => Change::Resources,
                "task" => Change::Task {
                    id: second.to_owned(),
                    params: payload(third)?,
                },
                _ => Change::Resource {
                    uri: second.to_owned(),
                },
            }),
            "notify" => Input::Notify {
                key: self.key(first),
                notification: Notification::new(MethodName::new(second), payload(third)),
            },
            "lane_closed" => Input::LaneClosed {
                lane: Lane(first.parse().ok()?),
            },
            "eof" => Input::PeerClosed,
            "close" => Input::Close,
            // What the machine is expected to say.
            _ => return None,
        })
    }

    /// The call of a letter, whether its handler still works or not.
    fn key(&self, name: &str) -> Option<ServeKey> {
        let letter = name.bytes().next()?.checked_sub(b'a')?;
        self.served.get(usize::from(letter)).copied()
    }

    /// What may be answered, once each.
    fn note_received(&mut self, frame: &Result<Frame, Malformed>) {
        let mut owe = |id: Option<&RequestId>| {
            let id = id.map_or_else(String::new, RequestId::to_string);
            *self.owed.entry(id).or_default() += 1;
        };
        let mut entry = |entry: Result<&Message, &Malformed>| match entry {
            Ok(Message::Request(request)) => {
                owe(Some(&request.id));
                // An id that is in flight is not named again.
                owe(None);
            }
            Ok(_) => {}
            Err(malformed) => {
                owe(malformed.id.as_ref());
                owe(None);
            }
        };
        match frame {
            Ok(Frame::Single(message)) => entry(Ok(message)),
            Ok(Frame::Batch(entries)) => {
                entries.iter().for_each(|message| entry(message.as_ref()));
                owe(None);
            }
            Err(malformed) => entry(Err(malformed)),
        }
    }

    fn handle(&mut self, input: Input) {
        let mut out = Vec::new();
        let was_over = self.is_over;
        self.machine.handle(self.now, input, &mut out);
        assert!(out.len() <= MOST_OUTPUTS, "{} outputs", out.len());
        for output in out {
            self.check(output, was_over);
        }
    }

    fn check(&mut self, output: Output, was_over: bool) {
        match output {
            Output::Serve(serve) => {
                assert!(!was_over, "served after the end");
                if !self.served.contains(&serve.key) {
                    self.served.push(serve.key);
                }
                match self.open.iter_mut().find(|open| open.0 == serve.key) {
                    Some((_, waits)) => assert!(std::mem::take(waits), "served twice"),
                    None => self.open.push((serve.key, false)),
                }
            }
            Output::Stop { key } => {
                let at = self.open.iter().position(|open| open.0 == key);
                let at = at.unwrap_or_else(|| panic!("{key:?} does not work"));
                self.open.swap_remove(at);
            }
            Output::Reply { ask, .. } => {
                let open = self.asks.get_mut(ask.0 as usize);
                let open = open.expect("an answer to nothing");
                assert_ne!(*open, u64::MAX, "a second answer to {ask:?}");
                *open = u64::MAX;
            }
            Output::Send { message, .. } => {
                check_readable(&message);
                if let Message::Response(response) = &message {
                    self.settle(response);
                }
            }
            Output::SendBatch { responses, .. } => {
                assert!(!responses.is_empty(), "an answer with nothing in it");
                for response in responses {
                    self.settle(&response);
                    check_readable(&Message::from(response));
                }
            }
            Output::ShutDown => {
                assert!(!self.is_over, "over twice");
                self.is_over = true;
            }
            _ => {}
        }
    }

    fn settle(&mut self, response: &Response) {
        let id = response.id.as_ref();
        let id = id.map_or_else(String::new, RequestId::to_string);
        let owed = self.owed.get_mut(&id).filter(|owed| **owed > 0);
        let owed = owed.unwrap_or_else(|| panic!("{id:?} is answered once more"));
        *owed -= 1;
    }
}
