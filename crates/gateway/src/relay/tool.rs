//! A call of a tool: what clients do most.
//!
//! Nearly all of them are sent on and answered, and what is kept meanwhile is a few hundred bytes.
//! What takes more goes on in a box: a call that may be a task, one that its client comes back
//! for, one for which the client is asked.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use switchboard_hub::{CallTool, PassedOn, ToolEntry};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::CallToolResult;
use switchboard_server::{Answer, Context};

use super::pursuit::{self, Pursued, Stop};
use super::{Inner, answer_of, caller, member_of, params_of, tasks};

/// A tool on its way to being called for a client.
pub(crate) struct ToolCall {
    relay: Arc<Inner>,
    context: Context,
    stage: Stage,
}

enum Stage {
    Sent(Pursued<PassedOn<CallTool>>),
    Long(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

impl Future for ToolCall {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Answer> {
        let Self {
            relay,
            context,
            stage,
        } = &mut *self;
        if let Stage::Sent(pursued) = stage {
            *stage = match ready!(pursued.poll(task)) {
                Stop::Outcome(outcome) => {
                    let answer = answer_of::<CallToolResult>(outcome, context);
                    if !tasks::goes_on(&answer, context) {
                        return Poll::Ready(answer);
                    }
                    let (relay, context) = (Arc::clone(relay), context.clone());
                    Stage::Long(Box::pin(
                        async move { relay.followed(answer, &context).await },
                    ))
                }
                Stop::Asks(pursuit) => {
                    let (relay, context) = (Arc::clone(relay), context.clone());
                    Stage::Long(Box::pin(async move {
                        let outcome = pursuit::ask(&relay, &context, *pursuit).await;
                        let answer = answer_of::<CallToolResult>(outcome, &context);
                        relay.end_tool(answer, &context).await
                    }))
                }
            };
        }
        match stage {
            Stage::Long(long) => long.as_mut().poll(task),
            Stage::Sent(_) => Poll::Pending,
        }
    }
}

impl Inner {
    /// Calls a tool for a client.
    ///
    /// # Errors
    /// What the client is told at once.
    pub(crate) fn call_tool(self: &Arc<Self>, context: Context) -> Result<ToolCall, ErrorObject> {
        let takes_more = self.names.must_wait_for(&self.opening)
            || tasks::may_be_one(&context)
            || pursuit::may_be_returned(&context);
        let stage = if takes_more {
            let (relay, context) = (Arc::clone(self), context.clone());
            Stage::Long(Box::pin(async move { relay.call_any_tool(&context).await }))
        } else {
            Stage::Sent(self.begin_tool(&context)?)
        };
        Ok(ToolCall {
            relay: Arc::clone(self),
            context,
            stage,
        })
    }

    /// The same, whatever it takes.
    async fn call_any_tool(&self, context: &Context) -> Answer {
        if self.names.must_wait_for(&self.opening) {
            self.opening.wait().await;
        }
        if let Err(error) = self.check_headers(context) {
            return Answer::Error(error);
        }
        if tasks::may_be_one(context)
            && let Some(answer) = self.call_as_task(context).await
        {
            return answer;
        }
        let mut pursued = match self.return_or_begin_tool(context).await {
            Ok(pursued) => pursued,
            Err(error) => return Answer::Error(error),
        };
        let outcome = pursued.outcome(self, context).await;
        self.end_tool(answer_of::<CallToolResult>(outcome, context), context)
            .await
    }

    /// The answer, unless it is not the end of the call.
    async fn end_tool(&self, answer: Answer, context: &Context) -> Answer {
        match tasks::goes_on(&answer, context) {
            true => self.followed(answer, context).await,
            false => answer,
        }
    }

    /// Goes on with a call of a tool, if that is what the client wants, or has one called.
    async fn return_or_begin_tool(
        &self,
        context: &Context,
    ) -> Result<Pursued<PassedOn<CallTool>>, ErrorObject> {
        let returned = match pursuit::may_be_returned(context) {
            true => pursuit::returned(self, context).await?,
            false => None,
        };
        match returned {
            Some(returned) => Ok(returned),
            None => self.begin_tool(context),
        }
    }

    /// Has a tool called.
    fn begin_tool(&self, context: &Context) -> Result<Pursued<PassedOn<CallTool>>, ErrorObject> {
        let name = member_of(params_of(context)?.name(), "name")?;
        // A server that is not ready yet may have it.
        let Ok((version, entry)) = self.names.tool(&self.hub, &name) else {
            return self.begin(context, |hub| hub.call(&name));
        };
        caller::check_headers(context, &entry)?;
        self.begin(context, |hub| hub.call_listed(version, entry))
    }

    /// Whatever a call of a tool is about to become, its headers must repeat what its arguments say.
    fn check_headers(&self, context: &Context) -> Result<(), ErrorObject> {
        match self.tool_of(context) {
            Some(tool) => caller::check_headers(context, &tool),
            None => Ok(()),
        }
    }

    /// The tool that a client calls.
    pub(super) fn tool_of(&self, context: &Context) -> Option<Arc<ToolEntry>> {
        let name = context.params()?.name()?;
        let (_, tool) = self.names.tool(&self.hub, &name).ok()?;
        Some(tool)
    }
}
