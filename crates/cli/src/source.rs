//! Where servers come from.
//!
//! `--config FILE`; else `mcp.json` or `.mcp.json` of this folder or the nearest one above it; else
//! the user's own file. Or one server that is given on the spot: a URL, or a command. What was
//! found and not named is used when somebody has agreed to it (`trust`).

use std::env;
use std::path::{Path, PathBuf};

use switchboard_hub::{Config, ServerConfig, TransportConfig, nearest};

use crate::app::App;
use crate::args::Global;
use crate::args::look::Spot;
use crate::exit::Failure;
use crate::import::{ReadError, Reading, read_text, read_text_as};
use crate::trust;

/// The configuration in use, and where it was read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) config: Config,
    /// None for a server that was given on the spot.
    pub(crate) file: Option<PathBuf>,
    /// The text of a file that was found and not named, unless it is the user's own.
    found: Option<String>,
}

impl Source {
    /// The configuration in use, to start servers of it.
    ///
    /// # Errors
    /// When there is none, it cannot be read, or nobody has agreed to it.
    pub(crate) async fn agreed(app: &App) -> Result<Self, Failure> {
        let source = Self::find(&app.global)?;
        trust::check(app, &source).await?;
        Ok(source)
    }

    /// The configuration in use, to be looked at. What starts something asks for [`Self::agreed`].
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub(crate) fn find(global: &Global) -> Result<Self, Failure> {
        let file = find_file(global).ok_or_else(|| {
            Failure::usage("there is no mcp.json or .mcp.json here or above, and none of your own")
                .hint("`switchboard add NAME -- COMMAND`, or `switchboard import`")
        })?;
        let is_named = global.config.is_some();
        Ok(Self::again(file, !is_named)?)
    }

    /// The configuration of a file, which was found or named.
    pub(crate) fn again(file: PathBuf, is_found: bool) -> Result<Self, ReadError> {
        let (config, text) = Self::read(&file)?;
        let is_foreign = is_found && !trust::is_own(&file);
        Ok(Self {
            config,
            file: Some(file),
            found: is_foreign.then_some(text),
        })
    }

    /// A configuration and its text, which was read once: what is judged is what is used.
    pub(crate) fn read(file: &Path) -> Result<(Config, String), ReadError> {
        let text = read_text(file)?;
        Ok((read_text_as(file, &text, &Reading::default())?, text))
    }

    /// The file and its text, if somebody must have agreed to it.
    pub(crate) fn foreign(&self, global: &Global) -> Option<(&Path, &str)> {
        let found = self.found.as_deref();
        let found = found.filter(|_| !trust::is_waived(global))?;
        Some((self.file.as_deref()?, found))
    }

    /// Is there a server of this name?
    ///
    /// # Errors
    /// When there is none, or it is written so that it cannot be used.
    pub(crate) fn check_server(&self, name: &str) -> Result<(), Failure> {
        if self.config.server(name).is_some() {
            return Ok(());
        }
        let file = self.file.as_deref().map(Path::display);
        let file = file.map(|file| format!(" in {file}")).unwrap_or_default();
        let broken = self.config.errors();
        let mut broken = broken.filter(|problem| problem.server.as_deref() == Some(name));
        if let Some(problem) = broken.next() {
            return Err(Failure::usage(problem.to_string()).server(name));
        }
        let names = || {
            self.config
                .servers
                .iter()
                .map(|server| server.name.as_str())
        };
        let failure = Failure::usage(format!("there is no server {name:?}{file}"));
        Err(match nearest(name, names()).first() {
            Some(near) => failure.hint(format!("did you mean {near:?}?")),
            None => {
                let names: Vec<&str> = names().collect();
                failure.hint(format!("there are: {}", names.join(", ")))
            }
        })
    }

    /// One server that was given on the spot.
    pub(crate) fn of_one(server: ServerConfig) -> Self {
        let mut config = Config::default();
        config.servers.push(server);
        Self {
            config,
            file: None,
            found: None,
        }
    }
}

