//! Verbs that use what servers offer.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::look::Spot;

/// Call a tool
#[derive(Args, Debug)]
#[command(
    override_usage = "switchboard call [OPTIONS] TARGET [ARGUMENT]... [-- COMMAND...]",
    after_help = "How arguments are written:\n  \
                  name=value    a value of the type that the tool's schema says\n  \
                  name:=JSON    a value as JSON\n  \
                  name=@FILE    the text of a file (name:=@FILE: its JSON); name=@- standard input\n  \
                  {...}         all arguments as one JSON object\n  \
                  -             the same, from standard input\n\n\
                  Examples:\n  \
                  switchboard call github.create_issue title=\"It broke\" labels:='[\"bug\"]'\n  \
                  switchboard call everything get-sum a=2 b=3\n  \
                  switchboard call https://mcp.example.com/mcp echo text=hi\n  \
                  switchboard call read_graph -- npx -y @modelcontextprotocol/server-memory"
)]
pub(crate) struct Call {
    /// `SERVER TOOL`, `SERVER.TOOL`, `mcp__SERVER__TOOL`, `URL TOOL`, or `TOOL` with a command;
    /// then arguments
    #[arg(required = true, value_name = "TARGET [ARGUMENT]...")]
    pub(crate) words: Vec<String>,
    /// Where parts that are not text are written; without it they are only named
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    /// Show what would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) spot: Spot,
}

/// Read a resource
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard read tasks task://all\n  \
                  switchboard read https://mcp.example.com/mcp docs://start --save .\n  \
                  switchboard read demo://resource/static/document/features.md \
                  -- npx -y @modelcontextprotocol/server-everything")]
pub(crate) struct Read {
    /// `URI`, `SERVER URI`, or `URL URI`
    #[arg(required = true, num_args = 1..=2, value_name = "TARGET")]
    pub(crate) target: Vec<String>,
    /// Where it is written, if it is not text
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) spot: Spot,
}

/// Have a prompt filled in
#[derive(Args, Debug)]
#[command(
    override_usage = "switchboard prompt [OPTIONS] TARGET [NAME=VALUE]... [-- COMMAND...]",
    after_help = "Examples:\n  \
                  switchboard prompt tasks plan_day date=2026-11-16\n  \
                  switchboard prompt tasks.plan_day --json"
)]
pub(crate) struct Prompt {
    /// `SERVER PROMPT`, `SERVER.PROMPT`, `mcp__SERVER__PROMPT` or `URL PROMPT`, then arguments
    #[arg(required = true, value_name = "TARGET [NAME=VALUE]...")]
    pub(crate) words: Vec<String>,
    /// Where parts that are not text are written; without it they are only named
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) spot: Spot,
}

/// Have an argument of a prompt or of a resource template completed
#[derive(Args, Debug)]
#[command(
    override_usage = "switchboard complete [OPTIONS] TARGET [KNOWN=VALUE]... NAME=BEGINNING [-- COMMAND...]",
    after_help = "Examples:\n  \
                  switchboard complete tasks plan_day date=2026\n  \
                  switchboard complete tasks 'task://{id}' id=1"
)]
pub(crate) struct Complete {
    /// `SERVER PROMPT` or `SERVER TEMPLATE`, then arguments, the last of which is completed
    #[arg(required = true, value_name = "TARGET [KNOWN=VALUE]... NAME=BEGINNING")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) spot: Spot,
}

/// Send any request to a server and print its result as JSON
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard raw github tools/list\n  \
                  switchboard raw github tools/call '{\"name\":\"get_me\",\"arguments\":{}}'\n  \
                  switchboard raw ping -- npx -y @modelcontextprotocol/server-memory")]
pub(crate) struct Raw {
    /// `SERVER METHOD [JSON]`, `URL METHOD [JSON]`, or `METHOD [JSON]` with a command; `-` reads
    /// the JSON from standard input
    #[arg(required = true, num_args = 1..=3, value_name = "TARGET METHOD [JSON]")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) spot: Spot,
}

/// See it work: a task server that is built in, listed and called
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard demo\n  \
                  switchboard tools -- switchboard demo serve\n  \
                  switchboard add tasks -- switchboard demo serve --db todo.sqlite")]
pub(crate) struct Demo {
    #[command(subcommand)]
    pub(crate) action: Option<DemoAction>,
}

/// What of the demonstration.
#[derive(Debug, Subcommand)]
pub(crate) enum DemoAction {
    /// Be the task server, on standard input and output
    Serve {
        /// The file of the tasks; without it, one in your data folder
        #[arg(long, value_name = "FILE")]
        db: Option<PathBuf>,
    },
}
