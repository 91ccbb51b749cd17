//! What may be said on one connection, whoever says it.
//!
//! An outsider's view: each request has one answer, nothing is said about a request that is answered
//! or known to be cancelled, nobody of the stateless era is asked by a request.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Who connected.
    Client,
    /// Who was connected to.
    Server,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Requests of each side, by their ids.
    asked: [BTreeMap<String, Asked>; 2],
    /// Cancels that have come to the other side, which may not have read them yet.
    fresh: Vec<(Side, String)>,
    is_stateless: bool,
}

#[derive(Debug, Default)]
struct Asked {
    method: String,
    token: Option<String>,
    is_answered: bool,
    /// The other side has read that it is cancelled.
    is_known_cancelled: bool,
}

/// What a message is, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request(String, String),
    Answer(String),
    Cancel(String),
    Other(String),
}

impl Conversation {
    /// Something was said. What is wrong with it, if anything is.
    pub(crate) fn said(&mut self, side: Side, text: &[u8]) -> (Kind, Result<(), String>) {
        let Ok(message) = serde_json::from_slice::<Message<'_>>(text) else {
            let words = format!("no message: {}", String::from_utf8_lossy(text));
            return (Kind::Other(String::new()), Err(words));
        };
        match (message.method, message.id) {
            (Some(method), Some(id)) => {
                let id = id.get().to_owned();
                let checked = self.request(side, method, &id, message.params.unwrap_or_default());
                (Kind::Request(method.to_owned(), id), checked)
            }
            (Some("notifications/cancelled"), None) => {
                let id = message.params.unwrap_or_default().request_id;
                let id = id.map_or_else(String::new, |id| id.get().to_owned());
                (Kind::Cancel(id), Ok(()))
            }
            (Some(method), None) => {
                let checked = self.told(side, method, &message.params.unwrap_or_default());
                (Kind::Other(method.to_owned()), checked)
            }
            (None, Some(id)) => {
                let id = id.get().to_owned();
                let checked = self.answer(side, &id);
                (Kind::Answer(id), checked)
            }
            (None, None) => (Kind::Other(String::new()), Ok(())),
        }
    }

    /// All of a message has come to the other side.
    pub(crate) fn came(&mut self, from: Side, kind: &Kind) {
        if let Kind::Cancel(id) = kind {
            self.fresh.push((from, id.clone()));
        }
    }

    /// Everybody has read what has come, and said what there was to say.
    pub(crate) fn settled(&mut self) {
        for (side, id) in std::mem::take(&mut self.fresh) {
            if let Some(asked) = self.asked[side as usize].get_mut(&id) {
                asked.is_known_cancelled = true;
            }
        }
    }

    fn request(
        &mut self,
        side: Side,
        method: &str,
        id: &str,
        params: Params<'_>,
    ) -> Result<(), String> {
        if side == Side::Client {
            // One that was asked for its era and did not know the question is of the other.
            self.is_stateless = params.is_stateless();
        }
        if side == Side::Server && self.is_stateless {
            return Err(format!("{method} asks a client of the stateless era"));
        }
        let meta = params.meta.unwrap_or_default();
        let asked = Asked {
            method: method.to_owned(),
            token: meta.progress_token.map(|token| token.get().to_owned()),
            ..Asked::default()
        };
        match self.asked[side as usize].insert(id.to_owned(), asked) {
            Some(before) => Err(format!("id {id} is used twice: {} {method}", before.method)),
            None => Ok(()),
        }
    }

    fn answer(&mut self, side: Side, id: &str) -> Result<(), String> {
        if id == "null" {
            return Err("an answer to nothing that could be read".to_owned());
        }
        let Some(asked) = self.asked[side.other() as usize].get_mut(id) else {
            return Err(format!("an answer to {id}, which nobody asked"));
        };
        if asked.is_known_cancelled {
            return Err(format!(
                "{} {id} is answered though cancelled",
                asked.method
            ));
        }
        match std::mem::replace(&mut asked.is_answered, true) {
            true => Err(format!("{} {id} is answered twice", asked.method)),
            false => Ok(()),
        }
    }

    fn told(&self, side: Side, method: &str, params: &Params<'_>) -> Result<(), String> {
        let about = match (params.progress_token, &params.meta) {
            (Some(token), _) => {
                let mut asked = self.asked[side.other() as usize].values();
                let token = token.get();
                let found = asked.find(|asked| asked.token.as_deref() == Some(token));
                if found.is_none() {
                    return Err(format!("{method} for {token}, which nobody asked for"));
                }
                found
            }
            (None, Some(meta)) => meta
                .subscription
                .and_then(|id| self.asked[side.other() as usize].get(id.get())),
            (None, None) => None,
        };
        match about {
            Some(asked) if asked.is_answered => {
                Err(format!("{method} for {} after its answer", asked.method))
            }
            Some(asked) if asked.is_known_cancelled => {
                Err(format!("{method} for {} after its cancel", asked.method))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, rename = "requestId")]
    request_id: Option<&'a RawValue>,
}

impl Params<'_> {
    fn is_stateless(&self) -> bool {
        let meta = self.meta.as_ref();
        meta.is_some_and(|meta| meta.version.is_some())
    }
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: Option<&'a RawValue>,
}
