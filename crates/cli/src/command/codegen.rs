//! `switchboard codegen`.

use crate::app::App;
use crate::args::check::Codegen;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(_: &Codegen, _: &App) -> Result<Outcome, Failure> {
    Err(Failure::missing("codegen"))
}
