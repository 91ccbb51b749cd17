//! Who has called what, when, and what came of it: a line of JSON for each call.
//!
//! Nothing of what was said is in it, only how much: no arguments, no results. Lines are written by
//! a thread, so that no call waits for a disk; what comes faster than it can be written is counted,
//! and the count is written.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

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

/// Such as `2026-07-28T09:05:00.250Z`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, rest) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        rest / 3_600,
        rest / 60 % 60,
        rest % 60,
        since.subsec_millis()
    )
}

/// The date so many days after 1970-01-01. Years are counted from March, so that the leap day is
/// the last of its year.
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let of_year_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of_year_era + of_year_era / 4 - of_year_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let (month, next) = match from_march {
        0..=9 => (from_march + 3, 0),
        _ => (from_march - 9, 1),
    };
    (era * 400 + of_year_era + next, month, day)
}

const DAY: u64 = 24 * 60 * 60;
// A second of a busy gateway.
const MOST_LINES: usize = 16_384;
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let check = |seconds: u64, expected: &str| {
            let time = UNIX_EPOCH + Duration::from_millis(seconds * 1_000 + 7);
            assert_eq!(timestamp(time), expected);
        };
        check(0, "1970-01-01T00:00:00.007Z");
        check(951_782_399, "2000-02-28T23:59:59.007Z");
        check(951_782_400, "2000-02-29T00:00:00.007Z");
        check(1_785_229_500, "2026-07-28T09:05:00.007Z");
    }
}
