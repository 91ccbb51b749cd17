//! What every call goes through before it is relayed: is there room for it, and who writes it down.
//!
//! Lists are answered from memory and are not counted.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::{Duration, Instant, SystemTime};

use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, MethodName, Notification};
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::types::SubscriptionFilter;
use switchboard_server::{About, Answer, Call, Connection, Context, Reply, Service, timestamp};

use crate::audit::{Audit, Entry};
use crate::relay::Relay;
use crate::turnstile::{Pass, Turnstile, now};

/// A relay, and what stands before it.
pub(crate) struct Gate {
    pub(crate) relay: Relay,
    pub(crate) turnstile: Arc<Turnstile>,
    pub(crate) audit: Option<Audit>,
    /// What its clients see, if it is not everything.
    pub(crate) profile: Option<Arc<str>>,
}

impl Service for Gate {
    fn about(&self) -> About {
        self.relay.about()
    }

    fn call(&self, call: Call<'_>) -> Reply {
        if !is_counted(call.method) {
            return self.relay.call(call);
        }
        let noted = self.audit.as_ref().map(|audit| {
            let (audit, profile) = (audit.clone(), self.profile.clone());
            Box::new(Noted::begin(audit, &self.relay, profile, call.context))
        });
        let pass = match self.turnstile.enter(now, call.context.principal()) {
            Ok(pass) => pass,
            Err(error) => {
                let answer = Answer::Error(error);
                return Reply::Now(ended(noted, answer));
            }
        };
        let through = Through { pass, noted };
        if call.method.known() == Some(Method::ToolsCall) {
            // What clients do most: one future for all of it.
            return match self.relay.inner().call_tool(call.context.clone()) {
                Ok(answer) => Reply::long(Passing::new(answer, through)),
                Err(error) => Reply::Now(through.end(Answer::Error(error))),
            };
        }
        match self.relay.call(call) {
            Reply::Now(answer) => Reply::Now(through.end(answer)),
            Reply::Later(answer) => Reply::later(Passing::new(answer, through)),
            Reply::Long(answer) => Reply::long(Passing::new(answer, through)),
        }
    }

    fn listening(&self, filter: &SubscriptionFilter, connection: Connection, caller: &Arc<Caller>) {
        self.relay.listening(filter, connection, caller);
    }

    fn told(&self, notification: Notification, caller: Option<&Arc<Caller>>) {
        self.relay.told(notification, caller);
    }
}

/// A call that is inside.
struct Through {
    pass: Pass,
    /// In a box: it is large, and there only if somebody wants to read it.
    noted: Option<Box<Noted>>,
}

impl Through {
    /// It has this answer: what its client gets.
    fn end(self, answer: Answer) -> Answer {
        let Self { pass, noted } = self;
        let answer = bounded(answer, pass.turnstile());
        drop(pass);
        ended(noted, answer)
    }
}

/// A call that is inside until its answer is there.
struct Passing<F> {
    answer: F,
    through: Option<Through>,
}

impl<F> Passing<F> {
    const fn new(answer: F, through: Through) -> Self {
        Self {
            answer,
            through: Some(through),
        }
    }
}

impl<F: Future<Output = Answer> + Unpin> Future for Passing<F> {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Answer> {
        let answer = ready!(Pin::new(&mut self.answer).poll(task));
        Poll::Ready(match self.through.take() {
            Some(through) => through.end(answer),
            None => answer,
        })
    }
}

fn is_counted(method: &MethodName) -> bool {
    !matches!(
        method.known(),
        Some(
            Method::ToolsList
                | Method::PromptsList
                | Method::ResourcesList
                | Method::ResourcesTemplatesList
                | Method::ResourcesUnsubscribe
        )
    )
}

/// The answer, unless it is larger than it may be.
fn bounded(answer: Answer, turnstile: &Turnstile) -> Answer {
    let (Answer::Result(payload) | Answer::InputRequired(payload)) = &answer else {
        return answer;
    };
    let (size, largest) = (payload.length(), turnstile.largest_result());
    if size <= largest {
        return answer;
    }
    turnstile.refusals().note("result");
    let message = format!("the result has {size} bytes, and {largest} are passed on at most");
    let code = ErrorCode::INTERNAL_ERROR;
    Answer::Error(ErrorObject::over_limit(code, message, "result", None))
}

fn ended(noted: Option<Box<Noted>>, answer: Answer) -> Answer {
    if let Some(noted) = noted {
        noted.end(&answer);
    }
    answer
}

/// A call that is written down when it ends. Dropped before, it was cancelled.
struct Noted {
    audit: Audit,
    began: Instant,
    time: SystemTime,
    caller: Option<(Option<String>, String)>,
    profile: Option<Arc<str>>,
    method: String,
    server: Option<Arc<str>>,
    name: Option<String>,
    request: usize,
    is_ended: bool,
}

impl Noted {
    fn begin(audit: Audit, relay: &Relay, profile: Option<Arc<str>>, context: &Context) -> Self {
        let (server, name) = relay.whose(context);
        let caller = context.principal();
        Self {
            audit,
            began: now(),
            time: SystemTime::now(),
            caller: caller.map(|one| (one.issuer.clone(), one.subject.clone())),
            profile,
            method: context.method().as_str().to_owned(),
            server,
            name,
            request: context.params().map_or(0, |params| params.length()),
            is_ended: false,
        }
    }

    fn end(mut self, answer: &Answer) {
        let (outcome, code, size) = match answer {
            Answer::Result(result) => {
                let outcome = if result.is_error() { "toolError" } else { "ok" };
                (outcome, None, result.length())
            }
            Answer::InputRequired(result) => ("inputRequired", None, result.length()),
            Answer::Error(error) => {
                let is_refused = matches!(error.code, ErrorCode::BUSY | ErrorCode::TOO_MANY);
                let outcome = if is_refused { "refused" } else { "error" };
                (outcome, Some(error.code.0), 0)
            }
            _ => ("ok", None, 0),
        };
        self.write(outcome, code, size);
    }

    fn write(&mut self, outcome: &str, code: Option<i64>, size: usize) {
        self.is_ended = true;
        let took = self.began.elapsed();
        let caller = self.caller.as_ref();
        self.audit.note(&Entry {
            time: timestamp(self.time),
            caller: caller.map(|(_, subject)| subject.as_str()),
            issuer: caller.and_then(|(issuer, _)| issuer.as_deref()),
            profile: self.profile.as_deref(),
            method: &self.method,
            server: self.server.as_deref(),
            name: self.name.as_deref(),
            duration_ms: milliseconds(took),
            outcome,
            code,
            request_bytes: self.request,
            result_bytes: size,
        });
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        if !self.is_ended {
            self.write("cancelled", None, 0);
        }
    }
}

/// To a microsecond.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
