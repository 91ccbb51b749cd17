//! Calls that are handled where they come in.
//!
//! Most handlers have their answer at once. A driver that can wait for them takes a request
//! with [`ServerMachine::admit_request`], and only one whose handler must wait is
//! [entered](ServerMachine::enter) among the calls in flight. Everything that can
//! happen to a call in flight (cancel, progress, questions, time) needs it to be entered first.
//!
//! Specification: basic (requests).

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use crate::envelope::Envelope;
use crate::jsonrpc::{ErrorObject, Request, RequestId, Response};
use crate::machine::Lane;
use crate::machine::server::answering::{Verdict, judge};
use crate::machine::server::input::{Answer, Caller, Output, Serve};
use crate::machine::server::legacy::kept_params;
use crate::machine::server::{InFlight, ServerMachine, Work};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::Era;
use crate::types::{CallToolResult, LoggingLevel};

/// A request that may be handled.
#[derive(Debug)]
#[non_exhaustive]
pub struct Arrival {
    /// What its handler gets.
    pub serve: Serve,
    /// What its answer needs.
    pub call: Arriving,
}

/// A call whose handler has it, and that is not yet in flight.
///
/// It must be [answered](ServerMachine::answer) or [entered](ServerMachine::enter) before the
/// machine takes in anything else.
#[derive(Debug)]
pub struct Arriving {
    pub(super) id: RequestId,
    pub(super) lane: Lane,
}

/// What the client gets for a call that was answered where it came in.
#[derive(Debug)]
pub enum Reply<'a> {
    /// A response.
    Response(Response),
    /// The result of a tool that is one short text.
    Text(TextResult<'a>),
}

/// The response to a call of a tool whose result is one text.
#[derive(Debug)]
pub struct TextResult<'a> {
    id: RequestId,
    /// The members that come before, as text, if there are any.
    front: &'a [u8],
    text: String,
}

impl TextResult<'_> {
    /// The response as JSON text.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.plain_length());
        self.write(&mut out);
        out.into()
    }

    /// How long it is if nothing in the text must be escaped.
    fn plain_length(&self) -> usize {
        let front = match self.front.len() {
            0 => 0,
            length => length + 1,
        };
        let text = CallToolResult::AROUND_TEXT + self.text.len();
        self.id.head_length() + RESULT.len() + front + text + END.len()
    }

    /// Appends the response as one line of JSON text, without the line's end.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.id.write_head(out);
        out.extend_from_slice(RESULT);
        if !self.front.is_empty() {
            out.extend_from_slice(self.front);
            out.push(b',');
        }
        CallToolResult::write_text(&self.text, out);
        out.extend_from_slice(END);
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub(super) enum Admission {
    /// A handler gets it.
    Serve(Admitted),
    /// It has its answer.
    Answer(Result<Payload, ErrorObject>),
    /// It is a subscription of this caller, and stays open.
    Listen(Arc<Caller>),
}

/// What is known of a request that may be handled.
#[derive(Debug)]
pub struct Admitted {
    pub(super) caller: Arc<Caller>,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) wants_progress: bool,
}

impl ServerMachine {
    /// Takes in a request that came by itself as [`Input::Received`](super::Input::Received)
    /// does, but does not enter it: if it may be handled, [`arrive`](Self::arrive) comes next.
    pub fn admit_request(
        &mut self,
        lane: Lane,
        request: &Request,
        out: &mut Vec<Output>,
    ) -> Option<Admitted> {
        if self.over {
            return None;
        }
        self.take_request(lane, None, request, out)
    }

    /// A request that was admitted, with a key of its own.
    #[inline]
    pub fn arrive(&mut self, lane: Lane, request: Request, admitted: Admitted) -> Arrival {
        let id = request.id;
        let call = Arriving { id, lane };
        let serve = Serve {
            key: self.serving.reserve(),
            method: request.method,
            params: request.params,
            caller: admitted.caller,
            log_level: admitted.log_level,
            wants_progress: admitted.wants_progress,
        };
        Arrival { serve, call }
    }

