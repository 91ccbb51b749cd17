//! Somebody who listens to `tracing` and writes down every span, for tests.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// All spans so far, as their names and fields.
#[derive(Clone, Default)]
pub(crate) struct Listener {
    spans: Arc<Mutex<Vec<Span>>>,
}

pub(crate) struct Span {
    pub(crate) name: &'static str,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

/// While there are fewer than two, `tracing` lets the thread that comes to a span first say whether
/// anybody will ever listen to it.
static ALWAYS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(Listener::default())));

impl Listener {
    /// Nobody listens yet: give it to `tracing`.
    pub(crate) fn new() -> Self {
        LazyLock::force(&ALWAYS);
        Self::default()
    }

    /// What the one span says, in the order of its fields.
    pub(crate) fn one(&self) -> BTreeMap<&'static str, String> {
        let mut spans = self.spans.lock().unwrap();
        assert_eq!(spans.len(), 1);
        let span = spans.remove(0);
        assert_eq!(span.name, "mcp.call");
        span.fields
    }

    fn write(&self, id: &Id, values: impl FnOnce(&mut dyn Visit)) {
        let mut spans = self.spans.lock().unwrap();
        let place = usize::try_from(id.into_u64() - 1).unwrap();
        values(&mut Writer(&mut spans[place].fields));
    }
}

impl Subscriber for Listener {
    /// Each thread is asked by itself: in others nobody listens.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("switchboard_hub")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let number = {
            let mut spans = self.spans.lock().unwrap();
            spans.push(Span {
                name: span.metadata().name(),
                fields: BTreeMap::new(),
            });
            spans.len() as u64
        };
        let id = Id::from_u64(number);
        self.write(&id, |writer| span.record(writer));
        id
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.write(span, |writer| values.record(writer));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Writer<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Writer<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}
