//! What a server asks in the midst of a call, and who is asked: the client that made the call.
//!
//! A server asks by a request or by a result that needs input; the client behind it was made by
//! the hub, and its host is [`ServerHost`]. Which call it is about is known by the call's number.
//!
//! Specification: client/elicitation, client/sampling, client/roots; 2026-07-28
//! basic/patterns/mrtr.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Waker};

use serde::de::DeserializeOwned;
use switchboard_client::{Abilities, Answering, Asked, Host, Payload, Refusal};
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestUrlParams, ElicitResult, InputRequest, ListRootsResult,
    LoggingMessageNotificationParams,
};
use switchboard_server::{AskError, Context};
use tokio::sync::{mpsc, oneshot};

/// The calls that servers may ask about.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    open: Mutex<HashMap<CallName, Asker>>,
}

type CallName = (Arc<str>, u64);

/// Who is asked, and how.
#[derive(Clone, Debug)]
pub(crate) enum Asker {
    /// A client that waits for the call and can be asked meanwhile.
    Now(Context),
    /// A client that is told to come again with the answer.
    Later {
        questions: mpsc::Sender<Question>,
        capabilities: Arc<ClientCapabilities>,
        /// The request that waits for the call, while one does.
        listener: Listener,
    },
}

/// Who hears of a call.
pub(crate) type Listener = Arc<Mutex<Option<Context>>>;

impl Asker {
    /// The request that waits for the call, if one does.
    fn context(&self) -> Option<Context> {
        match self {
            Self::Now(context) => Some(context.clone()),
            Self::Later { listener, .. } => {
                let listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
                listener.clone()
            }
        }
    }
}

/// A question for a client that must come again with the answer.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) request: InputRequest,
    pub(crate) answer: oneshot::Sender<Payload>,
}

impl Desk {
    /// A call is on its way to this server, under this number, until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, server: &Arc<str>, call: u64, asker: Asker) -> Entered {
        let name = (Arc::clone(server), call);
        self.open().insert(name.clone(), asker);
        Entered {
            desk: Arc::clone(self),
            name,
        }
    }

    /// Who made the call that a server asks about. If the server does not say which one it is,
    /// and there is but one, it is that.
    fn asker(&self, asked: &Asked) -> Option<Asker> {
        let open = self.open();
        if let Some(call) = asked.call {
            return open.get(&(Arc::clone(&asked.server), call)).cloned();
        }
        let mut of_server = open
            .iter()
            .filter(|((server, _), _)| *server == asked.server);
        match (of_server.next(), of_server.next()) {
            (Some((_, asker)), None) => Some(asker.clone()),
            _ => None,
        }
    }

    /// The call that a server's log belongs to. It does not say; but if all calls there are of one
    /// connection, it is for nobody else.
    fn listener(&self, server: &str) -> Option<Context> {
        let open = self.open();
        let of_server = open.iter().filter(|((of, _), _)| **of == *server);
        let mut contexts = of_server.map(|(_, asker)| asker.context());
        let first = contexts.next()??;
        let connection = first.connection()?;
        contexts
            .all(|other| {
                let other = other.and_then(|other| other.connection());
                other.is_some_and(|other| other.is_same(&connection))
            })
            .then_some(first)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<CallName, Asker>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that a server may ask about.
#[derive(Debug)]
pub(crate) struct Entered {
    desk: Arc<Desk>,
    name: CallName,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.desk.open().remove(&self.name);
    }
}

/// The application behind each server: the clients of the gateway.
#[derive(Debug)]
pub(crate) struct ServerHost {
    desk: Arc<Desk>,
    server: Arc<str>,
}

impl ServerHost {
    pub(crate) fn new(desk: &Arc<Desk>, server: &str) -> Self {
        Self {
            desk: Arc::clone(desk),
            server: Arc::from(server),
        }
    }

    fn asker(&self, asked: &Asked) -> Result<Asker, Refusal> {
        self.desk.asker(asked).ok_or_else(|| {
            let method = asked.method;
            let message = format!("{method}: it is not known which call this is about");
            Refusal::from(ErrorObject::invalid_request(message))
        })
    }
}

impl Host for ServerHost {
    /// All that any client may be asked; one that cannot be refuses then.
    fn abilities(&self) -> Abilities {
        let mut abilities = Abilities::default();
        abilities.forms = true;
        abilities.urls = true;
        abilities.sampling = true;
        abilities.sampling_tools = true;
        abilities.roots = true;
        abilities
    }

