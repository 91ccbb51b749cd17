//! How a task stands, as a store keeps it and as clients see it.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks (status lifecycle).

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use switchboard_protocol::RawJson;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{InputRequest, InputRequests, Task, TaskStatus};
use switchboard_transport::http::Principal;

use crate::timestamp::timestamp;

/// A task, as a store keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskRecord {
    /// Its id; whoever is nobody in particular may ask for the task with it, so it is secret.
    pub id: String,
    /// Whose it is.
    pub owner: TaskOwner,
    /// When it was created.
    pub created: SystemTime,
    /// When it last changed.
    pub updated: SystemTime,
    /// How long it is kept from its creation on.
    pub life: Duration,
    /// Where it stands.
    pub state: TaskState,
}

/// Whose a task is. Nobody else can see or change it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TaskOwner {
    /// Who the authorization of the endpoint has found.
    Principal {
        /// Who vouches for him.
        issuer: Option<String>,
        /// Who he is there.
        subject: String,
    },
    /// An unknown client of the handshake era: this session or connection of it.
    Session(String),
    /// An unknown client of the stateless era: anyone who knows the id.
    Anyone,
}

impl From<&Principal> for TaskOwner {
    fn from(principal: &Principal) -> Self {
        Self::Principal {
            issuer: principal.issuer.clone(),
            subject: principal.subject.clone(),
        }
    }
}

/// Where a task stands.
///
/// ```text
///  Working ⇄ InputRequired ──▶ Completed, Failed, Cancelled
///     └───────────────────────────▲
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TaskState {
    /// It is being worked on.
    Working,
    /// It waits for answers to these questions.
    InputRequired(InputRequests),
    /// It is done, with this result.
    Completed(RawJson),
    /// It ended with this error.
    Failed(ErrorObject),
    /// It was cancelled.
    Cancelled,
}

impl TaskState {
    /// Will it never change again?
    pub const fn is_terminal(&self) -> bool {
        self.status().is_terminal()
    }

    /// The word for it.
    pub const fn status(&self) -> TaskStatus {
        match self {
            Self::Working => TaskStatus::Working,
            Self::InputRequired(_) => TaskStatus::InputRequired,
            Self::Completed(_) => TaskStatus::Completed,
            Self::Failed(_) => TaskStatus::Failed,
            Self::Cancelled => TaskStatus::Cancelled,
        }
    }
}

/// What happens to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TaskChange {
    /// It asks something.
    Asked {
        /// The name of the question.
        key: String,
        /// The question.
        request: InputRequest,
    },
    /// These questions are answered, or asked no more.
    Settled(Vec<String>),
    /// It is done.
    Completed(RawJson),
    /// It ended with an error.
    Failed(ErrorObject),
    /// The client wants it no more.
    Cancelled,
}

impl TaskRecord {
    /// A task that has just begun.
    pub(super) const fn new(
        id: String,
        owner: TaskOwner,
        created: SystemTime,
        life: Duration,
    ) -> Self {
        Self {
            id,
            owner,
            created,
            updated: created,
            life,
            state: TaskState::Working,
        }
    }

    /// Changes it; false if that changes nothing, as with any task at its end.
    pub fn apply(&mut self, change: TaskChange, now: SystemTime) -> bool {
        if self.state.is_terminal() {
            return false;
        }
        match change {
            TaskChange::Asked { key, request } => match &mut self.state {
                TaskState::InputRequired(open) => {
                    open.insert(key, request);
                }
                state => *state = TaskState::InputRequired([(key, request)].into()),
            },
            TaskChange::Settled(keys) => {
                let TaskState::InputRequired(open) = &mut self.state else {
                    return false;
                };
                let before = open.len();
                open.retain(|key, _| !keys.contains(key));
                if open.len() == before {
                    return false;
                }
                if open.is_empty() {
                    self.state = TaskState::Working;
                }
            }
            TaskChange::Completed(result) => self.state = TaskState::Completed(result),
            TaskChange::Failed(error) => self.state = TaskState::Failed(error),
            TaskChange::Cancelled => self.state = TaskState::Cancelled,
        }
        self.updated = now;
        true
    }

