//! Verbs that judge servers, and that write for other programs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::look::Of;

/// Say what is wrong with the tools of servers: what models and their APIs refuse or misread
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard lint\n  \
                  switchboard lint github --json\n  \
                  switchboard lint --strict -- ./my-server\n  \
                  switchboard lint --file tools.json\n  \
                  switchboard lint --rules\n\n\
                  Ends with 6 if there are errors, and with --strict if there are warnings.")]
pub(crate) struct Lint {
    #[command(flatten)]
    pub(crate) of: Of,
    /// Warnings count as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// Notes are shown too: what some providers take less of than is meant
    #[arg(long, short = 'a')]
    pub(crate) all: bool,
    /// Tools from a file: a list, or an object with `tools`; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "command"])]
    pub(crate) file: Option<PathBuf>,
    /// Only show the rules, and whose they are
    #[arg(long, conflicts_with_all = ["server", "command", "file"])]
    pub(crate) rules: bool,
}

/// Write down what servers run and say, so that nothing else is used: `mcp.lock`
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard lock\n  \
                  switchboard lock github\n  \
                  switchboard lock --check\n  \
                  switchboard serve --locked\n\n\
                  Every tool, prompt and resource is pinned as it is now, with what runs. With --check \
                  nothing is written, and it ends with 6 if anything is different. A server that does not answer \
                  keeps its entries, and it ends with 8.")]
pub(crate) struct Lock {
    /// Only these servers; all without it
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// Only say what is different
    #[arg(long)]
    pub(crate) check: bool,
    /// Resources come and go, and are not pinned; it is remembered
    #[arg(long, conflicts_with = "check")]
    pub(crate) no_resources: bool,
}

/// Write types for the tools of servers
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard codegen > tools.d.ts\n  \
                  switchboard codegen github --lang rust --out src/github.rs")]
pub(crate) struct Codegen {
    #[command(flatten)]
    pub(crate) of: Of,
    /// In which language
    #[arg(long, short = 'l', value_enum, default_value_t)]
    pub(crate) lang: Language,
    /// Tools from a file: a list, or an object with `tools`; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "command"])]
    pub(crate) file: Option<PathBuf>,
    /// Where to; standard output without it
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// A language that types are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// TypeScript declarations
    #[default]
    #[value(alias = "ts")]
    Typescript,
    /// Rust types
    #[value(alias = "rs")]
    Rust,
}

/// Find out why a server does not work, and what to do
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard doctor\n  \
                  switchboard doctor github\n  \
                  switchboard doctor -- npx -y @modelcontextprotocol/server-memory")]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) of: Of,
}

/// Write completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard completion bash > ~/.local/share/bash-completion/completions/switchboard\n  \
                  switchboard completion fish > ~/.config/fish/completions/switchboard.fish")]
pub(crate) struct Completion {
    /// For which shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// A shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
    /// PowerShell
    #[value(alias = "pwsh")]
    Powershell,
    /// Elvish
    Elvish,
}

/// What could come next on a command line; the scripts of `completion` ask for it
#[derive(Args, Debug)]
#[command(
    name = "__complete",
    hide = true,
    after_help = "Examples:\n  \
                  switchboard __complete -- switchboard call git"
)]
pub(crate) struct CompleteWords {
    /// The line up to the cursor, for shells that break words in their own way
    #[arg(long, conflicts_with = "words", allow_hyphen_values = true)]
    pub(crate) line: Option<String>,
    /// Where the shell breaks words: only what is behind the last break is printed
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub(crate) breaks: String,
    /// The words, the last of which is being typed
    #[arg(last = true)]
    pub(crate) words: Vec<String>,
}

/// Write the manual page
#[derive(Args, Debug)]
#[command(
    name = "__man",
    hide = true,
    after_help = "Examples:\n  \
                  switchboard __man > switchboard.1"
)]
pub(crate) struct Man {}
