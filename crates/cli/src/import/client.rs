//! The programs that are known, and where their files are.

use std::env;
use std::path::{Path, PathBuf};

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use switchboard_hub::{Config, Dialect};

use super::{ReadError, Reading, read_as, read_text, read_text_as};

/// A program that has servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    Gemini,
    Goose,
    OpenCode,
    VsCode,
    Windsurf,
    Zed,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Of the folder that we are in.
    Project,
    /// Of the user, wherever they are.
    User,
}

/// A file of a program that is there.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) client: Client,
    pub(crate) scope: Scope,
    pub(crate) file: PathBuf,
    pub(crate) config: Result<Config, ReadError>,
}

impl Client {
    pub(crate) const ALL: [Self; 10] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Cursor,
        Self::Gemini,
        Self::Goose,
        Self::OpenCode,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
    ];

    /// What it is called on the command line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Goose => "goose",
            Self::OpenCode => "opencode",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
        }
    }

    /// The program of a word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.word() == word)
    }

    pub(super) const fn dialect(self) -> Dialect {
        match self {
            Self::Codex => Dialect::Codex,
            Self::Gemini => Dialect::Gemini,
            Self::Goose => Dialect::Goose,
            Self::OpenCode => Dialect::OpenCode,
            Self::Zed => Dialect::Zed,
            Self::ClaudeCode
            | Self::ClaudeDesktop
            | Self::Cursor
            | Self::VsCode
            | Self::Windsurf => Dialect::Standard,
        }
    }

    /// Where its files may be, those of the project first.
    pub(crate) fn files(self, folders: &Folders) -> Vec<(Scope, PathBuf)> {
        let here = |path: &str| Some((Scope::Project, folders.here.join(path)));
        let user = |folder: &Option<PathBuf>, path: &str| {
            let folder = folder.as_ref()?;
            Some((Scope::User, folder.join(path)))
        };
        let (home, data) = (&folders.home, &folders.data);
        let files = match self {
            Self::ClaudeCode => vec![here(".mcp.json"), user(home, ".claude.json")],
            Self::ClaudeDesktop => vec![user(data, "Claude/claude_desktop_config.json")],
            Self::Codex => vec![
                here(".codex/config.toml"),
                match &folders.codex {
                    Some(_) => user(&folders.codex, "config.toml"),
                    None => user(home, ".codex/config.toml"),
                },
            ],
            Self::Cursor => vec![here(".cursor/mcp.json"), user(home, ".cursor/mcp.json")],
            Self::Gemini => vec![
                here(".gemini/settings.json"),
                user(home, ".gemini/settings.json"),
            ],
            Self::Goose => vec![match cfg!(windows) {
                true => user(data, "Block/goose/config/config.yaml"),
                false => user(&folders.config, "goose/config.yaml"),
            }],
            Self::OpenCode => vec![
                here("opencode.json"),
                here("opencode.jsonc"),
                user(&folders.config, "opencode/opencode.json"),
                user(&folders.config, "opencode/opencode.jsonc"),
            ],
            Self::VsCode => vec![
                here(".vscode/mcp.json"),
                user(data, "Code/User/mcp.json"),
                user(data, "Code - Insiders/User/mcp.json"),
            ],
            Self::Windsurf => vec![user(home, ".codeium/windsurf/mcp_config.json")],
            Self::Zed => vec![
                here(".zed/settings.json"),
                match cfg!(windows) {
                    true => user(data, "Zed/settings.json"),
                    false => user(&folders.config, "zed/settings.json"),
                },
            ],
        };
        files.into_iter().flatten().collect()
    }

    /// Its files that are there, read.
    pub(crate) fn find(self, folders: &Folders) -> Vec<Found> {
        let mut found = Vec::new();
        let files = self.files(folders);
        for (scope, file) in files.into_iter().filter(|(_, file)| file.is_file()) {
            let mut reading = Reading {
                dialect: Some(self.dialect()),
                folder: None,
            };
            if self == Self::ClaudeCode && scope == Scope::User {
                // What is only for the folder that we are in goes before what is for all.
                if let Some(config) = local(&file, &folders.here) {
                    let (client, scope, file) = (self, Scope::Project, file.clone());
                    found.push(Found {
                        client,
                        scope,
                        file,
                        config,
                    });
                }
            }
            if scope == Scope::User {
                reading.folder = folders.home.clone();
            }
            let config = read_as(&file, &reading);
            // Many settings have no servers in them.
            if !matches!(&config, Ok(config) if config.container.is_none()) {
                found.push(Found {
                    client: self,
                    scope,
                    file,
                    config,
                });
            }
        }
        found
    }
}

/// What Claude Code keeps for one folder, in the file of the user.
fn local(file: &Path, here: &Path) -> Option<Result<Config, ReadError>> {
    let text = read_text(file).ok()?;
    let parsed = parse_to_ast(&text, &CollectOptions::default(), &ParseOptions::default()).ok()?;
    let root = parsed.value?;
    let member = |value: &Value<'_>, key: &str| -> Option<(usize, usize)> {
        let mut members = value.as_object()?.properties.iter();
        let found = members.find(|member: &&ObjectProp<'_>| member.name.as_str() == key)?;
        let range = found.value.as_object()?.range;
        Some((range.start, range.end))
    };
    let mut members = root.as_object()?.properties.iter();
    let projects = members.find(|member| member.name.as_str() == "projects")?;
    let (start, end) = member(&projects.value, &here.to_string_lossy())?;
    // As far from the beginning as in the file, so that everything is where it is reported.
    let before: String = text
        .get(..start)?
        .chars()
        .map(|character| if character == '\n' { '\n' } else { ' ' })
        .collect();
    let part = format!("{before}{}", text.get(start..end)?);
    let reading = Reading {
        dialect: Some(Dialect::Standard),
        folder: Some(here.to_owned()),
    };
    let config = read_text_as(file, &part, &reading);
    match &config {
        Ok(config) if config.servers.is_empty() && config.broken.is_empty() => None,
        _ => Some(config),
    }
}

/// Where programs keep their files.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// The folder that we are in.
    pub(crate) here: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// Of programs that follow the customs of Unix, on macOS too.
    pub(crate) config: Option<PathBuf>,
    /// Of programs that follow the customs of the system.
    pub(crate) data: Option<PathBuf>,
    /// Where Codex was told to keep its own.
    pub(crate) codex: Option<PathBuf>,
}

impl Folders {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let path = |name: &str| {
            let path = PathBuf::from(env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let home = env::home_dir().filter(|home| home.is_absolute());
        let below = |path: &str| home.as_ref().map(|home| home.join(path));
        let config = path("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let data = if cfg!(windows) {
            path("APPDATA")
        } else if cfg!(target_os = "macos") {
            below("Library/Application Support")
        } else {
            config.clone()
        };
        Self {
            here: env::current_dir().unwrap_or_default(),
            codex: path("CODEX_HOME"),
            home,
            config,
            data,
        }
    }
}
