//! The only code that prints.
//!
//! Standard output is what was asked for: for people, or as JSON. Standard error is everything
//! else. Text of servers has its control characters removed here, so that no verb can forget it.
//!
//! 1. `outcome`: what a verb has to show; `page`, `table`: how it looks to people
//! 2. `clean`: text of servers; `width`: how much room there is, and how much a text takes
//! 3. `status`: the line on standard error that says what is going on

mod clean;
mod outcome;
mod page;
mod status;
mod table;
mod width;

use std::env;
use std::fmt;
use std::io::{self, IsTerminal, Write};

pub(crate) use clean::{clean, clean_line};
pub(crate) use outcome::Outcome;
pub(crate) use page::{Line, Page, Style};
pub(crate) use status::Status;
pub(crate) use table::{Column, Table};
pub(crate) use width::shorten;

use crate::args::{Color, Global};
use crate::exit::{Exit, Failure};
use crate::json::Json;
use page::Look;

/// Where words go, and in which form.
#[derive(Debug)]
pub(crate) struct Output {
    form: Form,
    /// How standard output looks.
    look: Look,
    /// How standard error looks.
    error_look: Look,
    is_quiet: bool,
    is_verbose: bool,
    /// Is there somebody who reads standard error as it comes?
    has_status: bool,
    status: status::Board,
}

/// In which form results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// To be read.
    People,
    /// One document.
    Json,
    /// A line for each item.
    JsonLines,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let form = match (global.json, global.jsonl) {
            (true, _) => Form::Json,
            (false, true) => Form::JsonLines,
            (false, false) => Form::People,
        };
        let out_is_terminal = io::stdout().is_terminal();
        let error_is_terminal = io::stderr().is_terminal();
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = |is_terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !no_color && !is_dumb,
        };
        let width = |is_terminal: bool| is_terminal.then(width::of_terminal);
        Self {
            form,
            look: Look {
                has_colour: colour(out_is_terminal),
                width: width(out_is_terminal),
            },
            error_look: Look {
                has_colour: colour(error_is_terminal),
                width: width(error_is_terminal),
            },
            is_quiet: global.quiet,
            is_verbose: global.verbose,
            has_status: error_is_terminal && !is_dumb && !global.quiet,
            status: status::Board::default(),
        }
    }

    /// Is JSON wanted, in one document or in many?
    pub(crate) fn is_json(&self) -> bool {
        self.form != Form::People
    }

    /// Does somebody want to see what servers write and log?
    pub(crate) const fn is_verbose(&self) -> bool {
        self.is_verbose
    }

    /// Prints what a verb has to show.
    pub(crate) fn show(&self, outcome: &Outcome) -> io::Result<()> {
        self.status.clear();
        let mut out = io::stdout().lock();
        match self.form {
            Form::People => {
                out.write_all(outcome.page().render(self.look).as_bytes())?;
                out.write_all(outcome.raw_bytes())?;
            }
            Form::Json => {
                if let Some(value) = outcome.json() {
                    write_json(&mut out, value)?;
                }
            }
            Form::JsonLines => {
                for value in outcome.items() {
                    write_json_line(&mut out, value)?;
                }
            }
        }
        out.flush()
    }

    /// Prints one item of a stream at once. Under `--json` too it is a line.
    pub(crate) fn stream<J: Into<Json>>(
        &self,
        page: impl FnOnce() -> Page,
        json: impl FnOnce() -> J,
    ) -> io::Result<()> {
        self.status.clear();
        let mut out = io::stdout().lock();
        match self.form {
            Form::People => out.write_all(page().render(self.look).as_bytes())?,
            Form::Json | Form::JsonLines => write_json_line(&mut out, &json().into())?,
        }
        out.flush()
    }

    /// Says why something was not done, as the last line on standard error.
    pub(crate) fn fail(&self, failure: &Failure) -> Exit {
        let exit = failure.exit;
        if self.is_json() {
            self.to_error(&format!("{}\n", as_json(failure)));
            return exit;
        }
        if failure.is_told {
            return exit;
        }
        let (first, rest) = match failure.message.split_once('\n') {
            Some((first, rest)) => (first, rest),
            None => (failure.message.as_str(), ""),
        };
        let first = Line::new().bad("error:").plain(" ").plain(first);
        let mut page = Page::new().line(first).text(rest);
        if let Some(hint) = &failure.hint {
            page = page.line(Line::new().notable("hint:").plain(" ").plain(hint));
        }
        self.to_error(&page.render(self.error_look));
        exit
    }

    /// Says something that is worth knowing and no result.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_quiet {
            self.to_error(&Page::new().line(text).render(self.error_look));
        }
    }

    /// Says what is odd.
    pub(crate) fn warn(&self, text: &str) {
        if !self.is_quiet {
            let line = Line::new().notable("warning:").plain(" ").plain(text);
            self.to_error(&Page::new().line(line).render(self.error_look));
        }
    }

    /// Shows a page to whoever sits in front, on standard error: a question.
    pub(crate) fn ask(&self, page: &Page) {
        self.to_error(&page.render(self.error_look));
    }

    /// The beginning of a line on standard error that the user ends.
    pub(crate) fn ask_for(&self, line: Line) {
        let text = Page::new().line(line).render(self.error_look);
        self.to_error(text.trim_end_matches('\n'));
    }

    /// Is standard output read by a person, as it comes?
    pub(crate) const fn is_terminal(&self) -> bool {
        self.look.width.is_some()
    }

    /// Keeps the status line away while somebody is asked.
    pub(crate) fn pause(&self) -> status::Pause {
        self.status.pause()
    }

    /// Shows what is going on, on a terminal only, until it is dropped.
    pub(crate) fn status(&self, text: &str) -> Status {
        self.status.begin(self.has_status, self.error_look, text)
    }

    fn to_error(&self, text: &str) {
        self.status.clear();
        // There is nobody left to tell that nobody listens.
        let _ = io::stderr().lock().write_all(text.as_bytes());
        self.status.redraw();
    }
}

