//! The line on standard error that says what is going on. Only on a terminal.
//!
//! It is written over by the next one and gone before anything else is printed.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clean::clean_line;
use super::page::{Look, Style};
use super::width::shorten;

/// Something that is going on, shown until it is dropped.
#[derive(Debug)]
pub(crate) struct Status {
    board: Option<Board>,
    look: Look,
}

/// What stands on the line now.
#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    shown: Arc<Mutex<Shown>>,
}

#[derive(Debug, Default)]
struct Shown {
    line: String,
    /// How many want it to be away.
    pauses: usize,
}

/// Keeps the line away until it is dropped.
#[derive(Debug)]
pub(crate) struct Pause(Board);

impl Drop for Pause {
    fn drop(&mut self) {
        let mut shown = self.0.shown();
        shown.pauses = shown.pauses.saturating_sub(1);
        drop(shown);
        self.0.redraw();
    }
}

impl Status {
    /// Says something else.
    pub(crate) fn say(&self, text: &str) {
        let Some(board) = &self.board else {
            return;
        };
        let most = self.look.width.unwrap_or(80).saturating_sub(1);
        let mut painted = String::new();
        let line = shorten(&clean_line(text), most);
        Style::Faint.paint(self.look, &line, &mut painted);
        board.replace(painted);
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        if let Some(board) = &self.board {
            board.replace(String::new());
        }
    }
}

impl Board {
    pub(super) fn begin(&self, is_shown: bool, look: Look, text: &str) -> Status {
        let status = Status {
            board: is_shown.then(|| self.clone()),
            look,
        };
        status.say(text);
        status
    }

    pub(super) fn pause(&self) -> Pause {
        self.clear();
        self.shown().pauses += 1;
        Pause(self.clone())
    }

    fn replace(&self, painted: String) {
        let mut shown = self.shown();
        if shown.line == painted {
            return;
        }
        if shown.pauses == 0 {
            write(&format!("{CLEAR}{painted}"));
        }
        shown.line = painted;
    }

    /// Makes room for something else.
    pub(super) fn clear(&self) {
        let shown = self.shown();
        if !shown.line.is_empty() && shown.pauses == 0 {
            write(CLEAR);
        }
    }

    /// Shows it again, below something else.
    pub(super) fn redraw(&self) {
        let shown = self.shown();
        if !shown.line.is_empty() && shown.pauses == 0 {
            write(&shown.line);
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(text: &str) {
    // It is a courtesy.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// To the beginning of the line, and nothing behind it.
const CLEAR: &str = "\r\x1b[K";
