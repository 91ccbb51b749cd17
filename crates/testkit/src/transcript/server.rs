//! Runs a transcript against the server machine.
//!
//! In: `client> FRAME`, `answer> KEY RESULT`, `error> KEY ERROR`, `need> KEY RESULT`,
//! `ask> KEY|- QUESTION METHOD PARAMS`, `progress> KEY PARAMS`, `log> KEY|- LEVEL PARAMS`,
//! `changed> tools|prompts|resources|resource URI|task ID PARAMS`, `notify> KEY|- METHOD PARAMS`,
//! `lane_closed> N`,
//! `wait> TIME`, `eof>`, `close>`.
//! Out: `server> MESSAGE`, `serve> KEY METHOD PARAMS`, `stop> KEY`, `reply> KEY|- QUESTION …`,
//! `told> METHOD PARAMS`, `level> LEVEL`, `listening> KEY FILTER`, `ended> KEY`,
//! `opened> REVISION`, `accepted> ` (HTTP only), `shutdown>`.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_protocol::Method;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{
    ErrorCode, ErrorObject, Frame, Limits, Message, MethodName, Notification,
};
use switchboard_protocol::machine::server::{
    Answer, AskKey, Change, Input, Output, ServeKey, ServerConfig, ServerMachine,
};
use switchboard_protocol::machine::{Lane, Wire};
use switchboard_protocol::types::Implementation;

use super::compare::{Event, split_json};
use super::script::{Line, Script, duration};
use super::{follow, pass_time};
use crate::clock::ManualClock;

pub(super) fn run(script: &Script) -> Result<(), String> {
    let mut stage = Stage::new(script)?;
    follow(script, INPUTS, |line| stage.play(line))
}

struct Stage {
    machine: ServerMachine,
    clock: ManualClock,
    http: bool,
    limits: Limits,
    names: BTreeMap<String, ServeKey>,
    asks: Vec<String>,
}

impl Stage {
    fn new(script: &Script) -> Result<Self, String> {
        let mut capabilities = json!({
            "tools": { "listChanged": true }, "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "completions": {}, "logging": {},
            "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } },
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        });
        if let Some(changed) = script.config.get("capabilities") {
            capabilities = changed.clone();
        }
        let capabilities = serde_json::from_value(capabilities).map_err(|e| e.to_string())?;
        let mut config = ServerConfig::new(Implementation::new("switchboard", "1"), capabilities);
        config.wire = if script.http { Wire::Http } else { Wire::Pipe };
        let mut limits = Limits::default();
        let mut sessionless = None;
        for (name, value) in &script.config {
            let number = value.as_u64().unwrap_or_default();
            let text = value.as_str().unwrap_or_default();
            match name.as_str() {
                "capabilities" => {}
                "instructions" => config.instructions = Some(text.to_owned()),
                "max_calls" => config.max_calls = number as usize,
                "max_subscriptions" => config.max_subscriptions = number as usize,
                "max_rounds" => config.max_rounds = number as u32,
                "handler_timeout" => config.handler_timeout = Some(duration(text)?),
                "ask_timeout" => config.ask_timeout = duration(text)?,
                "default_ttl" => config.default_ttl = duration(text)?,
                "max_bytes" => limits.bytes = number as usize,
                "max_depth" => limits.depth = number as u32,
                "max_batch" => limits.batch = number as usize,
                "sessionless" => sessionless = Some(text.parse().map_err(|e| format!("{e}"))?),
                "revisions" => {
                    config.revisions = value
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(|v| v.as_str()?.parse().ok())
                        .collect();
                }
                other => return Err(format!("Config: unknown name {other:?}")),
            }
        }
        let machine = match sessionless {
            Some(revision) => ServerMachine::sessionless(config, revision),
            None => ServerMachine::new(config),
        };
        Ok(Self {
            machine,
            clock: ManualClock::new(),
            http: script.http,
            limits,
            names: BTreeMap::new(),
            asks: Vec::new(),
        })
    }

    fn play(&mut self, line: &Line) -> Result<Vec<Event>, String> {
        let mut out = Vec::new();
        if line.who == "wait" {
            let until = self.clock.now() + duration(line.what.trim())?;
            let machine = &mut self.machine;
            pass_time(&mut self.clock, until, machine.deadline(), |now| {
                machine.handle(now, Input::Tick, &mut out);
                machine.deadline()
            })?;
        } else {
            let input = self.input(line)?;
            self.machine.handle(self.clock.now(), input, &mut out);
        }
        Ok(out
            .into_iter()
            .filter_map(|output| self.event(output))
            .collect())
    }

    fn input(&mut self, line: &Line) -> Result<Input, String> {
        Ok(match line.who.as_str() {
            "client" => Input::Received {
                lane: Lane(line.lane),
                frame: Frame::read(&frame_bytes(&line.what), &self.limits),
            },
            "answer" => Input::Answered {
                key: self.key(line)?,
                answer: Answer::Result(payload(line.word().1)?),
            },
            "need" => Input::Answered {
                key: self.key(line)?,
                answer: Answer::InputRequired(payload(line.word().1)?),
            },
            "error" => Input::Answered {
                key: self.key(line)?,
                answer: Answer::Error(error(line.word().1)?),
            },
            "ask" => {
                let (_, name, rest) = line.two_words();
                let (method, params) = rest.split_once(' ').unwrap_or((rest, "{}"));
                self.asks.push(name.to_owned());
                Input::Ask {
                    key: self.key_or_none(line)?,
                    ask: AskKey(self.asks.len() as u64 - 1),
                    method: Method::from_name(method).ok_or("unknown method")?,
                    params: Some(payload(params)?),
                }
            }
            "progress" => Input::Progress {
                key: self.key(line)?,
                params: payload(line.word().1)?,
            },
            "log" => {
                let (_, level, params) = line.two_words();
                Input::Log {
                    key: self.key_or_none(line)?,
                    level: serde_json::from_value(json!(level)).map_err(|e| e.to_string())?,
                    params: payload(params)?,
                }
            }
            "changed" => Input::Changed(change(line)?),
            "notify" => {
                let (_, method, params) = line.two_words();
                Input::Notify {
                    key: self.key_or_none(line)?,
                    notification: Notification::new(
                        MethodName::new(method),
                        Some(payload(params)?),
                    ),
                }
            }
            "lane_closed" => Input::LaneClosed {
                lane: Lane(line.what.trim().parse().map_err(|_| "bad stream number")?),
            },
            "eof" => Input::PeerClosed,
            "close" => Input::Close,
            other => return Err(format!("{other}> is not something that goes into a server")),
        })
    }

