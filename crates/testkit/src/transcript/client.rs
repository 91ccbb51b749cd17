//! Runs a transcript against the client machine.
//!
//! In: `open>`, `server> FRAME`, `call> KEY [idle=T] [total=T] [quiet] METHOD PARAMS`,
//! `listen> KEY FILTER`, `set_level> KEY LEVEL`, `notify> METHOD PARAMS`, `cancel> KEY REASON`,
//! `answer> QUESTION RESULT`, `refuse> QUESTION ERROR`, `lane_closed> N STATUS [ERROR]`,
//! `lane_closed> N session lost`, `lane_closed> N REASON`, `session_lost>`,
//! `wait> TIME`, `exit> REASON`, `close>`.
//! Out: `client> MESSAGE`, `opened> REVISION`, `reopening>`, `reopened> REVISION`,
//! `failed> REASON`, `closed>`, `restart>`, `old_transport>`, `close_lane> N`, `finished> KEY RESULT`, `finished> KEY REASON`, `progress> KEY PARAMS`,
//! `listening> KEY FILTER`, `asked> QUESTION METHOD [for KEY] PARAMS`, `withdrawn> QUESTION`,
//! `told> METHOD [for KEY] [to KEY] PARAMS`, `ignored> WHAT`.

use std::collections::BTreeMap;

use serde_json::json;
use switchboard_protocol::Era;
use switchboard_protocol::jsonrpc::{Frame, Limits, MethodName, Notification};
use switchboard_protocol::machine::client::{
    CallError, CallKey, CallRequest, ClientConfig, ClientMachine, Ignored, Input, LaneEnd, Mode,
    Output, QuestionKey, Timeouts,
};
use switchboard_protocol::machine::{Lane, Wire};
use switchboard_protocol::types::Implementation;

use super::compare::Event;
use super::script::{Line, Script, duration};
use super::server::{error, frame_bytes, message_json, payload, value};
use super::{follow, pass_time};
use crate::clock::ManualClock;

pub(super) fn run(script: &Script) -> Result<(), String> {
    let mut stage = Stage::new(script)?;
    follow(script, INPUTS, |line| stage.play(line))
}

struct Stage {
    machine: ClientMachine,
    clock: ManualClock,
    http: bool,
    limits: Limits,
    keys: BTreeMap<String, u64>,
}

