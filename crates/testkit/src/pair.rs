//! A client machine and a server machine, connected in memory.
//!
//! What one side sends is written to bytes, travels in pieces of any size, is cut into
//! lines and read again by the other. On a pipe there is one stream each way; over HTTP there
//! is one per request, and they may overtake each other. What is not sent is kept for
//! the test, in order. Time stands still unless the test lets it pass.

use std::mem::take;
use std::time::Duration;

use bytes::BytesMut;
use switchboard_protocol::Payload;
use switchboard_protocol::framing::{LineDecoder, write_line};
use switchboard_protocol::jsonrpc::{ErrorObject, Frame, Limits, Malformed, Message};
use switchboard_protocol::machine::client::{self, ClientConfig, ClientMachine, Question};
use switchboard_protocol::machine::server::{self, Answer, Serve, ServerConfig, ServerMachine};
use switchboard_protocol::machine::{Lane, Wire};

use crate::clock::ManualClock;

/// A client and a server that talk to each other.
#[derive(Debug)]
pub struct Pair {
    client: ClientMachine,
    server: ServerMachine,
    clock: ManualClock,
    wire: Wire,
    to_client: Streams,
    to_server: Streams,
    client_events: Vec<client::Output>,
    server_events: Vec<server::Output>,
    /// Messages that belong to no request get a stream of their own at an HTTP server.
    last_post: u64,
}

/// One end of a [`Pair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that connects.
    Client,
    /// The side that serves.
    Server,
}

impl Pair {
    /// Two machines on the wire that the client's set-up names. Nothing has been said yet.
    pub fn new(client: ClientConfig, mut server: ServerConfig) -> Self {
        let wire = client.wire;
        server.wire = wire;
        Self {
            client: ClientMachine::new(client),
            server: ServerMachine::new(server),
            clock: ManualClock::new(),
            wire,
            to_client: Streams::default(),
            to_server: Streams::default(),
            client_events: Vec::new(),
            server_events: Vec::new(),
            last_post: FIRST_POST,
        }
    }

    /// The client.
    pub const fn client(&self) -> &ClientMachine {
        &self.client
    }

    /// The server.
    pub const fn server(&self) -> &ServerMachine {
        &self.server
    }

    /// Gives something to the client.
    pub fn tell_client(&mut self, input: client::Input) {
        let mut out = Vec::new();
        self.client.handle(self.clock.now(), input, &mut out);
        for output in out {
            match output {
                client::Output::Send { lane, message } => {
                    let lane = self.lane_to_server(lane);
                    self.to_server.push(lane, &message.to_bytes());
                }
                client::Output::CloseLane(lane) => {
                    self.to_server.close(lane);
                    self.to_client.close(lane);
                    self.tell_server(server::Input::LaneClosed { lane });
                }
                event => self.client_events.push(event),
            }
        }
    }

    /// Gives something to the server.
    pub fn tell_server(&mut self, input: server::Input) {
        let mut out = Vec::new();
        self.server.handle(self.clock.now(), input, &mut out);
        for output in out {
            match output {
                server::Output::Send { lane, message } => {
                    self.to_client.push(lane, &message.to_bytes());
                }
                server::Output::SendBatch { lane, responses } => {
                    let mut text = Vec::new();
                    for response in responses {
                        text.push(if text.is_empty() { b'[' } else { b',' });
                        Message::from(response).write(&mut text);
                    }
                    text.push(b']');
                    self.to_client.push(lane, &text);
                }
                event => self.server_events.push(event),
            }
        }
    }

    /// What the client has put out that is not sent, since this was last asked.
    pub fn client_events(&mut self) -> Vec<client::Output> {
        take(&mut self.client_events)
    }

    /// What the server has put out that is not sent, since this was last asked.
    pub fn server_events(&mut self) -> Vec<server::Output> {
        take(&mut self.server_events)
    }

    /// How many streams have bytes under way to this side.
    pub fn streams_to(&self, side: Side) -> usize {
        match side {
            Side::Client => self.to_client.0.len(),
            Side::Server => self.to_server.0.len(),
        }
    }

    /// Brings at most `length` bytes of one of the [`streams_to`](Self::streams_to) a side to it.
    pub fn deliver(&mut self, side: Side, stream: usize, length: usize) {
        let streams = match side {
            Side::Client => &mut self.to_client,
            Side::Server => &mut self.to_server,
        };
        let (lane, frames) = streams.take(stream, length);
        for frame in frames {
            match side {
                Side::Client => self.tell_client(client::Input::Received { lane, frame }),
                Side::Server => self.tell_server(server::Input::Received { lane, frame }),
            }
        }
    }

