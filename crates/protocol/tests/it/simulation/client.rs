//! The client machine against a server that does anything.
//!
//! `Model` knows which calls and questions are open; every output is checked against it.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Message, Notification, RequestId};
use switchboard_protocol::machine::client::{
    CallError, CallKey, CallRequest, ClientConfig, ClientMachine, ClientState, Input, LaneEnd,
    Mode, Output, QuestionKey, Timeouts,
};
use switchboard_protocol::machine::{Lane, Wire};
use switchboard_protocol::types::{Implementation, LoggingLevel, SubscriptionFilter};
use switchboard_protocol::{Era, Method, Payload, Revision};
use switchboard_testkit::clock::ManualClock;

use super::random::Random;
use super::{Trace, frame, payload};

/// What runs share, made once: reading JSON takes longer than a step.
pub(crate) struct Setups {
    configs: Vec<ClientConfig>,
    filter: SubscriptionFilter,
    start: Instant,
}

pub(crate) fn setups() -> Setups {
    let mut configs = Vec::new();
    let modes = [
        Mode::Auto,
        Mode::Auto,
        Mode::Legacy,
        Mode::Pinned(Revision::LATEST),
        Mode::Pinned(Revision::V2025_03_26),
        Mode::Pinned(Revision::V2024_11_05),
    ];
    let full = json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": { "form": {} },
        "extensions": { "io.modelcontextprotocol/tasks": {} } });
    for mode in modes {
        for wire in [Wire::Pipe, Wire::Http] {
            for (capabilities, is_patient) in [
                (&full, false),
                (&full, false),
                (&full, true),
                (&json!({}), false),
            ] {
                let mut config = ClientConfig::new(Implementation::new("c", "1"));
                config.capabilities =
                    serde_json::from_value(capabilities.clone()).expect("valid JSON");
                (config.mode, config.wire) = (mode, wire);
                config.question_timeout = Duration::from_secs(40);
                (config.max_calls, config.max_questions, config.max_rounds) = (4, 3, 3);
                if is_patient {
                    config.question_timeout = Duration::MAX;
                    (config.probe_timeout, config.open_timeout) = (Duration::MAX, Duration::MAX);
                }
                configs.push(config);
            }
        }
    }
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a:/", "b:/"] });
    Setups {
        configs,
        filter: serde_json::from_value(filter).expect("valid JSON"),
        start: ManualClock::new().now(),
    }
}

/// One run.
pub(crate) fn run(setups: &Setups, mut random: Random, trace: &mut Trace) {
    let config = random.pick(&setups.configs).clone();
    trace.note(|| format!("{:?} {:?}", config.mode, config.wire));
    let mut model = Model {
        wire: config.wire,
        mode: config.mode,
        max_questions: config.max_questions,
        default_timeouts: config.call_timeouts,
        machine: ClientMachine::new(config),
        now: setups.start,
        random,
        trace,
        filter: &setups.filter,
        calls: Vec::new(),
        next_key: 0,
        questions: Vec::new(),
        last_question: 0,
        dead_questions: Vec::new(),
        sent: Vec::new(),
        unanswered: Vec::new(),
        last_id: 0,
        asked: Vec::new(),
        serial: 0,
        may_answer: Vec::new(),
        wants_open: true,
        opened: false,
        reopening: None,
        lost: Vec::new(),
        greeting: 0,
        is_lost: false,
        restarts: 0,
        over: false,
        closed: false,
    };
    if model.random.chance(85) {
        model.open();
    }
    let steps = 6 + model.random.below(18);
    for _ in 0..steps {
        model.step();
    }
    model.end();
}

