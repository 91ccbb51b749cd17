//! The server machine against clients and handlers that do anything.
//!
//! `Model` knows which requests, questions and subscriptions are open; every output is
//! checked against it.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_protocol::envelope::Envelope;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Message, RequestId, Response};
use switchboard_protocol::machine::server::{
    Answer, AskKey, Change, Input, Output, ServeKey, ServerConfig, ServerMachine, ServerState,
};
use switchboard_protocol::machine::{Lane, Wire};
use switchboard_protocol::types::{Implementation, LoggingLevel};
use switchboard_protocol::{Method, Revision};
use switchboard_testkit::clock::ManualClock;

use super::random::Random;
use super::{Trace, frame, payload};

/// What runs share, made once.
pub(crate) struct Setups {
    configs: Vec<ServerConfig>,
    start: Instant,
}

pub(crate) fn setups() -> Setups {
    let capabilities = json!({
        "tools": { "listChanged": true }, "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true }, "logging": {},
    });
    let mut configs = Vec::new();
    for wire in [Wire::Pipe, Wire::Http] {
        for timeout in [None, Some(Duration::from_secs(20))] {
            for revisions in [
                &Revision::ALL[..],
                &Revision::ALL[..],
                &Revision::ALL[..4],
                &Revision::ALL[4..],
            ] {
                let capabilities =
                    serde_json::from_value(capabilities.clone()).expect("valid JSON");
                let mut config = ServerConfig::new(Implementation::new("s", "1"), capabilities);
                config.revisions = revisions.to_vec();
                (config.wire, config.handler_timeout) = (wire, timeout);
                (config.max_calls, config.ask_timeout) = (5, Duration::from_secs(15));
                configs.push(config);
            }
        }
    }
    Setups {
        configs,
        start: ManualClock::new().now(),
    }
}

/// One run.
pub(crate) fn run(setups: &Setups, mut random: Random, trace: &mut Trace) {
    let config = random.pick(&setups.configs).clone();
    trace.note(|| format!("{:?} {:?}", config.wire, config.revisions));
    let wire = config.wire;
    let sessionless = wire == Wire::Http && random.chance(20);
    let machine = if sessionless {
        ServerMachine::sessionless(config, Revision::V2025_03_26)
    } else {
        ServerMachine::new(config)
    };
    let mut model = Model {
        wire,
        machine,
        now: setups.start,
        random,
        trace,
        calls: Vec::new(),
        dead: Vec::new(),
        batches: Vec::new(),
        asks: Vec::new(),
        waiting: Vec::new(),
        last_ask: 0,
        next_ask: 0,
        serial: 0,
        last_lane: 0,
        ended_lanes: Vec::new(),
        over: false,
        step: Step::default(),
    };
    let steps = 8 + model.random.below(20);
    if model.random.chance(70) {
        model.initialize();
    }
    for _ in 0..steps {
        model.play();
    }
    model.end();
}

struct Model<'a> {
    wire: Wire,
    machine: ServerMachine,
    now: Instant,
    random: Random,
    trace: &'a mut Trace,
    /// Requests without an answer.
    calls: Vec<Call>,
    /// Keys whose request has left.
    dead: Vec<ServeKey>,
    /// Batches without an answer.
    batches: Vec<Batch>,
    /// Questions without an answer.
    asks: Vec<i64>,
    /// What handlers wait for.
    waiting: Vec<(ServeKey, AskKey)>,
    last_ask: i64,
    next_ask: u64,
    serial: u64,
    last_lane: u64,
    /// Streams of HTTP on which the last word was said.
    ended_lanes: Vec<u64>,
    over: bool,
    step: Step,
}

