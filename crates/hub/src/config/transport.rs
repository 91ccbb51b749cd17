//! How a server is reached: a program that is started, or a URL.

use jsonc_parser::ast::Value;

use super::auth::{self, AuthConfig};
use super::members::{Field, Members, Sheet};
use super::origin::Dialect;
use super::problem::ProblemKind;
use crate::variables::{Shows, Template};

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportConfig {
    /// A program that speaks on its standard streams.
    Stdio(StdioConfig),
    /// A URL: Streamable HTTP, or what is older if the server has nothing else.
    Http(HttpConfig),
    /// A URL of HTTP with SSE as of 2024-11-05, and nothing else.
    Sse(HttpConfig),
}

impl TransportConfig {
    /// The word for it in a configuration.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
        }
    }
}

/// A program that is started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StdioConfig {
    /// The program. `~` at its beginning is the home folder.
    pub command: Template,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Variables that it gets. None takes one away that it would have otherwise.
    pub env: Vec<(String, Option<Template>)>,
    /// A file with variables, which those of `env` win over.
    pub env_file: Option<Template>,
    /// Where it runs: from the folder of the configuration, which it is by default.
    pub cwd: Option<Template>,
    /// Names of our own variables that it gets beside the few that every program does.
    pub inherits: Vec<String>,
    /// Does it get all of our own variables?
    pub inherits_all: bool,
}

impl StdioConfig {
    /// A program without arguments.
    pub const fn new(command: Template) -> Self {
        Self {
            command,
            args: Vec::new(),
            env: Vec::new(),
            env_file: None,
            cwd: None,
            inherits: Vec::new(),
            inherits_all: false,
        }
    }
}

/// A server behind a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The URL.
    pub url: Template,
    /// Headers of each request.
    pub headers: Vec<(String, Template)>,
    /// How we prove who we are.
    pub auth: AuthConfig,
}

impl HttpConfig {
    /// A URL. Whether there is a login is for the server to say.
    pub const fn new(url: Template) -> Self {
        Self {
            url,
            headers: Vec::new(),
            auth: AuthConfig::Auto,
        }
    }
}

/// What a type says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Sse,
}

/// Everything that is said about the transport, before it is known which one it is.
struct Said<'s, 'a> {
    kind: Option<Field<'s, 'a>>,
    command: Option<Field<'s, 'a>>,
    args: Option<Field<'s, 'a>>,
    env: Option<Field<'s, 'a>>,
    env_file: Option<Field<'s, 'a>>,
    cwd: Option<Field<'s, 'a>>,
    inherits: Option<Field<'s, 'a>>,
    inherits_all: Option<Field<'s, 'a>>,
    url: Option<Field<'s, 'a>>,
    headers: Option<Field<'s, 'a>>,
    auth: auth::Said<'s, 'a>,
}

/// Reads it. None if something is wrong, which is reported then.
pub(super) fn read<'s>(
    sheet: &'s Sheet<'_>,
    at: usize,
    members: &mut Members<'s, '_>,
    extras: Option<&mut Members<'s, '_>>,
) -> Option<TransportConfig> {
    let said = Said {
        kind: members.take(&["type", "transport", "transportType"]),
        command: members.take(&["command"]),
        args: members.take(&["args", "arguments"]),
        env: members.take(&["env", "environment"]),
        env_file: members.take(&["envFile"]),
        cwd: members.take(&["cwd"]),
        inherits: members.take(&["env_vars"]),
        inherits_all: members.take(&["inheritEnv"]),
        url: members.take(&["url", "httpUrl", "serverUrl", "baseUrl"]),
        headers: members.take(&["headers"]),
        auth: auth::Said::take(members),
    };
    let inherit = extras.and_then(|extras| extras.take(&["inherit"]));
    let kind = match said.choose(sheet, at)? {
        (Kind::Stdio, command) => {
            let mut stdio = said.stdio(sheet, command)?;
            if let Some(inherit) = inherit {
                stdio.inherits.extend(inherit.texts()?);
            }
            TransportConfig::Stdio(stdio)
        }
        (Kind::Http, url) => TransportConfig::Http(said.http(sheet, url)?),
        (Kind::Sse, url) => TransportConfig::Sse(said.http(sheet, url)?),
    };
    Some(kind)
}

