//! Hearing of changes: one subscription, in either era.
//!
//! In the stateless era it is a `subscriptions/listen` that stays open. In the
//! handshake era list changes come unasked and each resource is subscribed to by itself.
//!
//! Specification: 2026-07-28 basic/patterns/subscriptions; 2025-11-25 server/resources.

use std::time::Instant;

use crate::envelope::Envelope;
use crate::jsonrpc::{Notification, Request, RequestId};
use crate::machine::Lane;
use crate::machine::allowance::Allowance;
use crate::machine::client::call::{CallKey, CallRequest};
use crate::machine::client::call_error::CallError;
use crate::machine::client::input::{Ignored, Output};
use crate::machine::client::members::Members;
use crate::machine::client::{ClientMachine, ClientState, Owner};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::Era;
use crate::types::{ResourceRequestParams, SubscriptionFilter, SubscriptionsListenRequestParams};

/// A subscription of the handshake era.
#[derive(Debug)]
pub(super) struct Listener {
    /// What our user wants, so that it can be said again in a new session.
    wanted: SubscriptionFilter,
    /// `resources/subscribe` requests that have no answer yet.
    open: usize,
    /// Those of them that wait until the server has let go of the resource: over HTTP the one
    /// request may overtake the other.
    held: Vec<String>,
    /// What is granted so far, by the session that it was last said to; what is wanted of lists is
    /// granted at once.
    granted: SubscriptionFilter,
}

impl ClientMachine {
    pub(super) fn start_listening(
        &mut self,
        now: Instant,
        key: CallKey,
        filter: SubscriptionFilter,
        out: &mut Vec<Output>,
    ) {
        if self.era() == Some(Era::Handshake) {
            return self.subscribe(now, key, filter, out);
        }
        let params = Payload::encode(&SubscriptionsListenRequestParams::new(filter)).ok();
        let mut call = CallRequest::new(key, Method::SubscriptionsListen, params);
        call.progress = false;
        self.start_call(now, call, out);
    }

    fn subscribe(
        &mut self,
        now: Instant,
        key: CallKey,
        filter: SubscriptionFilter,
        out: &mut Vec<Output>,
    ) {
        // Any method that always exists: the key and the number of calls are what is checked.
        if let Err(error) = self.check_call(key, &Method::Ping.into(), Members::default()) {
            out.push(Output::Finished {
                key,
                outcome: Err(error),
            });
            return;
        }
        let listener = Listener {
            wanted: filter,
            open: 0,
            held: Vec::new(),
            granted: SubscriptionFilter::default(),
        };
        self.listeners.insert(key, listener);
        if self.session.stands() {
            self.say_subscriptions(now, key, out);
        } else {
            self.reopen_if_lost(now, out);
        }
    }