/// What a step brings, as far as it allows something to come out.
#[derive(Default)]
struct Step {
    kind: Kind,
    lane: u64,
    /// Requests that come in: their id and serial number.
    incoming: Vec<(String, u64)>,
    /// Frames or entries that may be refused without an id.
    faults: usize,
    /// The request that the client cancels.
    cancels: Option<String>,
    /// The stream that was closed.
    closes: Option<u64>,
    is_batch: bool,
    accepted: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Kind {
    #[default]
    Other,
    Received,
    Tick,
    Close,
    PeerClosed,
}

#[derive(Debug)]
struct Call {
    id: String,
    serial: u64,
    key: Option<ServeKey>,
    lane: u64,
    stateless: bool,
    listens: bool,
    gathers: bool,
    in_batch: bool,
    progress: f64,
}

#[derive(Debug)]
struct Batch {
    lane: u64,
    serials: Vec<u64>,
    /// The ids that the answer must have, in any order.
    want: Vec<String>,
}

impl Model<'_> {
    fn play(&mut self) {
        match self.random.below(100) {
            0..4 => self.initialize(),
            4..6 => self.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            6..34 => self.request(),
            34..40 => self.listen(),
            40..45 => self.batch(),
            45..50 => self.cancel(),
            50..52 => self.broken(),
            52..60 => self.client_answers(),
            60..78 => self.handler_answers(),
            78..84 => self.handler_asks(),
            84..89 => self.handler_tells(),
            89..94 => self.change(),
            94..98 => self.tick(),
            98 if self.wire == Wire::Http => {
                let lane = self.random.below(self.last_lane as usize + 2) as u64;
                self.step.closes = Some(lane);
                self.handle(Input::LaneClosed { lane: Lane(lane) });
            }
            99 if self.random.chance(15) => {
                self.step.kind = Kind::PeerClosed;
                self.handle(Input::PeerClosed);
            }
            _ => self.request(),
        }
    }

    fn end(&mut self) {
        let (kind, input) = if self.random.chance(50) {
            (Kind::Close, Input::Close)
        } else {
            (Kind::PeerClosed, Input::PeerClosed)
        };
        if !self.over {
            self.step.kind = kind;
            self.handle(input);
        }
        assert!(self.over, "not over after all");
        assert!(
            self.calls.is_empty(),
            "requests that stay: {:?}",
            self.calls
        );
        assert!(
            self.batches.is_empty(),
            "batches that stay: {:?}",
            self.batches
        );
        assert!(self.asks.is_empty(), "questions that stay: {:?}", self.asks);
        assert_eq!(self.machine.state(), ServerState::Shutdown);
        assert_eq!(self.machine.deadline(), None);
        for _ in 0..3 {
            self.handler_answers();
            self.change();
            self.tick();
        }
        self.request();
    }

    fn some_id(&mut self) -> String {
        match self.random.below(10) {
            0..3 => self.open_id().unwrap_or_else(|| "7".to_owned()),
            3 => format!("\"{}\"", self.random.below(4)),
            4 => "\"\\ud800\"".to_owned(),
            _ => (self.serial + 1).to_string(),
        }
    }

    /// An id that is surely in flight: that of a batch's entry may have been answered unseen.
    fn open_id(&mut self) -> Option<String> {
        let open: Vec<&Call> = self.calls.iter().filter(|call| !call.in_batch).collect();
        if open.is_empty() {
            return None;
        }
        Some(self.random.pick(&open).id.clone())
    }

    fn initialize(&mut self) {
        self.serial += 1;
        let id = self.some_id();
        let revision =
            *self
                .random
                .pick(&["2025-03-26", "2025-03-26", "2025-11-25", "2024-11-05", "x"]);
        self.step.incoming.push((id.clone(), self.serial));
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{}},"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        ));
        if self.random.chance(90) {
            self.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
    }

    fn request(&mut self) {
        let id = self.some_id();
        let text = self.request_text(&id);
        self.receive(&text);
    }

