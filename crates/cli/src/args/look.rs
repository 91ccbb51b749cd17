//! Verbs that show what servers offer.

use clap::Args;

/// Which servers: one of the configuration by name, a URL, or a command behind `--`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Of {
    /// A server by its name, or a URL; all servers without it
    #[arg(value_name = "SERVER|URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) spot: Spot,
}

/// A server that is given on the spot rather than by its name.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Spot {
    /// A header for a URL that is given on the spot: 'NAME: VALUE'; may be given several times
    #[arg(long, short = 'H', value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// A server that is started on the spot
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Servers, how they stand, and how much they offer
#[derive(Args, Debug)]
#[command(
    visible_alias = "list",
    after_help = "Examples:\n  \
                  switchboard ls\n  \
                  switchboard ls github --json\n  \
                  switchboard ls -- npx -y @modelcontextprotocol/server-memory"
)]
pub(crate) struct Ls {
    #[command(flatten)]
    pub(crate) of: Of,
    /// Connect nothing: only what the configuration says
    #[arg(long)]
    pub(crate) offline: bool,
}

/// Tools of all servers, or of one
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard tools\n  \
                  switchboard tools github\n  \
                  switchboard tools --json -- uvx mcp-server-time\n  \
                  switchboard tools https://mcp.example.com/mcp")]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(crate) of: Of,
    /// With their signatures
    #[arg(long, short = 's')]
    pub(crate) signatures: bool,
    /// Only their names, a line each
    #[arg(long, conflicts_with = "signatures")]
    pub(crate) names: bool,
}

/// Resources and their templates, of all servers or of one
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard resources\n  \
                  switchboard resources docs --json")]
pub(crate) struct Resources {
    #[command(flatten)]
    pub(crate) of: Of,
}

/// Prompts of all servers, or of one
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard prompts\n  \
                  switchboard prompts docs --json")]
pub(crate) struct Prompts {
    #[command(flatten)]
    pub(crate) of: Of,
}

/// A server, tool, prompt or resource in full, with a readable signature
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard show github\n  \
                  switchboard show github.create_issue\n  \
                  switchboard show https://mcp.example.com/mcp echo\n  \
                  switchboard show read_graph -- npx -y @modelcontextprotocol/server-memory")]
pub(crate) struct Show {
    /// `SERVER`, `SERVER TOOL`, `SERVER.TOOL`, `mcp__SERVER__TOOL`, or `URL [TOOL]`
    #[arg(value_name = "TARGET", num_args = 0..=2)]
    pub(crate) target: Vec<String>,
    /// The schemas as the server wrote them
    #[arg(long)]
    pub(crate) schema: bool,
    #[command(flatten)]
    pub(crate) spot: Spot,
}

/// The tools that fit some words best
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard search create issue\n  \
                  switchboard search --limit 3 read file")]
pub(crate) struct Search {
    /// What is looked for: in names, descriptions and parameters
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// As many at most
    #[arg(long, short = 'n', default_value_t = 10, value_name = "NUMBER")]
    pub(crate) limit: usize,
    /// A server that is started on the spot
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// What happens at servers, as it happens: states, changes of lists and resources, logs
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard watch\n  \
                  switchboard watch tasks --resource task://all --jsonl")]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) of: Of,
    /// A resource whose changes are wanted; may be given several times
    #[arg(long, short = 'r', value_name = "URI")]
    pub(crate) resource: Vec<String>,
}
