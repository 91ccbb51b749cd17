//! Functions that can read resources.

use std::future::Future;

use serde::de::DeserializeOwned;
use switchboard_protocol::uri_template::Variables;

use crate::context::Context;
use crate::resource::{IntoContents, Read, ReadFuture};
use crate::words;

/// A function that reads a resource: `async fn() -> Contents` or
/// `async fn(Context) -> Contents`.
///
/// `M` tells these forms apart and is never named.
pub trait ResourceFunction<M>: Send + Sync + 'static {
    /// Reads it.
    #[doc(hidden)]
    fn read(&self, context: Context) -> ReadFuture;
}

impl<F, Fut> ResourceFunction<()> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoContents> + Send + 'static,
{
    fn read(&self, _context: Context) -> ReadFuture {
        finish(self())
    }
}

impl<F, Fut> ResourceFunction<(Context,)> for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoContents> + Send + 'static,
{
    fn read(&self, context: Context) -> ReadFuture {
        finish(self(context))
    }
}

/// A function that reads a resource of a template: `async fn(Variables) -> Contents`, or the
/// same with a [`Context`] after the variables.
///
/// `M` tells these forms apart and is never named.
pub trait TemplateFunction<A, M>: Send + Sync + 'static {
    /// Reads it.
    #[doc(hidden)]
    fn read(&self, variables: &Variables, context: Context) -> ReadFuture;
}

impl<F, A, Fut> TemplateFunction<A, ()> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned,
    Fut: Future<Output: IntoContents> + Send + 'static,
{
    fn read(&self, variables: &Variables, _context: Context) -> ReadFuture {
        match words::of_variables(variables) {
            Ok(variables) => finish(self(variables)),
            // A URI that fits the template but not the types names nothing.
            Err(_) => Box::pin(std::future::ready(Read::NotFound)),
        }
    }
}

impl<F, A, Fut> TemplateFunction<A, (Context,)> for F
where
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned,
    Fut: Future<Output: IntoContents> + Send + 'static,
{
    fn read(&self, variables: &Variables, context: Context) -> ReadFuture {
        match words::of_variables(variables) {
            Ok(variables) => finish(self(variables, context)),
            Err(_) => Box::pin(std::future::ready(Read::NotFound)),
        }
    }
}

fn finish<R: IntoContents>(contents: impl Future<Output = R> + Send + 'static) -> ReadFuture {
    Box::pin(async move { contents.await.into_contents() })
}
