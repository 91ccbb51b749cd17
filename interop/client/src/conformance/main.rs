//! The client under test of the official conformance suite.
//!
//! ```text
//! MCP_CONFORMANCE_SCENARIO=<name> MCP_CONFORMANCE_PROTOCOL_VERSION=<revision> conformance-client <URL>
//! ```
//!
//! The suite starts it once per scenario, with a server of its own behind the URL, and looks at
//! what arrives there. Which scenario wants what is in `scenario.rs`.

mod form;
mod login;
#[path = "../redirects.rs"]
mod redirects;
mod scenario;

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use switchboard_client::skills::SKILLS_EXTENSION;
use switchboard_client::{Client, Handlers, Mode, Refusal, Revision, Spec};

/// What can go wrong; the suite shows its text.
type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = tokio::time::timeout(LIMIT, run()).await;
    let outcome = done.unwrap_or_else(|_| Err(format!("not done within {LIMIT:?}").into()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&*failure);
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let url = env::args().next_back().ok_or("no URL")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO")?;
    let revision: Revision = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")?.parse()?;
    let context = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Null,
    };
    let mut spec = Spec::url(&url)?.mode(Mode::Pinned(revision));
    if scenario.starts_with("auth/") {
        let login = login::credentials(&scenario, &url, &context)?;
        spec = spec.credentials(Arc::new(login));
    }
    let host = Handlers::new()
        .on_form(|form, _| async move { Ok(form::accept(&form)) })
        .on_sample(|_, _| async { Err(Refusal::by_user("there is no model here")) })
        .roots([])
        .extension(SKILLS_EXTENSION, serde_json::Map::new());
    let client = Client::connect_with(spec, host).await?;
    let outcome = scenario::play(&scenario, &client, &context).await;
    client.close().await;
    outcome
}

#[expect(clippy::print_stderr, reason = "the suite keeps it with the results")]
fn complain(failure: &(dyn Error + Send + Sync)) {
    eprintln!("error: {failure}");
    let mut cause = failure.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
}

// The suite cannot end us: it waits until we end by ourselves.
const LIMIT: Duration = Duration::from_secs(20);
