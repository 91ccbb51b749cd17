//! `switchboard completion`.

use serde_json::json;

use crate::app::App;
use crate::args::check::Completion;
use crate::completion::script;
use crate::exit::Failure;
use crate::output::{Outcome, Page};

pub(crate) async fn run(args: &Completion, app: &App) -> Result<Outcome, Failure> {
    let text = script(args.shell);
    Ok(Outcome::of(
        app,
        || Page::new().text(text),
        || json!({ "text": text }),
    ))
}
