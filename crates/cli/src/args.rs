//! What can be said to the command line.
//!
//! Words only: what they mean is for the verbs. Every verb has an example in its help.
//!
//! 1. here: what is for all verbs, and the list of them
//! 2. `look`: verbs that show what servers offer; `call`: those that use it
//! 3. `edit`: those that change configurations; `check`: those that judge and write; `login`
//! 4. `serve`: all servers as one, and what is said to it while it runs

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod edit;
pub(crate) mod login;
pub(crate) mod look;
pub(crate) mod serve;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Every MCP server at your fingertips.
#[derive(Debug, Parser)]
#[command(
    name = "switchboard",
    version,
    long_about = "Every MCP server at your fingertips: list, call, check and serve them.\n\n\
                  Servers come from --config FILE, else mcp.json or .mcp.json of this folder or \
                  one above it, else your own file; or they are given on the spot: a URL, or a \
                  command behind `--`.",
    after_help = "Examples:\n  \
                  switchboard demo\n  \
                  switchboard tools -- npx -y @modelcontextprotocol/server-memory\n  \
                  switchboard call https://mcp.example.com/mcp echo text=hi\n  \
                  switchboard add time -- uvx mcp-server-time\n\n\
                  Exit codes: 0 done, 1 unexpected, 2 usage or configuration, 3 login required, \
                  4 unreachable, 5 tool error or no such tool, 6 refused by policy, 7 input \
                  required, 8 some servers failed, 9 protocol violation, 10 nobody has agreed to \
                  the project's file, 130 interrupted.",
    max_term_width = 100,
    disable_help_subcommand = true,
    propagate_version = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What is for all verbs.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "For all verbs")]
pub(crate) struct Global {
    /// The file with the servers
    #[arg(long, short = 'c', global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// One JSON document on standard output, one JSON line on standard error if it fails
    #[arg(long, global = true, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// A line of JSON for each item, as it comes
    #[arg(long, global = true)]
    pub(crate) jsonl: bool,
    /// Nothing on standard error but errors
    #[arg(long, short = 'q', global = true)]
    pub(crate) quiet: bool,
    /// What servers log and write to standard error is shown too
    #[arg(long, short = 'v', global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// How long each server may take to start, and each call without an answer or progress: 30s, 2m
    #[arg(long, global = true, value_name = "TIME", value_parser = read_time)]
    pub(crate) timeout: Option<Duration>,
    /// Colours: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value_t,
        value_enum,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) color: Color,
    /// Ask nobody: what needs an answer ends with 7
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Only what is as `mcp.lock` has it, beside the file with the servers
    #[arg(long, global = true)]
    pub(crate) locked: bool,
    /// Another lock, which is required then
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
    /// Start what the project's file says, this once, whether anybody has agreed to it or not
    #[arg(long, global = true)]
    pub(crate) trust: bool,
    /// Answers to what servers ask, as JSON: an object of fields, or a list of such
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Ls(look::Ls),
    Tools(look::Tools),
    Resources(look::Resources),
    Prompts(look::Prompts),
    Show(look::Show),
    Search(look::Search),
    Watch(look::Watch),
    Call(call::Call),
    Read(call::Read),
    Prompt(call::Prompt),
    Complete(call::Complete),
    Raw(call::Raw),
    Demo(call::Demo),
    Add(edit::Add),
    AddJson(edit::AddJson),
    Remove(edit::Remove),
    Enable(edit::Enable),
    Disable(edit::Disable),
    Import(edit::Import),
    Validate(edit::Validate),
    Trust(edit::Trust),
    Untrust(edit::Untrust),
    Diff(edit::Diff),
    Login(login::Login),
    Logout(login::Logout),
    Auth(login::Auth),
    Lint(check::Lint),
    Lock(check::Lock),
    Codegen(check::Codegen),
    Doctor(check::Doctor),
    Completion(check::Completion),
    Serve(serve::Serve),
    Status(serve::Status),
    Logs(serve::Logs),
    Restart(serve::Restart),
    Reload(serve::Reload),
    #[command(name = "__complete")]
    CompleteWords(check::CompleteWords),
    #[command(name = "__man")]
    Man(check::Man),
}

/// A time with its unit: `500ms`, `30s`, `2m`, `1h`; seconds without one.
pub(crate) fn read_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write 500ms, 30s, 2m or 1h");
    let digits = text.find(|character: char| !character.is_ascii_digit());
    let (number, unit) = text
        .split_at_checked(digits.unwrap_or(text.len()))
        .ok_or_else(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let milliseconds = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    match number.checked_mul(milliseconds) {
        Some(0) | None => Err(wrong()),
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_words_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_has_an_example() {
        for verb in Cli::command().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let name = verb.get_name();
            assert!(help.contains(&format!("switchboard {name}")), "{name}");
            assert!(verb.get_about().is_some(), "{name}");
        }
    }

    #[test]
    fn times_have_units() {
        let check = |text: &str, milliseconds: Option<u64>| {
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(read_time(text).ok(), expected, "{text}");
        };
        check("500ms", Some(500));
        check("30s", Some(30_000));
        check("30", Some(30_000));
        check("2m", Some(120_000));
        check("1h", Some(3_600_000));
        check("0", None);
        check("s", None);
        check("", None);
        check("1 week", None);
        check("99999999999999999999s", None);
        check("18446744073709551615h", None);
    }
}
