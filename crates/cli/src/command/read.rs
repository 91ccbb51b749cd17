//! `switchboard read`.

use crate::app::App;
use crate::args::call::Read;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Read, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("read"))
}
