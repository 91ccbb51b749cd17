//! `switchboard prompts`.

use crate::app::App;
use crate::args::look::Prompts;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Prompts, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("prompts"))
}
