//! `switchboard complete`.

use crate::app::App;
use crate::args::call::Complete;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Complete, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("complete"))
}
