//! `switchboard validate`.

use crate::app::App;
use crate::args::edit::Validate;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Validate, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("validate"))
}
