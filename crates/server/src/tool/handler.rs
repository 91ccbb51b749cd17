//! Tools that are not known when the program is written.

use std::future::Future;
use std::pin::Pin;

use switchboard_protocol::Payload;
use switchboard_protocol::types::Tool;

use crate::context::Context;
use crate::tool::Outcome;

/// Answers for any number of tools, which may come and go.
///
/// When they do, say so with [`Handle::tools_changed`](crate::Handle::tools_changed).
pub trait ToolHandler: Send + Sync + 'static {
    /// The tools that there are, in an order that does not change by itself.
    fn list(&self) -> Vec<Tool>;

    /// Calls one of those. The arguments are as they came; with the feature `validate`
    /// they fit the tool's schema.
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: Payload,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;
}
