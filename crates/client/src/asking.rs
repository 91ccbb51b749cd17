//! Brings a question of the server to the host, and the host's answer back.

use std::net::IpAddr;
use std::sync::Arc;

use http::Uri;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::client::{Question, QuestionKey};
use switchboard_protocol::types::{ElicitRequestParams, RelatedTaskMetadata};
use switchboard_protocol::{Method, Payload};
use tokio::task::AbortHandle;

use crate::host::{Asked, Host, Refusal};
use crate::inbox::Command;
use crate::shared::Shared;

/// Asks the host in a task of its own. The answer comes as a command.
pub(crate) fn ask(shared: &Arc<Shared>, question: Question) -> AbortHandle {
    let reply = Reply {
        shared: Arc::clone(shared),
        key: Some(question.key),
    };
    let task = tokio::spawn(async move {
        let known = Method::from_name(question.method.as_str());
        let asked = Asked {
            server: Arc::clone(&reply.shared.name),
            method: known.map_or("", Method::name),
            call: question.call.map(|key| reply.shared.call_of(key).0),
            is_unheard: question.is_unheard,
            task: related_task(question.params.text()),
        };
        let (host, method) = (&*reply.shared.host, question.method.as_str());
        let outcome = answer(host, method, question.params.text(), asked).await;
        reply.send(outcome.map_err(Refusal::into_error));
    });
    task.abort_handle()
}

/// The host's answer to a question, whichever way it came.
pub(crate) async fn answer(
    host: &dyn Host,
    method: &str,
    params: &[u8],
    asked: Asked,
) -> Result<Payload, Refusal> {
    match Method::from_name(method) {
        Some(Method::ElicitationCreate) => match read(params)? {
            ElicitRequestParams::Url(visit) => {
                check_url(&visit.url)?;
                encode(host.visit_url(visit, asked).await?)
            }
            ElicitRequestParams::Form(form) => encode(host.fill_form(form, asked).await?),
            _ => Err(Refusal::bad_question(
                "this mode of elicitation is not known",
            )),
        },
        Some(Method::SamplingCreateMessage) => encode(host.sample(read(params)?, asked).await?),
        Some(Method::RootsList) => encode(host.list_roots(asked).await?),
        _ => Err(Refusal::unable(method)),
    }
}

/// The task that a question says it belongs to.
fn related_task(params: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/related-task")]
        task: RelatedTaskMetadata,
    }
    let params: Params = serde_json::from_slice(params).ok()?;
    Some(params.meta.task.task_id)
}

/// May a person be sent there at all? Anything but the web could run something here.
fn check_url(text: &str) -> Result<(), Refusal> {
    let bad = |why| Err(Refusal::bad_question(format!("the URL {why}")));
    if text.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return bad("holds what must be escaped in a URL");
    }
    let Ok(uri) = text.parse::<Uri>() else {
        return bad("cannot be read");
    };
    let Some(authority) = uri.authority() else {
        return bad("names no host");
    };
    if authority.as_str().contains('@') {
        return bad("has a user or a password in it");
    }
    let host = authority.host().trim_matches(['[', ']']);
    let is_here = host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_here => Ok(()),
        _ => bad("is neither https nor on this machine"),
    }
}

fn read<T: DeserializeOwned>(params: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(params)
        .map_err(|error| Refusal::bad_question(format!("the question cannot be read: {error}")))
}

fn encode(answer: impl Serialize) -> Result<Payload, Refusal> {
    Payload::encode(&answer)
        .map_err(|error| Refusal::broken(format!("the answer cannot be written: {error}")))
}

/// Answers in any case: a host that panics has refused.
struct Reply {
    shared: Arc<Shared>,
    key: Option<QuestionKey>,
}

impl Reply {
    fn send(mut self, outcome: Result<Payload, ErrorObject>) {
        self.say(outcome);
    }

    fn say(&mut self, outcome: Result<Payload, ErrorObject>) {
        if let Some(key) = self.key.take() {
            // If nobody takes it, nobody waits for it either.
            self.shared.inbox.push(Command::Answer(key, outcome));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.say(Err(ErrorObject::internal("the host gave no answer")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_sent_to_the_web_and_nowhere_else() {
        for good in [
            "https://example.com/login?x=1",
            "http://localhost:8080/",
            "http://127.0.0.1/a",
            "http://[::1]:9/a",
        ] {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "http://example.com/",
            "https://user@example.com/",
            "https://example.com/a b",
            "https://example.com/\u{1b}[0m",
            "-flag",
            "",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }
}