impl Stage {
    fn new(script: &Script) -> Result<Self, String> {
        let mut config = ClientConfig::new(Implementation::new("switchboard", "1"));
        let mut capabilities = json!({
            "roots": { "listChanged": true }, "sampling": { "tools": {} },
            "elicitation": { "form": {}, "url": {} },
        });
        config.wire = if script.http { Wire::Http } else { Wire::Pipe };
        let mut limits = Limits::default();
        for (name, value) in &script.config {
            let number = value.as_u64().unwrap_or_default();
            let text = value.as_str().unwrap_or_default();
            match name.as_str() {
                "capabilities" => capabilities = value.clone(),
                "mode" => {
                    config.mode = match text {
                        "auto" => Mode::Auto,
                        "legacy" => Mode::Legacy,
                        pinned => Mode::Pinned(pinned.parse().map_err(|e| format!("{e}"))?),
                    }
                }
                "remembered" => {
                    config.remembered = Some(Era::Handshake).filter(|_| text == "handshake")
                }
                "sends_info" => config.sends_info = value.as_bool().unwrap_or(true),
                "probe_timeout" => config.probe_timeout = duration(text)?,
                "open_timeout" => config.open_timeout = duration(text)?,
                "question_timeout" => config.question_timeout = duration(text)?,
                "max_calls" => config.max_calls = number as usize,
                "max_questions" => config.max_questions = number as usize,
                "max_question_bytes" => config.max_question_bytes = number as usize,
                "max_rounds" => config.max_rounds = number as u32,
                "max_bytes" => limits.bytes = number as usize,
                other => return Err(format!("Config: unknown name {other:?}")),
            }
        }
        config.capabilities = serde_json::from_value(capabilities).map_err(|e| e.to_string())?;
        Ok(Self {
            machine: ClientMachine::new(config),
            clock: ManualClock::new(),
            http: script.http,
            limits,
            keys: BTreeMap::new(),
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
        Ok(out.into_iter().map(|output| self.event(output)).collect())
    }

    fn input(&mut self, line: &Line) -> Result<Input, String> {
        let (first, rest) = line.word();
        Ok(match line.who.as_str() {
            "open" => Input::Opened,
            "server" => Input::Received {
                lane: Lane(line.lane),
                frame: Frame::read(&frame_bytes(&line.what), &self.limits),
            },
            "call" => Input::Call(self.call(line)?),
            "listen" => Input::Listen {
                key: self.key(first),
                filter: serde_json::from_str(rest).map_err(|e| e.to_string())?,
            },
            "set_level" => Input::SetLogLevel {
                key: self.key(first),
                level: serde_json::from_value(json!(rest)).map_err(|e| e.to_string())?,
            },
            "notify" => Input::Notify(Notification::new(
                MethodName::new(first),
                (!rest.is_empty()).then(|| payload(rest)).transpose()?,
            )),
            "cancel" => Input::Cancel {
                key: self.key(first),
                reason: (!rest.is_empty()).then(|| rest.to_owned()),
            },
            "answer" => Input::Answer {
                question: question(first)?,
                outcome: Ok(payload(rest)?),
            },
            "refuse" => Input::Answer {
                question: question(first)?,
                outcome: Err(error(rest)?),
            },
            "lane_closed" => Input::LaneClosed {
                lane: Lane(first.parse().map_err(|_| "bad stream number")?),
                end: lane_end(rest)?,
            },
            "session_lost" => Input::SessionLost,
            "exit" => Input::PeerClosed {
                reason: line.what.clone(),
            },
            "close" => Input::Close,
            other => return Err(format!("{other}> is not something that goes into a client")),
        })
    }

    fn call(&mut self, line: &Line) -> Result<CallRequest, String> {
        let (name, mut rest) = line.word();
        let mut timeouts: Option<Timeouts> = None;
        let mut progress = true;
        loop {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            let limits = timeouts.unwrap_or_default();
            if let Some(time) = word.strip_prefix("idle=") {
                timeouts = Some(Timeouts::new(Some(duration(time)?), limits.total));
            } else if let Some(time) = word.strip_prefix("total=") {
                timeouts = Some(Timeouts::new(limits.idle, Some(duration(time)?)));
            } else if word == "quiet" {
                progress = false;
            } else {
                let params = (!after.is_empty()).then(|| payload(after)).transpose()?;
                let mut call = CallRequest::new(self.key(name), MethodName::new(word), params);
                call.timeouts = timeouts;
                call.progress = progress;
                return Ok(call);
            }
            rest = after.trim_start();
        }
    }

    fn key(&mut self, name: &str) -> CallKey {
        let next = self.keys.len() as u64 + 1;
        CallKey(*self.keys.entry(name.to_owned()).or_insert(next))
    }

    fn name_of(&self, key: CallKey) -> String {
        self.keys
            .iter()
            .find(|(_, k)| **k == key.0)
            .map_or_else(|| format!("{key:?}"), |(name, _)| name.clone())
    }

    fn event(&self, output: Output) -> Event {
        match output {
            Output::Send { lane, message } => Event::new("client", "")
                .json(message_json(&message))
                .lane(if self.http { lane.0 } else { 0 }),
            Output::CloseLane(lane) => Event::new("close_lane", lane.0.to_string()),
            Output::Restart => Event::new("restart", ""),
            Output::UseOldTransport => Event::new("old_transport", ""),
            Output::Opened(agreed) => Event::new("opened", agreed.revision.as_str()),
            Output::Reopening => Event::new("reopening", ""),
            Output::Reopened(agreed) => Event::new("reopened", agreed.revision.as_str()),
            Output::Failed(failure) => Event::new("failed", failure.to_string()),
            Output::Closed => Event::new("closed", ""),
            Output::Finished { key, outcome } => {
                let name = self.name_of(key);
                match outcome {
                    Ok(result) => Event::new("finished", name).json(value(&result)),
                    Err(CallError::Refused(error)) => {
                        Event::new("finished", format!("{name} refused {}", error.code.0))
                    }
                    Err(error) => Event::new("finished", format!("{name} {error}")),
                }
            }
            Output::Sent { key, id } => {
                Event::new("sent", format!("{} as {id}", self.name_of(key)))
            }
            Output::Progress { key, params } => {
                Event::new("progress", self.name_of(key)).json(value(&params))
            }
            Output::Listening { key, granted } => {
                Event::new("listening", self.name_of(key)).json(json!(granted))
            }
            Output::Asked(question) => {
                let mut words = format!("{} {}", question.key.0, question.method);
                if let Some(call) = question.call {
                    words += &format!(" for {}", self.name_of(call));
                }
                Event::new("asked", words).json(value(&question.params))
            }
            Output::Withdrawn(question) => Event::new("withdrawn", question.0.to_string()),
            Output::Told {
                listener,
                call,
                notification,
            } => {
                let mut words = notification.method.to_string();
                if let Some(call) = call {
                    words += &format!(" for {}", self.name_of(call));
                }
                if let Some(listener) = listener {
                    words += &format!(" to {}", self.name_of(listener));
                }
                Event::new("told", words).json(
                    notification
                        .params
                        .map_or(json!({}), |params| value(&params)),
                )
            }
            Output::Ignored(ignored) => Event::new("ignored", describe(&ignored)),
            other => Event::new("other", format!("{other:?}")),
        }
    }
}

fn describe(ignored: &Ignored) -> String {
    match ignored {
        Ignored::UnknownAnswer(Some(id)) => format!("answer {id}"),
        Ignored::UnknownAnswer(None) => "answer without id".into(),
        Ignored::Malformed(_) => "malformed".into(),
        Ignored::Batch => "batch".into(),
        Ignored::StrayProgress => "progress".into(),
        Ignored::BadNotification(method) => method.to_string(),
        Ignored::ServerRequest => "request".into(),
        Ignored::RepeatedRequest(id) => format!("repeated {id}"),
        Ignored::LostSession(id) => format!("request {id} of a lost session"),
        other => format!("{other:?}"),
    }
}

/// How a stream ended: an HTTP status and the error of its body, a lost session, or a reason.
fn lane_end(text: &str) -> Result<LaneEnd, String> {
    let (status, body) = text.split_once(' ').unwrap_or((text, ""));
    Ok(match status.parse() {
        Ok(status) => LaneEnd::Refused {
            status,
            error: (!body.is_empty()).then(|| error(body)).transpose()?,
        },
        Err(_) if text == "session lost" => LaneEnd::SessionLost,
        Err(_) => LaneEnd::Broken(text.to_owned()),
    })
}

fn question(text: &str) -> Result<QuestionKey, String> {
    text.parse()
        .map(QuestionKey)
        .map_err(|_| format!("bad question number {text:?}"))
}

const INPUTS: &[&str] = &[
    "open",
    "server",
    "call",
    "listen",
    "set_level",
    "notify",
    "cancel",
    "answer",
    "refuse",
    "lane_closed",
    "session_lost",
    "wait",
    "exit",
    "close",
];
