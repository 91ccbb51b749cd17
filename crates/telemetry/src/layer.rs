//! Listens to the spans of calls, and hands them over when they end.

use std::sync::Arc;

use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::counts::Counters;
use crate::draft::Draft;
use crate::queue::Queue;

/// Collects the spans of calls.
#[derive(Clone, Debug)]
pub(crate) struct SpanLayer {
    queue: Arc<Queue>,
    counters: Arc<Counters>,
}

impl SpanLayer {
    /// It listens to calls only, so that it makes nothing else dearer.
    pub(crate) fn listening<S>(
        queue: &Arc<Queue>,
        counters: &Arc<Counters>,
    ) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let layer = Self {
            queue: Arc::clone(queue),
            counters: Arc::clone(counters),
        };
        layer.with_filter(filter_fn(is_call))
    }
}

fn is_call(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.name() == CALL && metadata.target().starts_with(HUB)
}

impl<S> Layer<S> for SpanLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut draft = Draft::begin();
            attributes.record(&mut draft);
            span.extensions_mut().insert(draft);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(draft) = span.extensions_mut().get_mut::<Draft>()
        {
            values.record(draft);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let draft = span.extensions_mut().remove::<Draft>();
        let Some(finished) = draft.and_then(|draft| draft.finish(span.name())) else {
            return;
        };
        if !self.queue.push(finished) {
            Counters::add(&self.counters.dropped, 1);
        }
    }
}

const CALL: &str = "mcp.call";
const HUB: &str = "switchboard_hub";
