//! A transcript of a client machine.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};
use switchboard_protocol::Era;
use switchboard_protocol::jsonrpc::{Frame, Limits, Message, MethodName, Notification};
use switchboard_protocol::machine::client::{
    CallKey, CallRequest, ClientConfig, ClientMachine, ClientState, Input, LaneEnd, Mode, Output,
    QuestionKey, Timeouts,
};
use switchboard_protocol::machine::{Lane, Wire};
use switchboard_protocol::types::Implementation;

use super::{
    Line, MOST_OUTPUTS, Names, Script, Stage, bytes, check_readable, duration, error, payload,
};

pub(super) fn play(script: &Script<'_>) {
    let mut stage = Played {
        machine: ClientMachine::new(config(script)),
        now: Instant::now(),
        names: Names::default(),
        open: BTreeMap::new(),
        last_id: 0,
    };
    for line in &script.lines {
        if line.who == "wait" {
            stage.wait(duration(line.what).unwrap_or_default());
        } else if let Some(input) = stage.input(line) {
            stage.handle(input);
        }
    }
    stage.handle(Input::Close);
    assert_eq!(*stage.machine.state(), ClientState::Closed);
    assert!(
        stage.open.values().all(|open| *open == 0),
        "{:?}",
        stage.open
    );
    assert_eq!(stage.machine.open_questions(), 0);
    assert_eq!(stage.machine.deadline(), None);
}

fn config(script: &Script<'_>) -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("switchboard", "1"));
    let all = json!({
        "roots": { "listChanged": true }, "sampling": { "tools": {} },
        "elicitation": { "form": {}, "url": {} },
    });
    let wanted = script.config.get("capabilities").unwrap_or(&all);
    config.capabilities = serde_json::from_value(wanted.clone()).unwrap_or_default();
    if script.is_http {
        config.wire = Wire::Http;
    }
    config.mode = match script.config.get("mode").and_then(Value::as_str) {
        Some("legacy") => Mode::Legacy,
        Some(revision) => revision.parse().map_or(Mode::Auto, Mode::Pinned),
        None => Mode::Auto,
    };
    if script.config.contains_key("remembered") {
        config.remembered = Some(Era::Handshake);
    }
    config.max_calls = script.number("max_calls", 16);
    config.max_questions = script.number("max_questions", 16);
    config.max_rounds = script.number("max_rounds", 10) as u32;
    config
}

struct Played<'a> {
    machine: ClientMachine,
    now: Instant,
    names: Names<'a>,
    /// How often each key was begun and has no outcome.
    open: BTreeMap<u64, usize>,
    last_id: i64,
}

impl Stage for Played<'_> {
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

impl<'a> Played<'a> {
    fn input(&mut self, line: &Line<'a>) -> Option<Input> {
        let (first, second, third) = line.words();
        Some(match line.who {
            "open" => Input::Opened,
            "server" => Input::Received {
                lane: Lane(line.lane),
                frame: Frame::read(&bytes(line.what), &Limits::default()),
            },
            "call" => Input::Call(self.call(line)),
            "listen" => Input::Listen {
                key: self.begin(first),
                filter: serde_json::from_str(line.rest()).unwrap_or_default(),
            },
            "set_level" => {
                let level = serde_json::from_value(json!(second)).ok()?;
                let key = self.begin(first);
                Input::SetLogLevel { key, level }
            }
            "notify" => Input::Notify(Notification::new(
                MethodName::new(first),
                payload(line.rest()),
            )),
            "cancel" => Input::Cancel {
                key: CallKey(self.names.key(first)),
                reason: (!second.is_empty()).then(|| second.to_owned()),
            },
            "answer" => Input::Answer {
                question: QuestionKey(first.parse().ok()?),
                outcome: Ok(payload(line.rest())?),
            },
            "refuse" => Input::Answer {
                question: QuestionKey(first.parse().ok()?),
                outcome: Err(error(line.rest())),
            },
            "lane_closed" => Input::LaneClosed {
                lane: Lane(first.parse().ok()?),
                end: match second.parse() {
                    Ok(status) => LaneEnd::Refused {
                        status,
                        error: (!third.is_empty()).then(|| error(third)),
                    },
                    Err(_) if second == "session" => LaneEnd::SessionLost,
                    Err(_) => LaneEnd::Broken(second.to_owned()),
                },
            },
            "session_lost" => Input::SessionLost,
            "exit" => Input::PeerClosed {
                reason: line.what.to_owned(),
            },
            "close" => Input::Close,
            // What the machine is expected to say.
            _ => return None,
        })
    }

    fn call(&mut self, line: &Line<'a>) -> CallRequest {
        let (name, mut rest) = line.what.split_once(' ').unwrap_or((line.what, ""));
        let (mut limits, mut progress) = (None::<Timeouts>, true);
        loop {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            let before = limits.unwrap_or_default();
            if let Some(time) = word.strip_prefix("idle=") {
                limits = Some(Timeouts::new(duration(time), before.total));
            } else if let Some(time) = word.strip_prefix("total=") {
                limits = Some(Timeouts::new(before.idle, duration(time)));
            } else if word == "quiet" {
                progress = false;
            } else {
                let key = self.begin(name);
                let mut call = CallRequest::new(key, MethodName::new(word), payload(after));
                (call.timeouts, call.progress) = (limits, progress);
                return call;
            }
            rest = after;
        }
    }

    fn begin(&mut self, name: &'a str) -> CallKey {
        let key = self.names.key(name);
        *self.open.entry(key).or_default() += 1;
        CallKey(key)
    }

    fn handle(&mut self, input: Input) {
        let mut out = Vec::new();
        self.machine.handle(self.now, input, &mut out);
        assert!(out.len() <= MOST_OUTPUTS, "{} outputs", out.len());
        for output in out {
            self.check(output);
        }
        let open: usize = self.open.values().sum();
        assert_eq!(self.machine.open_calls(), open);
    }

    fn check(&mut self, output: Output) {
        let is_open = |key: CallKey| self.open.get(&key.0).is_some_and(|open| *open > 0);
        match output {
            Output::Finished { key, .. } => {
                assert!(is_open(key), "{key:?} has had its outcome");
                self.open.entry(key.0).and_modify(|open| *open -= 1);
            }
            Output::Sent { key, .. }
            | Output::Progress { key, .. }
            | Output::Listening { key, .. } => assert!(is_open(key), "{key:?} is over"),
            Output::Told { listener, call, .. } => {
                assert!(listener.is_none_or(is_open) && call.is_none_or(is_open));
            }
            Output::Asked(question) => assert!(question.call.is_none_or(is_open)),
            Output::Send { message, .. } => {
                if let Message::Request(request) = &message {
                    let id = request.id.as_integer().expect("our ids are integers");
                    assert!(id > self.last_id, "{id} was used before");
                    self.last_id = id;
                }
                check_readable(&message);
            }
            _ => {}
        }
    }
}
