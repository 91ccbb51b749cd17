//! `switchboard import`.

use crate::app::App;
use crate::args::edit::Import;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Import, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("import"))
}
