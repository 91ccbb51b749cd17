//! What a verb has to show: for people, or as JSON, and what went wrong beside it.

use super::page::Page;
use crate::app::App;
use crate::exit::Failure;
use crate::json::Json;

/// What a verb has to show.
///
/// ```text
/// Outcome::of(app, || Page::new().line("added \"memory\""), || json!({"added": "memory"}))
/// ```
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    page: Page,
    json: Option<Json>,
    /// The members of the document whose items are lines.
    items: &'static [&'static str],
    failure: Option<Failure>,
    /// What is written as it is, for people who send it into a file.
    bytes: Option<Vec<u8>>,
}

impl Outcome {
    /// Bytes that are no text, written as they are.
    #[must_use]
    pub(crate) fn bytes(mut self, bytes: Vec<u8>) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Nothing to show.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// What is shown, in the form that is wanted.
    pub(crate) fn of<J: Into<Json>>(
        app: &App,
        page: impl FnOnce() -> Page,
        json: impl FnOnce() -> J,
    ) -> Self {
        match app.output.is_json() {
            true => Self {
                json: Some(json().into()),
                ..Self::default()
            },
            false => Self {
                page: page(),
                ..Self::default()
            },
        }
    }

    /// The items of these members of the document are lines under `--jsonl`.
    #[must_use]
    pub(crate) const fn lines(mut self, members: &'static [&'static str]) -> Self {
        self.items = members;
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

    pub(super) fn raw_bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    pub(super) const fn page(&self) -> &Page {
        &self.page
    }

    pub(super) const fn json(&self) -> Option<&Json> {
        self.json.as_ref()
    }

    /// What is a line each.
    pub(super) fn items(&self) -> impl Iterator<Item = &Json> {
        let members = self.items.iter();
        let lists = members.filter_map(|member| self.json.as_ref()?.get(member));
        let whole = match lists.clone().next() {
            Some(_) => None,
            None => self.json.as_ref(),
        };
        lists.flat_map(|list| list.items()).chain(whole)
    }
}
