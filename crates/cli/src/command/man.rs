//! `switchboard __man`: the manual page, for those who package the program.

use serde_json::json;

use crate::app::App;
use crate::args::check::Man;
use crate::exit::Failure;
use crate::manual::manual;
use crate::output::{Outcome, Page};

pub(crate) fn run(_: &Man, app: &App) -> Result<Outcome, Failure> {
    let text = manual();
    Ok(Outcome::of(
        app,
        || Page::new().text(&text),
        || json!({ "text": text }),
    ))
}
