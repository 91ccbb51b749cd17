//! `switchboard add`: a server that is described by words.

use crate::app::App;
use crate::args::edit::{Add, Transport};
use crate::edit::{self, Change, NewServer, Reach};
use crate::exit::Failure;
use crate::output::Outcome;
use crate::source::is_url;

pub(crate) async fn run(args: &Add, app: &App) -> Result<Outcome, Failure> {
    let server = describe(args)?;
    let file = edit::target(&app.global, args.file)?;
    let mut change = Change::open(&file)?;
    let json = server.to_json(change.manner());
    let action = check_free(&change, &args.name, args.force)?;
    for problem in change.add(&args.name, &json)? {
        app.output.warn(&problem.to_string());
    }
    edit::finish(app, &change, args.dry_run, action, &args.name)
}

/// A name that is taken is only given away if that is wanted.
pub(super) fn check_free(
    change: &Change,
    name: &str,
    is_forced: bool,
) -> Result<&'static str, Failure> {
    match (change.has(name), is_forced) {
        (false, _) => Ok("added"),
        (true, true) => Ok("replaced"),
        (true, false) => {
            let file = change.path().display();
            let failure = Failure::usage(format!("there is a server {name:?} in {file} already"));
            Err(failure.hint("--force replaces it").server(name))
        }
    }
}

fn describe(args: &Add) -> Result<NewServer, Failure> {
    let reach = match (&args.url, args.command.split_first(), args.transport) {
        (Some(url), None, kind) => {
            if !is_url(url) {
                let failure = Failure::usage(format!("{url:?} is no URL"));
                return Err(failure.hint(format!(
                    "a command stands behind `--`: `switchboard add {} -- {url}`",
                    args.name
                )));
            }
            match kind {
                Some(Transport::Stdio) => {
                    return Err(Failure::usage("a URL is not reached over stdio"));
                }
                Some(Transport::Sse) => Reach::Sse(url.clone()),
                Some(Transport::Http) | None => Reach::Http(url.clone()),
            }
        }
        (None, Some((program, words)), None | Some(Transport::Stdio)) => {
            Reach::Command(program.clone(), words.to_vec())
        }
        (None, Some(_), Some(_)) => {
            return Err(Failure::usage("a command is reached over stdio only"));
        }
        _ => {
            let failure = Failure::usage("a server is a URL or a command");
            let name = &args.name;
            let hint =
                format!("`switchboard add {name} URL`, or `switchboard add {name} -- COMMAND`");
            return Err(failure.hint(hint));
        }
    };
    let is_program = matches!(reach, Reach::Command(..));
    if is_program && !(args.header.is_empty() && args.bearer_env.is_none()) {
        return Err(Failure::usage(
            "headers and tokens are for URLs; a command has --env",
        ));
    }
    if !is_program && !args.env.is_empty() {
        return Err(Failure::usage(
            "variables are for commands; a URL has --header",
        ));
    }
    let pairs = |words: &[String], sign: char, form: &str| -> Result<Vec<_>, Failure> {
        let pairs = words.iter().map(|word| {
            let (name, value) = word.split_once(sign).ok_or_else(|| {
                // What follows may be secret.
                let begin: String = word.chars().take(12).collect();
                Failure::usage(format!("expected {form}, found \"{begin}…\""))
            })?;
            Ok((name.trim().to_owned(), value.trim_start().to_owned()))
        });
        pairs.collect()
    };
    let headers = pairs(&args.header, ':', "'NAME: VALUE'")?;
    let is_authorization =
        |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    if args.bearer_env.is_some() && headers.iter().any(is_authorization) {
        return Err(Failure::usage(
            "--bearer-env and an Authorization header are two tokens",
        ));
    }
    Ok(NewServer {
        reach,
        env: args
            .env
            .iter()
            .map(|word| match word.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
                None => Err(Failure::usage(format!(
                    "expected NAME=VALUE, found {word:?}"
                ))),
            })
            .collect::<Result<_, _>>()?,
        headers,
        bearer: args.bearer_env.clone(),
    })
}
