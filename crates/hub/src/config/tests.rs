//! Configurations as people write them.

mod faults;
mod hostile;
mod inputs;
mod resolving;
mod spellings;
mod writing;

use super::*;

/// Reads a text that is at least JSON.
fn read(text: &str) -> Config {
    read_from(text, &Origin::text("mcp.json"))
}

fn read_from(text: &str, origin: &Origin) -> Config {
    Config::read(text, origin).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The only server of a text with nothing wrong in it, not even oddly.
fn one(server: &str) -> ServerConfig {
    let config = read(&format!(r#"{{"mcpServers": {{"it": {server}}}}}"#));
    assert_eq!(texts(&config), Vec::<String>::new(), "{server}");
    config.servers.into_iter().next().unwrap()
}

/// All problems, as they are printed.
fn texts(config: &Config) -> Vec<String> {
    config.problems.iter().map(Problem::to_string).collect()
}

fn stdio(server: &ServerConfig) -> &StdioConfig {
    match &server.transport {
        TransportConfig::Stdio(stdio) => stdio,
        other => panic!("{other:?}"),
    }
}

fn http(server: &ServerConfig) -> &HttpConfig {
    match &server.transport {
        TransportConfig::Http(http) | TransportConfig::Sse(http) => http,
        TransportConfig::Stdio(other) => panic!("{other:?}"),
    }
}
