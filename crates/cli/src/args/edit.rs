//! Verbs that change, bring in and check configurations.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Add a server to the configuration; comments in the file stay
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard add memory -- npx -y @modelcontextprotocol/server-memory\n  \
                  switchboard add github https://api.githubcopilot.com/mcp/ -H 'Authorization: Bearer ${GITHUB_TOKEN}'\n  \
                  switchboard add db -e DATABASE_URL='${DATABASE_URL}' -- uvx mcp-server-postgres")]
pub(crate) struct Add {
    /// Its name
    pub(crate) name: String,
    /// Where it is
    #[arg(value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// How it is reached; by default what fits
    #[arg(long, short = 't', value_enum)]
    pub(crate) transport: Option<Transport>,
    /// A variable for its process: NAME=VALUE, where VALUE may be '${NAME}'
    #[arg(long, short = 'e', value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header for its URL: 'NAME: VALUE'
    #[arg(long, short = 'H', value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// The variable that holds a token for its URL
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) bearer_env: Option<String>,
    #[command(flatten)]
    pub(crate) file: WhichFile,
    /// Replace one of this name
    #[arg(long)]
    pub(crate) force: bool,
    /// Show the change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The command that starts it
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Agree to what a project's file starts, as it is now
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard trust --dry-run\n  \
                  switchboard trust\n  \
                  switchboard trust ../other/.mcp.json\n\n\
                  An mcp.json or .mcp.json that is found here or above is not used before somebody \
                  has agreed to it; any change of it needs another agreement. Files that are named with \
                  --config need none, and your own file neither.")]
pub(crate) struct Trust {
    /// The file; the one in use without it
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Show what it starts, and agree to nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Forget that somebody agreed to a project's file
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard untrust\n  \
                  switchboard untrust ../other/.mcp.json")]
pub(crate) struct Untrust {
    /// The file; the one in use without it
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// The file that is changed, if not the one in use.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct WhichFile {
    /// Into your own file rather than the project's
    #[arg(long, conflicts_with_all = ["config", "project"])]
    pub(crate) user: bool,
    /// Into .mcp.json of this folder, which is made if there is none
    #[arg(long, conflicts_with = "config")]
    pub(crate) project: bool,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// A process, over its standard input and output
    Stdio,
    /// A URL
    Http,
    /// A URL, in the way of 2024
    Sse,
}

/// Add a server as JSON, as it stands in files
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard add-json time '{\"command\":\"uvx\",\"args\":[\"mcp-server-time\"]}'\n  \
                  switchboard add-json docs - < server.json")]
pub(crate) struct AddJson {
    /// Its name
    pub(crate) name: String,
    /// The server; `-` reads it from standard input
    // Not `json`, which is what is for all verbs.
    #[arg(value_name = "JSON")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) file: WhichFile,
    /// Replace one of this name
    #[arg(long)]
    pub(crate) force: bool,
    /// Show the change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// One server of the configuration, and whether it is only looked at what would change.
#[derive(Args, Debug)]
pub(crate) struct One {
    /// Its name
    #[arg(value_name = "SERVER")]
    pub(crate) name: String,
    /// Show the change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Remove a server from the configuration
#[derive(Args, Debug)]
#[command(
    visible_alias = "rm",
    after_help = "Examples:\n  switchboard remove memory"
)]
pub(crate) struct Remove {
    #[command(flatten)]
    pub(crate) one: One,
}

/// Use a server again
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  switchboard enable memory")]
pub(crate) struct Enable {
    #[command(flatten)]
    pub(crate) one: One,
}

/// Do not use a server, and keep it in the file
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  switchboard disable memory")]
pub(crate) struct Disable {
    #[command(flatten)]
    pub(crate) one: One,
}

/// Bring in servers that other programs have
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard import --dry-run\n  \
                  switchboard import vscode\n  \
                  switchboard import ~/.codex/config.toml")]
pub(crate) struct Import {
    /// A program (claude-code, claude-desktop, codex, cursor, gemini, goose, opencode, vscode,
    /// windsurf, zed) or a file; everything that is found without it
    #[arg(value_name = "CLIENT|FILE")]
    pub(crate) from: Option<String>,
    /// Show what would be added, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) file: WhichFile,
    /// Replace servers of the same name
    #[arg(long)]
    pub(crate) force: bool,
}

/// Say what is wrong with a configuration, and where
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard validate\n  \
                  switchboard validate .vscode/mcp.json --json")]
pub(crate) struct Validate {
    /// The file; the one that would be used without it
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Warnings count as errors
    #[arg(long)]
    pub(crate) strict: bool,
}

/// What would happen if one configuration became another
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard diff mcp.json new.json\n  \
                  switchboard diff .vscode/mcp.json")]
pub(crate) struct Diff {
    /// The old file, or the new one if it is the only one: then the old is the one in use
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The new file
    #[arg(value_name = "NEW")]
    pub(crate) new: Option<PathBuf>,
}
