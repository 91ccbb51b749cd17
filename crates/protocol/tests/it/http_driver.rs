//! A server on HTTP without a socket: the whole way of a POST, through the public API.
//!
//! It connects the wires as a real one would: headers, body, admission, the machine that
//! the admission names, a handler, and the status of what comes back.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use switchboard_protocol::http::negotiate::{Accepted, Format};
use switchboard_protocol::http::parameter::Parameters;
use switchboard_protocol::http::server::{
    Admission, Body, Endpoint, Fields, Refusal, Stage, admit, begin_answer,
};
use switchboard_protocol::http::session::SessionError;
use switchboard_protocol::jsonrpc::{
    ErrorObject, Frame, Limits, Malformed, Message, MethodName, Notification, RequestId, Response,
};
use switchboard_protocol::machine::server::{Answer, Input, Output, ServerConfig, ServerMachine};
use switchboard_protocol::machine::{Lane, Wire};
use switchboard_protocol::types::{ClientCapabilities, Implementation};
use switchboard_protocol::{Era, Method, Payload, RawJson, Revision};
use switchboard_testkit::clock::ManualClock;

/// A server with one living session, `s1`.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    /// What the session agreed on.
    pub(crate) agreed: Revision,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The format of the body, if there is one.
    pub(crate) format: Option<Format>,
    /// The answer in the body, if there is one.
    pub(crate) answer: Option<Response>,
    /// Which session was opened, and at what revision.
    pub(crate) opened: Option<Revision>,
}

impl Server {
    pub(crate) fn new(revisions: &[Revision]) -> Self {
        Self {
            endpoint: Endpoint::new(revisions),
            agreed: Revision::V2025_11_25,
        }
    }

