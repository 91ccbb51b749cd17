//! What configurations ask for: `${input:id}`, as VS Code means it.
//!
//! An answer comes from `--answers FILE`, from the environment, from whoever sits at the terminal,
//! or is the default; in this order. It is asked for once, whoever refers to it.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_auth::Secret;
use switchboard_hub::{InputConfig, InputKind, InputOption};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::{Desk, hidden, read_line};
use crate::output::{Line, Page};

/// What is asked for, and for whom.
#[derive(Debug)]
pub(crate) struct InputQuestion<'a> {
    pub(crate) id: &'a str,
    /// How it is to be asked for, if the configuration says so.
    pub(crate) input: Option<&'a InputConfig>,
    /// The servers that refer to it.
    pub(crate) servers: Vec<&'a str>,
    /// May a person be asked?
    pub(crate) may_ask: bool,
}

/// The answers so far.
#[derive(Debug)]
pub(super) struct Inputs {
    /// None: there was no answer, and nobody is asked again.
    given: Mutex<HashMap<String, Option<Secret>>>,
    /// Closed when nobody waits for answers any more.
    waiting: Semaphore,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            given: Mutex::default(),
            waiting: Semaphore::const_new(0),
        }
    }
}

impl Inputs {
    fn given(&self) -> MutexGuard<'_, HashMap<String, Option<Secret>>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    /// The answer to a question of a configuration.
    ///
    /// # Errors
    /// When there is none: what can be done about it.
    pub(crate) async fn input(&self, question: &InputQuestion<'_>) -> io::Result<Secret> {
        tokio::select! {
            biased;
            _ = self.inputs.waiting.acquire() => Err(io::Error::other("nobody waits for it any more")),
            answer = self.find_input(question) => answer,
        }
    }

    /// Was there no answer to what is written so: `${input:id}`?
    pub(crate) fn lacks(&self, written: &str) -> bool {
        let id = written.strip_prefix("${input:").unwrap_or_default();
        let id = id.strip_suffix('}').unwrap_or_default();
        matches!(self.given(id), Some(None))
    }

    /// Nobody waits for answers any more, and the terminal is as it was.
    pub(crate) fn give_up(&self) {
        self.inputs.waiting.close();
        hidden::show();
    }

    async fn find_input(&self, question: &InputQuestion<'_>) -> io::Result<Secret> {
        let _turn = self.turn.lock().await;
        let id = question.id;
        match self.given(id) {
            Some(Some(answer)) => return Ok(answer),
            Some(None) => return Err(nobody(id)),
            None => {}
        }
        let answer = match self.written_input(question)? {
            Some(answer) => Some(answer),
            None if question.may_ask && self.is_attended => self.ask_input(question).await?,
            None => question.input.and_then(|input| input.default.clone()),
        };
        let mut given = self.inputs.given();
        given.insert(id.to_owned(), answer.clone());
        drop(given);
        answer.ok_or_else(|| nobody(id))
    }

    fn given(&self, id: &str) -> Option<Option<Secret>> {
        self.inputs.given().get(id).cloned()
    }

    /// What was written down before.
    fn written_input(&self, question: &InputQuestion<'_>) -> io::Result<Option<Secret>> {
        let id = question.id;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let written = answers.input(id).map_err(io::Error::other)?;
        drop(answers);
        let written = written.or_else(|| std::env::var(variable(id)).ok());
        match (written, question.input.map(|input| &input.kind)) {
            (Some(written), Some(InputKind::Choice(options))) => match chosen(&written, options) {
                Some(value) => Ok(Some(Secret::new(value))),
                None => Err(io::Error::other(format!("it must be {}", one_of(options)))),
            },
            (Some(written), _) => Ok(Some(Secret::new(written))),
            (None, Some(InputKind::Command(command))) => Err(of_command(id, command)),
            (None, _) => Ok(None),
        }
    }