struct Model<'a> {
    wire: Wire,
    mode: Mode,
    max_questions: usize,
    default_timeouts: Timeouts,
    machine: ClientMachine,
    now: Instant,
    random: Random,
    trace: &'a mut Trace,
    filter: &'a SubscriptionFilter,
    /// Calls without an outcome.
    calls: Vec<Call>,
    next_key: u64,
    /// Questions that the host has: the key, and the id of the server's request if it was one.
    questions: Vec<(u64, Option<String>)>,
    last_question: u64,
    /// Questions that were answered or taken back.
    dead_questions: Vec<u64>,
    /// Requests that the machine sent, with their method.
    sent: Vec<(i64, String)>,
    /// Those of them that the server has not answered as it should.
    unanswered: Vec<(i64, String)>,
    last_id: i64,
    /// Requests of the server: the id, how often it asked and how often it was answered.
    asked: Vec<(String, usize, usize)>,
    serial: u64,
    /// The ids of the server that this step may answer.
    may_answer: Vec<String>,
    wants_open: bool,
    opened: bool,
    /// While a session is opened anew: has its `initialize` been sent?
    reopening: Option<bool>,
    /// The requests that were refused because their session was lost.
    lost: Vec<i64>,
    /// The `initialize` of the last reopening.
    greeting: i64,
    /// Whether anything said that the session is lost which that one began.
    is_lost: bool,
    restarts: usize,
    over: bool,
    closed: bool,
}

struct Call {
    key: u64,
    listens: bool,
    limits: Timeouts,
    /// The requests that were made for it.
    ids: Vec<i64>,
    /// Time that surely counted against it in all, and since anything last happened.
    total: Duration,
    idle: Duration,
}