/// Where lines about calls go that are read by another program.
pub(crate) fn audit_lines() -> impl Write + Send + 'static {
    io::stdout()
}

/// What scripts are told of a failure.
fn as_json(failure: &Failure) -> Json {
    let text = |text: &Option<String>| text.as_deref().map_or(Json::Null, Json::from);
    Json::object([
        ("code", u64::from(failure.exit.number()).into()),
        ("message", (*clean(&failure.message)).into()),
        ("server", text(&failure.server)),
        ("hint", text(&failure.hint)),
    ])
}

/// Prints what `clap` has to say: help, the version, or what was not understood.
pub(crate) fn show_usage(error: &clap::Error, is_json: bool) -> Exit {
    let text = error.render().to_string();
    match error.use_stderr() {
        true => {
            let mut stderr = io::stderr().lock();
            let _ = stderr.write_all(text.as_bytes());
            if is_json {
                // Up to the first empty line: some name what is missing in lines of its own.
                let lines = text.lines().take_while(|line| !line.is_empty());
                let lines: Vec<&str> = lines.map(str::trim).collect();
                let message = lines.join(" ");
                let message = message.strip_prefix("error: ").unwrap_or(&message);
                let failure = Failure::usage(message).hint("`switchboard --help`");
                let _ = writeln!(stderr, "{}", as_json(&failure));
            }
            Exit::Usage
        }
        false => {
            let _ = io::stdout().lock().write_all(text.as_bytes());
            Exit::Done
        }
    }
}

fn write_json(out: &mut impl Write, value: &Json) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

fn write_json_line(out: &mut impl Write, value: &Json) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::People => "text",
            Self::Json => "JSON",
            Self::JsonLines => "lines of JSON",
        })
    }
}
