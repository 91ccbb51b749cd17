//! How a handler asks the client, in either era.
//!
//! In the handshake era the question is a request of ours, and the handler waits for the
//! answer. In the stateless era a handler that waits for an answer is dropped, the question
//! is its result, and when the client calls again it runs from its beginning with the answer
//! at hand. So: ask first, act then; what must not be done twice goes into [`Context::once`].
//!
//! Specification: client/elicitation, client/sampling, client/roots; 2026-07-28
//! basic/patterns/mrtr.

use std::future::{Future, pending};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestUrlParams, ElicitResult, ListRootsResult, Root,
};
use switchboard_protocol::{Era, Method, Payload, RawJson};

use super::continuing::Way;
use super::{AskError, Context, Elicited, Rounds};
use crate::context::question::Question;
use crate::link::random_name;
use crate::schema;
use crate::seal::{Binding, SealError};

impl Context {
    /// Asks the user to fill in a form with the fields of `T`, which must be flat: texts,
    /// numbers, truth values and choices.
    ///
    /// `name` tells this question from others of the same call.
    ///
    /// # Errors
    /// The client cannot be asked, or did not answer as it should.
    pub async fn elicit<T: DeserializeOwned + JsonSchema>(
        &self,
        name: &str,
        message: impl Into<String>,
    ) -> Result<Elicited<T>, AskError> {
        let schema =
            schema::form_schema::<T>().map_err(|error| AskError::BadQuestion(error.to_string()))?;
        let form = ElicitRequestFormParams::new(message, schema.schema().clone());
        let result = self
            .elicit_with(name, ElicitRequestParams::Form(form))
            .await?;
        Ok(match result.action {
            ElicitAction::Accept => {
                let content = serde_json::Value::Object(result.content.unwrap_or_default());
                let content = serde_json::from_value(content)
                    .map_err(|error| AskError::BadAnswer(format!("{name}: {error}")))?;
                Elicited::Accepted(content)
            }
            ElicitAction::Decline => Elicited::Declined,
            _ => Elicited::Cancelled,
        })
    }