impl<'s, 'a> Said<'s, 'a> {
    /// Which transport it is, with the field that says where the server is.
    fn choose(&self, sheet: &Sheet<'_>, at: usize) -> Option<(Kind, &Field<'s, 'a>)> {
        let named = match &self.kind {
            Some(field) => Some(kind(field)?),
            None => None,
        };
        let incomplete = |kind, key, field: &Field<'_, '_>| {
            sheet.error(field.at, ProblemKind::Incomplete { kind, key });
        };
        match (named, &self.kind, &self.command, &self.url) {
            (None, _, Some(_), Some(url)) => {
                sheet.error(url.at, ProblemKind::TwoTransports);
                None
            }
            (None | Some(Kind::Stdio), _, Some(command), _) => Some((Kind::Stdio, command)),
            (None, _, None, Some(url)) => {
                // In files of Gemini the one key is the new transport and the other the old.
                let is_old = sheet.grammar.dialect.means_old_transport();
                let kind = match is_old && url.name != "httpUrl" {
                    true => Kind::Sse,
                    false => Kind::Http,
                };
                Some((kind, url))
            }
            (Some(kind @ (Kind::Http | Kind::Sse)), _, _, Some(url)) => Some((kind, url)),
            (Some(Kind::Stdio), Some(field), None, _) => {
                incomplete("stdio", "command", field);
                None
            }
            (Some(kind), Some(field), _, None) => {
                let word = if kind == Kind::Sse { "sse" } else { "http" };
                incomplete(word, "url", field);
                None
            }
            _ => {
                sheet.error(at, ProblemKind::NoTransport);
                None
            }
        }
    }

    fn stdio(&self, sheet: &Sheet<'_>, command: &Field<'_, '_>) -> Option<StdioConfig> {
        let for_urls = "it is for servers behind a URL";
        let unused = [&self.url, &self.headers];
        unused
            .into_iter()
            .flatten()
            .for_each(|field| field.unused(for_urls));
        self.auth.unused(for_urls);
        let errors = sheet.errors();
        let (program, mut args, mut env) = program(command)?;
        if let Some(list) = &self.args {
            args.extend(templates(list).unwrap_or_default());
        }
        if let Some(object) = &self.env {
            env.extend(variables(object).unwrap_or_default());
        }
        if self.args.is_none() && args.is_empty() && looks_like_a_line(&program) {
            sheet.warn(command.place(), ProblemKind::SpacesInCommand);
        }
        let path = |field: &Option<Field<'_, '_>>| match field {
            Some(field) => field.some_template(Shows::All),
            None => None,
        };
        let stdio = StdioConfig {
            command: program,
            args,
            env,
            env_file: path(&self.env_file),
            cwd: path(&self.cwd),
            inherits: self.inherits.as_ref().and_then(names).unwrap_or_default(),
            inherits_all: self
                .inherits_all
                .as_ref()
                .and_then(Field::boolean)
                .unwrap_or_default(),
        };
        (sheet.errors() == errors).then_some(stdio)
    }

    fn http(&self, sheet: &Sheet<'_>, url: &Field<'_, '_>) -> Option<HttpConfig> {
        let unused = [
            &self.command,
            &self.args,
            &self.env,
            &self.env_file,
            &self.cwd,
            &self.inherits,
            &self.inherits_all,
        ];
        for field in unused.into_iter().flatten() {
            field.unused("it is for programs");
        }
        let errors = sheet.errors();
        let template = url.some_template(Shows::Address)?;
        if let Some(reason) = template.as_literal().and_then(|text| bad_url(&text)) {
            sheet.error(url.place(), ProblemKind::BadUrl { reason });
        }
        let headers = match &self.headers {
            Some(headers) => read_headers(headers).unwrap_or_default(),
            None => Vec::new(),
        };
        let http = HttpConfig {
            url: template,
            headers,
            auth: self.auth.read(sheet),
        };
        (sheet.errors() == errors).then_some(http)
    }
}

fn kind(field: &Field<'_, '_>) -> Option<Kind> {
    if let Value::StringLit(text) = field.value
        && matches!(&*text.value, "ws" | "websocket")
    {
        let what = text.value.clone().into_owned();
        field
            .sheet
            .error(field.place(), ProblemKind::Unsupported { what });
        return None;
    }
    field.word("stdio, http, or sse", |word| match word {
        "stdio" | "local" | "command" => Some(Kind::Stdio),
        "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote" => {
            Some(Kind::Http)
        }
        "sse" => Some(Kind::Sse),
        _ => None,
    })
}