    /// The handler of a call that just came has an answer: what the client gets, unless the
    /// client must be asked before. `serve` is what came with the call.
    pub fn answer(
        &mut self,
        now: Instant,
        call: Arriving,
        serve: &Serve,
        answer: Answer,
        out: &mut Vec<Output>,
    ) -> Option<Reply<'_>> {
        let method = serve.method.known();
        let answer = match answer {
            Answer::Text(text) if method == Some(Method::ToolsCall) && text.len() < LONG_TEXT => {
                self.serving.release(serve.key);
                let front = match serve.caller.revision.era() {
                    Era::Handshake => &[],
                    Era::Stateless => self.result_text.plain(),
                };
                let id = call.id;
                return Some(Reply::Text(TextResult { id, front, text }));
            }
            answer => answer,
        };
        match judge(answer, method, &serve.caller, &self.result_text) {
            Verdict::Settled(outcome) => {
                if outcome.is_ok() {
                    let params = serve.params.as_ref().map(Payload::text);
                    self.session.note_answer(method, params);
                }
                self.serving.release(serve.key);
                Some(Reply::Response(Response::new(call.id, outcome)))
            }
            Verdict::Asks(result) => {
                self.enter(now, call, serve);
                self.input_required(now, serve.key, &result, out);
                None
            }
        }
    }

    /// The handler of a call that just came must wait: from now on the call is in flight.
    /// `serve` is what came with it.
    pub fn enter(&mut self, now: Instant, call: Arriving, serve: &Serve) {
        self.enter_in(now, call, None, serve);
    }

    /// The same, for a call that came in a batch.
    pub(super) fn enter_in(
        &mut self,
        now: Instant,
        call: Arriving,
        batch: Option<u64>,
        serve: &Serve,
    ) {
        let in_flight = InFlight {
            lane: call.lane,
            batch,
            method: serve.method.known(),
            era: serve.caller.revision.era(),
            caller: Arc::clone(&serve.caller),
            params: kept_params(serve),
            progress_token: progress_token(serve),
            last_progress: None,
            log_level: serve.log_level,
            deadline: self.handler_deadline(now),
            rounds: 0,
            work: Work::Handler,
        };
        self.serving.insert(serve.key, call.id, in_flight);
    }
}

/// The text of the token under which the caller wants progress.
fn progress_token(serve: &Serve) -> Option<Bytes> {
    let params = serve.params.as_ref().filter(|_| serve.wants_progress);
    Envelope::of(params).progress_token_of(params)
}

const RESULT: &[u8] = b",\"result\":{";
const END: &[u8] = b"}}";

