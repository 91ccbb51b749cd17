//! Who has called what, when, and what came of it: a line of JSON for each call.
//!
//! Nothing of what was said is in it, only how much: no arguments, no results. Lines are written by
//! a thread, so that no call waits for a disk; what comes faster than it can be written is counted,
//! and the count is written.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use switchboard_server::timestamp;

/// Where calls are written down. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Audit(Arc<Book>);

#[derive(Debug)]
struct Book {
    lines: SyncSender<Note>,
    lost: Arc<Lost>,
}

/// Lines that could not be written.
#[derive(Debug, Default)]
struct Lost {
    /// Those that no line tells of yet.
    untold: AtomicU64,
    all: AtomicU64,
}

impl Lost {
    fn note(&self) {
        self.untold.fetch_add(1, Ordering::Relaxed);
        self.all.fetch_add(1, Ordering::Relaxed);
    }
}

enum Note {
    Line(Vec<u8>),
    /// All before it is to be written now.
    Flush(SyncSender<()>),
}

impl Audit {
    /// Writes lines to this.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn to(place: impl Write + Send + 'static) -> std::io::Result<Self> {
        Self::holding(MOST_LINES, place)
    }

    /// So many lines may wait to be written.
    fn holding(most: usize, place: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (lines, notes) = sync_channel(most);
        let lost = Arc::new(Lost::default());
        let counted = Arc::clone(&lost);
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || write(place, &notes, &counted))?;
        Ok(Self(Arc::new(Book { lines, lost })))
    }

    /// Waits until all that was noted is written, but not for ever.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.0.lines.send(Note::Flush(done)).is_ok() {
            // A disk that does not answer is not waited for.
            let _ = wait.recv_timeout(PATIENCE);
        }
    }

    /// How many lines were lost: they came faster than they could be written, or could not be.
    pub fn lost(&self) -> u64 {
        self.0.lost.all.load(Ordering::Relaxed)
    }

    pub(crate) fn note(&self, entry: &Entry<'_>) {
        let Ok(mut line) = serde_json::to_vec(entry) else {
            return;
        };
        line.push(b'\n');
        match self.0.lines.try_send(Note::Line(line)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.0.lost.note();
            }
        }
    }
}

/// One call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry<'a> {
    pub(crate) time: String,
    /// Whom the key or the token stands for; null where none is needed.
    pub(crate) caller: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) issuer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<&'a str>,
    pub(crate) method: &'a str,
    pub(crate) server: Option<&'a str>,
    /// The tool, prompt or resource, as its server calls it; as the client does if there is none.
    pub(crate) name: Option<&'a str>,
    pub(crate) duration_ms: f64,
    pub(crate) outcome: &'a str,
    /// The number of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<i64>,
    pub(crate) request_bytes: usize,
    pub(crate) result_bytes: usize,
}

/// Writes what comes, as long as anybody may note something.
fn write(mut place: impl Write, notes: &Receiver<Note>, lost: &Lost) {
    while let Ok(note) = notes.recv() {
        match note {
            Note::Line(line) => {
                let missing = lost.untold.swap(0, Ordering::Relaxed);
                if missing > 0 {
                    let time = timestamp(SystemTime::now());
                    let _ = writeln!(place, "{{\"time\":\"{time}\",\"lost\":{missing}}}");
                }
                if place.write_all(&line).is_err() {
                    lost.note();
                }
            }
            Note::Flush(done) => {
                let _ = place.flush();
                let _ = done.send(());
            }
        }
    }
    let _ = place.flush();
}

// A second of a busy gateway.
const MOST_LINES: usize = 16_384;
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::Sender;

    use super::*;

    /// A disk that writes nothing until it is let.
    struct Stuck {
        begun: Sender<()>,
        go_on: Receiver<()>,
        text: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.begun.send(());
            let _ = self.go_on.recv();
            self.text.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn entry(method: &str) -> Entry<'_> {
        Entry {
            time: String::new(),
            caller: None,
            issuer: None,
            profile: None,
            method,
            server: None,
            // It would be a line of its own, and clear a screen.
            name: Some("nobody\"}\n{\"lost\":0}\u{1b}[2J"),
            duration_ms: 0.0,
            outcome: "ok",
            code: None,
            request_bytes: 0,
            result_bytes: 0,
        }
    }

    #[test]
    fn lines_that_come_faster_than_they_are_written_are_lost_and_that_is_told() {
        let (begun, begins) = std::sync::mpsc::channel();
        let (goes_on, go_on) = std::sync::mpsc::channel();
        let text = Arc::new(Mutex::new(Vec::new()));
        let stuck = Stuck {
            begun,
            go_on,
            text: Arc::clone(&text),
        };
        let audit = Audit::holding(2, stuck).unwrap();
        audit.note(&entry("first"));
        begins.recv().unwrap();
        // One is being written, two wait.
        for method in ["second", "third", "fourth", "fifth"] {
            audit.note(&entry(method));
        }
        assert_eq!(audit.lost(), 2);
        drop(goes_on);
        audit.flush();
        let text = String::from_utf8(text.lock().unwrap().clone()).unwrap();
        assert!(!text.contains('\u{1b}'), "it commands a terminal");
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let methods: Vec<_> = lines.iter().map(|line| line["method"].as_str()).collect();
        assert_eq!(
            methods,
            [Some("first"), None, Some("second"), Some("third")]
        );
        assert_eq!(lines[1]["lost"], 2);
        assert_eq!(audit.lost(), 2, "what was told of is not forgotten");
    }
}
