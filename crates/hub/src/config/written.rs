//! A server in the form that most hosts read.
//!
//! The words are those of Claude Code and many others; what they have no word for stands under
//! our own key. Reading it gives the same server again, and nothing that nobody knows is lost.

mod members;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value as Json;
use switchboard_client::{Mode, Revision};

use super::auth::{AuthConfig, OAuthConfig};
use super::server::{EXTRAS, ServerConfig, Sharing, Start};
use super::transport::{HttpConfig, StdioConfig, TransportConfig};
use crate::policy::Pattern;
use crate::variables::Template;
use members::Members;

impl ServerConfig {
    /// The server as a member of `mcpServers`: JSON text, in an order that reads well, for a file
    /// in this folder. What begins at the folder of its own file is written out if that is
    /// another one. It may hold secrets, as its file did.
    ///
    /// ```
    /// use switchboard_hub::ServerConfig;
    ///
    /// let server = ServerConfig::command("time", ["uvx", "mcp-server-time"]);
    /// assert_eq!(
    ///     server.to_json(None),
    ///     r#"{"type":"stdio","command":"uvx","args":["mcp-server-time"]}"#,
    /// );
    /// ```
    pub fn to_json(&self, folder: Option<&Path>) -> String {
        let own = self.folder.as_deref();
        let writing = Writing {
            elsewhere: own.filter(|own| folder.is_some_and(|folder| folder != *own)),
        };
        let mut members = Members::default();
        let mut extras = Members::default();
        members.text("type", self.transport.word());
        match &self.transport {
            TransportConfig::Stdio(stdio) => writing.stdio(stdio, &mut members, &mut extras),
            TransportConfig::Http(http) | TransportConfig::Sse(http) => {
                writing.http(http, &mut members);
            }
        }
        if !self.is_enabled {
            members.json("disabled", true);
        }
        // Others have it in milliseconds too, and take a small number for a mistake.
        let call = self.timeouts.call;
        match call.map(milliseconds) {
            Some(number) if number >= 1000 => members.json("timeout", number),
            _ => {}
        }
        self.extras(&mut extras);
        let mut rest = self.unknown.0.clone();
        extras.absorb(rest.remove(EXTRAS));
        if let Some(switch) = members.0.iter_mut().find(|(key, _)| key == "auth") {
            // What else is said about the login that is not wanted stays with that.
            let object = |key: &str| rest.get(key).is_some_and(Json::is_object);
            let said = match (object("oauth"), object("auth")) {
                (true, _) => Some(("oauth", r#"{"enabled":false}"#)),
                (_, true) => Some(("auth", r#"{"type":"none"}"#)),
                _ => None,
            };
            if let Some((key, text)) = said {
                *switch = (key.to_owned(), text.to_owned());
            }
        }
        for (key, value) in rest {
            // What is said about a login is all under one key here.
            let key = match members.has("oauth") && key == "auth" {
                true => "oauth",
                false => &key,
            };
            members.merge(key, value);
        }
        if !extras.0.is_empty() {
            members.0.push((EXTRAS.to_owned(), extras.into_text()));
        }
        members.into_text()
    }

    /// What others have no word for.
    fn extras(&self, extras: &mut Members) {
        if let Some(name) = &self.display_name {
            extras.text("displayName", name);
        }
        if self.start == Start::Lazy {
            extras.text("start", "lazy");
        }
        if self.sharing == Sharing::PerClient {
            extras.text("share", "per-client");
        }
        match self.mode {
            Mode::Legacy => extras.text("era", "legacy"),
            Mode::Pinned(Revision::LATEST) => extras.text("era", "modern"),
            Mode::Pinned(revision) => extras.text("era", &revision.to_string()),
            _ => {}
        }
        if let Some(idle) = self.idle {
            extras.text("idle", &time(idle));
        }
        for (key, is_set) in [
            ("required", self.is_required),
            ("readOnly", self.is_read_only),
        ] {
            if is_set {
                extras.json(key, true);
            }
        }
        let mut tools = Members::default();
        let patterns = |list: &[Pattern]| -> Vec<Json> {
            list.iter().map(|pattern| pattern.as_str().into()).collect()
        };
        if let Some(allow) = &self.tools.allow {
            tools.json("allow", patterns(allow));
        }
        if !self.tools.deny.is_empty() {
            tools.json("deny", patterns(&self.tools.deny));
        }
        extras.object("tools", tools);
        let mut times = Members::default();
        let short = |time: &Duration| milliseconds(*time) < 1000;
        for (key, value) in [
            ("start", self.timeouts.start),
            ("call", self.timeouts.call.filter(short)),
            ("total", self.timeouts.total),
            ("list", self.timeouts.list),
            ("probe", self.timeouts.probe),
            ("question", self.timeouts.question),
            ("silence", self.timeouts.silence),
            ("farewell", self.timeouts.farewell),
        ] {
            if let Some(value) = value {
                times.text(key, &time(value));
            }
        }
        let mut stop = Members::default();
        for (key, value) in [
            ("obey", self.timeouts.stop.obey),
            ("terminate", self.timeouts.stop.terminate),
            ("reap", self.timeouts.stop.reap),
        ] {
            if let Some(value) = value {
                stop.text(key, &time(value));
            }
        }
        times.object("stop", stop);
        extras.object("timeouts", times);
        let mut limits = Members::default();
        for (key, value) in [
            ("message", self.limits.message),
            ("result", self.limits.result),
            ("calls", self.limits.calls),
            ("questions", self.limits.questions),
            ("rounds", self.limits.rounds),
            ("queued", self.limits.queued),
            ("pages", self.limits.pages),
            ("items", self.limits.items),
            ("listBytes", self.limits.list_bytes),
            ("restarts", self.limits.restarts),
        ] {
            if let Some(value) = value {
                limits.json(key, value);
            }
        }
        extras.object("limits", limits);
    }
}

struct Writing<'a> {
    /// The folder that paths begin at, if they are written to a file in another one.
    elsewhere: Option<&'a Path>,
}

impl Writing<'_> {
    fn template(&self, template: &Template) -> String {
        template.written(self.elsewhere.is_none())
    }

    fn stdio(&self, stdio: &StdioConfig, members: &mut Members, extras: &mut Members) {
        let command = self.template(&stdio.command);
        let is_path = command.contains(['/', '\\']);
        let command = match is_path {
            true => self.path(&command),
            false => command,
        };
        members.text("command", &command);
        if !stdio.args.is_empty() {
            let args = stdio.args.iter().map(|word| self.template(word).into());
            members.json("args", args.collect::<Vec<Json>>());
        }
        let mut env = Members::default();
        for (name, value) in &stdio.env {
            match value {
                Some(value) => env.text(name, &self.template(value)),
                None => env.json(name, Json::Null),
            }
        }
        members.object("env", env);
        if let Some(file) = &stdio.env_file {
            members.text("envFile", &self.path(&self.template(file)));
        }
        match (&stdio.cwd, self.elsewhere) {
            (Some(cwd), _) => members.text("cwd", &self.path(&self.template(cwd))),
            (None, Some(own)) => members.text("cwd", &own.to_string_lossy().replace('$', "$$")),
            (None, None) => {}
        }
        if stdio.inherits_all {
            members.json("inheritEnv", true);
        }
        if !stdio.inherits.is_empty() {
            extras.json("inherit", stdio.inherits.as_slice());
        }
    }

    fn http(&self, http: &HttpConfig, members: &mut Members) {
        members.text("url", &self.template(&http.url));
        let mut headers = Members::default();
        for (name, value) in &http.headers {
            headers.text(name, &self.template(value));
        }
        match &http.auth {
            // A header is what every host understands.
            AuthConfig::Bearer(token) if !headers.has_header("authorization") => {
                headers.text("Authorization", &format!("Bearer {}", self.template(token)));
                members.object("headers", headers);
            }
            auth => {
                members.object("headers", headers);
                self.auth(auth, members);
            }
        }
    }

    fn auth(&self, auth: &AuthConfig, members: &mut Members) {
        match auth {
            AuthConfig::Auto => {}
            AuthConfig::None => members.text("auth", "none"),
            AuthConfig::Bearer(token) => members.text("bearerToken", &self.template(token)),
            AuthConfig::OAuth(known) => {
                let OAuthConfig {
                    client_id,
                    client_secret,
                    issuer,
                    token_url,
                    scopes,
                    callback_port,
                    is_machine,
                } = &**known;
                let mut oauth = Members::default();
                for (key, value) in [
                    ("clientId", client_id),
                    ("clientSecret", client_secret),
                    ("issuer", issuer),
                    ("tokenUrl", token_url),
                ] {
                    if let Some(value) = value {
                        oauth.text(key, &self.template(value));
                    }
                }
                if !scopes.is_empty() {
                    oauth.json("scopes", scopes.as_slice());
                }
                if let Some(port) = callback_port {
                    oauth.json("callbackPort", *port);
                }
                if *is_machine {
                    oauth.text("grantType", "client_credentials");
                }
                members.0.push(("oauth".to_owned(), oauth.into_text()));
            }
        }
    }

    /// A path from the folder of its own file.
    fn path(&self, path: &str) -> String {
        match self.elsewhere {
            Some(own) if !path.starts_with(['$', '~']) && Path::new(path).is_relative() => {
                let own = PathBuf::from(own.to_string_lossy().replace('$', "$$"));
                own.join(path).to_string_lossy().into_owned()
            }
            _ => path.to_owned(),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// `30s`, `1500ms`.
fn time(time: Duration) -> String {
    match time.subsec_nanos() {
        0 => format!("{}s", time.as_secs()),
        _ => format!("{}ms", milliseconds(time)),
    }
}
