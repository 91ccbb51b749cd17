//! `switchboard search`.

use crate::app::App;
use crate::args::look::Search;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Search, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("search"))
}
