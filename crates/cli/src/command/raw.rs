//! `switchboard raw`.

use crate::app::App;
use crate::args::call::Raw;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Raw, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("raw"))
}
