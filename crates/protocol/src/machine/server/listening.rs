//! Who wants to hear of which changes.
//!
//! Specification: 2026-07-28 basic/patterns/subscriptions; 2025-11-25 server/resources.

use std::sync::Arc;

use crate::envelope::{MemberText, with_members};
use crate::jsonrpc::{ErrorObject, Notification, Request, RequestId};
use crate::machine::Lane;
use crate::machine::server::input::{Caller, Change, Output};
use crate::machine::server::{InFlight, ServeKey, ServerMachine, ServerState, Work, modern};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::Era;
use crate::types::meta_key as key;
use crate::types::{
    ResourceUpdatedNotificationParams, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams,
};

impl ServerMachine {
    /// A client of the stateless era opens a stream of changes.
    pub(super) fn listen(
        &mut self,
        lane: Lane,
        request: Request,
        caller: Arc<Caller>,
        out: &mut Vec<Output>,
    ) {
        let wanted = request
            .params
            .as_ref()
            .and_then(|params| params.member("notifications"))
            .map(serde_json::from_slice::<SubscriptionFilter>);
        let wanted = match wanted {
            Some(Ok(wanted)) => wanted,
            Some(Err(error)) => {
                let error = ErrorObject::invalid_params(format!("notifications: {error}"));
                return self.reply(lane, None, request.id, Err(error), out);
            }
            None => {
                let error = ErrorObject::invalid_params("subscriptions/listen needs notifications");
                return self.reply(lane, None, request.id, Err(error), out);
            }
        };
        if !wanted.tasks().is_empty()
            && let Err(error) = modern::check_tasks_declared(&caller)
        {
            return self.reply(lane, None, request.id, Err(error), out);
        }
        let named = wanted.resources().len() + wanted.tasks().len();
        if named > self.config.max_subscriptions {
            let busy = "too many resources are subscribed to";
            let error = self.busy("subscriptions", busy, None);
            return self.reply(lane, None, request.id, Err(error), out);
        }
        let open = self.serving.iter().into_iter();
        let open = open.filter(|(_, _, f)| matches!(f.work, Work::Listening(_)));
        if open.count() >= self.config.max_streams {
            let error = self.busy("streams", "too many streams of changes are open", None);
            return self.reply(lane, None, request.id, Err(error), out);
        }
        let granted = wanted.within(&self.config.capabilities);
        let in_flight = InFlight {
            lane,
            batch: None,
            method: Some(Method::SubscriptionsListen),
            era: Era::Stateless,
            caller: Arc::clone(&caller),
            params: None,
            progress_token: None,
            last_progress: None,
            log_level: None,
            deadline: None,
            rounds: 0,
            work: Work::Listening(Box::new(granted.clone())),
        };
        let id = request.id;
        let key = self.serving.reserve();
        self.serving.insert(key, id.clone(), in_flight);
        // The first message of the stream says what is honoured.
        let params = Payload::encode(&SubscriptionsAcknowledgedNotificationParams::new(
            granted.clone(),
        ))
        .ok();
        out.push(tagged(
            lane,
            &id,
            Method::SubscriptionsAcknowledged,
            params.as_ref(),
        ));
        out.push(Output::Listening {
            key,
            filter: granted,
            caller,
        });
    }

    /// Tells everyone who wants to hear of a change.
    pub(super) fn changed(&self, change: &Change, out: &mut Vec<Output>) {
        let (method, params) = match change {
            Change::Tools => (Method::ToolListChanged, None),
            Change::Prompts => (Method::PromptListChanged, None),
            Change::Resources => (Method::ResourceListChanged, None),
            Change::Resource { uri } => (
                Method::ResourceUpdated,
                Payload::encode(&ResourceUpdatedNotificationParams::new(uri)).ok(),
            ),
            Change::Task { params, .. } => (Method::TaskChanged, Some(params.clone())),
        };
        if self.handshake_hears(change) {
            out.push(Output::send(
                Lane::SHARED,
                Notification::new(method, params.clone()),
            ));
        }
        for (_, id, in_flight) in self.serving.iter() {
            if let Work::Listening(filter) = &in_flight.work
                && wants(filter, change)
            {
                out.push(tagged(in_flight.lane, id, method, params.as_ref()));
            }
        }
    }

    /// Does the peer that did the handshake, if any, hear of this?
    fn handshake_hears(&self, change: &Change) -> bool {
        if self.session.state() != ServerState::Operating {
            return false;
        }
        let capabilities = &self.config.capabilities;
        match change {
            Change::Tools => capabilities.announces_tool_changes(),
            Change::Prompts => capabilities.announces_prompt_changes(),
            Change::Resources => capabilities.announces_resource_changes(),
            Change::Resource { uri } => {
                let resources = &self.session.resources;
                resources.iter().any(|wanted| covers(wanted, uri))
            }
            // Tasks of the extension; those of 2025-11-25 are told by `Input::Notify`.
            Change::Task { .. } => false,
        }
    }

    /// Ends a subscription from our side.
    pub(super) fn end_listening(&mut self, key: ServeKey, out: &mut Vec<Output>) {
        let Some((id, in_flight)) = self.serving.take(key) else {
            return;
        };
        let mut meta = MemberText::default();
        meta.push_value(key::SUBSCRIPTION_ID, &id);
        let result = with_members(None, &MemberText::default(), &meta);
        let result = self.result_text.complete(&result.noted(), None);
        self.reply(in_flight.lane, in_flight.batch, id, Ok(result), out);
        if let Work::Listening(filter) = in_flight.work {
            out.push(Output::ListeningEnded {
                key,
                filter: *filter,
            });
        }
    }
}

/// Does the filter ask for this change?
fn wants(filter: &SubscriptionFilter, change: &Change) -> bool {
    match change {
        Change::Tools => filter.wants_tools(),
        Change::Prompts => filter.wants_prompts(),
        Change::Resources => filter.wants_resources(),
        Change::Resource { uri } => filter.resources().iter().any(|wanted| covers(wanted, uri)),
        Change::Task { id, .. } => filter.tasks().contains(id),
    }
}

/// Is the resource the one that is wanted, or a part of it?
fn covers(wanted: &str, uri: &str) -> bool {
    uri.strip_prefix(wanted).is_some_and(|rest| {
        rest.is_empty() || wanted.ends_with('/') || rest.starts_with(['/', '#', '?'])
    })
}

/// A notification of a stream, with the stream's id: that of the request, with its exact type.
fn tagged(lane: Lane, id: &RequestId, method: Method, params: Option<&Payload>) -> Output {
    let mut meta = MemberText::default();
    meta.push_value(key::SUBSCRIPTION_ID, id);
    let params = with_members(params, &MemberText::default(), &meta);
    Output::send(lane, Notification::new(method, Some(params)))
}