type Program = (Template, Vec<Template>, Vec<(String, Option<Template>)>);

/// A program: its name, a list that begins with it, or, in older files of Zed, an object.
fn program(command: &Field<'_, '_>) -> Option<Program> {
    match command.value {
        Value::Array(_) => {
            let items = command.items()?;
            let Some((program, args)) = items.split_first() else {
                command.wrong_value("a program, and is empty");
                return None;
            };
            let program = program.some_template(Shows::All)?;
            let args: Option<_> = args.iter().map(|item| item.template(Shows::All)).collect();
            Some((program, args?, Vec::new()))
        }
        Value::Object(_) if command.sheet.grammar.dialect == Dialect::Zed => {
            let mut members = command.object()?;
            let Some(path) = members.take(&["path"]) else {
                command.wrong_value("a \"path\"");
                return None;
            };
            let args = match members.take(&["args"]) {
                Some(args) => templates(&args)?,
                None => Vec::new(),
            };
            let env = match members.take(&["env"]) {
                Some(env) => variables(&env)?,
                None => Vec::new(),
            };
            members.keep_rest();
            Some((path.some_template(Shows::All)?, args, env))
        }
        _ => Some((command.some_template(Shows::All)?, Vec::new(), Vec::new())),
    }
}

fn templates(list: &Field<'_, '_>) -> Option<Vec<Template>> {
    let items = list.items()?;
    items.iter().map(|item| item.template(Shows::All)).collect()
}

fn variables(object: &Field<'_, '_>) -> Option<Vec<(String, Option<Template>)>> {
    let members = object.object()?;
    let mut variables = Vec::new();
    for field in members.all() {
        if field.name.is_empty() || field.name.contains(['=', '\0']) {
            field.wrong_key("the name of a variable, without \"=\"");
            continue;
        }
        let value = match field.value {
            Value::NullKeyword(_) => None,
            Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) => {
                field.template(Shows::References)
            }
            _ => {
                field.wrong_type("a text, or null to take it away");
                continue;
            }
        };
        variables.push((field.name.to_owned(), value));
    }
    Some(variables)
}

/// Names of variables. Codex also has objects with a name and where it comes from.
fn names(list: &Field<'_, '_>) -> Option<Vec<String>> {
    let items = list.items()?;
    let names = items.iter().filter_map(|item| match item.value {
        Value::Object(_) => {
            let name = item.object()?.take(&["name"]);
            name.as_ref().and_then(Field::text).map(str::to_owned)
        }
        _ => item.text().map(str::to_owned),
    });
    Some(names.collect())
}

fn read_headers(object: &Field<'_, '_>) -> Option<Vec<(String, Template)>> {
    let members = object.object()?;
    let mut headers: Vec<(String, Template)> = Vec::new();
    for field in members.all() {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if field.name.is_empty() || !field.name.bytes().all(is_token) {
            field.wrong_key("the name of a header");
        } else if let Some((one, _)) = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(field.name) && name != field.name)
        {
            let (one, other) = (format!("{}.{one}", object.key), field.key.clone());
            let kind = ProblemKind::Synonyms { one, other };
            field.sheet.error(field.at, kind);
        } else if let Some(value) = field.template(Shows::References) {
            headers.push((field.name.to_owned(), value));
        }
    }
    Some(headers)
}

/// Why nobody can connect to this.
pub(super) fn bad_url(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if text.starts_with("unix:") || text.starts_with("pipe:") {
        return Some("sockets and pipes are not supported here");
    }
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Some("it does not begin with https:// or http://");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("it has a user or a password in it, set a header instead");
    }
    match switchboard_client::Spec::url(text) {
        Ok(_) => None,
        Err(_) => Some("it is no URL"),
    }
}

/// `npx -y something` as one word. A path may have spaces.
fn looks_like_a_line(program: &Template) -> bool {
    let Some(text) = program.as_literal() else {
        return false;
    };
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    words.next().is_some() && !first.contains(['/', '\\', ':'])
}