    /// Asks until there is an answer. None: the person gives none.
    async fn ask_input(&self, question: &InputQuestion<'_>) -> io::Result<Option<Secret>> {
        let input = question.input;
        let default = input.and_then(|input| input.default.as_ref());
        // What nobody describes may be secret.
        let is_secret = !matches!(
            input.map(|input| &input.kind),
            Some(InputKind::Text { is_secret: false } | InputKind::Choice(_))
        );
        let options: &[InputOption] = match input.map(|input| &input.kind) {
            Some(InputKind::Choice(options)) => options,
            _ => &[],
        };
        let _pause = self.output.pause();
        self.output.ask(&page(question, is_secret, options));
        loop {
            let line = match is_secret {
                true => self.read_hidden().await?,
                false => {
                    self.output.ask_for(Line::new().faint("> "));
                    read_line().await.map(Secret::new)
                }
            };
            let Some(line) = line else {
                return Ok(None);
            };
            let typed = line.reveal().trim_end_matches(['\r', '\n']);
            let answer = match (typed, options) {
                ("", _) => default.cloned(),
                (typed, []) => Some(Secret::new(typed)),
                (typed, options) => chosen(typed, options).map(Secret::new),
            };
            match answer {
                Some(answer) => return Ok(Some(answer)),
                None if options.is_empty() => self.complain("an answer is required"),
                None => self.complain(&one_of(options)),
            }
        }
    }

    fn complain(&self, problem: &str) {
        self.output.ask(&Page::new().line(problem));
    }

    /// A line that nobody sees.
    async fn read_hidden(&self) -> io::Result<Option<Secret>> {
        let hidden = hidden::hide()?;
        self.output.ask_for(Line::new().faint("(not shown) > "));
        let read = spawn_blocking(hidden::read_line).await;
        drop(hidden);
        self.output.ask(&Page::new().line(""));
        match read.map_err(io::Error::other)? {
            Ok(line) => Ok(line),
            Err(error) => {
                if error.kind() == io::ErrorKind::Interrupted {
                    hidden::interrupt();
                }
                Err(error)
            }
        }
    }
}

fn page(question: &InputQuestion<'_>, is_secret: bool, options: &[InputOption]) -> Page {
    let verb = if question.servers.len() == 1 {
        "needs"
    } else {
        "need"
    };
    let line = Line::new().strong(question.servers.join(", "));
    let line = line.plain(format!(" {verb} an input: "));
    let mut page = Page::new().line(line.strong(question.id));
    let input = question.input;
    if let Some(words) = input.and_then(|input| input.description.as_deref()) {
        page = page.text(words);
    }
    for (index, option) in options.iter().enumerate() {
        let number = format!("  {}) ", index + 1);
        let line = Line::new().faint(number).plain(&option.label);
        page = page.line(match option.label == option.value {
            true => line,
            false => line.faint(format!(" ({})", option.value)),
        });
    }
    match input.and_then(|input| input.default.as_ref()) {
        Some(_) if is_secret => page.line("an empty line leaves it as it is configured"),
        Some(default) => page.line(format!("an empty line is {:?}", default.reveal())),
        None => page,
    }
}

/// The option that a word means: its number, its value or its label.
fn chosen(word: &str, options: &[InputOption]) -> Option<String> {
    let word = word.trim();
    let by_name = options
        .iter()
        .find(|option| option.value == word || option.label == word);
    let by_number = || {
        let number: usize = word.parse().ok()?;
        options.get(number.checked_sub(1)?)
    };
    by_name
        .or_else(by_number)
        .map(|option| option.value.clone())
}

fn one_of(options: &[InputOption]) -> String {
    let values: Vec<&str> = options.iter().map(|option| &*option.value).collect();
    format!("one of {}", values.join(", "))
}

fn nobody(id: &str) -> io::Error {
    io::Error::other(format!("there is no answer; {}", instead(id)))
}

/// It comes from a command of an editor, which is not here.
pub(crate) fn of_command(id: &str, command: &str) -> io::Error {
    let reason = format!("it comes from the command {command:?} of VS Code, which nobody else has");
    io::Error::other(format!("{reason}; {}", instead(id)))
}

/// What can be done about an input that nobody gives.
fn instead(id: &str) -> String {
    let variable = variable(id);
    format!("set {variable}, or give --answers a file with {{\"${{input:{id}}}\": \"…\"}}")
}

/// The environment variable that answers an input.
fn variable(id: &str) -> String {
    let plain = id.chars().map(|character| match character {
        character if character.is_ascii_alphanumeric() => character.to_ascii_uppercase(),
        _ => '_',
    });
    format!("SWITCHBOARD_INPUT_{}", plain.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_has_a_variable_of_its_own() {
        assert_eq!(variable("tok"), "SWITCHBOARD_INPUT_TOK");
        assert_eq!(
            variable("perplexity-key.2"),
            "SWITCHBOARD_INPUT_PERPLEXITY_KEY_2"
        );
    }
}
