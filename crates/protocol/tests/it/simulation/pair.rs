//! The client machine and the server machine, connected: values must not cross.
//!
//! Each call carries a serial number. Its handler, its questions, its progress and its
//! outcome repeat it, whatever the pieces in which bytes arrive and whoever comes first.

use serde_json::json;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_protocol::machine::Wire;
use switchboard_protocol::machine::client::{
    self, CallError, CallKey, CallRequest, ClientConfig, Mode, Question, QuestionKey,
};
use switchboard_protocol::machine::server::{self, Answer, AskKey, ServeKey, ServerConfig};
use switchboard_protocol::types::Implementation;
use switchboard_protocol::{Method, Payload, Revision};
use switchboard_testkit::pair::{Pair, Side};

use super::random::Random;
use super::{Trace, payload};

pub(crate) fn setups() -> Vec<(ClientConfig, ServerConfig)> {
    let mut setups = Vec::new();
    let (handshake, stateless) = Revision::ALL.split_at(4);
    let pairs = [
        (Mode::Auto, &Revision::ALL[..]),
        (Mode::Auto, handshake),
        (Mode::Auto, stateless),
        (Mode::Legacy, &Revision::ALL[..]),
        (Mode::Pinned(Revision::LATEST), &Revision::ALL[..]),
        (Mode::Pinned(Revision::V2025_06_18), handshake),
        (Mode::Pinned(Revision::V2025_03_26), handshake),
        (Mode::Pinned(Revision::V2024_11_05), &Revision::ALL[..]),
    ];
    for (mode, revisions) in pairs {
        for wire in [Wire::Pipe, Wire::Http] {
            let mut client = ClientConfig::new(Implementation::new("c", "1"));
            client.capabilities =
                serde_json::from_value(json!({ "roots": {} })).expect("valid JSON");
            (client.mode, client.wire) = (mode, wire);
            let tools = serde_json::from_value(json!({ "tools": {} })).expect("valid JSON");
            let mut server = ServerConfig::new(Implementation::new("s", "1"), tools);
            server.revisions = revisions.to_vec();
            setups.push((client, server));
        }
    }
    setups
}

/// One run.
pub(crate) fn run(setups: &[(ClientConfig, ServerConfig)], mut random: Random, trace: &mut Trace) {
    let (client, server) = random.pick(setups).clone();
    trace.note(|| format!("{:?} {:?} {:?}", client.mode, client.wire, server.revisions));
    let mut model = Model {
        pair: Pair::new(client, server),
        random,
        trace,
        opened: false,
        calls: Vec::new(),
        last_key: 0,
        handlers: Vec::new(),
        next_ask: 0,
        questions: Vec::new(),
    };
    model.tell_client(client::Input::Opened);
    for _ in 0..15 + model.random.below(60) {
        model.step(true);
    }
    model.end();
}

struct Model<'a> {
    pair: Pair,
    random: Random,
    trace: &'a mut Trace,
    opened: bool,
    /// Calls without an outcome, and whether they were cancelled.
    calls: Vec<u64>,
    last_key: u64,
    handlers: Vec<Handler>,
    next_ask: u64,
    /// What the host was asked: the question and the serial number it names.
    questions: Vec<(QuestionKey, u64)>,
}

struct Handler {
    key: ServeKey,
    serial: u64,
    /// It has its input, or needs none.
    is_fed: bool,
    asks: Vec<AskKey>,
    progress: u32,
}

