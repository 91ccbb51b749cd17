//! What of a configuration is pinned: which program runs, or which URL is called.
//!
//! Nothing secret: values of variables and headers are left out, as is what follows the path of a
//! URL; arguments that look like a secret are hidden, all but what they refer to. What is hidden has
//! no say in whether two are the same.

use super::canonical::Node;
use crate::config::{ServerConfig, TransportConfig};
use crate::variables::Template;

/// What runs, as far as it is pinned.
pub(super) fn of(server: &ServerConfig) -> Node {
    let text = |template: &Template| Node::Text(template.to_string());
    match &server.transport {
        TransportConfig::Stdio(stdio) => {
            let mut members = vec![("command".to_owned(), text(&stdio.command))];
            if !stdio.args.is_empty() {
                let args = shown(&stdio.args).into_iter().map(Node::Text);
                members.push(("args".to_owned(), Node::List(args.collect())));
            }
            if let Some(folder) = &stdio.cwd {
                members.push(("cwd".to_owned(), text(folder)));
            }
            // A variable can make a program run another one.
            let given = stdio.env.iter();
            let given = given.filter_map(|(name, value)| value.as_ref().map(|_| name.clone()));
            let mut names: Vec<String> = given.collect();
            names.sort_unstable();
            names.dedup();
            if !names.is_empty() {
                let names = names.into_iter().map(Node::Text);
                members.push(("env".to_owned(), Node::List(names.collect())));
            }
            if let Some(file) = &stdio.env_file {
                members.push(("envFile".to_owned(), text(file)));
            }
            // As it is read from a file.
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Node::Object(members)
        }
        TransportConfig::Http(http) | TransportConfig::Sse(http) => {
            let url = http.url.clone().address();
            Node::object([("url", Node::Text(url.to_string()))])
        }
    }
}

/// Arguments, without what looks secret.
fn shown(args: &[Template]) -> Vec<String> {
    let mut is_next_secret = false;
    let shown = args.iter().map(|arg| {
        let text = arg.to_string();
        let hidden = || arg.clone().secret().to_string();
        if std::mem::take(&mut is_next_secret) && !text.starts_with('-') {
            return hidden();
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text.as_str(), None),
        };
        match value {
            // `--token=x`, and `TOKEN=x` for a container.
            Some(value) if names_secret(name) => match Template::parse(value).secret() {
                value if arg.as_literal().is_none() => format!("{name}={value}"),
                _ => format!("{name}=***"),
            },
            None if name.starts_with('-') => {
                is_next_secret = names_secret(name);
                text
            }
            _ if has_secret(&text) => hidden(),
            _ => text,
        }
    });
    shown.collect()
}

fn names_secret(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|secret| name.contains(secret)) || name.ends_with("key")
}

/// Does it look like a key that somebody was given, or a URL with a password?
fn has_secret(text: &str) -> bool {
    let has_password = text.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.is_some_and(|user| user.contains(':'))
    });
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
    has_password
        || parts.into_iter().any(|part| {
            let has_form = PREFIXES.iter().any(|prefix| part.starts_with(prefix));
            has_form && part.len() >= SHORTEST
        })
}

const SECRETS: [&str; 9] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "credential",
    "authorization",
    "bearer",
    "header",
];
/// How well-known services begin their keys.
const PREFIXES: [&str; 13] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
];
const SHORTEST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Origin};

    #[track_caller]
    fn check(server: &str, expected: &str) {
        let text = format!(r#"{{"mcpServers":{{"a":{server}}}}}"#);
        let config = Config::read(&text, &Origin::text("mcp.json")).unwrap();
        assert_eq!(of(&config.servers[0]).canonical(), expected);
    }

    #[test]
    fn what_runs_is_written_as_it_is_configured() {
        check(
            r#"{"command":"npx","args":["-y","@scope/server@1.2.3","${ROOT:-/srv}","--level=3"]}"#,
            r#"{"args":["-y","@scope/server@1.2.3","${ROOT:-/srv}","--level=3"],"command":"npx"}"#,
        );
        check(
            r#"{"command":"a","cwd":"sub","env":{"Z":"secret","A":"${X}"}}"#,
            r#"{"command":"a","cwd":"sub","env":["A","Z"]}"#,
        );
        check(
            r#"{"url":"https://example.com/mcp","headers":{"Authorization":"Bearer x"}}"#,
            r#"{"url":"https://example.com/mcp"}"#,
        );
    }

    #[test]
    fn nothing_secret_is_written() {
        check(
            r#"{"command":"a","args":["--token","abc","--api-key=def","-e","DB_PASSWORD=ghi"]}"#,
            r#"{"args":["--token","***","--api-key=***","-e","DB_PASSWORD=***"],"command":"a"}"#,
        );
        check(
            r#"{"command":"a","args":["--token","${TOKEN}","--api-key=${KEY}","--token","-v"]}"#,
            r#"{"args":["--token","${TOKEN}","--api-key=${KEY}","--token","-v"],"command":"a"}"#,
        );
        check(
            r#"{"command":"a","args":["postgres://me:pw@db/x","sk-0123456789abcdef"]}"#,
            r#"{"args":["***","***"],"command":"a"}"#,
        );
        check(
            r#"{"url":"https://example.com/mcp?key=x"}"#,
            r#"{"url":"https://example.com/mcp?***"}"#,
        );
        let spot = ServerConfig::url("a", "https://example.com/mcp?key=x");
        assert_eq!(
            of(&spot).canonical(),
            r#"{"url":"https://example.com/mcp?***"}"#
        );
    }
}
