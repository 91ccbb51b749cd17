//! A client of the gateway, and who uses it.

use std::time::Duration;

use serde_json::json;
use switchboard_client::memory::End;
use switchboard_client::types::{
    CreateMessageResult, ElicitAction, ElicitResult, Implementation, OneOrMany, ResourceContents,
    Role, SamplingMessageContentBlock, SubscriptionFilter,
};
use switchboard_client::{Client, Error, Handlers, Mode, Spec, Timeouts};
use switchboard_protocol::{Era, Revision};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::ledger::{Ledger, Mood, Task};
use crate::server::sampled;

/// Begins to connect a client.
pub(crate) fn connect(end: End, number: usize, era: Era, ledger: &Ledger) -> Client {
    let mode = match era {
        Era::Handshake => Mode::Legacy,
        Era::Stateless => Mode::Pinned(Revision::LATEST),
    };
    let mut timeouts = Timeouts::default();
    timeouts.idle = Some(IDLE);
    timeouts.total = Some(TOTAL);
    timeouts.question = Duration::from_secs(20);
    let spec = Spec::in_memory()
        .mode(mode)
        .timeouts(timeouts)
        .info(Implementation::new(format!("client{number}"), "1"));
    Client::start_in_memory(end, spec, user(number, ledger))
}

/// Who answers questions, and knows whose they are.
fn user(number: usize, ledger: &Ledger) -> Handlers {
    let (forms, samples) = (ledger.clone(), ledger.clone());
    Handlers::new()
        .on_form(move |form, _| {
            let ledger = forms.clone();
            async move {
                let call = form.message.parse().ok();
                let _asking = ledger.asked(number, call);
                let content = json!({"name": format!("client{number}")});
                let content = content.as_object().cloned().unwrap_or_default();
                Ok(match ledger.mood(call.unwrap_or_default()) {
                    Mood::AtOnce => ElicitResult::accept(content),
                    Mood::Later(time) => {
                        tokio::time::sleep(time).await;
                        ElicitResult::accept(content)
                    }
                    Mood::Declines => ElicitResult::new(ElicitAction::Decline),
                    Mood::Never => std::future::pending().await,
                })
            }
        })
        .on_sample(move |request, _| {
            let ledger = samples.clone();
            async move {
                let _asking = ledger.asked(number, sampled(&request));
                Ok(CreateMessageResult::new(
                    Role::Assistant,
                    OneOrMany::One(SamplingMessageContentBlock::text("well")),
                    format!("client{number}"),
                ))
            }
        })
}

/// A call that somebody waits for.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) call: usize,
    waiter: JoinHandle<()>,
    cancel: Option<oneshot::Sender<()>>,
}

impl Waiting {
    /// Makes a call and waits for it in a task.
    pub(crate) fn begin(
        client: &Client,
        call: usize,
        task: Task,
        server: usize,
        ledger: &Ledger,
    ) -> Self {
        let (cancel, cancelled) = oneshot::channel::<()>();
        let cancelled = async move {
            // Nobody cancels it any more.
            if cancelled.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let (ledger, client) = (ledger.clone(), client.clone());
        let waiter = tokio::spawn(async move {
            let name = format!("s{server}__{}", task.tool());
            let outcome = match task {
                Task::Read => {
                    let uri = format!("call{server}://{call}");
                    let read = client.read(uri).cancel_on(cancelled).await;
                    read.map_err(words).map(|read| match read.contents.first() {
                        Some(ResourceContents::Text(contents)) => contents.text.clone(),
                        _ => String::new(),
                    })
                }
                Task::Prompt => {
                    let arguments = [("call", call.to_string())];
                    let filled = client.prompt(name, arguments).cancel_on(cancelled).await;
                    filled.map_err(words).map(|filled| {
                        let mut messages = filled.messages.iter();
                        let text = messages
                            .next()
                            .and_then(|message| message.content.as_text());
                        text.unwrap_or_default().to_owned()
                    })
                }
                _ => {
                    let mut made = client.call(name).arg("call", call).cancel_on(cancelled);
                    if task == Task::Steps {
                        made = made.on_progress(|_| ());
                    }
                    match made.await {
                        Ok(result) if result.is_error() => Err(result.joined_text()),
                        Ok(result) => Ok(result.joined_text()),
                        Err(error) => Err(words(error)),
                    }
                }
            };
            ledger.outcome(call, outcome);
        });
        Self {
            call,
            waiter,
            cancel: Some(cancel),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.waiter.is_finished()
    }

    /// Cancels it: its outcome says so.
    pub(crate) fn cancel(&mut self, ledger: &Ledger) {
        if let Some(cancel) = self.cancel.take() {
            ledger.cancel(self.call);
            // If nobody hears it, it is over.
            let _ = cancel.send(());
        }
    }

    /// Nobody waits for it any more.
    pub(crate) fn drop_it(self, ledger: &Ledger) {
        if !self.waiter.is_finished() {
            ledger.give_up(self.call);
            self.waiter.abort();
        }
    }
}

fn words(error: Error) -> String {
    error.to_string()
}

/// What a client wants to hear of.
pub(crate) fn wishes(uris: Vec<String>) -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    filter.prompts_list_changed = Some(true);
    filter.resources_list_changed = Some(true);
    filter.resource_subscriptions = Some(uris);
    filter
}

const IDLE: Duration = Duration::from_secs(25);
/// The longest that a call may take.
pub(crate) const TOTAL: Duration = Duration::from_secs(60);