    fn key(&self, line: &Line) -> Result<ServeKey, String> {
        let (name, _) = line.word();
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| format!("no call named {name:?} was served"))
    }

    /// The call that a line names, or none: `-`.
    fn key_or_none(&self, line: &Line) -> Result<Option<ServeKey>, String> {
        match line.word() {
            ("-", _) => Ok(None),
            _ => self.key(line).map(Some),
        }
    }

    fn name_of(&mut self, key: ServeKey) -> String {
        if let Some((name, _)) = self.names.iter().find(|(_, k)| **k == key) {
            return name.clone();
        }
        // Calls are named a, b, c … in the order in which they are served.
        let at = self.names.len();
        let letter = char::from(b'a' + (at % 26) as u8);
        let name = format!(
            "{letter}{}",
            if at < 26 {
                String::new()
            } else {
                (at / 26).to_string()
            }
        );
        self.names.insert(name.clone(), key);
        name
    }

    fn event(&mut self, output: Output) -> Option<Event> {
        Some(match output {
            Output::Send { lane, message } => Event::new("server", "")
                .json(message_json(&message))
                .lane(lane.0),
            Output::SendBatch { lane, responses } => Event::new("server", "")
                .json(
                    responses
                        .into_iter()
                        .map(|response| message_json(&Message::from(response)))
                        .collect(),
                )
                .lane(lane.0),
            Output::Accepted { lane } => {
                if !self.http {
                    return None;
                }
                Event::new("accepted", "").lane(lane.0)
            }
            Output::Serve(serve) => {
                let name = self.name_of(serve.key);
                let event = Event::new("serve", format!("{name} {}", serve.method));
                event.json(serve.params.map_or(json!({}), |params| value(&params)))
            }
            Output::Stop { key } => Event::new("stop", self.name_of(key)),
            Output::Reply { key, ask, outcome } => {
                let ask = self.asks.get(ask.0 as usize).cloned().unwrap_or_default();
                let call = key.map_or_else(|| "-".to_owned(), |key| self.name_of(key));
                let words = format!("{call} {ask}");
                match outcome {
                    Ok(answer) => Event::new("reply", words).json(value(&answer)),
                    Err(error) => Event::new("reply", format!("{words} {error}")),
                }
            }
            Output::Told(told) => Event::new("told", told.method.as_str())
                .json(told.params.map_or(json!({}), |params| value(&params))),
            Output::LogLevel(level) => Event::new("level", plain(&json!(level))),
            Output::Listening { key, filter, .. } => {
                Event::new("listening", self.name_of(key)).json(json!(filter))
            }
            Output::ListeningEnded { key, .. } => Event::new("ended", self.name_of(key)),
            Output::Opened(caller) => Event::new("opened", caller.revision.as_str()),
            Output::ShutDown => Event::new("shutdown", ""),
            other => Event::new("other", format!("{other:?}")),
        })
    }
}

fn change(line: &Line) -> Result<Change, String> {
    let (kind, first, rest) = line.two_words();
    Ok(match kind {
        "tools" => Change::Tools,
        "prompts" => Change::Prompts,
        "resources" => Change::Resources,
        "resource" => Change::Resource {
            uri: first.to_owned(),
        },
        "task" => Change::Task {
            id: first.to_owned(),
            params: payload(rest)?,
        },
        other => return Err(format!("unknown change {other:?}")),
    })
}

/// The bytes of a frame: `\x..` in a transcript stands for a byte that is not text.
pub(super) fn frame_bytes(text: &str) -> Bytes {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        match after
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes.into()
}

pub(super) fn payload(text: &str) -> Result<Payload, String> {
    let text = if text.is_empty() { "{}" } else { text };
    Payload::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default())
        .map_err(|fault| format!("bad JSON in the transcript: {fault}: {text}"))
}

pub(super) fn error(text: &str) -> Result<ErrorObject, String> {
    let (_, json) = split_json(text)?;
    let json = json.unwrap_or_default();
    let code = json["code"].as_i64().unwrap_or_default();
    let message = json["message"].as_str().unwrap_or_default();
    let error = ErrorObject::new(ErrorCode(code), message);
    Ok(match json.get("data") {
        Some(data) => error.with_data(data),
        None => error,
    })
}

pub(super) fn value(payload: &Payload) -> Value {
    payload.decode().unwrap_or_default()
}

pub(super) fn message_json(message: &Message) -> Value {
    serde_json::from_slice(&message.to_bytes()).unwrap_or_default()
}

pub(super) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

const INPUTS: &[&str] = &[
    "client",
    "answer",
    "error",
    "need",
    "ask",
    "progress",
    "log",
    "changed",
    "notify",
    "lane_closed",
    "wait",
    "eof",
    "close",
];
