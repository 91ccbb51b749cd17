//! What servers ask, answered by whoever sits at the terminal, or by a file of answers; and what
//! their configurations ask for (`input`).
//!
//! One question at a time. With nobody to ask, the question is refused and remembered, so that the
//! command can end with the number that says so.
//!
//! Specification: client/elicitation.

mod answers;
mod form;
mod hidden;
mod input;

use std::io::{self, BufRead, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use switchboard_auth::{Browser, Place};
use switchboard_client::types::{
    ElicitAction, ElicitRequestFormParams, ElicitRequestUrlParams, ElicitResult,
    LoggingMessageNotificationParams,
};
use switchboard_client::{Abilities, Answering, Asked, Host, Refusal};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::json::Json;
use crate::output::{Line, Output, Page};
use answers::Answers;
use input::Inputs;
pub(crate) use input::{InputQuestion, of_command};

/// Where all servers ask, one after the other.
#[derive(Debug)]
pub(crate) struct Desk {
    output: Arc<Output>,
    /// Is there a person?
    is_attended: bool,
    answers: Mutex<Answers>,
    /// What configurations asked for.
    inputs: Inputs,
    /// One question at a time.
    turn: tokio::sync::Mutex<()>,
    /// The first question that nobody answered.
    unanswered: Mutex<Option<Failure>>,
}

impl Desk {
    pub(crate) fn new(global: &Global, output: Arc<Output>) -> Self {
        let has_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        Self {
            output,
            is_attended: has_terminal && !global.no_input,
            answers: Mutex::new(Answers::later(global.answers.clone())),
            inputs: Inputs::default(),
            turn: tokio::sync::Mutex::default(),
            unanswered: Mutex::default(),
        }
    }

    /// The first question that nobody answered, if there was one.
    pub(crate) fn unanswered(&self) -> Option<Failure> {
        let unanswered = self.unanswered.lock();
        unanswered.unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn fill_form(
        &self,
        params: ElicitRequestFormParams,
        server: &str,
    ) -> Result<ElicitResult, Refusal> {
        let schema = params
            .schema()
            .map_err(|error| Refusal::bad_question(format!("no form: {error}")))?;
        let _turn = self.turn.lock().await;
        match self.next_answer(server)? {
            Some(answer) => {
                return answers::to_form(answer, &schema).map_err(|problem| {
                    let message = format!("server {server:?} asks: {}", params.message);
                    self.refuse(
                        server,
                        format!("{message}\nthe answers do not do: {problem}"),
                    )
                });
            }
            None if !self.is_attended => {
                let fields: Vec<&str> = schema
                    .properties
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .collect();
                let message = format!(
                    "server {server:?} asks, and nobody is there to answer: {} ({})",
                    params.message,
                    fields.join(", ")
                );
                return Err(self.refuse(server, message));
            }
            None => {}
        }
        let _pause = self.output.pause();
        self.output.ask(
            &Page::new()
                .line(Line::new().strong(server).plain(" asks:"))
                .text(params.message.clone()),
        );
        let mut content = Map::new();
        for (name, field) in &schema.properties {
            let is_required = schema.is_required(name);
            loop {
                self.output.ask(&form::question(name, field, is_required));
                self.output.ask_for(Line::new().faint("> "));
                let Some(line) = read_line().await else {
                    return Ok(ElicitResult::new(ElicitAction::Cancel));
                };
                match form::answer(&line, field, is_required) {
                    Ok(Some(value)) => {
                        content.insert(name.clone(), value);
                        break;
                    }
                    Ok(None) => break,
                    Err(problem) => self.output.ask(&Page::new().line(problem)),
                }
            }
        }
        let question = "send this? [Y]es, [n]o, [c]ancel";
        Ok(match self.choose(question, true).await {
            ElicitAction::Accept => ElicitResult::accept(content),
            other => ElicitResult::new(other),
        })
    }

    async fn visit_url(
        &self,
        params: ElicitRequestUrlParams,
        server: &str,
    ) -> Result<ElicitResult, Refusal> {
        let _turn = self.turn.lock().await;
        match self.next_answer(server)? {
            Some(answer) => return Ok(ElicitResult::new(answers::to_visit(&answer))),
            None if !self.is_attended => {
                let message = format!(
                    "server {server:?} wants somebody to visit {}: {}",
                    params.url, params.message
                );
                return Err(self.refuse(server, message));
            }
            None => {}
        }
        let _pause = self.output.pause();
        self.output.ask(
            &Page::new()
                .line(
                    Line::new()
                        .strong(server)
                        .plain(" wants you to visit a page:"),
                )
                .text(params.message.clone())
                .line(Line::new().plain("  ").strong(params.url.clone())),
        );
        let question = "look at the address: open it in the browser? [y]es, [N]o, [c]ancel";
        let action = self.choose(question, false).await;
        if action == ElicitAction::Accept {
            self.open(&params.url).await;
        }
        Ok(ElicitResult::new(action))
    }

    /// Opens what somebody has looked at and agreed to.
    async fn open(&self, url: &str) {
        let place = match Place::parse(url) {
            Ok(place) => place,
            Err(error) => return self.output.warn(&format!("it is not opened here: {error}")),
        };
        // A browser that comes up says nothing; one that does not says so soon.
        let browser = Browser::new();
        if timeout(SOON, browser.open(&place)).await.is_ok() {
            self.output.warn("no browser opens here; go there yourself");
        }
    }

    /// Asks whether what stands on this page may be done. None: nobody can be asked.
    pub(crate) async fn agree(&self, page: &Page, question: &str) -> Option<bool> {
        if !self.is_attended {
            return None;
        }
        let _turn = self.turn.lock().await;
        let _pause = self.output.pause();
        self.output.ask(page);
        let chosen = self.choose(&format!("{question} [y]es, [N]o"), false).await;
        Some(chosen == ElicitAction::Accept)
    }

    async fn choose(&self, question: &str, is_default: bool) -> ElicitAction {
        loop {
            let line = Line::new().plain(question).faint(" > ");
            self.output.ask_for(line);
            let Some(line) = read_line().await else {
                return ElicitAction::Cancel;
            };
            return match &*line.trim().to_lowercase() {
                "" if is_default => ElicitAction::Accept,
                "y" | "yes" => ElicitAction::Accept,
                "" | "n" | "no" => ElicitAction::Decline,
                "c" | "cancel" => ElicitAction::Cancel,
                _ => continue,
            };
        }
    }

    fn next_answer(&self, server: &str) -> Result<Option<Value>, Refusal> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = answers.next();
        next.map_err(|problem| self.refuse_with(Failure::usage(problem).server(server)))
    }

    /// Nobody can answer.
    fn refuse(&self, server: &str, message: String) -> Refusal {
        let failure = Failure::new(Exit::InputRequired, message)
            .hint("answer it at a terminal, or with --answers FILE")
            .server(server);
        self.refuse_with(failure)
    }

    fn refuse_with(&self, failure: Failure) -> Refusal {
        let refusal = Refusal::by_user("nobody is there to answer");
        let mut unanswered = self
            .unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        unanswered.get_or_insert(failure);
        refusal
    }
}

/// A line that somebody types. None at the end.
async fn read_line() -> Option<String> {
    let reading = spawn_blocking(|| {
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    });
    reading.await.ok()?
}

/// The host of one server.
#[derive(Debug)]
pub(crate) struct TerminalHost {
    desk: Arc<Desk>,
    /// Does it say that it can do more than it can, to be offered all that there is?
    looks_on: bool,
}

impl TerminalHost {
    pub(crate) fn new(desk: &Arc<Desk>) -> Self {
        Self {
            desk: Arc::clone(desk),
            looks_on: false,
        }
    }

    /// One that only looks, and is offered what the clients of a gateway would be.
    pub(crate) fn onlooker(desk: &Arc<Desk>) -> Self {
        Self {
            desk: Arc::clone(desk),
            looks_on: true,
        }
    }
}

impl Host for TerminalHost {
    fn abilities(&self) -> Abilities {
        let mut abilities = Abilities::default();
        // Also with nobody there: that an answer is needed is then said, with its question.
        abilities.forms = true;
        abilities.urls = true;
        // Nobody is asked these: they are refused.
        abilities.sampling = self.looks_on;
        abilities.sampling_tools = self.looks_on;
        abilities.roots = self.looks_on;
        abilities
    }

    fn fill_form(
        &self,
        form: ElicitRequestFormParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        Box::pin(async move { self.desk.fill_form(form, &asked.server).await })
    }

    fn visit_url(
        &self,
        visit: ElicitRequestUrlParams,
        asked: Asked,
    ) -> Answering<'_, ElicitResult> {
        Box::pin(async move { self.desk.visit_url(visit, &asked.server).await })
    }

    fn hear_log(&self, message: LoggingMessageNotificationParams, _call: Option<u64>) {
        let output = &self.desk.output;
        if output.is_verbose() {
            let data = match Json::read(message.data.as_str().as_bytes()) {
                Json::Text(text) => text,
                other => other.to_string(),
            };
            output.note(&format!("[{}] {data}", message.level.as_str()));
        }
    }

    fn hear_stderr(&self, line: &str) {
        if self.desk.output.is_verbose() {
            self.desk.output.note(line);
        }
    }

    fn hear_bad_end(&self, end: &str) {
        // Many end like that whoever closes them, and what was asked for is done.
        if self.desk.output.is_verbose() {
            self.desk
                .output
                .warn(&format!("a server {end} when it was closed"));
        }
    }
}

/// Programs that open browsers mostly know within that whether they can; the call waits for it.
const SOON: Duration = Duration::from_millis(500);
