//! What a verb has to show: for people, or as JSON, and what went wrong beside it.

use serde_json::Value;

use super::page::Page;
use crate::app::App;
use crate::exit::Failure;

/// What a verb has to show.
///
/// ```ignore
/// Outcome::of(app, || Page::new().line("added \"memory\""), || json!({"added": "memory"}))
/// ```
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    page: Page,
    json: Option<Value>,
    /// The member of the document whose items are lines.
    items: Option<&'static str>,
    failure: Option<Failure>,
}

impl Outcome {
    /// Nothing to show.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// What is shown, in the form that is wanted.
    pub(crate) fn of(app: &App, page: impl FnOnce() -> Page, json: impl FnOnce() -> Value) -> Self {
        match app.output.is_json() {
            true => Self {
                json: Some(json()),
                ..Self::default()
            },
            false => Self {
                page: page(),
                ..Self::default()
            },
        }
    }

    /// The items of this member of the document are lines under `--jsonl`.
    #[must_use]
    pub(crate) const fn lines(mut self, member: &'static str) -> Self {
        self.items = Some(member);
        self
    }

    /// It is shown, and all the same something went wrong.
    #[must_use]
    pub(crate) fn but(mut self, failure: Option<Failure>) -> Self {
        self.failure = failure;
        self
    }

    pub(crate) const fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    pub(super) const fn page(&self) -> &Page {
        &self.page
    }

    pub(super) const fn json(&self) -> Option<&Value> {
        self.json.as_ref()
    }

    /// What is a line each.
    pub(super) fn items(&self) -> impl Iterator<Item = &Value> {
        let list = self
            .items
            .and_then(|member| self.json.as_ref()?.get(member)?.as_array());
        let whole = match list {
            Some(_) => None,
            None => self.json.as_ref(),
        };
        list.into_iter().flatten().chain(whole)
    }
}
