//! The server that most tests talk to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::{Context, NoArguments, Server, Site, tool};
use tokio::sync::{Notify, Semaphore};

/// What handlers and their test share.
#[derive(Clone)]
pub(crate) struct Witness(Arc<Seen>);

struct Seen {
    started: AtomicUsize,
    dropped: AtomicUsize,
    news: Notify,
    gate: Semaphore,
}

impl Witness {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Seen {
            started: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            news: Notify::new(),
            gate: Semaphore::new(0),
        }))
    }

    /// Waits until so many handlers have started.
    pub(crate) async fn started(&self, count: usize) {
        self.reached(&self.0.started, count).await;
    }

    /// Waits until so many handlers are gone, finished or not.
    pub(crate) async fn dropped(&self, count: usize) {
        self.reached(&self.0.dropped, count).await;
    }

    /// Waits until every handler that has started is gone.
    pub(crate) async fn all_dropped(&self) {
        self.dropped(self.0.started.load(Ordering::SeqCst)).await;
    }

    /// How many handlers are gone.
    pub(crate) fn dropped_so_far(&self) -> usize {
        self.0.dropped.load(Ordering::SeqCst)
    }

    /// Lets so many waiting handlers go on.
    pub(crate) fn let_go(&self, count: usize) {
        self.0.gate.add_permits(count);
    }

    /// A handler has started; its end is noticed when the value is dropped.
    pub(crate) fn start(&self) -> Working {
        self.0.started.fetch_add(1, Ordering::SeqCst);
        self.0.news.notify_waiters();
        Working(self.clone())
    }

    /// Waits, in a handler, until the test lets it go on.
    pub(crate) async fn wait(&self) {
        self.0.gate.acquire().await.unwrap().forget();
    }

    async fn reached(&self, counter: &AtomicUsize, count: usize) {
        let wait = async {
            loop {
                let news = self.0.news.notified();
                if counter.load(Ordering::SeqCst) >= count {
                    return;
                }
                news.await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
        assert!(
            waited.is_ok(),
            "only {} of {count}",
            counter.load(Ordering::SeqCst)
        );
    }
}

/// A handler at work.
pub(crate) struct Working(Witness);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.dropped.fetch_add(1, Ordering::SeqCst);
        self.0.0.news.notify_waiters();
    }
}

/// Says a text again.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Echo {
    /// The text.
    pub(crate) text: String,
}

/// Adds two numbers.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Add {
    /// The first.
    pub(crate) a: i64,
    /// The second.
    pub(crate) b: i64,
}

/// Tools that the battery calls: `echo`, `add`, `wait` (until the witness lets it go),
/// `progress` (some, then waits, then more), `large` and `panic`.
pub(crate) fn server(witness: &Witness) -> Server {
    let (waiting, progressing) = (witness.clone(), witness.clone());
    Server::new("battery", "1.0.0")
        .tool(tool("echo", |echo: Echo| async move { echo.text }))
        .tool(tool("add", |add: Add| async move { add.a + add.b }))
        .tool(tool("wait", move || {
            let witness = waiting.clone();
            async move {
                let _working = witness.start();
                witness.wait().await;
                "waited"
            }
        }))
        .tool(tool("progress", move |_: NoArguments, context: Context| {
            let witness = progressing.clone();
            async move {
                let _working = witness.start();
                context.progress((1.0, 2.0)).await;
                witness.wait().await;
                context.progress((2.0, 2.0)).await;
                "done"
            }
        }))
        .tool(tool("large", async || "x".repeat(100_000)))
        .tool(tool("panic", async || -> String {
            panic!("at the handler's own fault")
        }))
}

/// The same, ready to be served.
pub(crate) fn site(witness: &Witness) -> Site {
    server(witness).site().unwrap()
}
