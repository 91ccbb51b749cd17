//! Waiting for what comes of a task, as clients of 2025-11-25 do.
//!
//! Meanwhile they are asked what the task asks.
//!
//! Specification: 2025-11-25 basic/utilities/tasks (result retrieval, input required).

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{RelatedTaskMetadata, meta_key};
use switchboard_protocol::{Payload, RawJson};

use super::tasks::{Asked, internal, unknown_task};
use crate::context::{AskError, Context};
use crate::tasks::{Background, Claim, Live, TaskState};

impl<P> Asked<P> {
    /// 2025-11-25: what came of the task, when it is at its end. Until then the client is
    /// asked what the task asks.
    pub(super) async fn outcome(mut self) -> Result<Payload, ErrorObject> {
        let mut asked_before = Vec::new();
        // What the task asks at once the client is asked at once.
        let mut putting: Vec<Putting> = Vec::new();
        loop {
            let id = self.record.id.clone();
            let live = self.background.find_live(&id);
            let changed = live.as_ref().map(|live| live.changed());
            let found = self.background.store().find(&self.owner, &id).await;
            self.record = found
                .map_err(|error| internal(&error))?
                .ok_or_else(unknown_task)?;
            match &self.record.state {
                TaskState::Completed(result) => return related(result, &id),
                TaskState::Failed(error) => return Err(error.clone()),
                TaskState::Cancelled => {
                    return Err(ErrorObject::internal("the task was cancelled"));
                }
                TaskState::Working | TaskState::InputRequired(_) => {}
            }
            let (Some(live), Some(changed)) = (&live, changed) else {
                // Its work is done elsewhere, or it has just come to its end.
                tokio::time::sleep(ELSEWHERE).await;
                continue;
            };
            while let Some(claim) = live.claim(&asked_before) {
                asked_before.push(claim.key.clone());
                let (background, live) = (Arc::clone(&self.background), Arc::clone(live));
                putting.push(Box::pin(put(background, self.context.clone(), live, claim)));
            }
            tokio::select! {
                biased;
                settled = first_of(&mut putting) => settled?,
                () = changed => {}
            }
        }
    }
}

/// A question on its way to the client and back.
type Putting = Pin<Box<dyn Future<Output = Result<(), ErrorObject>> + Send>>;

/// Puts a question of the task to the client.
async fn put(
    background: Arc<Background>,
    context: Context,
    live: Arc<Live>,
    claim: Claim,
) -> Result<(), ErrorObject> {
    let mut question = claim.question.clone();
    question.params = Some(marked(question.params.as_ref(), &live.id)?);
    let mut relayed = pin!(context.relay(question));
    let answer = loop {
        let changed = live.changed();
        if !live.is_open(&claim.key) {
            return Ok(());
        }
        tokio::select! {
            biased;
            answer = &mut relayed => break answer,
            () = changed => {}
        }
    };
    match answer {
        // It could not be put here; another may try.
        Err(AskError::Ended | AskError::NotDeclared(_)) => Ok(()),
        answer => {
            let answered = [(claim.key.clone(), answer)];
            let answered = background.answer(&live, answered).await;
            answered.map_err(|error| internal(&error))
        }
    }
}

/// The first of these to be settled, which is then no longer among them. Never, if there are none.
async fn first_of(putting: &mut Vec<Putting>) -> Result<(), ErrorObject> {
    poll_fn(|cx| {
        for place in 0..putting.len() {
            if let Some(one) = putting.get_mut(place)
                && let Poll::Ready(settled) = one.as_mut().poll(cx)
            {
                drop(putting.swap_remove(place));
                return Poll::Ready(settled);
            }
        }
        Poll::Pending
    })
    .await
}

/// The result of a task, which says what task it is of.
fn related(result: &RawJson, id: &str) -> Result<Payload, ErrorObject> {
    let result = serde_json::from_str(result.as_str());
    mark(result.map_err(internal)?, id).map_err(internal)
}

/// The parameters of a question, which say what task it is of.
fn marked(params: Option<&Payload>, id: &str) -> Result<Payload, ErrorObject> {
    let params = params.map_or(Ok(BTreeMap::new()), |params| {
        serde_json::from_slice(params.text())
    });
    mark(params.map_err(internal)?, id).map_err(internal)
}

fn mark(mut members: BTreeMap<String, RawJson>, id: &str) -> Result<Payload, serde_json::Error> {
    let meta = members.get("_meta").map(|meta| meta.decode());
    let mut meta: BTreeMap<String, RawJson> = meta.transpose()?.unwrap_or_default();
    let related = RawJson::encode(&RelatedTaskMetadata::new(id))?;
    meta.insert(meta_key::RELATED_TASK.to_owned(), related);
    members.insert("_meta".to_owned(), RawJson::encode(&meta)?);
    Payload::encode(&members)
}

/// How often to look at a task whose work is done in another process.
const ELSEWHERE: Duration = Duration::from_secs(1);
