//! Typed values: the first byte of the input chooses a method, the rest is the JSON text
//! of its parameters or of its result.

use std::fmt::Debug;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard_protocol::jsonrpc::Limits;
use switchboard_protocol::revision::{StepDownError, step_down_params, step_down_result};
use switchboard_protocol::types::*;
use switchboard_protocol::{Method, Payload, Revision};

/// A value that can be read is written and read again as the same; a step down to a
/// revision that can be made is made once and for all.
pub fn types(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else {
        return;
    };
    let text = Bytes::copy_from_slice(text);
    let Ok(payload) = Payload::parse(text, &Limits::default()) else {
        return;
    };
    let table = Method::table();
    let method = table[usize::from(*choice) % table.len()].method;
    check_method(method, &payload);
    check_kept::<InputRequiredResult>(&payload);
    check_kept::<Task>(&payload);
    check_kept::<CreateTaskResult>(&payload);
    check_kept::<Meta>(&payload);
    for revision in Revision::ALL {
        check_step_down(&payload, |value| step_down_params(method, value, revision));
        check_step_down(&payload, |value| step_down_result(method, value, revision));
    }
}

fn check_method(method: Method, payload: &Payload) {
    match method {
        Method::Initialize => check_request::<Initialize>(payload),
        Method::Ping => check_request::<Ping>(payload),
        Method::ServerDiscover => check_request::<Discover>(payload),
        Method::ToolsList => check_request::<ListTools>(payload),
        Method::ToolsCall => check_request::<CallTool>(payload),
        Method::ResourcesList => check_request::<ListResources>(payload),
        Method::ResourcesTemplatesList => check_request::<ListResourceTemplates>(payload),
        Method::ResourcesRead => check_request::<ReadResource>(payload),
        Method::ResourcesSubscribe => check_request::<Subscribe>(payload),
        Method::ResourcesUnsubscribe => check_request::<Unsubscribe>(payload),
        Method::PromptsList => check_request::<ListPrompts>(payload),
        Method::PromptsGet => check_request::<GetPrompt>(payload),
        Method::CompletionComplete => check_request::<Complete>(payload),
        Method::LoggingSetLevel => check_request::<SetLevel>(payload),
        Method::SubscriptionsListen => check_request::<SubscriptionsListen>(payload),
        Method::TasksGet => check_request::<GetTask>(payload),
        Method::TasksUpdate => check_request::<UpdateTask>(payload),
        Method::TasksCancel => check_request::<CancelTask>(payload),
        Method::TasksResult => check_request::<GetTaskPayload>(payload),
        Method::TasksList => check_request::<ListTasks>(payload),
        Method::SamplingCreateMessage => check_request::<CreateMessage>(payload),
        Method::RootsList => check_request::<ListRoots>(payload),
        Method::ElicitationCreate => check_request::<Elicit>(payload),
        Method::Initialized => check_notification::<InitializedNotification>(payload),
        Method::Cancelled => check_notification::<CancelledNotification>(payload),
        Method::Progress => check_notification::<ProgressNotification>(payload),
        Method::LogMessage => check_notification::<LoggingMessageNotification>(payload),
        Method::ResourceUpdated => check_notification::<ResourceUpdatedNotification>(payload),
        Method::ResourceListChanged => {
            check_notification::<ResourceListChangedNotification>(payload);
        }
        Method::ToolListChanged => check_notification::<ToolListChangedNotification>(payload),
        Method::PromptListChanged => check_notification::<PromptListChangedNotification>(payload),
        Method::RootsListChanged => check_notification::<RootsListChangedNotification>(payload),
        Method::ElicitationComplete => {
            check_notification::<ElicitationCompleteNotification>(payload);
        }
        Method::TaskStatusChanged => check_notification::<TaskStatusNotification>(payload),
        Method::SubscriptionsAcknowledged => {
            check_notification::<SubscriptionsAcknowledgedNotification>(payload);
        }
        Method::TaskChanged => check_notification::<TaskNotification>(payload),
        other => panic!("{other} has no row here"),
    }
}

fn check_request<R: Request>(payload: &Payload)
where
    R::Params: PartialEq + Debug,
    R::Result: PartialEq + Debug,
{
    check_kept::<R::Params>(payload);
    check_kept::<R::Result>(payload);
}

fn check_notification<N: Notification>(payload: &Payload)
where
    N::Params: PartialEq + Debug,
{
    check_kept::<N::Params>(payload);
}

/// Written and read again it is the same value, and the same text from then on.
fn check_kept<T: Serialize + DeserializeOwned + PartialEq + Debug>(payload: &Payload) {
    let Ok(value) = payload.decode::<T>() else {
        return;
    };
    let written = Payload::encode(&value).expect("what was read has a JSON form");
    let again: T = written
        .decode()
        .unwrap_or_else(|error| panic!("{written:?}: {error}"));
    assert_eq!(again, value);
    assert_eq!(Payload::encode(&again).expect("written before"), written);
}

fn check_step_down(payload: &Payload, step: impl Fn(&Payload) -> Result<Payload, StepDownError>) {
    let Ok(once) = step(payload) else {
        return;
    };
    let twice = step(&once).unwrap_or_else(|error| panic!("{once:?}: {error} {error:?}"));
    assert_eq!(twice, once);
}