    /// Says all subscriptions to a session that knows of none.
    pub(super) fn subscribe_again(&mut self, now: Instant, out: &mut Vec<Output>) {
        let mut keys: Vec<CallKey> = self.listeners.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            self.say_subscriptions(now, key, out);
        }
    }

    fn say_subscriptions(&mut self, now: Instant, key: CallKey, out: &mut Vec<Output>) {
        let let_go: Vec<String> = self.let_go().cloned().collect();
        let (ClientState::Ready(agreed), Some(listener)) =
            (&self.state, self.listeners.get_mut(&key))
        else {
            return;
        };
        let mut granted = listener.wanted.within(&agreed.capabilities);
        // Resources count once the server has agreed to each; tasks have no form in this era.
        let uris = granted.resource_subscriptions.take().unwrap_or_default();
        granted.task_ids = None;
        listener.open = uris.len();
        listener.granted = granted;
        let (held, uris) = uris.into_iter().partition(|uri| let_go.contains(uri));
        listener.held = held;
        let uris: Vec<String> = uris;
        for uri in uris {
            self.say_subscription(now, key, uri, out);
        }
        self.confirm_if_settled(key, out);
    }

    fn say_subscription(&mut self, now: Instant, key: CallKey, uri: String, out: &mut Vec<Output>) {
        let allowance = Allowance::new(now, self.config.call_timeouts);
        let owner = Owner::Subscribe(key, uri.clone());
        self.send_for(Method::ResourcesSubscribe, &uri, allowance, owner, out);
    }

    /// The resources that the server was told to let go of, and has not said that it did.
    fn let_go(&self) -> impl Iterator<Item = &String> {
        let ids = self.pending.ids().into_iter();
        ids.filter_map(|id| match &self.pending.get(id)?.owner {
            Owner::Unsubscribe(uri) => Some(uri),
            _ => None,
        })
    }

    /// The server has let go of a resource, or does not say: whoever wants it again may ask.
    pub(super) fn unsubscribed(&mut self, now: Instant, uri: &str, out: &mut Vec<Output>) {
        let mut waiting = Vec::new();
        for (key, listener) in &mut self.listeners {
            let held = listener.held.extract_if(.., |held| held == uri);
            waiting.extend(held.map(|uri| (*key, uri)));
        }
        waiting.sort_unstable();
        for (key, uri) in waiting {
            self.say_subscription(now, key, uri, out);
        }
    }

    pub(super) fn subscribe_answered(
        &mut self,
        key: CallKey,
        uri: String,
        granted: bool,
        out: &mut Vec<Output>,
    ) {
        let Some(listener) = self.listeners.get_mut(&key) else {
            return;
        };
        listener.open = listener.open.saturating_sub(1);
        if granted {
            listener
                .granted
                .resource_subscriptions
                .get_or_insert_default()
                .push(uri);
        }
        self.confirm_if_settled(key, out);
    }

    fn confirm_if_settled(&self, key: CallKey, out: &mut Vec<Output>) {
        if let Some(listener) = self.listeners.get(&key)
            && listener.open == 0
        {
            out.push(Output::Listening {
                key,
                granted: listener.granted.clone(),
            });
        }
    }

    /// Ends a subscription of the handshake era.
    pub(super) fn stop_listening(&mut self, now: Instant, key: CallKey, out: &mut Vec<Output>) {
        let Some(listener) = self.listeners.remove(&key) else {
            return;
        };
        // What the server has not agreed to yet is given back when it does.
        for id in self.pending.ids() {
            let owner = self.pending.get(id).map(|entry| &entry.owner);
            if let Some(Owner::Subscribe(of, uri)) = owner
                && *of == key
            {
                let unwanted = Owner::Unwanted(uri.clone());
                self.pending.reassign(id, unwanted);
            }
        }
        for uri in listener.granted.resources() {
            self.unsubscribe(now, uri, out);
        }
        out.push(Output::Finished {
            key,
            outcome: Err(CallError::Cancelled),
        });
    }

    /// Lets go of a resource, unless another listener has it or has asked for it.
    pub(super) fn unsubscribe(&mut self, now: Instant, uri: &str, out: &mut Vec<Output>) {
        if !self.session.stands() {
            return;
        }
        let granted = self
            .listeners
            .values()
            .any(|other| other.granted.resources().iter().any(|of| of == uri));
        let asked_for = self.pending.ids().into_iter().any(|id| {
            matches!(
                self.pending.get(id).map(|entry| &entry.owner),
                Some(Owner::Subscribe(_, of)) if of == uri
            )
        });
        if !granted && !asked_for {
            let allowance = Allowance::new(now, self.config.call_timeouts);
            let method = Method::ResourcesUnsubscribe;
            let owner = Owner::Unsubscribe(uri.to_owned());
            self.send_for(method, uri, allowance, owner, out);
        }
    }

    fn send_for(
        &mut self,
        method: Method,
        uri: &str,
        allowance: Allowance,
        owner: Owner,
        out: &mut Vec<Output>,
    ) {
        let id = self.pending.insert(allowance, owner);
        let params = Payload::encode(&ResourceRequestParams::new(uri)).ok();
        out.push(Output::send(
            Lane(id.cast_unsigned()),
            Request::new(RequestId::from(id), method, params),
        ));
    }

    /// The server agrees to a `subscriptions/listen`: it may stay open from now on.
    pub(super) fn handle_acknowledged(&mut self, told: &Notification, out: &mut Vec<Output>) {
        let params = told.params.as_ref();
        let granted = params
            .and_then(|params| params.member("notifications"))
            .and_then(|text| serde_json::from_slice(text).ok());
        let (Some(key), Some(granted)) = (self.listener_of(params), granted) else {
            out.push(Output::Ignored(Ignored::BadNotification(
                Method::SubscriptionsAcknowledged,
            )));
            return;
        };
        if let Some(id) = subscription_id(params).and_then(|id| self.pending.number(&id)) {
            self.pending.adjust(id, Allowance::lift);
        }
        out.push(Output::Listening { key, granted });
    }

    /// The subscription that a notification names.
    pub(super) fn listener_of(&self, params: Option<&Payload>) -> Option<CallKey> {
        let id = self.pending.number(&subscription_id(params)?)?;
        self.owner_call(id).filter(|key| self.is_listen(*key))
    }

    /// The server ends a subscription by a cancel instead of an answer: both are meant alike.
    pub(super) fn listening_ended(&mut self, id: &RequestId, out: &mut Vec<Output>) {
        let Some(number) = self.pending.number(id) else {
            out.push(Output::Ignored(Ignored::BadNotification(Method::Cancelled)));
            return;
        };
        let Some(Owner::Call(key)) = self.pending.get(number).map(|entry| entry.owner.clone())
        else {
            return;
        };
        if !self.is_listen(key) {
            out.push(Output::Ignored(Ignored::BadNotification(Method::Cancelled)));
            return;
        }
        self.pending.remove(number);
        self.finish(key, Ok(Payload::empty()), out);
    }
}

fn subscription_id(params: Option<&Payload>) -> Option<RequestId> {
    let text = Envelope::of(params).subscription_id?;
    serde_json::from_slice(text).ok()
}
