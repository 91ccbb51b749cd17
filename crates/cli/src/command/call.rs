//! `switchboard call`.

use crate::app::App;
use crate::args::call::Call;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Call, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("call"))
}
