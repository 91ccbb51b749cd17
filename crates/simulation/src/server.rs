//! A server: real handlers, whose work is written down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_protocol::types::{
    CreateMessageRequestParams, OneOrMany, SamplingMessage, SamplingMessageContentBlock,
};
use switchboard_protocol::{Era, Revision};
use switchboard_server::{
    Context, Elicited, Failure, Handle, Limits, Progress, Server, Site, prompt, resource, template,
    tool,
};

use crate::ledger::{Ledger, Task, said};

/// A server that may be connected to again and again.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) site: Site,
    /// How many tools it has beside those that it began with.
    pub(crate) grown: Arc<AtomicUsize>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    call: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    call: String,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// The tools that it begins with.
pub(crate) const TOOLS: [Task; 10] = [
    Task::Echo,
    Task::Nap,
    Task::Hang,
    Task::Steps,
    Task::Ask,
    Task::AskTwice,
    Task::Sample,
    Task::Fail,
    Task::Grow,
    Task::Touch,
];

impl Machine {
    pub(crate) fn new(number: usize, era: Era, page: usize, ledger: &Ledger) -> Self {
        let grown = Arc::new(AtomicUsize::new(0));
        let server = Server::new(format!("server{number}"), "1");
        let worker = Worker {
            number,
            ledger: ledger.clone(),
            handle: server.handle(),
            grown: Arc::clone(&grown),
        };
        let mut server = server;
        for task in TOOLS {
            let worker = worker.clone();
            server = server.tool(tool(
                task.tool(),
                move |arguments: Arguments, context: Context| {
                    let worker = worker.clone();
                    async move { worker.work(task, arguments.call, context).await }
                },
            ));
        }
        let reading = worker.clone();
        let prompting = worker;
        let server = server
            .resource(resource(uri(number), async || "fine").name("state"))
            .template(template(
                format!("call{number}://{{call}}"),
                move |text: Text| {
                    let worker = reading.clone();
                    async move { worker.say(Task::Read, &text.call) }
                },
            ))
            .prompt(prompt("prompt", move |text: Text| {
                let worker = prompting.clone();
                async move { worker.say(Task::Prompt, &text.call) }
            }));
        let revisions = Revision::ALL.iter().copied();
        let revisions: Vec<_> = revisions.filter(|revision| revision.era() == era).collect();
        let mut limits = Limits::default();
        limits.page = page;
        let server = server.limits(limits).revisions(revisions);
        let site = server.site().expect("invariant: its tools are well formed");
        Self { site, grown }
    }
}

/// A resource that changes.
pub(crate) fn uri(server: usize) -> String {
    format!("state{server}://now")
}

/// What handlers work with.
#[derive(Clone)]
struct Worker {
    number: usize,
    ledger: Ledger,
    handle: Handle,
    grown: Arc<AtomicUsize>,
}

impl Worker {
    fn say(&self, task: Task, call: &str) -> String {
        let call = call.parse().unwrap_or(usize::MAX);
        self.ledger.start(call, self.number).end();
        said(call, self.number, task.tool())
    }

    async fn work(self, task: Task, call: usize, context: Context) -> Result<String, Failure> {
        let running = self.ledger.start(call, self.number);
        let rolled = self.ledger.rolled(call);
        let word = said(call, self.number, task.tool());
        let word = match task {
            Task::Nap => {
                tokio::time::sleep(Duration::from_millis(rolled % 3_000)).await;
                word
            }
            Task::Hang => std::future::pending().await,
            Task::Steps => {
                for step in 1..=rolled % 4 {
                    context.progress(Progress::of(step as f64, 4.0)).await;
                    if step % 2 == 0 {
                        tokio::time::sleep(Duration::from_millis(rolled >> 8 & 0x1FF)).await;
                    }
                }
                word
            }
            Task::Ask | Task::AskTwice => {
                if rolled & 1 == 0 {
                    tokio::time::sleep(Duration::from_millis(rolled >> 8 & 0x3FF)).await;
                }
                self.ask(task, call, word, &context).await?
            }
            Task::Sample => {
                let question = SamplingMessage::user(call.to_string());
                let question = CreateMessageRequestParams::new(vec![question], 10);
                let answer = context.sample("model", question).await?;
                format!("{word} {}", answer.model)
            }
            Task::Fail => {
                running.end();
                return Err(Failure::failed("it cannot"));
            }
            Task::Grow => {
                let number = self.grown.fetch_add(1, Ordering::Relaxed);
                let more = tool(format!("grown-{number}"), async || "new");
                self.handle.add_tool(more)?;
                word
            }
            Task::Touch => {
                self.handle.resource_updated(uri(self.number));
                word
            }
            Task::Echo | Task::Read | Task::Prompt => word,
        };
        running.end();
        Ok(word)
    }

    async fn ask(
        &self,
        task: Task,
        call: usize,
        mut word: String,
        context: &Context,
    ) -> Result<String, Failure> {
        let questions = match task {
            Task::AskTwice => 2,
            _ => 1,
        };
        for question in 0..questions {
            let name = format!("question{question}");
            match context.elicit::<Name>(&name, call.to_string()).await? {
                Elicited::Accepted(name) => word = format!("{word} {}", name.name),
                _ => return Ok(format!("{word} declined")),
            }
        }
        Ok(word)
    }
}

/// The call that a model is asked about.
pub(crate) fn sampled(request: &CreateMessageRequestParams) -> Option<usize> {
    let message = request.messages.first()?;
    let text = match &message.content {
        OneOrMany::One(SamplingMessageContentBlock::Text(text)) => &text.text,
        _ => return None,
    };
    text.parse().ok()
}
