//! Names of servers, of what they offer, of arguments and of their values.
//!
//! What a server offered when it last ran is known from the cache; one that never ran is started
//! for it, if it does not take long.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use switchboard_hub::{Catalog, Hub, ServerConfig, Start, TransportConfig};
use switchboard_protocol::types::{Prompt, Tool};
use tokio::time::timeout;

use super::Candidate;
use super::line::Kind;
use crate::app::App;
use crate::logins;
use crate::source::{self, Source};
use crate::trust;

/// The names that could stand behind these words.
pub(super) async fn names(
    kind: Kind,
    before: &[String],
    current: &str,
    config: Option<PathBuf>,
    app: &App,
) -> Vec<Candidate> {
    let mut global = app.global.clone();
    global.config = config.or(global.config);
    let source = Source::find(&global).ok();
    // Whoever presses a key has agreed to nothing.
    let may_start = source
        .as_ref()
        .is_none_or(|source| trust::is_agreed(&global, source));
    let servers = source.map(|source| source.config.servers);
    let lookup = Lookup {
        servers: servers.unwrap_or_default(),
        may_start,
        app,
    };
    match (kind, before) {
        (Kind::Server, _) => lookup.server_names(),
        (Kind::Method, [_]) => METHODS
            .iter()
            .map(|name| Candidate::new(*name, ""))
            .collect(),
        (Kind::Method, []) => lookup.server_names(),
        (Kind::Method, _) => Vec::new(),
        (_, []) => lookup.targets(kind, current).await,
        (_, [first, rest @ ..]) => lookup.behind(kind, first, rest, current).await,
    }
}

struct Lookup<'a> {
    servers: Vec<ServerConfig>,
    may_start: bool,
    app: &'a App,
}

impl Lookup<'_> {
    fn server_names(&self) -> Vec<Candidate> {
        let about = |server: &ServerConfig| match (&server.transport, server.is_enabled) {
            (_, false) => "switched off",
            (TransportConfig::Stdio(_), _) => "a command",
            _ => "a URL",
        };
        let names = self.servers.iter();
        names
            .map(|server| Candidate::new(&server.name, about(server)))
            .collect()
    }

    /// The first word: a server, or `SERVER.TOOL` once the server is typed.
    async fn targets(&self, kind: Kind, current: &str) -> Vec<Candidate> {
        let mut found = self.server_names();
        // Names of servers may have dots: the longest that fits.
        let typed = self.servers.iter().filter(|server| {
            let rest = current.strip_prefix(server.name.as_str());
            rest.is_some_and(|rest| rest.starts_with('.'))
        });
        let Some(server) = typed.max_by_key(|server| server.name.len()) else {
            return found;
        };
        for candidate in self.offered(kind, server).await {
            let value = format!("{}.{}", server.name, candidate.value);
            found.push(Candidate::new(value, candidate.about));
        }
        found
    }

    /// What stands behind a server, or behind a target.
    async fn behind(
        &self,
        kind: Kind,
        first: &str,
        rest: &[String],
        current: &str,
    ) -> Vec<Candidate> {
        let named = self.servers.iter().find(|server| server.name == first);
        let on_the_spot = source::on_the_spot(Some(first), &[]).ok().flatten();
        match (named.or(on_the_spot.as_ref()), rest) {
            (Some(server), []) => self.offered(kind, server).await,
            (Some(server), [name, said @ ..]) => {
                let catalog = self.catalog(server).await;
                arguments(kind, &catalog, &server.name, name, said, current)
            }
            (None, said) => {
                let Some((server, name)) = self.dotted(first) else {
                    return Vec::new();
                };
                let catalog = self.catalog(server).await;
                arguments(kind, &catalog, &server.name, name, said, current)
            }
        }
    }

    /// `SERVER.TOOL` or `mcp__SERVER__TOOL`.
    fn dotted<'a>(&'a self, target: &'a str) -> Option<(&'a ServerConfig, &'a str)> {
        let fits = |server: &'a ServerConfig| {
            let name = server.name.as_str();
            let plain = target
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('.'));
            let exposed = target.strip_prefix("mcp__");
            let exposed = exposed.and_then(|rest| rest.strip_prefix(name)?.strip_prefix("__"));
            Some((server, plain.or(exposed)?))
        };
        let fitting = self.servers.iter().filter_map(fits);
        fitting.max_by_key(|(server, _)| server.name.len())
    }

    async fn offered(&self, kind: Kind, server: &ServerConfig) -> Vec<Candidate> {
        let catalog = self.catalog(server).await;
        let listed = catalog.listed_by(&server.name);
        let tools = || {
            let tools = catalog.tools_of(&server.name).iter();
            tools.map(|entry| {
                Candidate::new(
                    &entry.tool.name,
                    first_line(entry.tool.description.as_deref()),
                )
            })
        };
        let prompts = || {
            let prompts = listed.prompts.iter().flatten();
            prompts.map(|prompt| {
                Candidate::new(&prompt.name, first_line(prompt.description.as_deref()))
            })
        };
        let resources = || {
            let resources = listed.resources.iter().flatten();
            resources.map(|resource| Candidate::new(&resource.uri, &resource.name))
        };
        match kind {
            Kind::Call => tools().collect(),
            Kind::Show => tools().chain(prompts()).chain(resources()).collect(),
            Kind::Prompt => prompts().collect(),
            Kind::Resource => resources().collect(),
            Kind::Server | Kind::Method => Vec::new(),
        }
    }

    /// What a server offers: as it was last known, or now, if that does not take long.
    async fn catalog(&self, server: &ServerConfig) -> Catalog {
        if !self.may_start {
            return Hub::new().catalog();
        }
        let mut server = server.clone();
        server.start = Start::Lazy;
        let name = server.name.clone();
        let mut builder = Hub::builder().server(server).login(logins::describe);
        if let Some(folder) = source::cache_folder() {
            builder = builder.cache(folder);
        }
        let hub = builder.time_between_pings(None).build();
        self.app.adopt(&hub);
        hub.connect_all().await;
        if hub
            .catalog()
            .listed_by(&name)
            .tools
            .unwrap_or_default()
            .is_empty()
        {
            // One that is too slow, or not there, has no names.
            let _ = timeout(PATIENCE, hub.connect(&name)).await;
        }
        hub.catalog()
    }
}

