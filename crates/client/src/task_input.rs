//! A task that waits for input: its questions brought to the host, the answers to the task.
//!
//! Specification: tasks extension (`input_required`, `tasks/update`).

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_protocol::types::{Task, UpdateTaskRequestParams};
use switchboard_protocol::{Method, Payload, RawJson};

use crate::asking;
use crate::call::Options;
use crate::error::ErrorKind;
use crate::host::Asked;

/// Answers what a task asks for, all of it together.
pub(crate) async fn give(options: &mut Options, task: &Task) -> Result<(), ErrorKind> {
    let client = options.client.clone();
    let shared = client.shared();
    let mut responses = BTreeMap::new();
    for (key, request) in task.input_requests.iter().flatten() {
        let params = request.params.as_ref().map_or("{}", RawJson::as_str);
        let method = Method::from_name(&request.method).map_or("", Method::name);
        let asked = Asked::by(&shared.name, method);
        let answer = asking::answer(&*shared.host, &request.method, params.as_bytes(), asked)
            .await
            .map_err(|refusal| ErrorKind::NotAnswered(refusal.into_error()))?;
        let answer: RawJson = answer.decode().map_err(bad)?;
        responses.insert(key.clone(), answer);
    }
    let params = UpdateTaskRequestParams::new(&*task.task_id, responses);
    let params = Payload::encode(&params).map_err(bad)?;
    options
        .send(Method::TasksUpdate.into(), Some(params))
        .await?;
    Ok(())
}

fn bad(error: serde_json::Error) -> ErrorKind {
    ErrorKind::BadArguments(Arc::new(error))
}
