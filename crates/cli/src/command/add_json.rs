//! `switchboard add-json`: a server as it stands in files.

use std::io::Read;

use super::add::check_free;
use crate::app::App;
use crate::args::edit::AddJson;
use crate::edit::{self, Change};
use crate::exit::Failure;
use crate::output::Outcome;

pub(crate) async fn run(args: &AddJson, app: &App) -> Result<Outcome, Failure> {
    let json = match args.server.as_str() {
        "-" => read_input()?,
        json => json.to_owned(),
    };
    let file = edit::target(&app.global, args.file)?;
    let mut change = Change::open(&file)?;
    let action = check_free(&change, &args.name, args.force)?;
    for problem in change.add(&args.name, &json)? {
        app.output.warn(&problem.to_string());
    }
    edit::finish(app, &change, args.dry_run, action, &args.name)
}

fn read_input() -> Result<String, Failure> {
    let mut text = String::new();
    let input = std::io::stdin().lock();
    let read = input.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input: {error}")))?;
    match text.len() as u64 > LARGEST {
        true => Err(Failure::usage(
            "standard input: more than a server ever has",
        )),
        false => Ok(text),
    }
}

const LARGEST: u64 = 1024 * 1024;