/// The same as [`on_the_spot`], with the headers that were given beside it.
///
/// # Errors
/// When that makes no sense, or headers were given and no URL.
pub(crate) fn given(target: Option<&str>, spot: &Spot) -> Result<Option<ServerConfig>, Failure> {
    match on_the_spot(target, &spot.command)? {
        Some(server) => with_headers(server, &spot.header).map(Some),
        None if spot.header.is_empty() => Ok(None),
        None => Err(no_use_for_headers()),
    }
}

/// A server that is given on the spot, if one is: a URL, or a command.
///
/// # Errors
/// When both are there, or neither makes sense.
pub(crate) fn on_the_spot(
    target: Option<&str>,
    command: &[String],
) -> Result<Option<ServerConfig>, Failure> {
    match (target.filter(|target| is_url(target)), command) {
        (Some(url), []) => Ok(Some(ServerConfig::url(&name_of_url(url), url))),
        (Some(_), _) => Err(Failure::usage(
            "a URL and a command are two servers; give one",
        )),
        (None, []) => Ok(None),
        (None, words) => {
            let name = name_of_command(words);
            let words = words.iter().map(String::as_str);
            let mut server = ServerConfig::command(&name, words);
            // Whoever types a command expects it to see what a shell would let it see.
            if let TransportConfig::Stdio(stdio) = &mut server.transport {
                stdio.inherits_all = true;
            }
            Ok(Some(server))
        }
    }
}

fn with_headers(mut server: ServerConfig, headers: &[String]) -> Result<ServerConfig, Failure> {
    for header in headers {
        if matches!(server.transport, TransportConfig::Stdio(_)) {
            return Err(no_use_for_headers());
        }
        // What is behind the colon may be secret.
        let (name, value) = header.split_once(':').ok_or_else(|| {
            Failure::usage("a header has no colon").hint("write -H 'NAME: VALUE'")
        })?;
        server = server.header(name.trim(), value.trim());
    }
    Ok(server)
}

/// Headers were given, and no URL with them.
fn no_use_for_headers() -> Failure {
    Failure::usage("headers are for a URL that is given on the spot")
        .hint("those of configured servers are in their file")
}

/// Is it where a server is?
pub(crate) fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| matches!(scheme, "http" | "https"))
}

/// What a server at a URL is called: its host.
fn name_of_url(url: &str) -> String {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let host = behind.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    plain_name(host)
}

/// What a server that a command starts is called: the package or program, without its folder.
fn name_of_command(words: &[String]) -> String {
    let program = words.first().map(String::as_str).unwrap_or_default();
    let runs_another = RUNNERS.contains(&stem(last_part(program)));
    let package = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let path = package
        .filter(|_| runs_another)
        .map_or(program, |word| word);
    // `server-memory/dist/index.js` is `server-memory`.
    let parts = path.rsplit(['/', '\\']).map(stem);
    let telling = |part: &&str| !part.is_empty() && !GENERIC.contains(part);
    let name = parts.clone().find(telling).or_else(|| parts.clone().next());
    plain_name(name.unwrap_or_default())
}

/// A name without a version and without what says how a file is read.
fn stem(name: &str) -> &str {
    let name = match name.split_once('@') {
        Some((name, _)) if !name.is_empty() => name,
        _ => name,
    };
    let endings = [".exe", ".cmd", ".js", ".mjs", ".cjs", ".ts", ".py"];
    let found = endings.iter().find_map(|ending| name.strip_suffix(ending));
    found.unwrap_or(name)
}

fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Letters, digits and dashes: it becomes a part of names of tools.
fn plain_name(text: &str) -> String {
    let plain = text.chars().take(LONGEST_NAME).map(|character| {
        let is_plain = character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
        if is_plain { character } else { '-' }
    });
    let name: String = plain.collect();
    match name.trim_matches(['-', '_', '.']) {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

/// How a server is reached, as the configuration says it: secrets are their references.
pub(crate) fn reached(config: &ServerConfig) -> String {
    match &config.transport {
        TransportConfig::Stdio(stdio) => {
            let words = std::iter::once(&stdio.command).chain(&stdio.args);
            let words: Vec<String> = words.map(ToString::to_string).collect();
            words.join(" ")
        }
        TransportConfig::Http(http) | TransportConfig::Sse(http) => http.url.to_string(),
        other => other.word().to_owned(),
    }
}

/// The file that is read, if there is one: the one that was said, whether it is there or not.
pub(crate) fn find_file(global: &Global) -> Option<PathBuf> {
    if let Some(file) = &global.config {
        return Some(file.clone());
    }
    let here = env::current_dir().ok();
    let in_project = here.as_deref().and_then(project_file);
    in_project.or_else(|| user_file().filter(|file| file.is_file()))
}

/// The file of the project, from this folder upwards; not one that somebody else has put there.
pub(crate) fn project_file(folder: &Path) -> Option<PathBuf> {
    let files = folder
        .ancestors()
        .flat_map(|folder| NAMES.iter().map(|name| folder.join(name)));
    files.into_iter().find(|file| is_ours(file))
}

/// Is it a file of this user, or of the system? A file names programs that are run.
#[cfg(unix)]
fn is_ours(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let Ok(found) = file.metadata() else {
        return false;
    };
    let own = rustix::process::geteuid().as_raw();
    found.is_file() && (found.uid() == own || found.uid() == 0)
}

#[cfg(not(unix))]
fn is_ours(file: &Path) -> bool {
    file.is_file()
}

/// The user's own file, whether it is there or not.
pub(crate) fn user_file() -> Option<PathBuf> {
    Some(config_folder()?.join("switchboard").join("mcp.json"))
}

/// Where is kept what servers offered when they last ran.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let folder = match () {
        () if cfg!(windows) => path_in("LOCALAPPDATA")?,
        () if cfg!(target_os = "macos") => path_in("HOME")?.join("Library/Caches"),
        () => path_in("XDG_CACHE_HOME").or_else(|| Some(path_in("HOME")?.join(".cache")))?,
    };
    Some(folder.join("switchboard").join("servers"))
}

/// Where is kept what was once said and holds from then on.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let folder = match () {
        () if cfg!(windows) => path_in("LOCALAPPDATA")?,
        () if cfg!(target_os = "macos") => path_in("HOME")?.join("Library/Application Support"),
        () => path_in("XDG_STATE_HOME").or_else(|| Some(path_in("HOME")?.join(".local/state")))?,
    };
    Some(folder.join("switchboard"))
}

/// Where programs keep what their users configure.
fn config_folder() -> Option<PathBuf> {
    if cfg!(windows) {
        return path_in("APPDATA");
    }
    path_in("XDG_CONFIG_HOME").or_else(|| Some(path_in("HOME")?.join(".config")))
}

/// The absolute path in a variable: relative ones are not valid there.
fn path_in(variable: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(variable)?);
    path.is_absolute().then_some(path)
}

/// Programs that start the one that is named behind them.
const RUNNERS: [&str; 10] = [
    "npx", "bunx", "pnpx", "uvx", "pipx", "node", "python", "python3", "deno", "bun",
];
/// What many files and folders are called.
const GENERIC: [&str; 8] = [
    "index", "main", "server", "cli", "dist", "build", "src", "bin",
];
const LONGEST_NAME: usize = 40;
const NAMES: [&str; 2] = ["mcp.json", ".mcp.json"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_the_spot_has_a_name() {
        let check = |words: &[&str], expected: &str| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(name_of_command(&words), expected, "{words:?}");
        };
        check(
            &["npx", "-y", "@modelcontextprotocol/server-memory"],
            "server-memory",
        );
        check(&["npx", "-y", "@scope/pkg@1.2.3"], "pkg");
        check(&["uvx", "mcp-server-time"], "mcp-server-time");
        check(&["/usr/bin/my-server", "--flag"], "my-server");
        check(&["python3", "server.py"], "server");
        check(&["node", "/a/server-memory/dist/index.js"], "server-memory");
        check(&["cmd.exe", "/c", "npx"], "cmd");
        check(&["--"], "server");
        assert_eq!(
            name_of_url("https://user:pw@mcp.example.com:8000/mcp?key=x"),
            "mcp.example.com-8000"
        );
    }

    #[test]
    fn a_url_and_a_command_are_two_servers() {
        let words = ["x".to_owned()];
        assert!(on_the_spot(Some("https://a"), &words).is_err());
        assert!(on_the_spot(Some("a"), &words).is_ok_and(|server| server.is_some()));
        assert!(on_the_spot(Some("a"), &[]).is_ok_and(|server| server.is_none()));
    }
}
