//! All servers as one, and what is said to it while it runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::read_time;

/// All servers as one, for other programs
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard serve\n  \
                  switchboard serve --http 8000\n  \
                  KEY=secret switchboard serve --http 0.0.0.0:8000 --key-env KEY --host mcp.example.com\n  \
                  switchboard serve --http 8000 --otlp http://localhost:4318\n  \
                  switchboard serve --names plain -- npx -y @modelcontextprotocol/server-everything\n\n\
                  The file with the servers is watched: what has changed is taken over while it runs, \
                  and at once on SIGHUP.\nSIGTERM and Ctrl-C let calls in flight finish; the second \
                  one does not. Over HTTP there are /healthz,\n/readyz and /metrics too.")]
pub(crate) struct Serve {
    /// Where to listen: a port of this machine, or an address; standard input and output without it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<String>,
    /// The variable that holds the key which clients must send, as `Authorization: Bearer KEY`
    #[arg(long, value_name = "VARIABLE", requires = "http")]
    pub(crate) key_env: Option<String>,
    /// A host name that clients may call it by, beside this machine's own
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) host: Vec<String>,
    /// How tools and prompts are called
    #[arg(long, value_enum, default_value_t = ServedNames::Server, value_name = "FORM")]
    pub(crate) names: ServedNames,
    /// The file with the servers is read once, and on SIGHUP
    #[arg(long)]
    pub(crate) no_watch: bool,
    /// How long calls in flight may take to finish in the end
    #[arg(long, value_name = "TIME", value_parser = read_time, default_value = "10s")]
    pub(crate) drain: Duration,
    /// A collector that traces and metrics are sent to, by OTLP over HTTP; without it, what
    /// OTEL_EXPORTER_OTLP_ENDPOINT and its kin say
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// A server that is started on the spot
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// How tools are called.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ServedNames {
    /// `server__tool`: hosts put a prefix of their own before it
    Server,
    /// `mcp__server__tool`
    Mcp,
    /// As the server calls them, where no other server has the same
    Plain,
}

/// Which gateway that runs is meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OfGateway {
    /// The socket of the gateway, where several run; `switchboard status` finds them all
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

/// The gateways that run, and how their servers stand
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard status\n  \
                  switchboard status --json\n  \
                  switchboard status --config mcp.json")]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) of: OfGateway,
}

/// What a gateway that runs has said, and its servers
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard logs\n  \
                  switchboard logs github --follow\n  \
                  switchboard logs --last 20 --jsonl")]
pub(crate) struct Logs {
    /// Only of this server
    pub(crate) server: Option<String>,
    /// What is said from now on too, until Ctrl-C
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
    /// Only so many of the last lines
    #[arg(long, short = 'n', value_name = "NUMBER")]
    pub(crate) last: Option<usize>,
    #[command(flatten)]
    pub(crate) of: OfGateway,
}

/// End a server of a gateway that runs, and start it anew
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard restart github")]
pub(crate) struct Restart {
    /// Which
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) of: OfGateway,
}

/// Have a gateway that runs read its file again, now
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard reload\n  \
                  switchboard reload --config mcp.json")]
pub(crate) struct Reload {
    #[command(flatten)]
    pub(crate) of: OfGateway,
}