    fn fill_form(
        &self,
        form: ElicitRequestFormParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        Box::pin(async move { elicit(self.asker(&asked)?, ElicitRequestParams::Form(form)).await })
    }

    fn visit_url(
        &self,
        visit: ElicitRequestUrlParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        Box::pin(async move { elicit(self.asker(&asked)?, ElicitRequestParams::Url(visit)).await })
    }

    fn sample(
        &self,
        request: CreateMessageRequestParams,
        asked: Asked,
    ) -> Answering<'_, CreateMessageResult> {
        Box::pin(async move {
            match self.asker(&asked)? {
                Asker::Now(context) => context.sample(NAME, request).await.map_err(refusal),
                Asker::Later {
                    questions,
                    capabilities,
                    ..
                } => {
                    let wants_tools = request.tools.is_some() || request.tool_choice.is_some();
                    let can = capabilities.accepts_sampling()
                        && (!wants_tools || capabilities.accepts_sampling_tools());
                    let question = InputRequest::sampling(&request);
                    ask_later(&questions, can, Method::SamplingCreateMessage, question).await
                }
            }
        })
    }

    fn hear_log(&self, message: LoggingMessageNotificationParams) {
        if let Some(context) = self.desk.listener(&self.server) {
            at_once(context.log(message.level, &message.data));
        }
    }

    fn list_roots(&self, asked: Asked) -> Answering<'_, ListRootsResult> {
        Box::pin(async move {
            match self.asker(&asked)? {
                Asker::Now(context) => {
                    let roots = context.roots(NAME).await.map_err(refusal)?;
                    Ok(ListRootsResult::new(roots))
                }
                Asker::Later {
                    questions,
                    capabilities,
                    ..
                } => {
                    let can = capabilities.accepts_roots();
                    ask_later(
                        &questions,
                        can,
                        Method::RootsList,
                        Ok(InputRequest::roots()),
                    )
                    .await
                }
            }
        })
    }
}

/// Does what can be done at once, and does not wait for a client that is slow to read.
pub(crate) fn at_once(telling: impl Future<Output = ()>) {
    let telling = std::pin::pin!(telling);
    let _ = telling.poll(&mut TaskContext::from_waker(Waker::noop()));
}

async fn elicit(asker: Asker, mut params: ElicitRequestParams) -> Result<ElicitResult, Refusal> {
    match asker {
        Asker::Now(context) => context.elicit_with(NAME, params).await.map_err(refusal),
        Asker::Later {
            questions,
            capabilities,
            ..
        } => {
            let can = match &mut params {
                ElicitRequestParams::Url(visit) => {
                    // The stateless era has none.
                    visit.elicitation_id = None;
                    capabilities.accepts_url()
                }
                _ => capabilities.accepts_form(),
            };
            let question = InputRequest::elicitation(&params);
            ask_later(&questions, can, Method::ElicitationCreate, question).await
        }
    }
}

async fn ask_later<T: DeserializeOwned>(
    questions: &mpsc::Sender<Question>,
    can_be_asked: bool,
    method: Method,
    question: Result<InputRequest, serde_json::Error>,
) -> Result<T, Refusal> {
    if !can_be_asked {
        return Err(refusal(AskError::NotDeclared(method)));
    }
    let request = question.map_err(|error| Refusal::bad_question(error.to_string()))?;
    let (answer, answered) = oneshot::channel();
    let gone = || refusal(AskError::Ended);
    let asked = questions.send(Question { request, answer }).await;
    asked.map_err(|_| gone())?;
    let answer = answered.await.map_err(|_| gone())?;
    answer
        .decode()
        .map_err(|error| refusal(AskError::BadAnswer(error.to_string())))
}

/// What the server is told when its question has no answer.
fn refusal(error: AskError) -> Refusal {
    match error {
        AskError::Refused(error) => error.into(),
        AskError::NotDeclared(method) => ErrorObject::method_not_found(method.name()).into(),
        AskError::BadQuestion(_) | AskError::NotRepresentable(_) => {
            Refusal::bad_question(error.to_string())
        }
        other => Refusal::broken(other.to_string()),
    }
}

/// Clients of the handshake era do not see it.
const NAME: &str = "question";
