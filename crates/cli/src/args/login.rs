//! Verbs about logins.

use clap::Args;

/// Log in to a server
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard login github\n  \
                  switchboard login github --no-browser\n  \
                  switchboard login https://mcp.example.com/mcp --device")]
pub(crate) struct Login {
    /// A server by its name, or a URL
    #[arg(value_name = "SERVER|URL")]
    pub(crate) server: String,
    /// Show the address instead of opening it, and let the answer be pasted
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// With a code that is typed on another device
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) device: bool,
    /// Scopes to ask for
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
}

/// Forget a login
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard logout github\n  \
                  switchboard logout --all")]
pub(crate) struct Logout {
    /// A server by its name, or a URL
    #[arg(value_name = "SERVER|URL", required_unless_present = "all")]
    pub(crate) server: Option<String>,
    /// All logins
    #[arg(long, conflicts_with = "server")]
    pub(crate) all: bool,
}

/// Which logins there are, for how long, and where they are kept
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
                  switchboard auth\n  \
                  switchboard auth github --json")]
pub(crate) struct Auth {
    /// A server by its name, or a URL; all without it
    #[arg(value_name = "SERVER|URL")]
    pub(crate) server: Option<String>,
}