    /// Asks the user to visit a page; true if he agrees to. What he does there goes past the
    /// client, so this is the way to ask for secrets.
    ///
    /// # Errors
    /// The client cannot be asked, or did not answer as it should.
    pub async fn elicit_url(
        &self,
        name: &str,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<bool, AskError> {
        let mut params = ElicitRequestUrlParams::new(message, url);
        if self.revision().era() == Era::Handshake {
            // 2025-11-25 wants one, so that the client can be told when the page is done.
            let id = random_name().ok_or_else(|| {
                AskError::BadQuestion("the system gave no random bytes".to_owned())
            })?;
            params.elicitation_id = Some(id.to_string());
        }
        let result = self
            .elicit_with(name, ElicitRequestParams::Url(params))
            .await?;
        Ok(result.action == ElicitAction::Accept)
    }

    /// Asks the user, with parameters of your own making.
    ///
    /// # Errors
    /// The client cannot be asked, or did not answer as it should.
    pub async fn elicit_with(
        &self,
        name: &str,
        params: ElicitRequestParams,
    ) -> Result<ElicitResult, AskError> {
        self.ask(name, Question::elicitation(&params)?).await
    }

    /// Asks the client's model.
    ///
    /// # Errors
    /// The client cannot be asked, or did not answer as it should.
    pub async fn sample(
        &self,
        name: &str,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, AskError> {
        self.ask(name, Question::sampling(&params)?).await
    }

    /// Asks which folders the client works in.
    ///
    /// # Errors
    /// The client cannot be asked, or did not answer as it should.
    pub async fn roots(&self, name: &str) -> Result<Vec<Root>, AskError> {
        let result: ListRootsResult = self.ask(name, Question::roots()).await?;
        Ok(result.roots)
    }

    /// Puts a question to a client of the handshake era that somebody else wrote, and gives its
    /// answer as it came. One of the stateless era is asked by the result of its call.
    ///
    /// # Errors
    /// The client cannot be asked, or did not answer.
    pub async fn put(&self, method: Method, params: Option<Payload>) -> Result<Payload, AskError> {
        let Way::Call { link, key } = self.way() else {
            return Err(AskError::Ended);
        };
        let asked = link.ask(Some(key), method, params);
        // Whoever asks for a call that has ended would wait for ever.
        tokio::select! {
            biased;
            answer = asked => Ok(answer.map_err(|_| AskError::Ended)??),
            () = self.ended() => Err(AskError::Ended),
        }
    }

    /// Does something once in a call, however often the call is taken up again with
    /// answers: what came of it is kept.
    ///
    /// # Errors
    /// What came of it cannot be written as JSON, or read again.
    pub async fn once<T, F>(&self, name: &str, work: F) -> Result<T, AskError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = T>,
    {
        if !self.is_retried() {
            return Ok(work.await);
        }
        if self.lock_rounds().is_none() {
            return pending().await;
        }
        let noted = self.rounds().noted(name);
        if let Some(noted) = noted {
            return noted
                .decode()
                .map_err(|error| AskError::BadAnswer(format!("{name}: {error}")));
        }
        let value = work.await;
        let note =
            RawJson::encode(&value).map_err(|error| AskError::BadQuestion(error.to_string()))?;
        self.rounds().note(name, note);
        Ok(value)
    }

    /// Seals something that the client is to bring back with the same call: nobody else can read
    /// it, change it, or bring it with another one. It is good for an hour.
    ///
    /// `purpose` tells it from other seals.
    ///
    /// # Errors
    /// It is too long, or the call has ended.
    pub fn seal(&self, purpose: &'static str, content: &[u8]) -> Result<String, SealError> {
        let Way::Call { link, .. } = self.way() else {
            return Err(SealError::Malformed);
        };
        let now = SystemTime::now();
        let binding = self.binding(purpose);
        link.seals().seal(&binding, now, now + STATE_LIFE, content)
    }

    /// What was sealed for this purpose and this call.
    ///
    /// # Errors
    /// It was not, or too long ago.
    pub fn unseal(&self, purpose: &'static str, sealed: &str) -> Result<Vec<u8>, SealError> {
        let Way::Call { link, .. } = self.way() else {
            return Err(SealError::Malformed);
        };
        let binding = self.binding(purpose);
        link.seals().open(&binding, SystemTime::now(), sealed)
    }

    /// Asks, and reads the answer as what it should be.
    async fn ask<R: DeserializeOwned>(
        &self,
        name: &str,
        question: Question,
    ) -> Result<R, AskError> {
        let answer = match self.way() {
            Way::Task(task) => {
                self.check(&question)?;
                self.ask_in_task(&task, name, question).await?
            }
            Way::Call { .. } if self.is_retried() => {
                return match self.answer_or_ask(name, question)? {
                    Some(answer) => Ok(answer),
                    // Whoever runs the handler sees why it waits, and ends the call.
                    None => pending().await,
                };
            }
            Way::Call { link, key } => {
                self.check(&question)?;
                let asked = link.ask(Some(key), question.method, question.params);
                // Whoever asks for a call that has ended would wait for ever.
                tokio::select! {
                    biased;
                    answer = asked => answer.map_err(|_| AskError::Ended)??,
                    () = self.ended() => return Err(AskError::Ended),
                }
            }
        };
        answer
            .decode()
            .map_err(|error| AskError::BadAnswer(format!("{name}: {error}")))
    }

    /// Stateless: the answer to a question if it is here, otherwise the question is noted,
    /// and the call ends with it when the handler next waits.
    fn answer_or_ask<R: DeserializeOwned>(
        &self,
        name: &str,
        question: Question,
    ) -> Result<Option<R>, AskError> {
        let Some(mut rounds) = self.lock_rounds() else {
            return Ok(None);
        };
        if let Some(answer) = rounds.answer(name) {
            return answer.decode().map(Some).or_else(|error| {
                let message = format!("inputResponses.{name}: {error}");
                rounds.give_up(ErrorObject::invalid_params(message));
                Ok(None)
            });
        }
        drop(rounds);
        self.check(&question)?;
        self.rounds().ask(name, question);
        Ok(None)
    }

    /// May this client be asked this?
    fn check(&self, question: &Question) -> Result<(), AskError> {
        if question.is_within(self.capabilities()) {
            return Ok(());
        }
        self.rounds().note_missing(question.required());
        Err(AskError::NotDeclared(question.method))
    }

    /// Does the call come back with its answers, rather than wait for them?
    fn is_retried(&self) -> bool {
        self.revision().era() == Era::Stateless && !self.is_task()
    }

    /// The error of a call that failed because the client lacks a capability.
    pub(crate) fn refusal(&self) -> Option<ErrorObject> {
        match self.revision().era() {
            Era::Stateless => self.rounds().refusal(),
            Era::Handshake => None,
        }
    }

    /// The answer of a handler that waits, if what it waits for is the client.
    pub(crate) fn interruption(&self) -> Option<Answer> {
        if !self.is_retried() {
            return None;
        }
        self.rounds().interruption(|plain| {
            self.seal(REQUEST_STATE, plain)
                .map_err(|error| error.to_string())
        })
    }

    /// The rounds, after reading what the client sent; none if the call cannot go on.
    fn lock_rounds(&self) -> Option<MutexGuard<'_, Rounds>> {
        let mut rounds = self.rounds();
        rounds.read(self.params(), |sealed| {
            self.unseal(REQUEST_STATE, sealed)
                .map_err(|error| error.to_string())
        });
        rounds.can_go_on().then_some(rounds)
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        // Nothing that runs under the lock leaves it half done.
        self.0.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a seal belongs to: this caller and this very call.
    fn binding(&self, purpose: &'static str) -> Binding {
        let params = self.params();
        let name = params.and_then(|params| params.name().or_else(|| params.string_member("uri")));
        let arguments = params
            .and_then(Payload::arguments)
            .and_then(|arguments| std::str::from_utf8(arguments).ok());
        Binding::new(purpose)
            .caller(self.principal())
            .method(self.method().as_str())
            .name(name.as_deref().unwrap_or_default())
            .arguments(arguments)
    }
}

const REQUEST_STATE: &str = "requestState";
// Long enough for a person to answer, short enough that a lost state is soon worthless.
const STATE_LIFE: Duration = Duration::from_secs(60 * 60);
