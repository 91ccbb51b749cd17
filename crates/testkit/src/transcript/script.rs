//! Reads the text of a transcript.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

/// A transcript as it was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Script {
    /// The rule, in a sentence.
    pub rule: String,
    /// Where the rule comes from.
    pub specification: String,
    /// Which side is tested.
    pub machine: String,
    /// Whether it is connected over HTTP.
    pub http: bool,
    /// Changes to the set-up.
    pub config: Map<String, Value>,
    /// What happens.
    pub lines: Vec<Line>,
}

/// One line: who, on which stream, what.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Line {
    /// Where it stands in the file.
    pub number: usize,
    /// Who speaks, or what happens.
    pub who: String,
    /// The number in brackets, if there is one.
    pub lane: u64,
    /// The rest of the line.
    pub what: String,
}

impl Line {
    /// The first word of the rest, and what follows it.
    pub fn word(&self) -> (&str, &str) {
        split_word(&self.what)
    }

    /// The first two words of the rest, and what follows them.
    pub fn two_words(&self) -> (&str, &str, &str) {
        let (first, rest) = self.word();
        let (second, rest) = split_word(rest);
        (first, second, rest)
    }
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (word, rest.trim())
}

/// Reads `250ms`, `2s`, `10min`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("bad duration {text:?}"))?;
    match &text[digits.len()..] {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "min" => Ok(Duration::from_secs(number * 60)),
        _ => Err(format!("bad duration {text:?}")),
    }
}

/// The text is not a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(String);

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// Reads a transcript.
    ///
    /// # Errors
    /// When the head lacks its rule or its source, or a line has no speaker.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let error = |message: String| Err(ScriptError(message));
        let mut script = Self {
            rule: String::new(),
            specification: String::new(),
            machine: String::new(),
            http: false,
            config: Map::new(),
            lines: Vec::new(),
        };
        let mut lines = text.lines().enumerate();
        for (_, line) in lines.by_ref() {
            if line.trim().is_empty() {
                break;
            }
            match line.split_once(": ") {
                Some(("Specification", rest)) => script.specification = rest.to_owned(),
                Some(("Machine", rest)) => script.machine = rest.trim().to_owned(),
                Some(("Wire", rest)) => script.http = rest.trim() == "http",
                Some(("Config", rest)) => match serde_json::from_str(rest) {
                    Ok(config) => script.config = config,
                    Err(e) => return error(format!("Config is not a JSON object: {e}")),
                },
                _ => {
                    if !script.rule.is_empty() {
                        script.rule.push(' ');
                    }
                    script.rule.push_str(line.trim());
                }
            }
        }
        if !script.rule.ends_with('.') {
            return error("the rule on top must be a sentence that ends with a full stop".into());
        }
        if script.specification.is_empty() {
            return error("the head needs a line `Specification: …`".into());
        }
        for (at, line) in lines {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((who, what)) = line.split_once('>') else {
                return error(format!("line {}: no `who>`: {line}", at + 1));
            };
            let (who, lane) = match who.split_once('[') {
                None => (who, 0),
                Some((who, lane)) => match lane.trim_end_matches(']').parse() {
                    Ok(lane) => (who, lane),
                    Err(_) => return error(format!("line {}: bad stream number", at + 1)),
                },
            };
            script.lines.push(Line {
                number: at + 1,
                who: who.trim().to_owned(),
                lane,
                what: what.strip_prefix(' ').unwrap_or(what).to_owned(),
            });
        }
        if script.lines.is_empty() {
            return error("nothing happens in it".into());
        }
        Ok(script)
    }
}