/// A longer text is made a payload, which is sent without another copy.
const LONG_TEXT: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{ErrorCode, Frame, Limits, Malformed, Message};
    use crate::machine::now;
    use crate::machine::server::{Change, Input, ServerConfig};
    use crate::types::{Implementation, ServerCapabilities};

    const CAPABILITIES: &str = r#"{"tools":{},"prompts":{},"resources":{"subscribe":true}}"#;
    const OPENING: [&str; 2] = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    ];
    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    fn frame(text: &str) -> Result<Frame, Malformed> {
        Frame::read(&Bytes::copy_from_slice(text.as_bytes()), &Limits::default())
    }

    fn payload(text: &str) -> Payload {
        Payload::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).unwrap()
    }

    fn machine() -> ServerMachine {
        let capabilities: ServerCapabilities = serde_json::from_str(CAPABILITIES).unwrap();
        let config = ServerConfig::new(Implementation::new("s", "1"), capabilities);
        let mut machine = ServerMachine::new(config);
        for line in OPENING {
            received(&mut machine, line);
        }
        machine
    }

    fn received(machine: &mut ServerMachine, line: &str) -> Vec<Output> {
        let mut out = Vec::new();
        let (lane, frame) = (Lane::SHARED, frame(line));
        machine.handle(now(), Input::Received { lane, frame }, &mut out);
        out
    }

    fn arrived(machine: &mut ServerMachine, line: &str) -> Arrival {
        let mut out = Vec::new();
        let Ok(Frame::Single(Message::Request(request))) = frame(line) else {
            panic!("{line} is no request");
        };
        let admitted = machine.admit_request(Lane::SHARED, &request, &mut out);
        assert_eq!(out, []);
        let admitted = admitted.expect("a handler is wanted");
        machine.arrive(Lane::SHARED, request, admitted)
    }

    /// What a reply is on the wire.
    fn message_of(reply: &Reply<'_>) -> Message {
        let mut written = Vec::new();
        match reply {
            Reply::Response(response) => return response.clone().into(),
            Reply::Text(text) => {
                text.write(&mut written);
                assert_eq!(text.to_bytes(), written);
                let escapes = written.iter().filter(|byte| **byte == b'\\').count();
                assert_eq!(text.plain_length() + escapes, written.len());
            }
        }
        match Frame::read(&written.into(), &Limits::default()) {
            Ok(Frame::Single(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    /// What follows from an answer, however the call was taken in.
    fn check(line: &str, answer: &Answer) {
        let mut entered = machine();
        let out = received(&mut entered, line);
        let [Output::Serve(serve)] = out.as_slice() else {
            panic!("{out:?}");
        };
        let mut expected = Vec::new();
        let (key, given) = (serve.key, answer.clone());
        entered.handle(now(), Input::Answered { key, answer: given }, &mut expected);

        let mut direct = machine();
        let Arrival { serve, call } = arrived(&mut direct, line);
        assert_eq!(serve.key, key);
        let mut out = Vec::new();
        let reply = direct.answer(now(), call, &serve, answer.clone(), &mut out);
        if let Some(reply) = reply {
            out.insert(0, Output::send(Lane::SHARED, message_of(&reply)));
        }
        assert_eq!(out, expected, "{line} {answer:?}");
        assert_eq!(direct.open_calls(), entered.open_calls());
        assert_eq!(direct.open_questions(), entered.open_questions());

        let uri = "file:///a".to_owned();
        let change = || Input::Changed(Change::Resource { uri: uri.clone() });
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        direct.handle(now(), change(), &mut out);
        entered.handle(now(), change(), &mut expected);
        assert_eq!(out, expected, "{line} {answer:?}");
    }

    #[test]
    fn a_handler_that_starts_again_without_end_is_stopped_and_counted() {
        let mut machine = machine();
        let refusals = machine.config.refusals.clone();
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#;
        let mut out = received(&mut machine, call);
        let mut starts = 0;
        while let Some(Output::Serve(serve)) = out.pop() {
            starts += 1;
            let (key, answer) = (serve.key, payload(r#"{"requestState":"1"}"#));
            let answer = Answer::InputRequired(answer);
            out.clear();
            machine.handle(now(), Input::Answered { key, answer }, &mut out);
        }
        assert_eq!((starts, refusals.counts()["rounds"]), (11, 1));
    }

    #[test]
    fn an_answer_is_the_same_whether_its_call_was_in_flight_or_not() {
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#;
        let stateless = call.replace(r#"{"name""#, &format!(r#"{{{META},"name""#));
        let subscribe = r#"{"jsonrpc":"2.0","id":"x","method":"resources/subscribe","params":{"uri":"file:///a"}}"#;
        let question = r#"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}"#;
        for line in [call, &stateless, subscribe] {
            for answer in [
                Answer::Result(payload(r#"{"content":[]}"#)),
                Answer::Text("so \"quoted\"".to_owned()),
                Answer::Text("long".repeat(LONG_TEXT)),
                Answer::Result(payload(question)),
                Answer::Result(payload(r#"{"resultType":"task"}"#)),
                Answer::InputRequired(payload(question)),
                Answer::Error(ErrorObject::new(ErrorCode::RESOURCE_NOT_FOUND, "no")),
            ] {
                check(line, &answer);
            }
        }
    }

    #[test]
    fn only_a_short_text_of_a_tool_is_written_where_it_is_sent() {
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#;
        let prompt = call.replace("tools/call", "prompts/get");
        let check = |line, length, is_text| {
            let mut machine = machine();
            let Arrival { serve, call } = arrived(&mut machine, line);
            let answer = Answer::Text("x".repeat(length));
            let reply = machine.answer(now(), call, &serve, answer, &mut Vec::new());
            let is_written = matches!(reply, Some(Reply::Text(_)));
            assert_eq!(is_written, is_text, "{length} bytes for {line}");
        };
        check(call, 0, true);
        check(call, LONG_TEXT - 1, true);
        check(call, LONG_TEXT, false);
        check(call, LONG_TEXT + 1, false);
        check(&prompt, 1, false);
    }

    #[test]
    fn a_call_that_is_entered_is_in_flight() {
        let mut machine = machine();
        let line = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#;
        let Arrival { serve, call } = arrived(&mut machine, line);
        assert_eq!(machine.open_calls(), 0);
        machine.enter(now(), call, &serve);
        assert!(machine.is_open(serve.key));
        assert_eq!(machine.lane(serve.key), Some(Lane::SHARED));
        let refused = received(&mut machine, line);
        assert!(matches!(refused.as_slice(), [Output::Send { .. }]));
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        let stopped = Output::Stop { key: serve.key };
        assert_eq!(received(&mut machine, cancel).first(), Some(&stopped));
        assert_eq!(machine.open_calls(), 0);
        assert!(!machine.is_open(serve.key));
        assert_eq!(machine.lane(serve.key), None);
    }

    #[test]
    fn a_key_is_never_used_again() {
        let mut machine = machine();
        let line = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#;
        let mut last = None;
        for _ in 0..3 {
            let Arrival { serve, call } = arrived(&mut machine, line);
            assert!(last < Some(serve.key));
            last = Some(serve.key);
            let answer = Answer::Result(Payload::empty());
            let reply = machine.answer(now(), call, &serve, answer, &mut Vec::new());
            assert!(matches!(reply, Some(Reply::Response(_))));
        }
    }
}
