//! Collects spans and numbers, and has them sent by one task.
//!
//! The task has two loops that do not wait for each other: spans by size and time, numbers by
//! time. Both end when they are told to, after what was left has been sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use switchboard_hub::Metrics;
use switchboard_transport::http::client::{HttpClient, SetupError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::counts::{Counters, ExportCounts};
use crate::layer::SpanLayer;
use crate::otlp::{metrics_request, rejected, spans_request};
use crate::queue::Queue;
use crate::sender::Sender;
use crate::settings::Settings;

/// Sends traces and metrics to a collector. Dropped without being closed, it sends no more.
#[derive(Debug)]
pub struct Telemetry {
    queue: Arc<Queue>,
    counters: Arc<Counters>,
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Telemetry {
    /// Begins to send, spans and these metrics.
    ///
    /// # Errors
    /// When a proxy or roots are set that cannot be used.
    ///
    /// # Panics
    /// Outside of a tokio runtime: there is a task that sends.
    pub fn start(settings: Settings, metrics: Option<Metrics>) -> Result<Self, SetupError> {
        let client = HttpClient::new(settings.http.clone())?;
        let queue = Arc::new(Queue::new(settings.queue, settings.batch));
        let counters = Arc::new(Counters::default());
        let closing = watch::Sender::new(false);
        let resource: Arc<[_]> = settings.resource.into();
        let sender =
            |destination| Sender::new(&client, destination, settings.retry, closing.subscribe());
        let spans = settings.traces.map(|destination| Spans {
            queue: Arc::clone(&queue),
            counters: Arc::clone(&counters),
            resource: Arc::clone(&resource),
            delay: settings.delay,
            sender: sender(destination),
            told: 0,
        });
        let numbers = settings.metrics.zip(metrics);
        let numbers = numbers.map(|(destination, metrics)| Numbers {
            metrics,
            counters: Arc::clone(&counters),
            resource: Arc::clone(&resource),
            interval: settings.metrics_interval,
            sender: sender(destination),
        });
        let (spans_end, numbers_end) = (closing.subscribe(), closing.subscribe());
        let task = tokio::spawn(async move {
            let spans = async {
                if let Some(spans) = spans {
                    spans.run(spans_end).await;
                }
            };
            let numbers = async {
                if let Some(numbers) = numbers {
                    numbers.run(numbers_end).await;
                }
            };
            tokio::join!(spans, numbers);
        });
        Ok(Self {
            queue,
            counters,
            closing,
            task,
        })
    }

    /// Who listens to the spans of calls, for a subscriber of `tracing`. It listens to nothing
    /// else, and calls never wait for it.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        SpanLayer::listening(&self.queue, &self.counters)
    }

    /// What came of it so far.
    pub fn counts(&self) -> ExportCounts {
        self.counters.read()
    }

    /// Sends what is left, as far as that can be done in this time, and no more.
    pub async fn close(mut self, limit: Duration) -> ExportCounts {
        self.closing.send_replace(true);
        if timeout(limit, &mut self.task).await.is_err() {
            self.task.abort();
            // It ends where it waits.
            let _ = (&mut self.task).await;
        }
        let left = self.queue.len();
        self.counters.give_up(left);
        let counts = self.counters.read();
        if counts.failed > 0 || counts.dropped > 0 {
            tracing::warn!(
                failed = counts.failed,
                dropped = counts.dropped,
                "not all spans were sent"
            );
        }
        counts
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends spans.
struct Spans {
    queue: Arc<Queue>,
    counters: Arc<Counters>,
    resource: Arc<[(String, String)]>,
    delay: Duration,
    sender: Sender,
    /// How many were dropped when that was last said.
    told: u64,
}

impl Spans {
    async fn run(mut self, mut closing: watch::Receiver<bool>) {
        loop {
            let is_closing = tokio::select! {
                biased;
                _ = closing.wait_for(|is_closing| *is_closing) => true,
                () = self.queue.filled.notified() => false,
                () = sleep(self.delay) => false,
            };
            loop {
                self.send().await;
                let is_enough = match is_closing {
                    true => self.queue.len() == 0,
                    false => !self.queue.has_batch(),
                };
                if is_enough {
                    break;
                }
            }
            if is_closing {
                return;
            }
        }
    }

    async fn send(&mut self) {
        let spans = self.queue.take();
        if spans.is_empty() {
            return;
        }
        let number = spans.len() as u64;
        let Counters {
            sent,
            failed,
            rejected: refused,
            under_way,
            dropped,
            ..
        } = &*self.counters;
        under_way.store(number, Ordering::Relaxed);
        let request = spans_request(&self.resource, &spans);
        drop(spans);
        let outcome = self.sender.send(request).await;
        under_way.store(0, Ordering::Relaxed);
        match outcome {
            Ok(answer) => {
                let (unwanted, reason) = rejected(&answer).unwrap_or_default();
                let unwanted = unwanted.min(number);
                sent.fetch_add(number - unwanted, Ordering::Relaxed);
                refused.fetch_add(unwanted, Ordering::Relaxed);
                if unwanted > 0 || !reason.is_empty() {
                    tracing::warn!(unwanted, ?reason, "the collector did not want all spans");
                }
            }
            Err(error) => {
                failed.fetch_add(number, Ordering::Relaxed);
                tracing::warn!(spans = number, %error, "spans were given up");
            }
        }
        let dropped = dropped.load(Ordering::Relaxed);
        if dropped > self.told {
            let dropped = dropped - std::mem::replace(&mut self.told, dropped);
            tracing::warn!(dropped, "spans came faster than they could be sent");
        }
    }
}

/// Sends the numbers.
struct Numbers {
    metrics: Metrics,
    counters: Arc<Counters>,
    resource: Arc<[(String, String)]>,
    interval: Duration,
    sender: Sender,
}

impl Numbers {
    async fn run(mut self, mut closing: watch::Receiver<bool>) {
        loop {
            let is_closing = tokio::select! {
                biased;
                _ = closing.wait_for(|is_closing| *is_closing) => true,
                () = sleep(self.interval) => false,
            };
            self.send().await;
            if is_closing {
                return;
            }
        }
    }

    async fn send(&mut self) {
        let request = metrics_request(&self.resource, &self.metrics.snapshot());
        match self.sender.send(request).await {
            Ok(answer) => {
                Counters::add(&self.counters.metrics_sent, 1);
                if let Some((unwanted, reason)) = rejected(&answer) {
                    tracing::warn!(unwanted, ?reason, "the collector did not want all metrics");
                }
            }
            Err(error) => {
                Counters::add(&self.counters.metrics_failed, 1);
                tracing::warn!(%error, "metrics were given up");
            }
        }
    }
}
