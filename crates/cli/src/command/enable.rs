//! `switchboard enable`, and what `disable` shares with it.

use crate::app::App;
use crate::args::edit::{Enable, One};
use crate::edit::{self, Change};
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(args: &Enable, app: &App) -> Result<Outcome, Failure> {
    switch(app, &args.one, true)
}

pub(super) fn switch(app: &App, one: &One, is_on: bool) -> Result<Outcome, Failure> {
    let One { name, dry_run } = one;
    let file = edit::file_in_use(&app.global)?;
    let mut change = Change::open(&file)?;
    let action = match (change.switch(name, is_on)?, is_on) {
        (false, _) => "nothing to change about",
        (true, true) => "enabled",
        (true, false) => "disabled",
    };
    edit::finish(app, &change, *dry_run, action, name)
}
