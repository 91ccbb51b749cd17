//! Our client, as somebody uses it who is in a hurry. The contract is in `calling`.
//!
//! `--raw` takes the results as the server wrote them.

use std::process::ExitCode;

use memchr::memmem;
use serde::Serialize;
use switchboard_bench::calling::{self, Caller, Era, Figures, Target, Work};
use switchboard_client::types::ContentBlock;
use switchboard_client::{Client, Mode, Revision, Spec};

fn main() -> ExitCode {
    calling::main(run)
}

async fn run(work: Work) -> Result<Figures, String> {
    let spec = match &work.target {
        Target::Command(words) => {
            let (program, arguments) = words.split_first().ok_or("no command")?;
            Spec::command(program).args(arguments)
        }
        Target::Url(url) => Spec::url(url).map_err(|error| error.to_string())?,
    };
    let mode = match work.era {
        Some(Era::Legacy) => Mode::Legacy,
        Some(Era::Modern) => Mode::Pinned(Revision::V2026_07_28),
        None => Mode::Auto,
    };
    let client = Client::connect(spec.mode(mode))
        .await
        .map_err(|error| error.to_string())?;
    let figures = if work.has("--raw") {
        work.measure(&Raw(client.clone())).await
    } else {
        work.measure(&Typed(client.clone())).await
    };
    client.close().await;
    figures
}

#[derive(Clone)]
struct Typed(Client);

impl Caller for Typed {
    async fn call(&self, text: &str) -> Result<(), String> {
        let result = self.0.call("echo").args(&Echo { text }).await;
        let result = result.map_err(|error| error.to_string())?;
        match result.content.first() {
            Some(ContentBlock::Text(found)) if found.text == text => Ok(()),
            other => Err(format!("not the text: {other:?}")),
        }
    }
}

#[derive(Clone)]
struct Raw(Client);

impl Caller for Raw {
    async fn call(&self, text: &str) -> Result<(), String> {
        let result = self.0.call("echo").args(&Echo { text }).raw().await;
        let result = result.map_err(|error| error.to_string())?;
        // Not a search for the text itself: one that repeats itself is slow to be searched for.
        let found = memmem::find(result.text(), BEFORE_TEXT)
            .and_then(|at| result.text().get(at + BEFORE_TEXT.len()..));
        match found {
            Some(found) if found.starts_with(text.as_bytes()) => Ok(()),
            _ => Err(format!("not the text: {result:?}")),
        }
    }
}

#[derive(Serialize)]
struct Echo<'a> {
    text: &'a str,
}

const BEFORE_TEXT: &[u8] = b"\"text\":\"";
