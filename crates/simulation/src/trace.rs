//! What happened, as words for whoever looks for a fault and as a number for whoever compares runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::chance::mixed;

/// What happened in a run. All clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Trace(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    began: Instant,
    digest: u64,
    /// Kept only if somebody reads them.
    lines: Option<Vec<String>>,
    broken: Vec<String>,
}

impl Trace {
    /// Within a runtime, whose clock it uses.
    pub(crate) fn new(is_read: bool) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            began: Instant::now(),
            digest: 0,
            lines: is_read.then(Vec::new),
            broken: Vec::new(),
        })))
    }

    /// Something happened: numbers that tell it from other things, and words for it.
    pub(crate) fn note(&self, numbers: &[u64], words: impl FnOnce() -> String) {
        let mut inner = self.inner();
        let time = inner.began.elapsed();
        inner.digest = mixed(inner.digest ^ time.as_nanos() as u64);
        for number in numbers {
            inner.digest = mixed(inner.digest.wrapping_add(*number));
        }
        if let Some(lines) = &mut inner.lines {
            let words = words();
            if !words.is_empty() {
                lines.push(format!("{:>10.3} s  {words}", time.as_secs_f64()));
            }
        }
    }

    /// Something that must not happen has happened.
    pub(crate) fn violation(&self, words: String) {
        self.note(&[0xBAD], || format!("VIOLATION: {words}"));
        self.inner().broken.push(words);
    }

    pub(crate) fn is_broken(&self) -> bool {
        !self.inner().broken.is_empty()
    }

    pub(crate) fn digest(&self) -> u64 {
        self.inner().digest
    }

    pub(crate) fn take(&self) -> (Vec<String>, Vec<String>) {
        let mut inner = self.inner();
        let lines = inner.lines.take().unwrap_or_default();
        (std::mem::take(&mut inner.broken), lines)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
