//! Compares what came out with what was written down.

use serde_json::Value;

/// What came out, in the words of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// `server`, `finished`, …
    pub who: &'static str,
    /// The stream, where it matters.
    pub lane: u64,
    /// Words before the JSON.
    pub words: String,
    /// The JSON, if any.
    pub json: Option<Value>,
}

impl Event {
    pub(super) fn new(who: &'static str, words: impl Into<String>) -> Self {
        Self {
            who,
            lane: 0,
            words: words.into(),
            json: None,
        }
    }

    pub(super) fn json(mut self, json: Value) -> Self {
        self.json = Some(json);
        self
    }

    pub(super) fn lane(mut self, lane: u64) -> Self {
        self.lane = lane;
        self
    }
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.who)?;
        if self.lane != 0 {
            write!(f, "[{}]", self.lane)?;
        }
        f.write_str(">")?;
        if !self.words.is_empty() {
            write!(f, " {}", self.words)?;
        }
        match &self.json {
            Some(json) => write!(f, " {json}"),
            None => Ok(()),
        }
    }
}

/// Does the event fit the line that was written down?
pub(super) fn check(event: &Event, who: &str, lane: u64, what: &str) -> Result<(), String> {
    let (words, json) = match &event.json {
        // Quotation marks in a sentence are part of it.
        None if what.trim() == event.words => (event.words.clone(), None),
        _ => split_json(what)?,
    };
    let fits = event.who == who
        && event.lane == lane
        && (words == event.words || words == "…")
        && match (&json, &event.json) {
            (None, None) => true,
            (Some(wanted), Some(got)) => matches(wanted, got),
            (Some(wanted), None) => *wanted == Value::String("…".into()),
            (None, Some(_)) => false,
        };
    if fits {
        Ok(())
    } else {
        Err(format!("got      {event}"))
    }
}

/// Splits words from the JSON that follows them.
pub(super) fn split_json(what: &str) -> Result<(String, Option<Value>), String> {
    let at = what
        .char_indices()
        .find(|(at, c)| matches!(c, '{' | '[' | '"') && (*at == 0 || what[..*at].ends_with(' ')))
        .map(|(at, _)| at);
    let Some(at) = at else {
        return Ok((what.trim().to_owned(), None));
    };
    let (words, json) = what.split_at(at);
    match serde_json::from_str(json) {
        Ok(json) => Ok((words.trim().to_owned(), Some(json))),
        Err(error) => Err(format!("bad JSON in the transcript: {error}: {json}")),
    }
}

fn is_any(value: &Value) -> bool {
    value.as_str() == Some("…")
}

/// Does `got` fit `wanted`, in which `"…"` stands for anything?
fn matches(wanted: &Value, got: &Value) -> bool {
    if is_any(wanted) {
        return true;
    }
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            let open = wanted.contains_key("…");
            wanted
                .iter()
                .filter(|(name, _)| *name != "…")
                .all(|(name, value)| got.get(name).is_some_and(|got| matches(value, got)))
                && (open || got.keys().all(|name| wanted.contains_key(name)))
        }
        (Value::Array(wanted), Value::Array(got)) => {
            let open = wanted.last().is_some_and(is_any);
            let fixed = if open { wanted.len() - 1 } else { wanted.len() };
            (got.len() == fixed || open && got.len() >= fixed)
                && wanted
                    .iter()
                    .take(fixed)
                    .zip(got)
                    .all(|(w, g)| matches(w, g))
        }
        (Value::String(wanted), Value::String(got)) => match wanted.strip_suffix('…') {
            // A beginning is enough where the rest is said.
            Some(beginning) => got.starts_with(beginning),
            None => wanted == got,
        },
        _ => wanted == got,
    }
}
