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
    lost: Arc<AtomicU64>,
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
        let (lines, notes) = sync_channel(MOST_LINES);
        let lost = Arc::new(AtomicU64::new(0));
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

    pub(crate) fn note(&self, entry: &Entry<'_>) {
        let Ok(mut line) = serde_json::to_vec(entry) else {
            return;
        };
        line.push(b'\n');
        match self.0.lines.try_send(Note::Line(line)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.0.lost.fetch_add(1, Ordering::Relaxed);
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
fn write(mut place: impl Write, notes: &Receiver<Note>, lost: &AtomicU64) {
    while let Ok(note) = notes.recv() {
        match note {
            Note::Line(line) => {
                let missing = lost.swap(0, Ordering::Relaxed);
                if missing > 0 {
                    let time = timestamp(SystemTime::now());
                    let _ = writeln!(place, "{{\"time\":\"{time}\",\"lost\":{missing}}}");
                }
                if place.write_all(&line).is_err() {
                    lost.fetch_add(1, Ordering::Relaxed);
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
    use std::sync::mpsc::channel;

    use serde_json::Value;

    use super::*;

    /// A disk that takes nothing until it is let go.
    struct Stuck {
        gate: Receiver<()>,
        is_open: bool,
        text: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if !self.is_open {
                self.is_open = self.gate.recv().is_ok();
            }
            self.text.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn one_that_is_full_holds_up_nobody_and_says_what_it_lost() {
        const MORE: usize = 100;
        let (open, gate) = channel();
        let text = Arc::new(Mutex::new(Vec::new()));
        let place = Stuck {
            gate,
            is_open: false,
            text: Arc::clone(&text),
        };
        let audit = Audit::to(place).unwrap();
        // A name that would be a line of its own, and would clear a screen.
        let name = "nobody\"}\n{\"lost\":0}\u{1b}[2J";
        let entry = Entry {
            time: timestamp(SystemTime::now()),
            caller: None,
            issuer: None,
            profile: None,
            method: "tools/call",
            server: None,
            name: Some(name),
            duration_ms: 1.0,
            outcome: "error",
            code: Some(-32602),
            request_bytes: 1,
            result_bytes: 0,
        };
        // The disk is stuck: none of them may wait for it.
        for _ in 0..MOST_LINES + MORE {
            audit.note(&entry);
        }
        open.send(()).unwrap();
        audit.flush();
        // What was lost is written before the next line.
        audit.note(&entry);
        audit.flush();
        let text = String::from_utf8(text.lock().unwrap().clone()).unwrap();
        assert!(!text.contains('\u{1b}'), "it commands a terminal");
        let lines = text.lines();
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let (lost, noted): (Vec<_>, Vec<_>) = lines.partition(|line| line["lost"].is_u64());
        assert!(noted.iter().all(|line| line["name"] == name));
        let lost: u64 = lost.iter().filter_map(|line| line["lost"].as_u64()).sum();
        // One or none had been taken out of the queue.
        assert!((99..=100).contains(&lost), "{lost}");
        assert_eq!(noted.len() as u64 + lost, (MOST_LINES + MORE + 1) as u64);
    }
}
