//! `switchboard completion`.

use crate::app::App;
use crate::args::check::Completion;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Completion, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("completion"))
}