    /// The task in the form of the extension, with everything that there is to know of it.
    pub(crate) fn to_task(&self, poll_interval: Duration) -> Task {
        let mut task = Task::extension(&*self.id, self.state.status(), timestamp(self.created));
        task.last_updated_at = timestamp(self.updated);
        task.ttl_ms = Some(self.life.into());
        let interval = u64::try_from(poll_interval.as_millis()).unwrap_or(u64::MAX);
        // Zero would say that there need be no wait.
        task.poll_interval_ms = Some(interval.max(1).into());
        match &self.state {
            TaskState::Working => {}
            TaskState::InputRequired(open) => task.input_requests = Some(open.clone()),
            TaskState::Completed(result) => {
                task.status_message = failure(result);
                task.result = Some(result.clone());
            }
            TaskState::Failed(error) => {
                task.status_message = Some(error.message.clone());
                task.error = RawJson::encode(error).ok();
            }
            TaskState::Cancelled => {
                task.status_message = Some("cancelled by the client".to_owned());
            }
        }
        task
    }
}

/// Why a tool could not do its work, from a result that says that it could not.
fn failure(result: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        #[serde(default)]
        is_error: bool,
        #[serde(default)]
        content: Vec<Block>,
    }
    #[derive(Deserialize)]
    struct Block {
        text: Option<String>,
    }
    // Most results do not have the word, and need not be read.
    if !result.as_str().contains("\"isError\"") {
        return None;
    }
    let head: Head = result.decode().ok().filter(|head: &Head| head.is_error)?;
    let text = head.content.into_iter().find_map(|block| block.text)?;
    Some(text.chars().take(LONGEST_MESSAGE).collect())
}

/// A status is for a line on a screen; the result says everything.
const LONGEST_MESSAGE: usize = 200;

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::json;

    use super::*;

    fn task() -> TaskRecord {
        TaskRecord::new(
            "t".to_owned(),
            TaskOwner::Anyone,
            UNIX_EPOCH,
            Duration::from_secs(1),
        )
    }

    fn asked(key: &str) -> TaskChange {
        TaskChange::Asked {
            key: key.to_owned(),
            request: InputRequest::roots(),
        }
    }

    #[test]
    fn a_task_works_again_when_its_last_question_is_settled() {
        let mut task = task();
        assert!(!task.apply(TaskChange::Settled(vec!["a".to_owned()]), UNIX_EPOCH));
        assert!(task.apply(asked("a"), UNIX_EPOCH));
        assert!(task.apply(asked("b"), UNIX_EPOCH));
        assert!(!task.apply(TaskChange::Settled(vec!["c".to_owned()]), UNIX_EPOCH));
        assert!(task.apply(TaskChange::Settled(vec!["a".to_owned()]), UNIX_EPOCH));
        assert_eq!(task.state.status(), TaskStatus::InputRequired);
        assert!(task.apply(TaskChange::Settled(vec!["b".to_owned()]), UNIX_EPOCH));
        assert_eq!(task.state, TaskState::Working);
    }

    #[test]
    fn a_status_is_a_line_and_the_result_says_everything() {
        let mut task = task();
        let text = "é".repeat(LONGEST_MESSAGE + 1);
        let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
        let result = RawJson::encode(&result).unwrap();
        task.apply(TaskChange::Completed(result.clone()), UNIX_EPOCH);
        let shown = task.to_task(Duration::from_secs(7));
        let status = shown.status_message.unwrap();
        assert_eq!(status.chars().count(), LONGEST_MESSAGE);
        assert_eq!(shown.result, Some(result));
        assert_eq!(shown.poll_interval_ms, Some(7_000.into()));
    }

    #[test]
    fn what_is_at_its_end_never_changes() {
        let mut task = task();
        let later = UNIX_EPOCH + Duration::from_secs(5);
        assert!(task.apply(TaskChange::Cancelled, UNIX_EPOCH));
        let before = task.clone();
        for change in [
            asked("a"),
            TaskChange::Completed(RawJson::parse("{}").unwrap()),
            TaskChange::Failed(ErrorObject::internal("no")),
            TaskChange::Cancelled,
        ] {
            assert!(!task.apply(change, later));
        }
        assert_eq!(task, before);
    }

    #[test]
    fn a_record_can_be_written_and_read_again() {
        let mut task = task();
        task.apply(asked("a"), UNIX_EPOCH);
        let text = serde_json::to_string(&task).unwrap();
        assert_eq!(serde_json::from_str::<TaskRecord>(&text).unwrap(), task);
    }
}
