//! What is said about a transport, in the words of every product.

use jsonc_parser::ast::Value;

use super::{HttpConfig, StdioConfig, TransportConfig, parts};
use crate::config::auth;
use crate::config::field::Field;
use crate::config::members::Members;
use crate::config::problem::ProblemKind;
use crate::config::sheet::Sheet;
use crate::variables::Shows;

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
    /// Of Codex: headers whose values are in variables.
    variable_headers: Option<Field<'s, 'a>>,
    auth: auth::Said<'s, 'a>,
}

/// Reads it. None if something is wrong, which is reported then.
pub(in crate::config) fn read<'s>(
    sheet: &'s Sheet<'_>,
    at: usize,
    members: &mut Members<'s, '_>,
    extras: Option<&mut Members<'s, '_>>,
) -> Option<TransportConfig> {
    let said = Said {
        kind: members.take(&["type", "transport", "transportType"]),
        command: members.take(&["command", "cmd"]),
        args: members.take(&["args", "arguments"]),
        env: members.take(&["env", "environment", "envs"]),
        env_file: members.take(&["envFile"]),
        cwd: members.take(&["cwd"]),
        inherits: members.take(&["env_vars", "env_keys"]),
        inherits_all: members.take(&["inheritEnv"]),
        url: members.take(&["url", "httpUrl", "serverUrl", "baseUrl", "uri"]),
        headers: members.take(&["headers", "http_headers"]),
        variable_headers: members.take(&["env_http_headers"]),
        auth: auth::Said::take(members),
    };
    let inherit = extras.and_then(|extras| extras.take(&["inherit"]));
    if let Some(inherit) = &inherit
        && said.command.is_none()
    {
        inherit.unused(FOR_PROGRAMS);
    }
    let transport = match said.choose(sheet, at)? {
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
    Some(transport)
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
        let unused = [&self.url, &self.headers, &self.variable_headers];
        unused
            .into_iter()
            .flatten()
            .for_each(|field| field.unused(FOR_URLS));
        self.auth.unused(FOR_URLS);
        let errors = sheet.errors();
        let (program, mut args, mut env) = parts::program(command)?;
        if let Some(list) = &self.args {
            args.extend(parts::templates(list).unwrap_or_default());
        }
        if let Some(object) = &self.env {
            env.extend(parts::variables(object).unwrap_or_default());
        }
        if self.args.is_none() && args.is_empty() && parts::looks_like_a_line(&program) {
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
            inherits: self
                .inherits
                .as_ref()
                .and_then(parts::names)
                .unwrap_or_default(),
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
            field.unused(FOR_PROGRAMS);
        }
        let errors = sheet.errors();
        let template = url.some_template(Shows::Address)?;
        if let Some(reason) = template.as_literal().and_then(|text| parts::bad_url(&text)) {
            sheet.error(url.place(), ProblemKind::BadUrl { reason });
        }
        let mut headers = match &self.headers {
            Some(headers) => parts::headers(headers).unwrap_or_default(),
            None => Vec::new(),
        };
        if let Some(variables) = &self.variable_headers {
            headers.extend(parts::variable_headers(variables).unwrap_or_default());
        }
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

const FOR_PROGRAMS: &str = "it is for programs";
const FOR_URLS: &str = "it is for servers behind a URL";
