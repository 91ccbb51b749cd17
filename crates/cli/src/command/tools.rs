//! `switchboard tools`.

use crate::app::App;
use crate::args::look::Tools;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Tools, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("tools"))
}