    fn request_text(&mut self, id: &str) -> String {
        self.serial += 1;
        let serial = self.serial;
        let method = match self.random.below(16) {
            0 => "ping",
            1 => "tools/list",
            2 => "prompts/get",
            3 => "resources/read",
            4 => "resources/subscribe",
            5 => "server/discover",
            6 => "logging/setLevel",
            7 => "vendor/thing",
            8 => "notifications/initialized",
            9 => "sampling/createMessage",
            _ => "tools/call",
        };
        let mut meta = String::new();
        if self.random.chance(45) {
            let version = *self.random.pick(&[
                "2026-07-28",
                "2026-07-28",
                "2026-07-28",
                "2025-11-25",
                "1900-01-01",
            ]);
            meta.push_str(&format!(
                r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{"roots":{{}}}},"io.modelcontextprotocol/logLevel":"info""#
            ));
        }
        if self.random.chance(60) {
            if !meta.is_empty() {
                meta.push(',');
            }
            meta.push_str(&format!(r#""progressToken":"t{serial}""#));
        }
        self.step.incoming.push((id.to_owned(), serial));
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"serial":{serial},"uri":"a:/","level":"info","_meta":{{{meta}}}}}}}"#
        )
    }

    fn listen(&mut self) {
        let id = self.some_id();
        self.serial += 1;
        let serial = self.serial;
        let filter = *self.random.pick(&[
            r#"{"toolsListChanged":true}"#,
            r#"{"toolsListChanged":true,"resourceSubscriptions":["a:/"]}"#,
            "{}",
            "3",
        ]);
        self.step.incoming.push((id.clone(), serial));
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{filter},"serial":{serial},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        ));
    }

    fn batch(&mut self) {
        let mut entries = Vec::new();
        let cancels = self.random.chance(20);
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(8) {
                0 => entries.push(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#.to_owned()),
                1 => {
                    self.step.faults += 1;
                    entries.push(r#"{"jsonrpc":"2.0","method":7}"#.to_owned());
                }
                kind => {
                    let own = format!("\"b{}\"", self.serial);
                    let repeats = kind == 2 && !cancels;
                    let open = if repeats { self.open_id() } else { None };
                    entries.push(self.request_text(&open.unwrap_or(own)));
                }
            }
        }
        if cancels && let Some((id, _)) = self.step.incoming.first().cloned() {
            self.step.cancels = Some(id.clone());
            entries.push(cancel(&id));
        }
        self.step.faults += 1;
        self.step.is_batch = true;
        self.receive(&format!("[{}]", entries.join(",")));
    }

    fn cancel(&mut self) {
        let id = if self.random.chance(40) && !self.calls.is_empty() {
            self.random.pick(&self.calls).id.clone()
        } else {
            self.some_id()
        };
        self.step.cancels = Some(id.clone());
        self.receive(&cancel(&id));
    }

    fn broken(&mut self) {
        self.step.faults = 1;
        let id = self.some_id();
        let text = match self.random.below(6) {
            0 => "{".to_owned(),
            1 => "[]".to_owned(),
            2 => format!(r#"{{"jsonrpc":"1.0","id":{id},"method":"ping"}}"#),
            3 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
            4 => r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1,"error":2}}"#),
        };
        if !self.calls.iter().any(|call| call.id == id) && text.contains("\"id\":") {
            self.step.incoming.push((id, 0));
        }
        // It may name a question by chance.
        self.settle_ask(&text);
        self.receive(&text);
    }

    /// The client answers a question of ours, or what it takes for one.
    fn client_answers(&mut self) {
        let id = if self.random.chance(80) && !self.asks.is_empty() {
            *self.random.pick(&self.asks)
        } else {
            self.random.below(self.last_ask as usize + 2) as i64
        };
        let id = if self.random.chance(10) {
            format!("\"{id}\"")
        } else {
            id.to_string()
        };
        let text = match self.random.below(5) {
            0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":"no"}}}}"#),
            1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"a":1}}}}"#),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept"}}}}"#),
        };
        self.settle_ask(&text);
        self.receive(&text);
    }

    /// A message with the id of a question and without a method settles it.
    fn settle_ask(&mut self, text: &str) {
        let id = super::frame(text).map_or_else(
            |malformed| malformed.id,
            |frame| match frame {
                switchboard_protocol::jsonrpc::Frame::Single(Message::Response(response)) => {
                    response.id
                }
                _ => None,
            },
        );
        if text.contains("\"method\"") || text.contains("1.0") {
            return;
        }
        let number: Option<i64> = id.and_then(|id| id.to_string().trim_matches('"').parse().ok());
        if let Some(number) = number {
            self.asks.retain(|asked| *asked != number);
        }
    }

    fn some_key(&mut self) -> Option<ServeKey> {
        if self.random.chance(15) && !self.dead.is_empty() {
            return Some(*self.random.pick(&self.dead));
        }
        if self.calls.is_empty() {
            return None;
        }
        self.calls[self.random.below(self.calls.len())].key
    }

    fn handler_answers(&mut self) {
        let Some(key) = self.some_key() else { return };
        let answer = match self.random.below(8) {
            0 => Answer::Error(ErrorObject::new(ErrorCode::INTERNAL_ERROR, "no")),
            1 => Answer::InputRequired(payload(
                r#"{"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{}}}}"#,
            )),
            2 => Answer::InputRequired(payload(r#"{"requestState":"s"}"#)),
            3 => Answer::InputRequired(payload(
                r#"{"inputRequests":{"a":{"method":"sampling/createMessage"}}}"#,
            )),
            4 => Answer::Result(payload(
                r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#,
            )),
            5 => Answer::InputRequired(payload("{}")),
            _ => Answer::Result(payload(r#"{"content":[]}"#)),
        };
        let asks_for_input = !matches!(answer, Answer::Error(_) | Answer::Result(_))
            || matches!(&answer, Answer::Result(result) if result.result_type().is_some());
        if let Some(call) = self.calls.iter_mut().find(|call| call.key == Some(key)) {
            let gathers = asks_for_input && !call.stateless && !call.listens;
            call.gathers |= gathers;
            if gathers {
                self.waiting.retain(|(of, _)| *of != key);
            }
        }
        self.handle(Input::Answered { key, answer });
    }

    fn handler_asks(&mut self) {
        let Some(key) = self.some_key() else { return };
        self.next_ask += 1;
        let method = *self.random.pick(&[
            Method::RootsList,
            Method::ElicitationCreate,
            Method::SamplingCreateMessage,
        ]);
        let ask = AskKey(self.next_ask);
        self.waiting.push((key, ask));
        self.handle(Input::Ask {
            key: Some(key),
            ask,
            method,
            params: Some(payload(r#"{"ask":1}"#)),
        });
    }

    fn handler_tells(&mut self) {
        let key = self.some_key();
        let progress = *self
            .random
            .pick(&["1", "2", "2", "3.5", "0", "\"x\"", "1e999"]);
        match key {
            Some(key) if self.random.chance(70) => {
                let params = payload(&format!(
                    r#"{{"progress":{progress},"progressToken":"mine"}}"#
                ));
                self.handle(Input::Progress { key, params });
            }
            key => {
                let level = *self
                    .random
                    .pick(&[LoggingLevel::Debug, LoggingLevel::Error]);
                let params = payload(r#"{"level":"error","data":1}"#);
                self.handle(Input::Log { key, level, params });
            }
        }
    }

    fn change(&mut self) {
        let change = match self.random.below(4) {
            0 => Change::Tools,
            1 => Change::Prompts,
            2 => Change::Resources,
            _ => Change::Resource {
                uri: "a:/x".to_owned(),
            },
        };
        self.handle(Input::Changed(change));
    }

    fn tick(&mut self) {
        let later = Duration::from_millis(self.random.below(9_000) as u64);
        match self.machine.deadline() {
            Some(deadline) if self.random.chance(70) => {
                self.now = self.now.max(deadline) + later * (self.random.below(2) as u32);
            }
            _ => self.now += later,
        }
        self.step.kind = Kind::Tick;
        self.handle(Input::Tick);
        if let Some(next) = self.machine.deadline() {
            assert!(next > self.now, "the deadline does not move");
        }
    }

    fn receive(&mut self, text: &str) {
        let lane = match self.wire {
            Wire::Pipe => 0,
            Wire::Http => {
                self.last_lane += 1;
                self.last_lane
            }
        };
        self.step.kind = Kind::Received;
        self.step.lane = lane;
        self.trace.note(|| format!("client[{lane}]> {text}"));
        self.handle(Input::Received {
            lane: Lane(lane),
            frame: frame(text),
        });
    }

    fn handle(&mut self, input: Input) {
        let was_over = self.over;
        let is_late = match &input {
            Input::Answered { key, .. }
            | Input::Ask { key: Some(key), .. }
            | Input::Progress { key, .. }
            | Input::Log { key: Some(key), .. } => self.dead.contains(key),
            _ => false,
        };
        if !matches!(input, Input::Received { .. }) {
            self.trace.note(|| format!("in  {input:?}"));
        }
        let mut out = Vec::new();
        self.machine.handle(self.now, input, &mut out);
        for output in &out {
            self.trace.note(|| format!("out {output:?}"));
        }
        assert!(!was_over || out.is_empty(), "after the end: {out:?}");
        assert!(
            !is_late || out.is_empty(),
            "for a call that has left: {out:?}"
        );
        if self.step.is_batch && !was_over {
            self.note_batch(&out);
        }
        let last = out.len().saturating_sub(1);
        for (at, output) in out.into_iter().enumerate() {
            assert!(
                output != Output::ShutDown || at == last,
                "not the last word"
            );
            self.check(output);
        }
        self.check_step(was_over);
        self.step = Step::default();
        // Entries of a batch may have been answered, but nothing shows it before the last.
        let open = self.machine.open_calls();
        let alone = self.calls.iter().filter(|call| !call.in_batch).count();
        assert!(
            (alone..=self.calls.len()).contains(&open),
            "{open} open: {:?}",
            self.calls
        );
        assert_eq!(
            self.machine.open_questions(),
            self.asks.len(),
            "open questions: {:?}",
            self.asks
        );
    }

    /// A batch was taken in, unless all that came out is a refusal without an id.
    fn note_batch(&mut self, out: &[Output]) {
        let is_refused = matches!(
            out,
            [Output::Send {
                message: Message::Response(Response { id: None, .. }),
                ..
            }]
        );
        if is_refused {
            self.step.incoming.clear();
            return;
        }
        let faults = self.step.faults - 1;
        let mut want: Vec<String> = vec![String::new(); faults];
        for (id, _) in &self.step.incoming {
            let repeated = self.calls.iter().any(|call| call.id == *id);
            want.push(if repeated { String::new() } else { id.clone() });
        }
        self.step.faults = 0;
        self.batches.push(Batch {
            lane: self.step.lane,
            serials: self
                .step
                .incoming
                .iter()
                .map(|(_, serial)| *serial)
                .collect(),
            want,
        });
    }

    fn check_step(&mut self, was_over: bool) {
        if self.step.kind == Kind::Received && !was_over && !self.step.is_batch {
            let left = &self.step.incoming;
            // A frame that may be an answer is passed over in silence.
            let unanswered = left.iter().filter(|(_, serial)| *serial > 0).count();
            assert_eq!(unanswered, 0, "neither served nor answered: {left:?}");
            let is_once = self.step.accepted <= 1 || self.wire == Wire::Pipe;
            assert!(is_once, "accepted twice");
        }
        self.batches
            .retain(|batch| !batch.serials.is_empty() || !batch.want.is_empty());
    }

    fn check(&mut self, output: Output) {
        match output {
            Output::Send { lane, message } => {
                self.check_lane(lane.0);
                match message {
                    Message::Response(response) => self.check_answer(lane.0, &response),
                    Message::Request(request) => {
                        let id = request.id.as_integer().expect("our ids are integers");
                        assert!(id > self.last_ask, "{id} was used before");
                        self.last_ask = id;
                        let is_call = |call: &Call| call.lane == lane.0 && !call.stateless;
                        assert!(self.calls.iter().any(is_call), "a question of no call");
                        self.asks.push(id);
                    }
                    Message::Notification(told) => self.check_told(lane.0, &told),
                }
            }
            Output::SendBatch { lane, responses } => self.check_batch(lane.0, &responses),
            Output::Accepted { lane } => {
                self.end_lane(lane.0);
                if lane.0 == self.step.lane {
                    self.step.accepted += 1;
                } else {
                    // A request, or the last one of a batch, was cancelled: nothing is to be
                    // answered.
                    let is_done = |batch: &Batch| batch.lane == lane.0 && batch.want.is_empty();
                    let is_stopped = self.calls.iter().all(|call| call.lane != lane.0);
                    assert!(
                        self.batches.iter().any(is_done) || is_stopped,
                        "accepted on another stream"
                    );
                }
            }
            Output::Serve(serve) => self.note_served(&serve),
            Output::Stop { key } => self.check_stopped(key),
            Output::Reply { key, ask, outcome } => {
                let key = key.expect("only handlers ask here");
                let is_open = self
                    .calls
                    .iter()
                    .any(|call| call.key == Some(key) && !call.listens);
                assert!(is_open, "a reply for nobody: {outcome:?}");
                let at = self.waiting.iter().position(|of| *of == (key, ask));
                self.waiting
                    .swap_remove(at.expect("nobody waits for this reply"));
            }
            Output::Listening { key, .. } => {
                let call = self
                    .calls
                    .iter_mut()
                    .find(|call| call.listens && call.key.is_none());
                call.expect("the acknowledgement comes first").key = Some(key);
            }
            Output::ListeningEnded { key, .. } => {
                if let Some(at) = self.calls.iter().position(|call| call.key == Some(key)) {
                    // Without an answer: only because the client is gone or wants none.
                    let call = self.calls.remove(at);
                    assert!(call.listens);
                    self.check_reason(&call);
                    self.dead.push(key);
                } else {
                    assert_eq!(self.step.kind, Kind::Close);
                    assert!(self.dead.contains(&key));
                }
            }
            Output::ShutDown => {
                self.over = true;
                if self.step.kind == Kind::PeerClosed {
                    // What was answered within a batch that is not complete went with it.
                    self.calls.retain(|call| !call.in_batch);
                    self.asks.clear();
                    self.batches.clear();
                }
            }
            Output::Told(_) | Output::LogLevel(_) | Output::Opened(_) => {
                assert_eq!(self.step.kind, Kind::Received);
            }
            other => panic!("what is {other:?}?"),
        }
    }

    /// May a request leave without an answer now?
    fn check_reason(&self, call: &Call) {
        let cancelled =
            self.step.kind == Kind::Received && self.step.cancels.as_ref() == Some(&call.id);
        let closed = call.stateless && self.step.closes == Some(call.lane);
        let gone = self.step.kind == Kind::PeerClosed;
        assert!(
            cancelled || closed || gone,
            "stopped for no reason: {call:?}"
        );
    }

    fn check_stopped(&mut self, key: ServeKey) {
        let at = self.calls.iter().position(|call| call.key == Some(key));
        let at = at.unwrap_or_else(|| panic!("{key:?} is stopped but not open"));
        if matches!(self.step.kind, Kind::Tick | Kind::Close) {
            // Its answer, which says so, follows.
            let call = &mut self.calls[at];
            self.step.incoming.push((call.id.clone(), 0));
            return;
        }
        let call = self.calls.remove(at);
        self.check_reason(&call);
        self.dead.push(key);
        if call.in_batch {
            for batch in &mut self.batches {
                if batch.serials.contains(&call.serial) {
                    batch.serials.retain(|serial| *serial != call.serial);
                    let at = batch.want.iter().position(|id| *id == call.id);
                    batch.want.swap_remove(at.expect("it is wanted"));
                }
            }
        }
    }

    fn note_served(&mut self, serve: &switchboard_protocol::machine::server::Serve) {
        let serial = serve
            .params
            .as_ref()
            .and_then(|params| params.member("serial"));
        let serial: u64 =
            serde_json::from_slice(serial.expect("every request has one")).expect("valid JSON");
        if let Some(call) = self
            .calls
            .iter_mut()
            .find(|call| call.key == Some(serve.key))
        {
            assert!(call.gathers && call.serial == serial, "served twice");
            call.gathers = false;
            return;
        }
        let at = self.step.incoming.iter().position(|(_, of)| *of == serial);
        let (id, _) = self
            .step
            .incoming
            .remove(at.expect("served out of nowhere"));
        assert!(
            !self.calls.iter().any(|call| call.id == id),
            "{id} is in flight twice"
        );
        self.calls.push(Call {
            id,
            serial,
            key: Some(serve.key),
            lane: self.step.lane,
            stateless: serve.caller.revision == Revision::LATEST,
            listens: false,
            gathers: false,
            in_batch: self.step.is_batch,
            progress: f64::NEG_INFINITY,
        });
    }

    fn check_answer(&mut self, lane: u64, response: &Response) {
        self.end_lane(lane);
        let Some(id) = response.id.as_ref().map(RequestId::to_string) else {
            assert!(response.outcome.is_err());
            let repeated = self
                .step
                .incoming
                .iter()
                .position(|(id, _)| self.calls.iter().any(|call| call.id == *id));
            match repeated {
                Some(at) => {
                    self.step.incoming.remove(at);
                }
                None => {
                    assert!(self.step.faults > 0, "refused without an id: {response:?}");
                    self.step.faults -= 1;
                }
            }
            return;
        };
        if self.step.kind == Kind::Received
            && let Some(at) = self.step.incoming.iter().position(|(of, _)| *of == id)
        {
            // Answered at once, on its own stream.
            assert_eq!(lane, self.step.lane);
            self.step.incoming.remove(at);
            let repeated = self.calls.iter().any(|call| call.id == id);
            assert!(!repeated || self.wire == Wire::Http, "{id} is in flight");
            return;
        }
        let at = self
            .calls
            .iter()
            .position(|call| call.id == id && call.lane == lane);
        let at = at.unwrap_or_else(|| panic!("{id} is answered but not open"));
        let call = self.calls.remove(at);
        assert!(!call.in_batch, "{id} is answered outside of its batch");
        assert!(self.step.kind != Kind::PeerClosed, "an answer to nobody");
        self.dead.extend(call.key);
    }

    fn check_batch(&mut self, lane: u64, responses: &[Response]) {
        self.check_lane(lane);
        self.end_lane(lane);
        let mut got: Vec<String> = responses
            .iter()
            .map(|response| {
                response
                    .id
                    .as_ref()
                    .map_or_else(String::new, RequestId::to_string)
            })
            .collect();
        got.sort();
        let at = self.batches.iter().position(|batch| {
            let mut want = batch.want.clone();
            want.sort();
            batch.lane == lane && want == got
        });
        let at = at.unwrap_or_else(|| panic!("no batch wants {got:?}: {:?}", self.batches));
        let batch = self.batches.remove(at);
        let calls = &mut self.calls;
        let dead = &mut self.dead;
        calls.retain(|call| {
            let is_done = call.in_batch && batch.serials.contains(&call.serial);
            if is_done {
                dead.extend(call.key);
            }
            !is_done
        });
    }

    fn check_told(&mut self, lane: u64, told: &switchboard_protocol::jsonrpc::Notification) {
        let params = told.params.as_ref();
        let tag = Envelope::of(params).subscription_id;
        let tag = tag.map(|text| String::from_utf8_lossy(text).into_owned());
        match (told.method.known(), tag) {
            (Some(Method::SubscriptionsAcknowledged), Some(id)) => {
                let at = self.step.incoming.iter().position(|(of, _)| *of == id);
                let (id, serial) = self.step.incoming.remove(at.expect("nobody listens"));
                assert_eq!(lane, self.step.lane);
                self.calls.push(Call {
                    id,
                    serial,
                    key: None,
                    lane,
                    stateless: true,
                    listens: true,
                    gathers: false,
                    in_batch: false,
                    progress: 0.0,
                });
            }
            (Some(method), Some(id)) => {
                let call = self.calls.iter().find(|call| call.id == id && call.listens);
                assert!(
                    call.is_some_and(|call| call.lane == lane),
                    "{id} does not listen"
                );
                // No filter of this run asks for more.
                let asked_for = matches!(method, Method::ToolListChanged | Method::ResourceUpdated);
                assert!(asked_for, "{method} was not asked for");
            }
            (Some(Method::Progress), None) => {
                let params = params.expect("progress has parameters");
                let token = params
                    .string_member("progressToken")
                    .expect("it has a token");
                let call = self
                    .calls
                    .iter_mut()
                    .find(|call| format!("t{}", call.serial) == token);
                let call = call.unwrap_or_else(|| panic!("progress for {token}"));
                assert_eq!(call.lane, lane);
                let progress: f64 =
                    serde_json::from_slice(params.member("progress").expect("valid JSON"))
                        .expect("valid JSON");
                assert!(progress > call.progress, "progress does not grow");
                call.progress = progress;
            }
            (Some(Method::Cancelled), None) => {
                let id = params
                    .and_then(|params| params.member("requestId"))
                    .expect("valid JSON");
                let id: i64 = serde_json::from_slice(id).expect("valid JSON");
                let at = self.asks.iter().position(|asked| *asked == id);
                self.asks
                    .remove(at.unwrap_or_else(|| panic!("question {id} is not open")));
            }
            (Some(Method::LogMessage), None) => {}
            (Some(method), None) => {
                assert_eq!(lane, 0, "{method} belongs to no stream");
                assert_eq!(self.machine.state(), ServerState::Operating);
            }
            (None, _) => panic!("told {}", told.method),
        }
    }

    /// Nothing follows the last word of a stream.
    fn check_lane(&self, lane: u64) {
        assert!(!self.ended_lanes.contains(&lane), "stream {lane} has ended");
    }

    fn end_lane(&mut self, lane: u64) {
        if lane != 0 {
            self.check_lane(lane);
            self.ended_lanes.push(lane);
        }
    }
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}
