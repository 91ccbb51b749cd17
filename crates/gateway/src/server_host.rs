//! The application behind each server: the clients of the gateway.
//!
//! Servers of the handshake era ask here in the midst of a call; those of the stateless era ask by
//! their results, which pass through.
//!
//! Specification: client/elicitation, client/sampling, client/roots; 2026-07-28
//! basic/patterns/mrtr.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_client::{Abilities, Answering, Asked, Host, Refusal};
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestUrlParams, ElicitResult, InputRequest, ListRootsResult,
    LoggingMessageNotificationParams,
};
use switchboard_server::AskError;
use tokio::sync::oneshot;

use crate::desk::{Asker, Desk, Later, Open, Question};

/// The application behind one server.
#[derive(Debug)]
pub(crate) struct ServerHost {
    desk: Arc<Desk>,
    server: Arc<str>,
    abilities: Abilities,
}

impl ServerHost {
    /// Behind a server that all clients share: it may ask whatever any of them can be asked, and
    /// one that cannot be refuses then.
    pub(crate) fn of_all(desk: &Arc<Desk>, server: &str) -> Self {
        let mut abilities = Abilities::default();
        abilities.forms = true;
        abilities.urls = true;
        abilities.sampling = true;
        abilities.sampling_tools = true;
        abilities.roots = true;
        Self::new(desk, server, abilities)
    }

    /// Behind a server that only one client has.
    pub(crate) fn of_one(desk: &Arc<Desk>, server: &str, client: &ClientCapabilities) -> Self {
        let mut abilities = Abilities::default();
        abilities.forms = client.accepts_form();
        abilities.urls = client.accepts_url();
        abilities.sampling = client.accepts_sampling();
        abilities.sampling_tools = client.accepts_sampling_tools();
        abilities.roots = client.accepts_roots();
        Self::new(desk, server, abilities)
    }

    fn new(desk: &Arc<Desk>, server: &str, abilities: Abilities) -> Self {
        Self {
            desk: Arc::clone(desk),
            server: Arc::from(server),
            abilities,
        }
    }

    fn asks_about(&self, asked: &Asked) -> Result<Open, Refusal> {
        self.desk.asks_about(asked).ok_or_else(|| {
            let method = asked.method;
            let message = format!("{method}: it is not known which call this is about");
            Refusal::from(ErrorObject::invalid_request(message))
        })
    }

    async fn elicit(
        &self,
        asked: Asked,
        mut params: ElicitRequestParams,
    ) -> Result<ElicitResult, Refusal> {
        let open = self.asks_about(&asked)?;
        let _waiting = open.waits();
        match &open.asker {
            Asker::Now(context) => context.elicit_with(NAME, params).await.map_err(refusal),
            Asker::Later(later) => {
                let declared = &later.capabilities;
                let (can, wanted) = match &mut params {
                    ElicitRequestParams::Url(visit) => {
                        // The stateless era has none.
                        visit.elicitation_id = None;
                        let wanted = json!({"elicitation": {"url": {}}});
                        (declared.accepts_url(), wanted)
                    }
                    _ => {
                        let wanted = json!({"elicitation": {"form": {}}});
                        (declared.accepts_form(), wanted)
                    }
                };
                later.check(can, Method::ElicitationCreate, wanted)?;
                later.ask(InputRequest::elicitation(&params)).await
            }
        }
    }
}

impl Host for ServerHost {
    fn abilities(&self) -> Abilities {
        self.abilities.clone()
    }

    fn fill_form(
        &self,
        form: ElicitRequestFormParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        Box::pin(self.elicit(asked, ElicitRequestParams::Form(form)))
    }

    fn visit_url(
        &self,
        visit: ElicitRequestUrlParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        Box::pin(self.elicit(asked, ElicitRequestParams::Url(visit)))
    }

    fn sample(
        &self,
        request: CreateMessageRequestParams,
        asked: Asked,
    ) -> Answering<'_, CreateMessageResult> {
        Box::pin(async move {
            let open = self.asks_about(&asked)?;
            let _waiting = open.waits();
            match &open.asker {
                Asker::Now(context) => context.sample(NAME, request).await.map_err(refusal),
                Asker::Later(later) => {
                    let declared = &later.capabilities;
                    let wants_tools = request.tools.is_some() || request.tool_choice.is_some();
                    let (can, wanted) = match wants_tools {
                        true => (
                            declared.accepts_sampling_tools(),
                            json!({"sampling": {"tools": {}}}),
                        ),
                        false => (declared.accepts_sampling(), json!({"sampling": {}})),
                    };
                    later.check(can, Method::SamplingCreateMessage, wanted)?;
                    later.ask(InputRequest::sampling(&request)).await
                }
            }
        })
    }

    fn list_roots(&self, asked: Asked) -> Answering<'_, ListRootsResult> {
        Box::pin(async move {
            let open = self.asks_about(&asked)?;
            let _waiting = open.waits();
            match &open.asker {
                Asker::Now(context) => {
                    let roots = context.roots(NAME).await.map_err(refusal)?;
                    Ok(ListRootsResult::new(roots))
                }
                Asker::Later(later) => {
                    let can = later.capabilities.accepts_roots();
                    later.check(can, Method::RootsList, json!({"roots": {}}))?;
                    later.ask(Ok(InputRequest::roots())).await
                }
            }
        })
    }

    fn hear_log(&self, message: LoggingMessageNotificationParams) {
        if let Some(context) = self.desk.listener(&self.server) {
            at_once(context.log(message.level, &message.data));
        }
    }
}

impl Later {
    /// Can the client be asked this? If not, it is told what it would have to declare, should the
    /// call fail for it.
    fn check(&self, can: bool, method: Method, wanted: Value) -> Result<(), Refusal> {
        if can {
            return Ok(());
        }
        let wanted: ClientCapabilities = serde_json::from_value(wanted).unwrap_or_default();
        // The first thing that it lacks says enough.
        let _ = self.lacks.set(ErrorObject::missing_capabilities(wanted));
        Err(refusal(AskError::NotDeclared(method)))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        question: Result<InputRequest, serde_json::Error>,
    ) -> Result<T, Refusal> {
        let request = question.map_err(|error| Refusal::bad_question(error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        let gone = || refusal(AskError::Ended);
        let asked = self.questions.send(Question { request, answer }).await;
        asked.map_err(|_| gone())?;
        let answer = answered.await.map_err(|_| gone())?;
        answer
            .decode()
            .map_err(|error| refusal(AskError::BadAnswer(error.to_string())))
    }
}

/// Does what can be done at once, and does not wait for a client that is slow to read.
pub(crate) fn at_once(telling: impl Future<Output = ()>) {
    let telling = std::pin::pin!(telling);
    let _ = telling.poll(&mut TaskContext::from_waker(Waker::noop()));
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
