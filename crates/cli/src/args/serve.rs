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
                  switchboard serve --http 8000 --profile work --mode search\n  \
                  switchboard serve --http 0.0.0.0:8000 --keys keys.json --audit calls.jsonl\n  \
                  switchboard serve --prefix none -- npx -y @modelcontextprotocol/server-everything\n\n\
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
    /// A file of keys that clients may send: {"keys": [{"name": …, "value" or "sha256": …}]}
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) keys: Option<PathBuf>,
    /// An authorization server whose tokens let clients in: its issuer
    #[arg(long, value_name = "URL", requires_all = ["http", "resource"])]
    pub(crate) issuer: Option<String>,
    /// The URL that clients call it by, which tokens must be for: https://mcp.example.com/mcp
    #[arg(long, value_name = "URL", requires = "issuer")]
    pub(crate) resource: Option<String>,
    /// What tokens must be for, where it is not that URL
    #[arg(long, value_name = "TEXT", requires = "issuer")]
    pub(crate) audience: Option<String>,
    /// Where the keys of the issuer are, where its metadata does not say so
    #[arg(long, value_name = "URL", requires = "issuer")]
    pub(crate) jwks: Option<String>,
    /// Serve what is in this profile of the file, and nothing else
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// What is offered: all tools, or two that find and call them
    #[arg(long, value_enum, default_value_t = ServedMode::All, value_name = "MODE")]
    pub(crate) mode: ServedMode,
    /// A limit, such as callsPerMinute=600 or message=1MiB; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = read_limit)]
    pub(crate) limit: Vec<(String, usize)>,
    /// Where each call is written down, a line of JSON without what was said; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// The transport of 2024-11-05 too, at /sse
    #[arg(long, requires = "http")]
    pub(crate) sse: bool,
    /// A host name that clients may call it by, beside this machine's own
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) host: Vec<String>,
    /// What stands before the names of tools and prompts
    #[arg(long, value_enum, default_value_t = Prefix::Server, value_name = "FORM")]
    pub(crate) prefix: Prefix,
    /// The file with the servers is read once, and on SIGHUP
    #[arg(long)]
    pub(crate) no_watch: bool,
    /// How long calls in flight may take to finish in the end: 10s over HTTP, else 2s
    #[arg(long, value_name = "TIME", value_parser = read_time)]
    pub(crate) drain: Option<Duration>,
    /// A collector that traces and metrics are sent to, by OTLP over HTTP; without it, what
    /// OTEL_EXPORTER_OTLP_ENDPOINT and its kin say
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// A server that is started on the spot
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// What is offered.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ServedMode {
    /// All tools
    All,
    /// `find_tools` and `call_tool`, a list that never changes
    Search,
}

/// How tools are called.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Prefix {
    /// `server__tool`: hosts put a prefix of their own before it
    Server,
    /// `mcp__server__tool`
    Mcp,
    /// Nothing: as the server calls them, where no other server has the same
    None,
}

/// `name=value`, where the value is a number, or bytes with a unit.
fn read_limit(text: &str) -> Result<(String, usize), String> {
    let wrong = || format!("{text:?} is no limit; write callsPerMinute=600 or message=1MiB");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let digits = value.find(|character: char| !character.is_ascii_digit());
    let (number, unit) = value
        .split_at_checked(digits.unwrap_or(value.len()))
        .ok_or_else(wrong)?;
    let number: usize = number.parse().map_err(|_| wrong())?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(wrong()),
    };
    let value = number.checked_mul(factor).ok_or_else(wrong)?;
    Ok((name.to_owned(), value))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_or_bytes() {
        let check = |text: &str, expected: Option<(&str, usize)>| {
            let expected = expected.map(|(name, value)| (name.to_owned(), value));
            assert_eq!(read_limit(text).ok(), expected, "{text}");
        };
        check("calls=10", Some(("calls", 10)));
        check("message=1MiB", Some(("message", 1 << 20)));
        check("message=64k", Some(("message", 64 << 10)));
        check("calls", None);
        check("calls=", None);
        check("calls=-1", None);
        check("calls=1x", None);
        check("calls=99999999999999999999", None);
        check("calls=18446744073709551615g", None);
    }
}