    /// Brings everything to where it belongs, and all that follows from it, until both sides
    /// wait. What the handler and the host have no answer for stays with the events.
    pub fn settle(
        &mut self,
        mut handler: impl FnMut(&Serve) -> Option<Answer>,
        mut host: impl FnMut(&Question) -> Option<Result<Payload, ErrorObject>>,
    ) {
        let (mut client_events, mut server_events) = (Vec::new(), Vec::new());
        loop {
            for event in self.server_events() {
                let answer = match &event {
                    server::Output::Serve(serve) => {
                        handler(serve).map(|answer| (serve.key, answer))
                    }
                    _ => None,
                };
                match answer {
                    Some((key, answer)) => {
                        self.tell_server(server::Input::Answered { key, answer })
                    }
                    None => server_events.push(event),
                }
            }
            for event in self.client_events() {
                let answer = match &event {
                    client::Output::Asked(question) => {
                        host(question).map(|outcome| (question.key, outcome))
                    }
                    _ => None,
                };
                match answer {
                    Some((question, outcome)) => {
                        self.tell_client(client::Input::Answer { question, outcome });
                    }
                    None => client_events.push(event),
                }
            }
            let side = if self.streams_to(Side::Server) > 0 {
                Side::Server
            } else if self.streams_to(Side::Client) > 0 {
                Side::Client
            } else {
                break;
            };
            self.deliver(side, 0, usize::MAX);
        }
        self.client_events.splice(0..0, client_events);
        self.server_events.splice(0..0, server_events);
    }

    /// Lets time pass: both sides tick at each of their deadlines on the way.
    pub fn pass_time(&mut self, time: Duration) {
        let until = self.clock.now() + time;
        loop {
            let deadlines = [self.client.deadline(), self.server.deadline()];
            let next = deadlines.into_iter().flatten().min();
            let Some(due) = next.filter(|due| *due <= until) else {
                break;
            };
            self.clock.advance_to(due);
            self.tell_client(client::Input::Tick);
            self.tell_server(server::Input::Tick);
        }
        self.clock.advance_to(until);
    }

    /// An HTTP server sees each POST as a stream; the client numbers those of requests only.
    fn lane_to_server(&mut self, lane: Lane) -> Lane {
        match self.wire {
            Wire::Pipe => Lane::SHARED,
            Wire::Http if lane == Lane::SHARED => {
                self.last_post += 1;
                Lane(self.last_post)
            }
            Wire::Http => lane,
        }
    }
}

/// Bytes on their way to one side, by stream.
#[derive(Debug, Default)]
struct Streams(Vec<Stream>);

#[derive(Debug)]
struct Stream {
    lane: Lane,
    under_way: BytesMut,
    decoder: LineDecoder,
}

impl Streams {
    fn push(&mut self, lane: Lane, text: &[u8]) {
        let mut line = Vec::with_capacity(text.len() + 1);
        write_line(text, &mut line);
        if let Some(stream) = self.0.iter_mut().find(|stream| stream.lane == lane) {
            stream.under_way.extend_from_slice(&line);
            return;
        }
        self.0.push(Stream {
            lane,
            under_way: line.as_slice().into(),
            decoder: LineDecoder::new(),
        });
    }

    fn take(&mut self, at: usize, length: usize) -> (Lane, Vec<Result<Frame, Malformed>>) {
        let Some(stream) = self.0.get_mut(at) else {
            return (Lane::SHARED, Vec::new());
        };
        let lane = stream.lane;
        let length = length.min(stream.under_way.len());
        stream.decoder.push(&stream.under_way.split_to(length));
        let mut frames = Vec::new();
        while let Some(line) = stream.decoder.next_line() {
            frames.push(line.read(&Limits::default()));
        }
        // Only whole lines are pushed, so a decoder without bytes under way holds none.
        if stream.under_way.is_empty() {
            self.0.swap_remove(at);
        }
        (lane, frames)
    }

    fn close(&mut self, lane: Lane) {
        self.0.retain(|stream| stream.lane != lane);
    }
}

/// Far above the numbers of requests.
const FIRST_POST: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_protocol::Method;
    use switchboard_protocol::machine::client::{CallKey, CallRequest, Mode};
    use switchboard_protocol::types::{Implementation, ServerCapabilities};

    use super::*;

    #[test]
    fn a_call_goes_to_the_handler_and_comes_back() {
        for wire in [Wire::Pipe, Wire::Http] {
            for mode in [Mode::Auto, Mode::Legacy] {
                let mut config = ClientConfig::new(Implementation::new("client", "1"));
                (config.wire, config.mode) = (wire, mode);
                let tools: ServerCapabilities =
                    serde_json::from_value(json!({ "tools": {} })).unwrap();
                let server = ServerConfig::new(Implementation::new("server", "1"), tools);
                let mut pair = Pair::new(config, server);
                let handler = |serve: &Serve| Some(Answer::Result(serve.params.clone()?));
                pair.tell_client(client::Input::Opened);
                pair.settle(handler, |_| None);
                let params = Payload::encode(&json!({ "name": "x" })).unwrap();
                let call = CallRequest::new(CallKey(1), Method::ToolsCall, Some(params));
                pair.tell_client(client::Input::Call(call));
                pair.settle(handler, |_| None);
                let events = pair.client_events();
                let finished = events.iter().find_map(|event| match event {
                    client::Output::Finished { key, outcome } => Some((key, outcome)),
                    _ => None,
                });
                let (key, outcome) = finished.unwrap();
                assert_eq!(*key, CallKey(1));
                assert_eq!(outcome.as_ref().unwrap().name().as_deref(), Some("x"));
            }
        }
    }
}
