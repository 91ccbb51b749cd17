//! What is said to a gateway that runs, over a socket that only its user can open.
//!
//! A visitor says one thing, a line of JSON, and is answered by lines of JSON until the gateway has
//! no more to say: `{"result": …}`, `{"entry": …}` for each line of a journal, `{"error": …}`.
//!
//! 1. `place`: where the sockets are
//! 2. `desk`: the gateway's side; `visit`: the other

#[cfg(unix)]
mod desk;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod visit;
#[cfg(not(unix))]
mod without;

use serde::{Deserialize, Serialize};

#[cfg(unix)]
pub(crate) use desk::Desk;
#[cfg(unix)]
pub(crate) use visit::{choose, find_all};
#[cfg(not(unix))]
pub(crate) use without::{Desk, choose, find_all};

use crate::exit::{Exit, Failure};
use crate::journal::Journal;
use crate::json::Json;

/// What a gateway can be asked.
pub(crate) trait Answers: Send + Sync + 'static {
    /// Who it is.
    fn about(&self) -> Json;

    /// How its servers stand.
    fn status(&self) -> Json;

    /// The names of its servers.
    fn servers(&self) -> Vec<String>;

    /// What was said.
    fn journal(&self) -> &Journal;

    /// Ends a server and starts it anew.
    fn restart(&self, server: String) -> impl Future<Output = Result<Json, Failure>> + Send;

    /// Reads the file with the servers again.
    fn reload(&self) -> impl Future<Output = Result<Json, Failure>> + Send;
}

/// What a visitor wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(crate) enum Request {
    /// Who it is.
    About,
    /// How its servers stand.
    Status,
    /// What was said, by the gateway and its servers.
    Logs {
        /// Only by this one.
        server: Option<String>,
        /// And what will be.
        follow: bool,
        /// Only so many of the last.
        last: Option<usize>,
    },
    /// Ends a server and starts it anew.
    Restart {
        /// Which.
        server: String,
    },
    /// Reads the file with the servers again.
    Reload,
}

/// A line of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    /// All there is.
    Result(Json),
    /// One of many.
    Entry(Json),
    /// It was not done.
    Error(Failure),
}

impl Line {
    fn json(&self) -> Json {
        match self {
            Self::Result(json) => Json::object([("result", json.clone())]),
            Self::Entry(json) => Json::object([("entry", json.clone())]),
            Self::Error(failure) => {
                let text = |text: &Option<String>| text.as_deref().map_or(Json::Null, Json::from);
                let error = Json::object([
                    ("code", u64::from(failure.exit.number()).into()),
                    ("message", failure.message.as_str().into()),
                    ("server", text(&failure.server)),
                    ("hint", text(&failure.hint)),
                ]);
                Json::object([("error", error)])
            }
        }
    }

    fn read(text: &[u8]) -> Option<Self> {
        let line: Json = serde_json::from_slice(text).ok()?;
        if let Some(result) = line.get("result") {
            return Some(Self::Result(result.clone()));
        }
        if let Some(entry) = line.get("entry") {
            return Some(Self::Entry(entry.clone()));
        }
        let error = line.get("error")?;
        let text = |name: &str| error.get(name).and_then(Json::as_str).map(str::to_owned);
        let exit = match error.get("code") {
            Some(Json::Number(code)) if code.as_u64() == Some(2) => Exit::Usage,
            Some(Json::Number(code)) if code.as_u64() == Some(3) => Exit::LoginRequired,
            Some(Json::Number(code)) if code.as_u64() == Some(4) => Exit::Unreachable,
            Some(Json::Number(code)) if code.as_u64() == Some(9) => Exit::Violation,
            _ => Exit::Unexpected,
        };
        let mut failure = Failure::new(exit, text("message").unwrap_or_default());
        failure.server = text("server");
        failure.hint = text("hint");
        Some(Self::Error(failure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let check = |line: Line| {
            let text = line.json().to_string();
            assert_eq!(Line::read(text.as_bytes()), Some(line), "{text}");
        };
        check(Line::Result(Json::from("x")));
        check(Line::Entry(Json::object([("a", 1.into())])));
        check(Line::Error(Failure::usage("no").hint("do").server("s")));
        check(Line::Error(Failure::new(Exit::Unreachable, "gone")));
        assert_eq!(Line::read(b"{}"), None);
        assert_eq!(Line::read(b"x"), None);
    }
}
