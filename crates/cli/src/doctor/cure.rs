//! What to do about what was found.

use std::error::Error;

use switchboard_client::{HttpProblem, Reason, Report};
use switchboard_hub::{ResolveError, ResolveErrorKind, ServerConfig, VariableError};
use switchboard_protocol::machine::client::Failure;
use switchboard_transport::process::SpawnError;

/// For what cannot happen.
pub(super) const OURS: &str = "this is a fault of ours; please report it";

/// A variable without a value.
pub(super) fn of_variable(error: &ResolveError) -> String {
    match &error.kind {
        ResolveErrorKind::Variable(VariableError::Missing { name }) => {
            format!("`export {name}=…`, or a default in the file: `${{{name}:-…}}`")
        }
        ResolveErrorKind::Variable(
            VariableError::Input { .. }
            | VariableError::Keyring { .. }
            | VariableError::NotInKeyring { .. },
        ) => "do what it says, or write a variable in its place: `${NAME}`".to_owned(),
        ResolveErrorKind::EnvFile { .. } | ResolveErrorKind::EnvFileLine { .. } => {
            "check the path of `envFile` and its lines: NAME=value".to_owned()
        }
        ResolveErrorKind::BadUrl { .. } => "write http:// or https://, a host, a path".to_owned(),
        _ => "check the value in the file".to_owned(),
    }
}

/// A program that was not started.
pub(super) fn of_start(error: &(dyn Error + 'static), program: Option<&str>) -> String {
    match error.downcast_ref::<SpawnError>() {
        Some(SpawnError::NotFound { .. }) => {
            let program = program.unwrap_or_default();
            let known = INSTALL.iter().find(|(names, _)| names.contains(&program));
            match known {
                Some((_, cure)) => (*cure).to_owned(),
                None => "install it, or write its full path".to_owned(),
            }
        }
        Some(SpawnError::NotExecutable { path, .. }) => {
            format!(
                "`chmod +x {}`, or name the program that runs it",
                path.display()
            )
        }
        Some(SpawnError::Directory { .. }) => "check `cwd` in the file".to_owned(),
        _ => "try the command by hand".to_owned(),
    }
}

/// A program that ended at once.
pub(super) fn of_exit(report: &Report, config: &ServerConfig) -> String {
    let said = report.stderr.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&[
        "api key",
        "api_key",
        "token",
        "environment variable",
        "credential",
    ]) {
        return format!("give it what it wants in `env` of {:?}", config.name);
    }
    if says(&[
        "404",
        "e404",
        "not in this registry",
        "no matching distribution",
        "not found in the package registry",
    ]) {
        return "check the name of the package".to_owned();
    }
    if says(&[
        "cannot find module",
        "modulenotfounderror",
        "no module named",
    ]) {
        return "install what it needs: its packages are missing".to_owned();
    }
    if says(&["eaddrinuse", "address already in use"]) {
        return "another program has its port; end that one".to_owned();
    }
    if says(&[
        "usage:",
        "unknown option",
        "unrecognized argument",
        "required argument",
    ]) {
        return "check its arguments".to_owned();
    }
    "run the command by hand and see what it says".to_owned()
}

/// A handshake that was not done.
pub(super) fn of_report(report: &Report) -> String {
    match &report.reason {
        Reason::Protocol(Failure::TimedOut(_)) if report.noise > 0 => {
            "it runs and says other things: is it a server of MCP on stdio? Some want a word such \
             as `stdio` or `mcp`"
                .to_owned()
        }
        Reason::Protocol(Failure::TimedOut(_)) => {
            "it may need longer the first time: `--timeout 2m`; or it is no server of MCP"
                .to_owned()
        }
        Reason::Protocol(Failure::NoCommonRevision { .. }) => "update the server".to_owned(),
        Reason::Protocol(Failure::Refused(_)) => {
            "the server says why; look into its documentation".to_owned()
        }
        Reason::Protocol(Failure::Violation(_)) => "tell the authors of the server".to_owned(),
        Reason::Protocol(_) => "see what it says on standard error: `--verbose`".to_owned(),
        Reason::Http(failure) => match (failure.status(), failure.problem()) {
            (Some(404 | 405), _) => {
                "check the path of the URL: most servers are at /mcp, older ones at /sse".to_owned()
            }
            (Some(403), _) => {
                "the server does not want you: check the token and its rights".to_owned()
            }
            (Some(429), _) => "wait: it was asked too often".to_owned(),
            (Some(500..), _) => "the server has a fault; try later, or tell who runs it".to_owned(),
            (_, HttpProblem::Answer(_)) => {
                "this is no endpoint of the protocol: check the URL".to_owned()
            }
            _ => "check the URL, your network and your proxy".to_owned(),
        },
        Reason::Start(_) => "try the command by hand".to_owned(),
        _ => OURS.to_owned(),
    }
}

/// Programs that servers are started with, and where they come from.
const INSTALL: &[(&[&str], &str)] = &[
    (
        &["npx", "node", "npm"],
        "install Node.js (nodejs.org), or write the full path of the program",
    ),
    (
        &["uvx", "uv"],
        "install uv (docs.astral.sh/uv), or write the full path of the program",
    ),
    (
        &["python", "python3", "pipx", "pip"],
        "install Python, or write the full path of the program",
    ),
    (
        &["docker", "podman"],
        "install it, or write the full path of the program",
    ),
    (
        &["bun", "bunx"],
        "install Bun (bun.sh), or write the full path of the program",
    ),
    (
        &["deno"],
        "install Deno (deno.com), or write the full path of the program",
    ),
];