    /// Posts a body, as a client that accepts both formats.
    pub(crate) fn post(&self, pairs: &[(&'static str, &str)], body: &str) -> Reply {
        let headers = headers(pairs);
        let frame = Frame::read(&Bytes::copy_from_slice(body.as_bytes()), &Limits::default());
        let body = Body::of(&frame);
        let admitted = admit(&self.endpoint, &Fields::of(&headers), &body)
            .and_then(|admission| Ok((admission.era(), self.machine(&admission)?)));
        match admitted {
            Err(refusal) => Reply {
                status: refusal.status().as_u16(),
                format: Some(Format::Json),
                answer: Some(refusal.response(&self.endpoint, &body)),
                opened: None,
            },
            Ok((era, machine)) => Post::new(era, machine, headers).run(frame),
        }
    }

    fn machine(&self, admission: &Admission) -> Result<ServerMachine, Refusal> {
        let config = self.config();
        Ok(match admission {
            Admission::Stateless => ServerMachine::stateless(config),
            Admission::Opening => ServerMachine::new(config),
            // As if its handshake were long over.
            Admission::Session { id, .. } if id.as_str() == "s1" => {
                ServerMachine::sessionless(config, self.agreed)
            }
            Admission::Session { .. } => return Err(SessionError::Unknown.into()),
            Admission::Sessionless { revision } => ServerMachine::sessionless(config, *revision),
            other => panic!("expected an admission that this server knows, got {other:?}"),
        })
    }

    fn config(&self) -> Arc<ServerConfig> {
        let capabilities = serde_json::from_str(
            r#"{"tools":{},"resources":{"subscribe":true},"prompts":{},"logging":{},
                "extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        );
        let info = Implementation::new("s", "1");
        let mut config = ServerConfig::new(info, capabilities.expect("valid capabilities"));
        config.revisions.clone_from(&self.endpoint.revisions);
        config.wire = Wire::Http;
        Arc::new(config)
    }
}

/// One POST on its way.
struct Post {
    clock: ManualClock,
    era: Era,
    machine: ServerMachine,
    headers: HeaderMap,
    reply: Option<Reply>,
    opened: Option<Revision>,
}

impl Post {
    fn new(era: Era, machine: ServerMachine, headers: HeaderMap) -> Self {
        Self {
            clock: ManualClock::new(),
            era,
            machine,
            headers,
            reply: None,
            opened: None,
        }
    }

    fn run(mut self, frame: Result<Frame, Malformed>) -> Reply {
        let lane = Lane(1);
        self.handle(Stage::Admission, Input::Received { lane, frame });
        let opened = self.opened;
        let reply = self.reply.expect("invariant: every POST has a status");
        Reply { opened, ..reply }
    }

    fn handle(&mut self, stage: Stage, input: Input) {
        let mut out = Vec::new();
        self.machine.handle(self.clock.now(), input, &mut out);
        for output in out {
            match output {
                Output::Send { message, .. } => self.send(&message, stage),
                Output::SendBatch { .. } => self.begin(StatusCode::OK, Some(Format::Json)),
                Output::Accepted { .. } => self.begin(StatusCode::ACCEPTED, None),
                Output::Opened(caller) => self.opened = Some(caller.revision),
                Output::Serve(serve) => {
                    if serve.params.as_ref().and_then(|p| p.name()).as_deref() == Some("tell") {
                        let params = Some(Payload::empty());
                        let notification =
                            Notification::new(MethodName::new("notifications/x"), params);
                        let key = Some(serve.key);
                        self.handle(Stage::Answer, Input::Notify { key, notification });
                    }
                    let answer = match self.answer(&serve.method, serve.params.as_ref()) {
                        Ok(result) => Answer::Result(result),
                        Err(error) => Answer::Error(error),
                    };
                    let key = serve.key;
                    self.handle(Stage::Answer, Input::Answered { key, answer });
                }
                Output::Told(_) | Output::LogLevel(_) | Output::Listening { .. } => {}
                other => panic!("expected nothing else of one POST, got {other:?}"),
            }
        }
    }

    /// A handler with a few tools; `paint` has a header for its argument.
    fn answer(
        &self,
        method: &MethodName,
        params: Option<&Payload>,
    ) -> Result<Payload, ErrorObject> {
        let Some(known) = method.known() else {
            return Err(ErrorObject::method_not_found(method.as_str()));
        };
        if known != Method::ToolsCall {
            return Ok(Payload::empty());
        }
        match params.and_then(Payload::name).as_deref() {
            Some("add" | "世" | "tell") => Ok(Payload::empty()),
            Some("ask") => Err(ErrorObject::missing_capabilities(
                ClientCapabilities::default(),
            )),
            Some("break") => Err(ErrorObject::internal("broken")),
            Some("paint") => {
                let schema = r#"{"type":"object","properties":{"colour":{"type":"string","x-mcp-header":"Colour"}}}"#;
                let parameters = Parameters::read(&RawJson::parse(schema).expect("valid JSON"))
                    .expect("valid annotations");
                let arguments = params
                    .and_then(|params| params.part("arguments"))
                    .and_then(|part| part.decode().ok());
                match parameters.check(&self.headers, arguments.as_ref()) {
                    Ok(()) => Ok(Payload::empty()),
                    Err(mismatch) => Err(Refusal::from(mismatch).error(&Revision::ALL)),
                }
            }
            _ => Err(ErrorObject::invalid_params("unknown tool")),
        }
    }

    fn send(&mut self, message: &Message, stage: Stage) {
        if self.reply.is_none() {
            let accepted = Accepted::read(&self.headers);
            let (status, format) =
                begin_answer(message, self.era, stage, accepted).expect("a format fits");
            self.begin(status, Some(format));
        }
        if let (Some(reply), Message::Response(response)) = (&mut self.reply, message) {
            reply.answer = Some(response.clone());
        }
    }

    fn begin(&mut self, status: StatusCode, format: Option<Format>) {
        self.reply.get_or_insert(Reply {
            status: status.as_u16(),
            format,
            answer: None,
            opened: None,
        });
    }
}

impl Reply {
    /// The code of the error, or 0 for a result or no answer.
    pub(crate) fn code(&self) -> i64 {
        let outcome = self.answer.as_ref().map(|answer| &answer.outcome);
        match outcome {
            Some(Err(error)) => error.code.0,
            _ => 0,
        }
    }

    /// The id of the answer.
    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.answer.as_ref().and_then(|answer| answer.id.as_ref())
    }
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, HeaderValue::from_str(value).expect("a header value"));
    }
    headers
}
