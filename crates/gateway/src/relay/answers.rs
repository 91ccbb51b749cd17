//! Results and errors in the words of the client's revision.

use memchr::memmem;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use switchboard_client::{ErrorKind, Payload};
use switchboard_hub::{HubError, Kind};
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, MethodName};
use switchboard_protocol::revision::{StepDown, step_down_error, step_down_texts};
use switchboard_protocol::types::ResourceNotFoundData;
use switchboard_protocol::{Era, Revision};
use switchboard_server::Answer;

/// A result that can be said in older words.
pub(crate) trait Fits: StepDown + Serialize + DeserializeOwned {}

impl<T: StepDown + Serialize + DeserializeOwned> Fits for T {}

/// A result of a server, for a client of this revision: the very same bytes, where they can be.
pub(super) fn fit<T: Fits>(result: Payload, revision: Revision) -> Answer {
    if let Some(result) = step_down_texts(&result, revision) {
        return Answer::Result(result);
    }
    if result.result_type().as_deref() == Some("input_required") {
        let is_newest = revision.era() == Era::Stateless;
        return Answer::InputRequired(match is_newest {
            true => result,
            false => with_page_names(result),
        });
    }
    let passes = match revision.era() {
        Era::Stateless => true,
        Era::Handshake => {
            revision == Revision::V2025_11_25 && memmem::find(result.text(), RESULT_TYPE).is_none()
        }
    };
    if passes {
        return Answer::Result(result);
    }
    match result.decode::<T>() {
        Ok(result) => answer_with(result, revision),
        Err(error) => Answer::Error(ErrorObject::internal(format!(
            "the server's result has not the shape of its method: {error}"
        ))),
    }
}

/// Questions with a name for each page that the user is to visit: 2025-11-25 wants one, so that the
/// client can be told when the page is done, and servers of the stateless era give none.
fn with_page_names(result: Payload) -> Payload {
    let requests = result.part(INPUT_REQUESTS);
    let requests = requests.and_then(|requests| requests.decode::<Map<String, Value>>().ok());
    let Some(mut requests) = requests else {
        return result;
    };
    let pages = requests
        .values_mut()
        .filter_map(|request| request.get_mut("params")?.as_object_mut())
        .filter(|params| params.get("mode").is_some_and(|mode| mode == "url"));
    let mut has_pages = false;
    for page in pages {
        has_pages = true;
        if let Some(name) = random_name() {
            page.entry("elicitationId").or_insert(name.into());
        }
    }
    match serde_json::to_vec(&requests) {
        Ok(text) if has_pages => result.passed_on(&[(INPUT_REQUESTS, Some(&text))]),
        _ => result,
    }
}

fn random_name() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A result of our own, for a client of this revision.
pub(crate) fn answer_with<T: Fits>(mut result: T, revision: Revision) -> Answer {
    if let Err(hindrance) = result.check_step_down(revision) {
        return Answer::Error(ErrorObject::internal(format!(
            "the result cannot be said in revision {revision}: {hindrance}"
        )));
    }
    result.step_down(revision);
    match Payload::encode(&result) {
        Ok(result) => Answer::Result(result),
        Err(error) => Answer::Error(ErrorObject::internal(error.to_string())),
    }
}

/// What a client is told about a call that failed.
pub(super) fn error_of(error: HubError, method: &MethodName, revision: Revision) -> ErrorObject {
    let mut object = match error {
        HubError::Call(error) => match error.kind() {
            ErrorKind::Refused(object) | ErrorKind::NotAnswered(object) => match object.code {
                // Of our own way to the server, and nothing that the client did.
                ErrorCode::HEADER_MISMATCH | ErrorCode::UNSUPPORTED_VERSION => {
                    ErrorObject::internal(error.to_string())
                }
                _ => object.clone(),
            },
            ErrorKind::BadArguments(reason) => ErrorObject::invalid_params(reason.to_string()),
            _ => ErrorObject::internal(error.to_string()),
        },
        HubError::NotFound(missing) if matches!(missing.kind, Kind::Resource) => {
            let data = ResourceNotFoundData::new(&missing.name);
            ErrorObject::new(ErrorCode::INVALID_PARAMS, missing.to_string()).with_data(&data)
        }
        HubError::NotFound(missing) => ErrorObject::invalid_params(missing.to_string()),
        other => ErrorObject::internal(other.to_string()),
    };
    step_down_error(method.known(), &mut object, revision);
    object
}

/// Only results of the stateless era have it.
const INPUT_REQUESTS: &str = "inputRequests";
const RESULT_TYPE: &[u8] = b"\"resultType\"";
