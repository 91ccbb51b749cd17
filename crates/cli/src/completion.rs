//! What could come next on a command line that is being typed.
//!
//! The scripts of the shells (`script`) know nothing: they give the words to the hidden verb
//! `__complete` and show what it prints. `line` says what is wanted at the cursor, from what `clap`
//! knows of the verbs; `known` finds names of servers, tools and arguments.
//!
//! Nothing here fails: whoever presses a key wants names, or nothing.

mod known;
mod line;
mod script;

use std::ffi::OsString;

use clap::CommandFactory;

pub(crate) use script::script;

use crate::app::App;
use crate::args::Cli;
use line::{Line, Wanted};

/// One thing that could come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The whole word.
    pub(crate) value: String,
    /// What it is, in a few words.
    pub(crate) about: String,
}

impl Candidate {
    fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            about: about.into(),
        }
    }
}

/// What could come next. The first word is the program, the last one is being typed.
pub(crate) async fn candidates(words: &[String], app: &App) -> Vec<Candidate> {
    let mut command = Cli::command();
    command.build();
    let line = Line::read(&command, words);
    let found = match &line.wanted {
        Wanted::Nothing => Vec::new(),
        Wanted::These(candidates) => candidates.clone(),
        Wanted::Names { kind, before } => {
            let config = line.config.as_ref().map(|file| OsString::from(file).into());
            known::names(*kind, before, &line.current, config, app).await
        }
    };
    let current = line.current.as_str();
    let mut fitting: Vec<Candidate> = found
        .into_iter()
        .map(|candidate| Candidate {
            value: format!("{}{}", line.prefix, candidate.value),
            about: candidate.about,
        })
        .filter(|candidate| {
            candidate
                .value
                .starts_with(&format!("{}{current}", line.prefix))
        })
        .collect();
    let mut seen = std::collections::HashSet::new();
    fitting.retain(|candidate| seen.insert(candidate.value.clone()));
    fitting.truncate(MOST);
    fitting
}

/// No list of a shell is longer.
const MOST: usize = 2_000;
