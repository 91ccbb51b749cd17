//! The last words of a server.
//!
//! What a server writes to stderr is kept in a ring of bounded size, whatever it is. Who reads
//! the pipe is for the system's part; here are the bytes.

use std::collections::VecDeque;
use std::fmt;
#[cfg(unix)]
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::spec::StderrHook;
use crate::escape::Escaped;

/// What a server has written to stderr lately. It outlives the server and is cheap to clone.
#[derive(Clone)]
pub struct Stderr(Arc<Shared>);

struct Shared {
    ring: Mutex<Ring>,
    /// Taken out when it has panicked, and while it runs: it may ask for the tail.
    hook: Mutex<Option<StderrHook>>,
}

impl Stderr {
    pub(super) fn new(hook: Option<StderrHook>) -> Self {
        let ring = Ring {
            has_hook: hook.is_some(),
            ..Ring::default()
        };
        Self(Arc::new(Shared {
            ring: Mutex::new(ring),
            hook: Mutex::new(hook),
        }))
    }

    /// The last lines, at most 4 KiB of text. Empty if nothing was written.
    ///
    /// It is safe to print: control characters and invisible ones are written out as by
    /// [`Escaped`], and bytes that are not UTF-8 too.
    pub fn tail(&self) -> String {
        self.ring().tail()
    }

    /// How many lines came that are no longer kept.
    pub fn lines_dropped(&self) -> u64 {
        self.ring().lines_dropped
    }

    /// Takes bytes from whoever reads them, and no other reader comes between the two. It must
    /// not block.
    #[cfg(unix)]
    pub(super) fn push_from(
        &self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut buffer = [0; AT_ONCE];
        let mut ring = self.ring();
        let count = read(&mut buffer)?;
        ring.push(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }

    /// Takes bytes that were read.
    #[cfg(any(not(unix), test))]
    pub(super) fn push(&self, bytes: &[u8]) {
        self.ring().push(bytes);
    }

    /// Takes the end: a last line may lack its line feed.
    pub(super) fn end(&self) {
        let mut ring = self.ring();
        if ring.line > 0 || ring.cut > 0 {
            ring.end_line();
        }
    }

    /// Tells the hook about the lines that it was not told about. No lock is held meanwhile.
    pub(super) fn deliver(&self) {
        let untold = std::mem::take(&mut self.ring().untold);
        if untold.is_empty() {
            return;
        }
        let Some(hook) = lock(&self.0.hook).take() else {
            return;
        };
        let lines = untold.strip_suffix(b"\n").unwrap_or(&untold);
        // It is user code, and whatever it does stderr is read on.
        let told = catch_unwind(AssertUnwindSafe(|| {
            for line in lines.split(|byte| *byte == b'\n') {
                hook(&printable(line));
            }
        }));
        if told.is_ok() {
            *lock(&self.0.hook) = Some(hook);
        } else {
            self.ring().has_hook = false;
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        lock(&self.0.ring)
    }
}

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stderr").field(&self.tail()).finish()
    }
}

/// How much is taken at once, each line of which is told to somebody: others wait meanwhile.
pub(super) const AT_ONCE: usize = 4 * 1024;

/// Lines, the oldest first, each with its line feed but perhaps the last.
#[derive(Default)]
struct Ring {
    bytes: VecDeque<u8>,
    /// How many bytes of the last line are kept, if it has not ended.
    line: usize,
    /// How many were cut off it.
    cut: u64,
    lines_dropped: u64,
    has_hook: bool,
    /// Whole lines that the hook has not seen.
    untold: Vec<u8>,
}

