//! Hears everything that any crate says about itself.

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, level_filters::LevelFilter};

/// What was heard so far, in this process.
pub(super) fn heard() -> String {
    lines().clone()
}

/// Listens from now on, in all threads.
pub(super) fn listen() {
    static LISTENS: OnceLock<()> = OnceLock::new();
    LISTENS.get_or_init(|| {
        let listener = Listener(AtomicU64::new(1));
        tracing::subscriber::set_global_default(listener).expect("nobody else listens");
    });
}

struct Listener(AtomicU64);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::TRACE
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        write(span.metadata(), |words| span.record(words));
        Id::from_u64(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _span: &Id, values: &Record<'_>) {
        values.record(&mut Words(&mut lines()));
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        write(event.metadata(), |words| event.record(words));
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

fn write(metadata: &Metadata<'_>, record: impl FnOnce(&mut Words<'_>)) {
    // What is recorded may itself say something: the lock is not held meanwhile.
    let mut line = format!("\n{} {}: ", metadata.target(), metadata.name());
    record(&mut Words(&mut line));
    lines().push_str(&line);
}

struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, "{field}={value} ");
    }
}

fn lines() -> MutexGuard<'static, String> {
    static LINES: Mutex<String> = Mutex::new(String::new());
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}
