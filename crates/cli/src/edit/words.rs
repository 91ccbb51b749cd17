//! A new server, in the words of the program whose file it is written to.

use std::path::Path;

use serde_json::Value as Json;
use switchboard_hub::{Config, Dialect};

/// A server that was described on the command line.
#[derive(Clone, Debug)]
pub(crate) struct NewServer {
    pub(crate) reach: Reach,
    /// Variables of a program.
    pub(crate) env: Vec<(String, String)>,
    /// Headers of a URL.
    pub(crate) headers: Vec<(String, String)>,
    /// The variable that holds a token.
    pub(crate) bearer: Option<String>,
}

/// How it is reached.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    Command(String, Vec<String>),
    Http(String),
    Sse(String),
}

/// In whose words a file is written, and under which key its servers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) dialect: Dialect,
    pub(crate) container: &'static str,
}

impl Manner {
    /// What is in the file says it, or else its name.
    pub(crate) fn of(path: &Path, config: &Config) -> Self {
        let dialect = config.dialect;
        let container = config.container.unwrap_or_else(|| match dialect {
            Dialect::Zed => "context_servers",
            Dialect::OpenCode => "mcp",
            _ if is_of_vs_code(path) => "servers",
            _ => "mcpServers",
        });
        Self { dialect, container }
    }
}

fn is_of_vs_code(path: &Path) -> bool {
    let parent = path.parent().and_then(Path::file_name);
    let parent = parent.and_then(|name| name.to_str());
    path.file_name().is_some_and(|name| name == "mcp.json")
        && matches!(parent, Some(".vscode" | "User"))
}

impl NewServer {
    /// As a member of the servers of a file: JSON text, in an order that reads well.
    pub(crate) fn to_json(&self, manner: Manner) -> String {
        let mut members: Vec<(&str, String)> = Vec::new();
        let text = |text: &str| Json::from(text).to_string();
        let list = |words: &mut dyn Iterator<Item = &String>| {
            Json::from(words.cloned().collect::<Vec<_>>()).to_string()
        };
        match (&self.reach, manner.dialect) {
            (Reach::Command(program, args), Dialect::OpenCode) => {
                let mut words = std::iter::once(program).chain(args);
                members.push(("type", text("local")));
                members.push(("command", list(&mut words)));
            }
            (Reach::Command(program, args), dialect) => {
                if names_programs(dialect) {
                    members.push(("type", text("stdio")));
                }
                members.push(("command", text(program)));
                if !args.is_empty() {
                    members.push(("args", list(&mut args.iter())));
                }
            }
            (Reach::Http(url) | Reach::Sse(url), dialect) => {
                let is_old = matches!(self.reach, Reach::Sse(_));
                let (kind, key) = match (dialect, is_old) {
                    (Dialect::Gemini, false) => (None, "httpUrl"),
                    (Dialect::Gemini, true) => (None, "url"),
                    (Dialect::Zed, _) => (None, "url"),
                    (Dialect::OpenCode, _) => (Some("remote"), "url"),
                    (Dialect::Cline, false) => (Some("streamableHttp"), "url"),
                    (Dialect::Roo, false) => (Some("streamable-http"), "url"),
                    (_, false) => (Some("http"), "url"),
                    (_, true) => (Some("sse"), "url"),
                };
                if let Some(kind) = kind {
                    members.push(("type", text(kind)));
                }
                members.push((key, text(url)));
            }
        }
        let env_key = match manner.dialect {
            Dialect::OpenCode => "environment",
            _ => "env",
        };
        if !self.env.is_empty() {
            members.push((env_key, object(&self.env)));
        }
        let mut headers = self.headers.clone();
        if let Some(variable) = &self.bearer {
            let reference = match manner.dialect {
                Dialect::OpenCode => format!("{{env:{variable}}}"),
                _ if manner.container == "servers" => format!("${{env:{variable}}}"),
                _ => format!("${{{variable}}}"),
            };
            headers.push(("Authorization".to_owned(), format!("Bearer {reference}")));
        }
        if !headers.is_empty() {
            members.push(("headers", object(&headers)));
        }
        let members = members
            .iter()
            .map(|(key, value)| format!("{}:{value}", text(key)));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

/// Some have no word for what every program is.
const fn names_programs(dialect: Dialect) -> bool {
    !matches!(dialect, Dialect::Zed | Dialect::Gemini)
}

fn object(members: &[(String, String)]) -> String {
    let members = members.iter().map(|(key, value)| {
        let (key, value) = (Json::from(key.as_str()), Json::from(value.as_str()));
        format!("{key}:{value}")
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use switchboard_hub::Origin;

    use super::*;

    /// Each file's own words, which are read as what was meant.
    #[test]
    fn servers_are_written_in_the_words_of_the_file() {
        let program = NewServer {
            reach: Reach::Command("uvx".to_owned(), vec!["a".to_owned()]),
            env: vec![("K".to_owned(), "v".to_owned())],
            headers: Vec::new(),
            bearer: None,
        };
        let remote = NewServer {
            reach: Reach::Http("https://e.example".to_owned()),
            env: Vec::new(),
            headers: vec![("A".to_owned(), "b".to_owned())],
            bearer: Some("T".to_owned()),
        };
        let check = |path: &str, local: &str, far: &str| {
            let config = Config::read("{}", &Origin::file(path)).unwrap();
            let manner = Manner::of(Path::new(path), &config);
            assert_eq!(program.to_json(manner), local, "{path}");
            assert_eq!(remote.to_json(manner), far, "{path}");
            let text = format!("{{\"{}\":{{\"a\":{local},\"b\":{far}}}}}", manner.container);
            let config = Config::read(&text, &Origin::file(path)).unwrap();
            assert_eq!(config.problems, [], "{path}");
            let words: Vec<_> = config
                .servers
                .iter()
                .map(|it| it.transport.word())
                .collect();
            assert_eq!(words, ["stdio", "http"], "{path}");
        };
        check(
            ".mcp.json",
            r#"{"type":"stdio","command":"uvx","args":["a"],"env":{"K":"v"}}"#,
            r#"{"type":"http","url":"https://e.example","headers":{"A":"b","Authorization":"Bearer ${T}"}}"#,
        );
        check(
            ".vscode/mcp.json",
            r#"{"type":"stdio","command":"uvx","args":["a"],"env":{"K":"v"}}"#,
            r#"{"type":"http","url":"https://e.example","headers":{"A":"b","Authorization":"Bearer ${env:T}"}}"#,
        );
        check(
            ".zed/settings.json",
            r#"{"command":"uvx","args":["a"],"env":{"K":"v"}}"#,
            r#"{"url":"https://e.example","headers":{"A":"b","Authorization":"Bearer ${T}"}}"#,
        );
        check(
            ".gemini/settings.json",
            r#"{"command":"uvx","args":["a"],"env":{"K":"v"}}"#,
            r#"{"httpUrl":"https://e.example","headers":{"A":"b","Authorization":"Bearer ${T}"}}"#,
        );
        check(
            "opencode.json",
            r#"{"type":"local","command":["uvx","a"],"environment":{"K":"v"}}"#,
            r#"{"type":"remote","url":"https://e.example","headers":{"A":"b","Authorization":"Bearer {env:T}"}}"#,
        );
        check(
            ".cline/mcp.json",
            r#"{"type":"stdio","command":"uvx","args":["a"],"env":{"K":"v"}}"#,
            r#"{"type":"streamableHttp","url":"https://e.example","headers":{"A":"b","Authorization":"Bearer ${T}"}}"#,
        );
    }
}