/// The arguments of a tool or prompt that are not there yet, or values of the one that is typed.
fn arguments(
    kind: Kind,
    catalog: &Catalog,
    server: &str,
    name: &str,
    said: &[String],
    current: &str,
) -> Vec<Candidate> {
    match kind {
        Kind::Call => {
            let tools = catalog.tools_of(server);
            let tool = tools.iter().find(|entry| entry.tool.name == name);
            tool.map(|entry| of_tool(&entry.tool, said, current))
                .unwrap_or_default()
        }
        Kind::Prompt => {
            let prompts = catalog.listed_by(server).prompts.unwrap_or_default();
            let prompt = prompts.iter().find(|prompt| prompt.name == name);
            prompt
                .map(|prompt| of_prompt(prompt, said))
                .unwrap_or_default()
        }
        Kind::Server | Kind::Show | Kind::Resource | Kind::Method => Vec::new(),
    }
}

fn of_tool(tool: &Tool, said: &[String], current: &str) -> Vec<Candidate> {
    let schema: Value = tool.input_schema.decode().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut names = required.into_iter().flatten();
        names.any(|required| required == name)
    };
    let mut found = Vec::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if current
            .strip_prefix(name.as_str())
            .is_some_and(|rest| rest.starts_with('='))
        {
            return values(name, property);
        }
        if !is_said(said, name) {
            let about = first_line(property.get("description").and_then(Value::as_str));
            let about = match (is_required(name), about.as_str()) {
                (true, "") => "required".to_owned(),
                (true, about) => format!("required: {about}"),
                (false, about) => about.to_owned(),
            };
            found.push((
                !is_required(name),
                Candidate::new(format!("{name}="), about),
            ));
        }
    }
    found.sort_by_key(|(is_optional, _)| *is_optional);
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

/// `name=value` for all values that a schema lists.
fn values(name: &str, property: &Value) -> Vec<Candidate> {
    let mut values: Vec<Value> = Vec::new();
    let parts = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|keyword| property.get(*keyword)?.as_array());
    let parts = parts.flatten().chain(std::iter::once(property));
    for part in parts {
        values.extend(
            part.get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .cloned(),
        );
        values.extend(part.get("const").cloned());
        if part.get("type").and_then(Value::as_str) == Some("boolean") {
            values.extend([true.into(), false.into()]);
        }
    }
    let default = property.get("default").cloned();
    values.extend(default.clone().filter(|default| !values.contains(default)));
    let shown = values.iter().filter_map(|value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            other => other.to_string(),
        };
        let about = if default.as_ref() == Some(value) {
            "default"
        } else {
            ""
        };
        Some(Candidate::new(format!("{name}={text}"), about))
    });
    shown.collect()
}

fn of_prompt(prompt: &Prompt, said: &[String]) -> Vec<Candidate> {
    let arguments = prompt.arguments.iter().flatten();
    let missing = arguments.filter(|argument| !is_said(said, &argument.name));
    let names = missing.map(|argument| {
        Candidate::new(
            format!("{}=", argument.name),
            first_line(argument.description.as_deref()),
        )
    });
    names.collect()
}

/// Is there a word `name=…` or `name:=…`?
fn is_said(said: &[String], name: &str) -> bool {
    said.iter().any(|word| {
        let rest = word.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('=') || rest.starts_with(":="))
    })
}

fn first_line(text: Option<&str>) -> String {
    let line = text
        .unwrap_or_default()
        .trim()
        .lines()
        .next()
        .unwrap_or_default();
    line.to_owned()
}

/// Whoever waits longer has stopped waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is asked of servers by hand; there are others.
const METHODS: &[&str] = &[
    "completion/complete",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool() -> Tool {
        let definition = json!({"name": "send", "inputSchema": {
            "type": "object",
            "properties": {
                "loud": {"type": "boolean", "default": false},
                "to": {"type": "string", "description": "Who.\nReally."},
                "tone": {"enum": ["kind", "plain"]},
            },
            "required": ["to"],
        }});
        serde_json::from_value(definition).unwrap()
    }

    #[track_caller]
    fn check(said: &[&str], current: &str, expected: &[&str]) {
        let said: Vec<String> = said.iter().map(|word| (*word).to_owned()).collect();
        let found = of_tool(&tool(), &said, current);
        let found: Vec<String> = found.into_iter().map(|one| one.value).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn arguments_that_are_missing_come_with_the_required_ones_first() {
        check(&[], "", &["to=", "loud=", "tone="]);
        check(&["to=x", "loud:=true"], "", &["tone="]);
        assert_eq!(of_tool(&tool(), &[], "")[0].about, "required: Who.");
    }

    #[test]
    fn values_are_those_of_the_schema() {
        check(&[], "tone=", &["tone=kind", "tone=plain"]);
        check(&[], "tone=k", &["tone=kind", "tone=plain"]);
        check(&[], "loud=", &["loud=true", "loud=false"]);
        check(&[], "to=", &[]);
    }
}