impl Ring {
    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, has_ended) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = LINE.saturating_sub(self.line).min(text.len());
            let (kept, cut) = text.split_at_checked(room).unwrap_or((text, &[]));
            self.bytes.extend(kept);
            self.line += kept.len();
            self.cut = self.cut.saturating_add(cut.len() as u64);
            if has_ended {
                self.end_line();
            }
        }
        self.make_room();
    }

    fn end_line(&mut self) {
        if self.cut > 0 {
            let mark = format!(" … and {} bytes more", self.cut);
            self.bytes.extend(mark.as_bytes());
            self.line += mark.len();
        }
        if self.has_hook {
            let start = self.bytes.len().saturating_sub(self.line);
            self.untold.extend(self.bytes.iter().skip(start));
            self.untold.push(b'\n');
        }
        self.bytes.push_back(b'\n');
        (self.line, self.cut) = (0, 0);
        self.make_room();
    }

    /// Drops the oldest lines.
    fn make_room(&mut self) {
        while self.bytes.len() > RING {
            let end = self.bytes.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(self.bytes.len(), |end| end + 1);
            self.bytes.drain(..count);
            self.lines_dropped = self.lines_dropped.saturating_add(1);
        }
    }

    fn tail(&self) -> String {
        // Only the end is shown, so only the end is copied.
        let start = self.bytes.len().saturating_sub(TAIL + LINE + MARK);
        let mut bytes: Vec<u8> = self.bytes.range(start..).copied().collect();
        if self.cut > 0 {
            bytes.extend(format!(" … and {} bytes more", self.cut).as_bytes());
        }
        let mut lines: Vec<String> = Vec::new();
        let mut length = 0;
        for line in bytes.trim_ascii_end().rsplit(|byte| *byte == b'\n') {
            let text = printable(line);
            if length + text.len() < TAIL {
                length += text.len() + 1;
                lines.push(text);
                continue;
            }
            // Of a single long line the beginning says more than the end.
            if lines.is_empty() {
                let limit = TAIL - "…".len();
                let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end));
                let end = end.unwrap_or_default();
                lines.push(text.get(..end).unwrap_or_default().to_owned() + "…");
            }
            break;
        }
        lines.reverse();
        lines.join("\n")
    }
}

fn printable(line: &[u8]) -> String {
    Escaped(line.strip_suffix(b"\r").unwrap_or(line)).to_string()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is kept of one server.
const RING: usize = 64 * 1024;

/// What is kept of one line.
const LINE: usize = 8 * 1024;

/// What the note about a line that was cut may take.
const MARK: usize = 64;

/// What is shown of it all.
const TAIL: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> Stderr {
        let stderr = Stderr::new(None);
        for piece in pieces {
            stderr.push(piece);
        }
        stderr
    }

    #[test]
    fn lines_are_shown_as_they_came() {
        assert_eq!(of(&[]).tail(), "");
        assert_eq!(of(&[b"one\r\ntw", b"o\n"]).tail(), "one\ntwo");
        assert_eq!(of(&[b"no line feed"]).tail(), "no line feed");
        assert_eq!(of(&[b"a\n\nb\n\n\n"]).tail(), "a\n\nb");
    }

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(of(&[b"\x1b[2Jx\xff\n"]).tail(), r"\x1b[2Jx\xff");
    }

    #[test]
    fn the_oldest_lines_make_room() {
        let stderr = of(&[]);
        for number in 0..20_000 {
            stderr.push(format!("line {number}\n").as_bytes());
        }
        let tail = stderr.tail();
        assert!(tail.ends_with("line 19998\nline 19999"));
        assert!(tail.starts_with("line "));
        assert!(tail.len() <= TAIL);
        assert!(stderr.ring().bytes.len() <= RING);
        assert!(stderr.ring().bytes.capacity() <= 4 * RING);
        assert!(stderr.lines_dropped() > 10_000);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let stderr = of(&[]);
        for _ in 0..1024 {
            stderr.push(&[b'x'; 1024]);
        }
        assert_eq!(stderr.ring().bytes.len(), LINE);
        assert!(stderr.tail().starts_with("xxx"));
        assert!(stderr.tail().len() <= TAIL);
        stderr.push(b"\nlast words\n");
        assert_eq!(stderr.tail(), "last words");
    }

    #[test]
    fn a_long_line_says_how_much_is_missing() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let hook = Arc::clone(&told);
        let stderr = Stderr::new(Some(Arc::new(move |line: &str| {
            lock(&hook).push(line.to_owned());
        })));
        stderr.push(&[b'x'; LINE]);
        stderr.push(b"yyy\nshort");
        stderr.deliver();
        stderr.end();
        stderr.deliver();
        let told = lock(&told);
        assert_eq!(told.len(), 2);
        assert!(told[0].ends_with("x … and 3 bytes more"));
        assert_eq!(told[1], "short");
    }

    #[test]
    fn a_hook_that_panics_is_not_asked_again() {
        let calls = Arc::new(Mutex::new(0));
        let count = Arc::clone(&calls);
        let stderr = Stderr::new(Some(Arc::new(move |_: &str| {
            *lock(&count) += 1;
            panic!("a test");
        })));
        stderr.push(b"one\ntwo\n");
        stderr.deliver();
        stderr.push(b"three\n");
        stderr.deliver();
        assert_eq!(*lock(&calls), 1);
        assert!(stderr.ring().untold.is_empty());
        assert_eq!(stderr.tail(), "one\ntwo\nthree");
    }
}
