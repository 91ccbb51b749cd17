//! `switchboard prompt`.

use crate::app::App;
use crate::args::call::Prompt;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Prompt, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("prompt"))
}