impl Model<'_> {
    fn step(&mut self, may_call: bool) {
        match self.random.below(100) {
            0..12 if may_call && self.opened => {
                self.last_key += 1;
                let serial = self.last_key;
                let params = payload(&format!(r#"{{"name":"x","serial":{serial}}}"#));
                let call = CallRequest::new(CallKey(serial), Method::ToolsCall, Some(params));
                self.calls.push(serial);
                self.tell_client(client::Input::Call(call));
            }
            12..15 if may_call && !self.calls.is_empty() => {
                let serial = *self.random.pick(&self.calls);
                let key = CallKey(serial);
                self.tell_client(client::Input::Cancel { key, reason: None });
                assert!(
                    !self.calls.contains(&serial),
                    "{serial} goes on after its cancel"
                );
            }
            15..35 if !self.handlers.is_empty() => self.handler_acts(),
            35..42 if !self.questions.is_empty() => {
                let at = self.random.below(self.questions.len());
                let (question, serial) = self.questions.swap_remove(at);
                let outcome = Ok(payload(&format!(r#"{{"value":{serial}}}"#)));
                self.tell_client(client::Input::Answer { question, outcome });
            }
            _ => self.deliver(),
        }
    }

    /// Everyone does what is left to do, and then nothing is left.
    fn end(&mut self) {
        for _ in 0..20_000 {
            let quiet =
                self.pair.streams_to(Side::Client) + self.pair.streams_to(Side::Server) == 0;
            if quiet && self.opened && self.handlers.is_empty() && self.questions.is_empty() {
                break;
            }
            self.step(false);
        }
        assert!(self.opened, "never opened");
        assert!(
            self.calls.is_empty(),
            "calls without an outcome: {:?}",
            self.calls
        );
        assert_eq!(
            (
                self.pair.client().open_calls(),
                self.pair.client().open_questions()
            ),
            (0, 0)
        );
        assert_eq!(
            (
                self.pair.server().open_calls(),
                self.pair.server().open_questions()
            ),
            (0, 0)
        );
        self.tell_client(client::Input::Close);
        self.tell_server(server::Input::PeerClosed);
    }

    fn deliver(&mut self) {
        let side = if self.random.chance(50) {
            Side::Client
        } else {
            Side::Server
        };
        let streams = self.pair.streams_to(side);
        if streams == 0 {
            return;
        }
        let stream = self.random.below(streams);
        let length = if self.random.chance(60) {
            usize::MAX
        } else {
            1 + self.random.below(400)
        };
        self.trace
            .note(|| format!("to {side:?}: {length} of stream {stream}"));
        self.pair.deliver(side, stream, length);
        self.look();
    }

    fn handler_acts(&mut self) {
        let at = self.random.below(self.handlers.len());
        let Handler {
            key,
            serial,
            is_fed,
            progress,
            ..
        } = self.handlers[at];
        match self.random.below(8) {
            0 if progress < 3 => {
                self.handlers[at].progress += 1;
                let params = payload(&format!(
                    r#"{{"progress":{},"total":{serial},"message":"s{serial}"}}"#,
                    progress + 1
                ));
                self.tell_server(server::Input::Progress { key, params });
            }
            1 if self.next_ask < 8 => {
                self.next_ask += 1;
                let ask = AskKey(self.next_ask);
                self.handlers[at].asks.push(ask);
                let params = Some(payload(&format!(r#"{{"message":"s{serial}"}}"#)));
                let method = Method::RootsList;
                self.tell_server(server::Input::Ask {
                    key: Some(key),
                    ask,
                    method,
                    params,
                });
            }
            2 | 3 if !is_fed => {
                self.handlers.swap_remove(at);
                let needed = format!(
                    r#"{{"inputRequests":{{"who":{{"method":"roots/list","params":{{"message":"s{serial}"}}}}}},"requestState":"s{serial}"}}"#
                );
                self.tell_server(server::Input::Answered {
                    key,
                    answer: Answer::InputRequired(payload(&needed)),
                });
            }
            4 => {
                self.handlers.swap_remove(at);
                let error = ErrorObject::new(ErrorCode(serial as i64), "no");
                self.tell_server(server::Input::Answered {
                    key,
                    answer: Answer::Error(error),
                });
            }
            _ => {
                self.handlers.swap_remove(at);
                let result = payload(&format!(r#"{{"content":[],"value":{serial}}}"#));
                self.tell_server(server::Input::Answered {
                    key,
                    answer: Answer::Result(result),
                });
            }
        }
    }

    fn tell_client(&mut self, input: client::Input) {
        self.trace.note(|| format!("client in {input:?}"));
        self.pair.tell_client(input);
        self.look();
    }

    fn tell_server(&mut self, input: server::Input) {
        self.trace.note(|| format!("server in {input:?}"));
        self.pair.tell_server(input);
        self.look();
    }

    /// Looks at what came out on both sides.
    fn look(&mut self) {
        for event in self.pair.server_events() {
            self.trace.note(|| format!("server {event:?}"));
            match event {
                server::Output::Serve(serve) => {
                    let params = serve.params.expect("the parameters of the call");
                    let serial = number(&params, "serial");
                    let answers = params.part("inputResponses");
                    if let Some(answers) = &answers {
                        let who = answers.part("who").expect("the name that was asked for");
                        assert_eq!(number(&who, "value"), serial, "an answer of another call");
                        let state = params.string_member("requestState");
                        assert_eq!(state.as_deref(), Some(&*format!("s{serial}")));
                    }
                    self.handlers.push(Handler {
                        key: serve.key,
                        serial,
                        is_fed: answers.is_some(),
                        asks: Vec::new(),
                        progress: 0,
                    });
                }
                server::Output::Stop { key } => self.handlers.retain(|handler| handler.key != key),
                server::Output::Reply { key, ask, outcome } => {
                    let handler = self
                        .handlers
                        .iter_mut()
                        .find(|handler| Some(handler.key) == key);
                    let handler = handler.expect("a reply for a handler that has ended");
                    let at = handler.asks.iter().position(|of| *of == ask);
                    handler.asks.swap_remove(at.expect("a reply to nothing"));
                    if let Ok(answer) = outcome {
                        assert_eq!(
                            number(&answer, "value"),
                            handler.serial,
                            "an answer of another call"
                        );
                    }
                }
                _ => {}
            }
        }
        for event in self.pair.client_events() {
            self.trace.note(|| format!("client {event:?}"));
            match event {
                client::Output::Opened(_) => self.opened = true,
                client::Output::Finished { key, outcome } => self.finished(key.0, outcome),
                client::Output::Progress { key, params } => {
                    // Not all revisions have a message here.
                    assert_eq!(number(&params, "total"), key.0, "progress of another call");
                }
                client::Output::Asked(Question {
                    key, call, params, ..
                }) => {
                    let serial = said(&params);
                    // Nobody is asked in the place of somebody else: what is not certain is said
                    // to belong to no call.
                    let is_own = call.is_none_or(|call| call.0 == serial);
                    assert!(is_own, "a question of another call");
                    self.questions.push((key, serial));
                }
                client::Output::Withdrawn(key) => self.questions.retain(|(of, _)| *of != key),
                client::Output::Failed(failure) => panic!("failed: {failure}"),
                _ => {}
            }
        }
    }

    fn finished(&mut self, serial: u64, outcome: Result<Payload, CallError>) {
        let at = self.calls.iter().position(|of| *of == serial);
        self.calls.swap_remove(at.expect("a second outcome"));
        match outcome {
            Ok(result) => assert_eq!(number(&result, "value"), serial, "a result of another call"),
            Err(CallError::Refused(error)) => assert_eq!(error.code.0, serial as i64, "{error}"),
            Err(CallError::Cancelled) => {}
            Err(error) => panic!("{serial} ends with {error}"),
        }
    }
}

fn number(payload: &Payload, name: &str) -> u64 {
    let text = payload
        .member(name)
        .unwrap_or_else(|| panic!("{payload:?} has no {name}"));
    serde_json::from_slice(text).expect("a number")
}

/// The serial number in a message.
fn said(params: &Payload) -> u64 {
    let message = params.string_member("message").expect("a message");
    message
        .trim_start_matches('s')
        .parse()
        .expect("a serial number")
}
