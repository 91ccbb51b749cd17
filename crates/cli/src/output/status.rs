//! The line on standard error that says what is going on. Only on a terminal.
//!
//! It is written over by the next one and gone before anything else is printed.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

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
    shown: Arc<Mutex<String>>,
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

    fn replace(&self, painted: String) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if *shown == painted {
            return;
        }
        write(&format!("{CLEAR}{painted}"));
        *shown = painted;
    }

    /// Makes room for something else.
    pub(super) fn clear(&self) {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if !shown.is_empty() {
            write(CLEAR);
        }
    }

    /// Shows it again, below something else.
    pub(super) fn redraw(&self) {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if !shown.is_empty() {
            write(&shown);
        }
    }
}

fn write(text: &str) {
    // It is a courtesy.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// To the beginning of the line, and nothing behind it.
const CLEAR: &str = "\r\x1b[K";
