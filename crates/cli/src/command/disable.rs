//! `switchboard disable`.

use super::enable::switch;
use crate::app::App;
use crate::args::edit::Disable;
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(args: &Disable, app: &App) -> Result<Outcome, Failure> {
    switch(app, &args.one, false)
}
