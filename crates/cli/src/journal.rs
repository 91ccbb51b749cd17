//! What a gateway has to say while it runs: on standard error, and to those who ask later.
//!
//! The last lines are kept, so that `switchboard logs` can show them; as many as fit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use switchboard_hub::{Event, Events, MemberState};
use tokio::sync::Notify;

use crate::json::Json;
use crate::output::{Output, clean_line};

/// What was said, by the gateway and its servers.
#[derive(Debug)]
pub(crate) struct Journal {
    output: Arc<Output>,
    kept: Mutex<Kept>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    /// The number of the next one.
    next: u64,
}

/// One line.
#[derive(Debug)]
pub(crate) struct Entry {
    number: u64,
    /// Milliseconds since 1970.
    time: u64,
    /// None for the gateway itself.
    pub(crate) server: Option<Arc<str>>,
    /// `gateway`, `state`, `stderr`, or `log`.
    kind: &'static str,
    text: String,
}

impl Entry {
    pub(crate) fn json(&self) -> Json {
        let server = self.server.as_deref().map_or(Json::Null, Json::from);
        Json::object([
            ("time", self.time.into()),
            ("server", server),
            ("kind", self.kind.into()),
            ("text", self.text.as_str().into()),
        ])
    }
}

impl Journal {
    pub(crate) fn new(output: Arc<Output>) -> Self {
        Self {
            output,
            kept: Mutex::default(),
            news: Notify::new(),
        }
    }

    /// Says something that is worth knowing.
    pub(crate) fn note(&self, server: Option<&Arc<str>>, text: &str) {
        self.output.note(&shown(server, text));
        self.keep(
            server,
            if server.is_some() { "state" } else { "gateway" },
            text,
        );
    }

    /// Says what is odd.
    pub(crate) fn warn(&self, server: Option<&Arc<str>>, text: &str) {
        self.output.warn(&shown(server, text));
        self.keep(
            server,
            if server.is_some() { "state" } else { "gateway" },
            text,
        );
    }

    /// Writes down what happens to servers, as long as there is the hub.
    pub(crate) async fn follow(&self, mut events: Events) {
        while let Some(event) = events.next().await {
            match event {
                Event::State { server, state } => match state {
                    MemberState::Configured | MemberState::Starting | MemberState::Stopped => {
                        self.keep(Some(&server), "state", &state.to_string());
                    }
                    MemberState::Ready(_) | MemberState::Asleep => {
                        self.note(Some(&server), &state.to_string());
                    }
                    state => self.warn(Some(&server), &state.to_string()),
                },
                Event::Refused {
                    server,
                    denials,
                    count,
                } => {
                    for denial in &*denials {
                        self.warn(Some(&server), &denial.to_string());
                    }
                    if let more @ 1.. = count.saturating_sub(denials.len()) {
                        let more = format!("and {more} more that are not in the lock");
                        self.warn(Some(&server), &more);
                    }
                }
                Event::Stderr { server, line } => self.hear(&server, "stderr", &line),
                Event::Log { server, message } => {
                    let data = Json::read(message.data.as_str().as_bytes());
                    let text = match &data {
                        Json::Text(text) => text.clone(),
                        other => other.to_string(),
                    };
                    let text = format!("{}: {text}", message.level.as_str());
                    self.hear(&server, "log", &text);
                }
                _ => {}
            }
        }
    }

    /// The entries since this number, and the number of the one to come.
    pub(crate) fn since(&self, number: u64) -> (Vec<Arc<Entry>>, u64) {
        let kept = self.kept();
        let new = kept.entries.iter().filter(|entry| entry.number >= number);
        (new.cloned().collect(), kept.next)
    }

    /// Waits until there is one of this number.
    pub(crate) async fn reached(&self, number: u64) {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if self.kept().next > number {
                return;
            }
            news.await;
        }
    }

    /// What a server has to say is shown to those who want to see everything.
    fn hear(&self, server: &Arc<str>, kind: &'static str, text: &str) {
        if self.output.is_verbose() {
            self.output.note(&shown(Some(server), text));
        }
        self.keep(Some(server), kind, text);
    }

    fn keep(&self, server: Option<&Arc<str>>, kind: &'static str, text: &str) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = time.map_or(0, |time| time.as_millis());
        let mut text = clean_line(text).into_owned();
        if text.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or_default());
            text.push('…');
        }
        {
            let mut kept = self.kept();
            let number = kept.next;
            kept.next += 1;
            kept.bytes += text.len();
            kept.entries.push_back(Arc::new(Entry {
                number,
                time: u64::try_from(time).unwrap_or(u64::MAX),
                server: server.cloned(),
                kind,
                text,
            }));
            while kept.entries.len() > MOST_ENTRIES || kept.bytes > MOST_BYTES {
                let Some(oldest) = kept.entries.pop_front() else {
                    break;
                };
                kept.bytes = kept.bytes.saturating_sub(oldest.text.len());
            }
        }
        self.news.notify_waiters();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shown(server: Option<&Arc<str>>, text: &str) -> String {
    match server {
        Some(server) => format!("{server}: {text}"),
        None => text.to_owned(),
    }
}

// A morning of a few servers that talk.
const MOST_ENTRIES: usize = 5_000;
const MOST_BYTES: usize = 1 << 20;
const LONGEST: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Global;

    fn journal() -> Journal {
        let global = Global {
            quiet: true,
            ..Global::default()
        };
        Journal::new(Arc::new(Output::new(&global)))
    }

    #[test]
    fn the_oldest_are_forgotten_and_none_is_too_long() {
        let journal = journal();
        for number in 0..MOST_ENTRIES + 10 {
            journal.note(None, &number.to_string());
        }
        let (entries, next) = journal.since(0);
        assert_eq!(entries.len(), MOST_ENTRIES);
        assert_eq!(entries[0].text, "10");
        assert_eq!(next, MOST_ENTRIES as u64 + 10);
        let long = "ä".repeat(LONGEST);
        for _ in 0..2 * MOST_BYTES / LONGEST {
            journal.note(None, &long);
        }
        let (entries, _) = journal.since(0);
        let bytes: usize = entries.iter().map(|entry| entry.text.len()).sum();
        assert!(bytes <= MOST_BYTES);
        assert!(entries.iter().all(|entry| entry.text.len() <= LONGEST + 3));
    }

    #[tokio::test]
    async fn whoever_waits_for_the_next_one_is_woken() {
        let journal = Arc::new(journal());
        let (_, next) = journal.since(0);
        let waiting = Arc::clone(&journal);
        let waiting = tokio::spawn(async move { waiting.reached(next).await });
        tokio::task::yield_now().await;
        journal.note(None, "new");
        waiting.await.unwrap();
        assert_eq!(journal.since(next).0.len(), 1);
    }
}