impl Model<'_> {
    fn step(&mut self) {
        if self.wants_open && self.random.chance(90) {
            self.wants_open = false;
            return self.handle(Input::Opened);
        }
        if self.wire == Wire::Http && self.era() == Some(Era::Handshake) {
            match self.random.below(100) {
                0..40 if self.reopening.is_some() => return self.greet_again(),
                40..52 => return self.lose_session(),
                _ => {}
            }
        }
        let opening = !self.opened && !self.over;
        match self.random.below(100) {
            0..40 if opening => self.answer_newest(),
            0..18 => self.call(),
            18..21 => self.listen(),
            21 => {
                let key = self.some_key();
                let level = LoggingLevel::Warning;
                self.begin(key, false, self.default_timeouts);
                self.handle(Input::SetLogLevel {
                    key: CallKey(key),
                    level,
                });
            }
            22..24 => {
                let key = CallKey(self.random.below(self.next_key as usize + 2) as u64);
                let reason = self.random.chance(50).then(|| "no".to_owned());
                self.handle(Input::Cancel { key, reason });
            }
            24..40 => self.receive(),
            40..60 => self.answer_newest(),
            60..74 if !self.questions.is_empty() => self.host_answers(),
            60..74 if self.random.chance(60) => self.answer_newest(),
            60..74 => self.host_answers(),
            74..82 => self.tick(),
            82..86 => {
                let jump = Duration::from_millis(self.random.below(30_000) as u64);
                self.pass(jump);
            }
            86..90 if self.random.chance(10) => self.lose_session(),
            86..90 => {
                let lane = Lane(self.random.below(self.last_id as usize + 2) as u64);
                let end = match self.random.below(4) {
                    0 => LaneEnd::Broken("cut".to_owned()),
                    1 => LaneEnd::Refused {
                        status: 404,
                        error: None,
                    },
                    2 => LaneEnd::Refused {
                        status: 400,
                        error: None,
                    },
                    _ => LaneEnd::Refused {
                        status: 503,
                        error: None,
                    },
                };
                if self.wire == Wire::Http || self.random.chance(5) {
                    self.handle(Input::LaneClosed { lane, end });
                }
            }
            90..92 => {
                let method = *self.random.pick(&[
                    Method::RootsListChanged,
                    Method::Cancelled,
                    Method::ToolsCall,
                    Method::Initialized,
                ]);
                self.handle(Input::Notify(Notification::new(method, None)));
            }
            92 if self.random.chance(40) => {
                self.handle(Input::PeerClosed {
                    reason: "gone".to_owned(),
                });
            }
            93 if self.random.chance(20) => self.handle(Input::Close),
            94 => self.handle(Input::Opened),
            _ => self.receive(),
        }
    }

    /// The server forgets a session, or says so late.
    fn lose_session(&mut self) {
        if self.wire != Wire::Http && self.random.chance(95) {
            return;
        }
        if self.random.chance(20) {
            self.is_lost = true;
            return self.handle(Input::SessionLost);
        }
        let id = match self.random.below(4) {
            0 => self.random.below(self.last_id as usize + 2) as i64,
            _ => self.last_id - self.random.below(3) as i64,
        };
        self.is_lost |= id > self.greeting;
        self.lost.push(id);
        self.handle(Input::LaneClosed {
            lane: Lane(id.cast_unsigned()),
            end: LaneEnd::SessionLost,
        });
    }

    /// The server agrees to a new session, if it was asked for one.
    fn greet_again(&mut self) {
        let Some((id, method)) = self.unanswered.pop() else {
            return;
        };
        if method == "initialize" {
            let revision = match self.machine.state() {
                ClientState::Ready(agreed) if self.random.chance(90) => agreed.revision,
                _ => Revision::V2025_06_18,
            };
            let body = good_greeting(revision.as_str());
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#);
            self.receive_text(&id.to_string(), &text);
        }
    }

    /// Opens without trouble, in one era or the other.
    fn open(&mut self) {
        self.wants_open = false;
        self.handle(Input::Opened);
        let is_stateless = self.random.chance(65);
        while !self.opened {
            let Some((id, method)) = self.unanswered.pop() else {
                return;
            };
            let body = match (method.as_str(), self.mode) {
                ("server/discover", Mode::Auto) if !is_stateless => {
                    r#""error":{"code":-32601,"message":"no"}"#.to_owned()
                }
                ("server/discover", _) => good_discovery(),
                (_, Mode::Pinned(revision)) => good_greeting(revision.as_str()),
                _ => good_greeting(self.random.pick(&Revision::ALL[..4]).as_str()),
            };
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#);
            self.receive_text(&id.to_string(), &text);
        }
    }

    /// The last words: everything must come to its end.
    fn end(&mut self) {
        self.handle(Input::Close);
        assert!(self.closed, "not closed after all");
        assert!(self.calls.is_empty(), "calls without an outcome");
        assert!(
            self.questions.is_empty(),
            "questions that stay with the host"
        );
        assert_eq!(*self.machine.state(), ClientState::Closed);
        // And nothing comes after it, except for outcomes of calls that were never made.
        for _ in 0..3 {
            self.call();
            self.receive();
            self.tick();
            self.host_answers();
        }
        self.handle(Input::Close);
    }

    fn some_key(&mut self) -> u64 {
        if self.random.chance(8) && !self.calls.is_empty() {
            let at = self.random.below(self.calls.len());
            return self.calls[at].key;
        }
        self.next_key += 1;
        self.next_key
    }

    /// A key is used. If it is in use already, the machine must say so at once.
    fn begin(&mut self, key: u64, listens: bool, limits: Timeouts) {
        self.calls.push(Call {
            key,
            listens,
            limits,
            ids: Vec::new(),
            total: Duration::ZERO,
            idle: Duration::ZERO,
        });
    }

    fn call(&mut self) {
        let key = self.some_key();
        let method = match self.random.below(24) {
            0 => Method::ToolsList,
            1 => Method::PromptsGet,
            2 => Method::ResourcesRead,
            3 => Method::Ping,
            4 => Method::Initialize,
            5 => Method::Cancelled,
            6 => Method::SubscriptionsListen,
            7 => Method::CompletionComplete,
            _ => Method::ToolsCall,
        };
        let mut call = CallRequest::new(
            CallKey(key),
            method,
            self.random
                .chance(80)
                .then(|| payload(&format!(r#"{{"name":"{key}"}}"#))),
        );
        call.progress = self.random.chance(70);
        let seconds = |n: usize| Some(Duration::from_secs(1 + n as u64));
        call.timeouts = match self.random.below(5) {
            0 => Some(Timeouts::NONE),
            1 => Some(Timeouts::new(None, seconds(self.random.below(30)))),
            2 => Some(Timeouts::new(seconds(self.random.below(30)), seconds(20))),
            3 => Some(Timeouts::new(Some(Duration::MAX), Some(Duration::MAX))),
            _ => None,
        };
        let limits = call.timeouts.unwrap_or(self.default_timeouts);
        self.begin(key, method == Method::SubscriptionsListen, limits);
        self.handle(Input::Call(call));
    }

    fn listen(&mut self) {
        let key = self.some_key();
        self.begin(key, true, self.default_timeouts);
        let filter = self.filter.clone();
        self.handle(Input::Listen {
            key: CallKey(key),
            filter,
        });
    }

    fn host_answers(&mut self) {
        let key = if self.random.chance(15) && !self.dead_questions.is_empty() {
            *self.random.pick(&self.dead_questions)
        } else if self.random.chance(5) || self.questions.is_empty() {
            self.last_question + 7
        } else {
            self.questions[self.random.below(self.questions.len())].0
        };
        let outcome = if self.random.chance(75) {
            Ok(payload(r#"{"action":"accept"}"#))
        } else {
            Err(ErrorObject::new(ErrorCode::USER_REJECTED, "no"))
        };
        if let Some(at) = self.questions.iter().position(|(of, _)| *of == key) {
            let (_, id) = self.questions.swap_remove(at);
            self.dead_questions.push(key);
            self.may_answer.extend(id);
            self.break_silence();
        }
        self.handle(Input::Answer {
            question: QuestionKey(key),
            outcome,
        });
    }

    fn tick(&mut self) {
        let deadline = self.machine.deadline();
        let later = Duration::from_millis(self.random.below(900) as u64);
        match deadline {
            Some(deadline) if self.random.chance(80) => {
                let wait = deadline.saturating_duration_since(self.now);
                let late = self.random.chance(50);
                self.pass(if late { wait + later } else { wait });
            }
            _ => self.pass(later),
        }
        self.handle(Input::Tick);
        if let Some(next) = self.machine.deadline() {
            assert!(next > self.now, "the deadline does not move");
        }
        for call in &self.calls {
            if call.listens || !self.questions.is_empty() {
                continue;
            }
            let in_time = |used: Duration, limit: Option<Duration>| limit.is_none_or(|l| used < l);
            assert!(
                in_time(call.total, call.limits.total),
                "call {} outlives its time",
                call.key
            );
            assert!(
                in_time(call.idle, call.limits.idle),
                "call {} outlives its silence",
                call.key
            );
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.trace.note(|| format!("wait {time:?}"));
        // While any question is open a clock may stand still; which ones is not looked at here.
        if self.questions.is_empty() {
            for call in &mut self.calls {
                call.total += time;
                call.idle += time;
            }
        }
    }

    /// Something came that may count as a sign of life.
    fn break_silence(&mut self) {
        for call in &mut self.calls {
            call.idle = Duration::ZERO;
        }
    }

    /// The server answers the newest request in the way that it should.
    fn answer_newest(&mut self) {
        let Some((id, method)) = self.unanswered.pop() else {
            return self.receive();
        };
        let id = if self.random.chance(5) {
            format!("\"{id}\"")
        } else {
            id.to_string()
        };
        let body = self.good_answer(&method);
        self.receive_text(&id, &format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#));
    }

    fn good_answer(&mut self, method: &str) -> String {
        let error =
            |code: i64, data: &str| format!(r#""error":{{"code":{code},"message":"no"{data}}}"#);
        match (method, self.random.below(10)) {
            ("server/discover", 0..5) => good_discovery(),
            ("server/discover", 5) => error(
                -32022,
                r#","data":{"supported":["2025-03-26"],"requested":"x"}"#,
            ),
            ("server/discover", 6) => r#""result":{}"#.to_owned(),
            ("server/discover", _) => error(-32601, ""),
            ("initialize", 0..8) => {
                let revision = match self.random.below(8) {
                    0 => "1999-01-01",
                    1 => "2026-07-28",
                    2 => "2024-11-05",
                    3 | 4 => "2025-11-25",
                    _ => "2025-03-26",
                };
                good_greeting(revision)
            }
            ("initialize", 8) => error(
                -32602,
                r#","data":{"supported":["2026-07-28","2024-11-05"],"requested":"x"}"#,
            ),
            (_, 0..4) => {
                self.serial += 1;
                let serial = self.serial;
                match self.random.below(9) {
                    0 | 7 | 8 => r#""result":{"resultType":"input_required","requestState":"s"}"#.to_owned(),
                    1 => format!(
                        r#""result":{{"resultType":"input_required","inputRequests":{{"a":{{"method":"elicitation/create","params":{{"message":"r{serial}"}}}},"b":{{"method":"roots/list"}}}},"requestState":"s"}}"#
                    ),
                    2 => r#""result":{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}}"#.to_owned(),
                    3 => r#""result":{"resultType":"input_required"}"#.to_owned(),
                    4 => r#""result":{"resultType":"task","task":{}}"#.to_owned(),
                    5 => r#""result":{"resultType":7}"#.to_owned(),
                    _ => r#""result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}"#.to_owned(),
                }
            }
            (_, 4) => error(-32603, ""),
            (_, 5) => r#""result":[]"#.to_owned(),
            _ => r#""result":{"resultType":"complete"}"#.to_owned(),
        }
    }

    /// An id that may or may not be one of ours.
    fn some_id(&mut self) -> String {
        let number = match self.random.below(16) {
            0 => self.last_id + 1,
            1 => 0,
            2 => -1,
            3 => return "null".to_owned(),
            4 => return "\"x\"".to_owned(),
            5 => i64::MAX,
            6 => 1 + self.random.below(self.last_id.max(1) as usize) as i64,
            // Of the newest some are surely waited for.
            _ => self.last_id - self.random.below(3) as i64,
        };
        if self.random.chance(8) {
            format!("\"{number}\"")
        } else {
            number.to_string()
        }
    }

    /// The server sends something.
    fn receive(&mut self) {
        if self.random.chance(6) {
            // The answer to a ping is known by its id alone, so the entries get ids of their own.
            let entries: Vec<String> = (0..1 + self.random.below(3))
                .map(|_| self.message().1)
                .collect();
            return self.receive_text("", &format!("[{}]", entries.join(",")));
        }
        let (lane, text) = self.message();
        self.receive_text(&lane, &text);
    }

    fn message(&mut self) -> (String, String) {
        let id = self.some_id();
        let text = match self.random.below(20) {
            0..5 => {
                let method = (id.parse().ok())
                    .and_then(|id: i64| self.sent.iter().find(|(of, _)| *of == id))
                    .map_or_else(String::new, |(_, method)| method.clone());
                let body = self.good_answer(&method);
                format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#)
            }
            5 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
            6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"a":2}}}}"#),
            7 => format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{{}}}}"#),
            8 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a"}}}}"#),
            9 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":3}}"#),
            10 => r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"what"}}"#.to_owned(),
            11..14 => {
                let progress = *self
                    .random
                    .pick(&["1", "2", "0.5", "-1", "\"x\"", "1e999", "null"]);
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{progress}}}}}"#
                )
            }
            14 => {
                let question = format!("\"q{}\"", self.random.below(self.serial as usize + 1));
                let id = if self.random.chance(50) {
                    &question
                } else {
                    &id
                };
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                )
            }
            15 => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            ),
            16 => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            ),
            _ => self.server_request(),
        };
        (id, text)
    }

    fn server_request(&mut self) -> String {
        self.serial += 1;
        let serial = if self.random.chance(85) {
            self.serial
        } else {
            // An id that was used before, perhaps one that is open.
            1 + self.random.below(self.serial as usize) as u64
        };
        let (method, params) = match self.random.below(6) {
            0 => ("ping", String::new()),
            1 => (
                "roots/list",
                format!(r#","params":{{"message":"q{serial}"}}"#),
            ),
            2 => ("tools/call", String::new()),
            3 => (
                "sampling/createMessage",
                format!(r#","params":{{"message":"q{serial}"}}"#),
            ),
            _ => (
                "elicitation/create",
                format!(r#","params":{{"message":"q{serial}"}}"#),
            ),
        };
        let id = format!("\"q{serial}\"");
        match self.asked.iter_mut().find(|(of, _, _)| *of == id) {
            Some((_, asked, _)) => *asked += 1,
            None => self.asked.push((id.clone(), 1, 0)),
        }
        self.may_answer.push(id.clone());
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#)
    }

    fn receive_text(&mut self, id: &str, text: &str) {
        let lane = match self.wire {
            Wire::Http if self.random.chance(80) => Lane(id.trim_matches('"').parse().unwrap_or(0)),
            _ => Lane::SHARED,
        };
        self.break_silence();
        self.trace.note(|| format!("server[{}]> {text}", lane.0));
        let frame = frame(text);
        self.handle(Input::Received { lane, frame });
    }

    fn handle(&mut self, input: Input) {
        if !matches!(input, Input::Received { .. }) {
            self.trace.note(|| format!("in  {input:?}"));
        }
        let is_tick = matches!(input, Input::Tick);
        let refused = match &input {
            Input::Call(CallRequest { key, .. })
            | Input::Listen { key, .. }
            | Input::SetLogLevel { key, .. } => {
                let uses = self.calls.iter().filter(|call| call.key == key.0).count();
                (uses > 1).then_some(key.0)
            }
            _ => None,
        };
        let was_over = self.over;
        let mut out = Vec::new();
        self.machine.handle(self.now, input, &mut out);
        for output in &out {
            self.trace.note(|| format!("out {output:?}"));
        }
        if let Some(key) = refused {
            let is_in_use = |output: &Output| matches!(output, Output::Finished { key: of, outcome: Err(CallError::KeyInUse) } if of.0 == key);
            assert!(out.len() == 1 && is_in_use(&out[0]), "key {key} was in use");
        }
        for output in out {
            if was_over {
                let is_end = matches!(output, Output::Finished { .. }) || output == Output::Closed;
                assert!(is_end, "after the end: {output:?}");
            }
            self.check(output, is_tick);
        }
        if self.over {
            assert_eq!(self.machine.deadline(), None, "a deadline after the end");
        }
        assert_eq!(self.machine.open_calls(), self.calls.len(), "open calls");
        assert_eq!(
            self.machine.open_questions(),
            self.questions.len(),
            "open questions"
        );
        self.may_answer.clear();
    }

    fn check(&mut self, output: Output, is_tick: bool) {
        let is_open = |key: CallKey| self.calls.iter().any(|call| call.key == key.0);
        let listens = |key: CallKey| {
            self.calls
                .iter()
                .any(|call| call.key == key.0 && call.listens)
        };
        if self.over {
            let may_follow = matches!(
                output,
                Output::Finished { .. } | Output::Closed | Output::Ignored(_)
            );
            assert!(may_follow, "after the end: {output:?}");
        }
        match output {
            Output::Send { lane, message } => self.check_sent(lane, &message),
            Output::CloseLane(lane) => {
                assert!(self.wire == Wire::Http);
                assert!(self.sent.iter().any(|(id, _)| id.cast_unsigned() == lane.0));
            }
            Output::Restart | Output::UseOldTransport => {
                assert!(!self.opened);
                self.restarts += 1;
                assert!(self.restarts <= 2, "started again and again");
                self.wants_open = true;
            }
            Output::Opened(_) => {
                assert!(!self.opened, "opened twice");
                self.opened = true;
            }
            Output::Reopening => {
                assert!(self.opened && self.wire == Wire::Http);
                assert_eq!(self.era(), Some(Era::Handshake));
                assert_eq!(self.reopening, None, "two at once");
                assert!(self.is_lost, "opened anew without need");
                assert!(self.questions.is_empty(), "questions of a lost session");
                self.reopening = Some(false);
            }
            Output::Reopened(_) => {
                assert_eq!(self.reopening, Some(true), "not asked for");
                self.reopening = None;
                self.is_lost = false;
            }
            Output::Failed(_) => {
                assert!(!self.over, "failed after the end");
                self.over = true;
            }
            Output::Closed => {
                assert!(!self.closed, "closed twice");
                (self.over, self.closed) = (true, true);
            }
            Output::Finished { key, .. } => {
                // Of two with the same key, the younger was refused.
                let at = self.calls.iter().rposition(|call| call.key == key.0);
                let at = at.unwrap_or_else(|| panic!("{key:?} has had its outcome"));
                self.calls.remove(at);
            }
            Output::Sent { key, .. } | Output::Progress { key, .. } => {
                assert!(is_open(key), "{key:?}");
            }
            Output::Listening { key, .. } => {
                assert!(listens(key), "{key:?} does not listen");
            }
            Output::Asked(question) => {
                assert!(
                    question.key.0 > self.last_question,
                    "a question that was there before"
                );
                self.last_question = question.key.0;
                if let Some(call) = question.call {
                    assert!(is_open(call), "asked for {call:?}");
                }
                let origin = self.origin(&question.params);
                self.questions.push((question.key.0, origin));
                assert!(
                    self.questions.len() <= self.max_questions * (self.calls.len() + 1),
                    "too many questions"
                );
            }
            Output::Withdrawn(key) => {
                let at = self.questions.iter().position(|(of, _)| *of == key.0);
                let at = at.unwrap_or_else(|| panic!("{key:?} is not open"));
                let (_, id) = self.questions.swap_remove(at);
                self.dead_questions.push(key.0);
                self.break_silence();
                if is_tick {
                    // The host was too slow: the server is answered in its place.
                    self.may_answer.extend(id);
                }
            }
            Output::Told { listener, .. } => {
                assert!(listener.is_none_or(listens), "told to {listener:?}");
            }
            Output::Ignored(_) => {}
            other => panic!("what is {other:?}?"),
        }
    }

    /// The id of the server's request that a question comes from.
    fn origin(&self, params: &Payload) -> Option<String> {
        let message = params.string_member("message")?;
        message.starts_with('q').then(|| format!("\"{message}\""))
    }

    fn check_sent(&mut self, lane: Lane, message: &Message) {
        let is_handshake = self.era() == Some(Era::Handshake);
        match message {
            Message::Request(request) => {
                let id = request.id.as_integer().expect("our ids are integers");
                assert!(id > self.last_id, "{id} was used before");
                assert_eq!(lane.0, id.cast_unsigned());
                self.last_id = id;
                let is_greeting = request.method == Method::Initialize;
                if let Some(greeted) = &mut self.reopening {
                    assert!(is_greeting, "{} without a session", request.method);
                    *greeted = true;
                    self.greeting = id;
                }
                let name = request
                    .params
                    .as_ref()
                    .and_then(|params| params.string_member("name"));
                let key: Option<u64> = name.and_then(|name| name.parse().ok());
                let call = self.calls.iter_mut().find(|call| Some(call.key) == key);
                assert!(call.is_some() || key.is_none(), "{key:?} has ended");
                if let Some(call) = call {
                    if is_handshake && let Some(last) = call.ids.last() {
                        assert!(self.lost.contains(last), "{last} may have run");
                        assert!(call.ids.len() < 2, "sent again and again");
                    }
                    call.ids.push(id);
                }
                self.sent.push((id, request.method.to_string()));
                self.unanswered.push((id, request.method.to_string()));
            }
            Message::Response(response) => {
                assert!(
                    self.era() != Some(Era::Stateless),
                    "an answer in the stateless era"
                );
                let Some(id) = response.id.as_ref().map(RequestId::to_string) else {
                    assert!(response.outcome.is_err());
                    return;
                };
                let at = self.may_answer.iter().position(|of| *of == id);
                let at = at.unwrap_or_else(|| panic!("{id} must not be answered now"));
                self.may_answer.swap_remove(at);
                let open = self
                    .questions
                    .iter()
                    .any(|(_, of)| of.as_deref() == Some(&id));
                assert!(!open, "{id} is answered while its question is open");
                let entry = self.asked.iter_mut().find(|(of, _, _)| *of == id);
                let (_, asked, answered) = entry.unwrap_or_else(|| panic!("{id} never asked"));
                *answered += 1;
                assert!(*answered <= *asked, "{id} was answered {answered} times");
            }
            Message::Notification(told) => {
                if told.method == Method::Cancelled {
                    let id = told
                        .params
                        .as_ref()
                        .and_then(|params| params.member("requestId"));
                    let id: Option<i64> = id.and_then(|text| serde_json::from_slice(text).ok());
                    assert!(id.is_some_and(|id| self.sent.iter().any(|(of, _)| *of == id)));
                }
            }
        }
    }

    fn era(&self) -> Option<Era> {
        match self.machine.state() {
            ClientState::Ready(agreed) => Some(agreed.revision.era()),
            _ => None,
        }
    }
}

fn good_discovery() -> String {
    format!(
        r#""result":{{"supportedVersions":["2025-06-18","2026-07-28"],"capabilities":{CAPABILITIES}}}"#
    )
}

fn good_greeting(revision: &str) -> String {
    format!(
        r#""result":{{"protocolVersion":"{revision}","capabilities":{CAPABILITIES},"serverInfo":{{"name":"s","version":"1"}}}}"#
    )
}

const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
