//! Suggestions while a user types an argument.
//!
//! Specification: server/utilities/completion.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::context::Context;

/// What is being typed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completing {
    /// What is there of it.
    pub value: String,
    /// The arguments that are filled in already.
    pub arguments: BTreeMap<String, String>,
    /// The call.
    pub context: Context,
}

impl Completing {
    pub(crate) const fn new(
        value: String,
        arguments: BTreeMap<String, String>,
        context: Context,
    ) -> Self {
        Self {
            value,
            arguments,
            context,
        }
    }
}

/// Who suggests what, by argument.
#[derive(Clone, Default)]
pub(crate) struct Completers(BTreeMap<String, Completer>);

type Completer = Arc<dyn Fn(Completing) -> Suggestions + Send + Sync>;
type Suggestions = Pin<Box<dyn Future<Output = Vec<String>> + Send>>;

impl Completers {
    pub(crate) fn add<F, Fut>(&mut self, argument: String, function: F)
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<String>> + Send + 'static,
    {
        let completer: Completer = Arc::new(move |typed| Box::pin(function(typed)));
        self.0.insert(argument, completer);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The best first. An argument that nobody completes has no suggestions.
    pub(crate) async fn complete(&self, argument: &str, typed: Completing) -> Vec<String> {
        match self.0.get(argument) {
            Some(completer) => completer(typed).await,
            None => Vec::new(),
        }
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
