//! Where a configuration comes from, and what follows from that.
//!
//! Nearly all products write servers the same way. The few words that mean one thing here and
//! another there are decided by [`Dialect`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::page::Position;

/// Where a configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub(super) name: Arc<str>,
    pub(super) folder: Option<PathBuf>,
    pub(super) dialect: Option<Dialect>,
    /// Where each line stands in what the text was made of.
    pub(super) places: Option<Arc<[Position]>>,
}

impl Origin {
    /// A file. Its servers run in its folder; if that is one such as `.vscode`, in the folder
    /// around it.
    pub fn file(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self {
            name: Arc::from(path.to_string_lossy()),
            folder: Some(project_folder(path)),
            dialect: guess(path),
            places: None,
        }
    }

    /// A text that is in no file, under a name for messages.
    pub fn text(name: &str) -> Self {
        Self {
            name: Arc::from(name),
            folder: None,
            dialect: None,
            places: None,
        }
    }

    /// What it is called in messages.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Arc::from(name);
        self
    }

    /// Where its servers run, if they do not say.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// In whose words it is written. Otherwise that is told by the name of the file and by what
    /// is in it.
    #[must_use]
    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// For a text that was made of another one, such as TOML: where each of its lines stands in
    /// that. Everything is then reported there.
    #[must_use]
    pub fn places(mut self, places: impl Into<Arc<[Position]>>) -> Self {
        self.places = Some(places.into());
        self
    }
}

/// In whose words a configuration is written.
///
/// | | numbers are | a URL without a type is | variables, beside ours |
/// |---|---|---|---|
/// | `Standard` | milliseconds | Streamable HTTP or what is older | |
/// | `Gemini` | milliseconds | SSE | `$NAME`, on Windows `%NAME%` |
/// | `OpenCode` | milliseconds, for listing | as standard | `{env:NAME}`, `{file:path}` |
/// | `Zed`, `Roo` | seconds | as standard | |
/// | `Cline` | seconds | SSE | |
/// | `Mcporter` | milliseconds | as standard | `$env:NAME` |
/// | `Codex` | seconds, as the keys say | as standard | none, ours neither |
/// | `Goose` | seconds | as standard | `$NAME` |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Ours, which is that of Claude Code, VS Code, Cursor, Windsurf, Copilot, Kiro and others.
    #[default]
    Standard,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
    /// Zed.
    Zed,
    /// Cline.
    Cline,
    /// Roo and Kilo.
    Roo,
    /// mcporter.
    Mcporter,
    /// Codex, whose file is TOML.
    Codex,
    /// Goose, whose file is YAML.
    Goose,
}

impl Dialect {
    /// What a bare number is.
    pub(super) const fn unit(self) -> Duration {
        match self {
            Self::Zed | Self::Cline | Self::Roo | Self::Codex | Self::Goose => {
                Duration::from_secs(1)
            }
            _ => Duration::from_millis(1),
        }
    }

    /// Is a URL without a type one of the transport of 2024-11-05?
    pub(super) const fn means_old_transport(self) -> bool {
        matches!(self, Self::Gemini | Self::Cline)
    }

    /// Is `timeout` for lists, not for calls?
    pub(super) const fn means_listing(self) -> bool {
        matches!(self, Self::OpenCode)
    }
}

/// How variables are read in a configuration.
#[derive(Debug, Default)]
pub(crate) struct Grammar {
    pub(super) dialect: Dialect,
    pub(super) folder: Option<PathBuf>,
}

impl Grammar {
    pub(crate) const fn new(dialect: Dialect, folder: Option<PathBuf>) -> Self {
        Self { dialect, folder }
    }

    /// `None` if the word names no folder; within, `None` if there is no such folder.
    pub(crate) fn folder(&self, word: &str) -> Option<Option<String>> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let folder = self.folder.as_deref();
        match word {
            "workspaceFolder" | "CLAUDE_PROJECT_DIR" => Some(folder.map(text)),
            "workspaceFolderBasename" => {
                let name = folder.and_then(Path::file_name);
                Some(name.map(|name| text(Path::new(name))))
            }
            _ => None,
        }
    }

    /// Is anything filled in at all?
    pub(crate) fn has_variables(&self) -> bool {
        self.dialect != Dialect::Codex
    }

    pub(crate) fn has_dollar_names(&self) -> bool {
        matches!(self.dialect, Dialect::Gemini | Dialect::Goose)
    }

    pub(crate) fn has_percent_names(&self) -> bool {
        // Elsewhere `%AB%` is part of a URL.
        self.dialect == Dialect::Gemini && cfg!(windows)
    }

    pub(crate) fn has_dollar_env(&self) -> bool {
        self.dialect == Dialect::Mcporter
    }

    pub(crate) fn has_braces(&self) -> bool {
        self.dialect == Dialect::OpenCode
    }
}

/// The folder of a file, without those in which products keep their settings.
fn project_folder(path: &Path) -> PathBuf {
    let mut folder = path.parent().unwrap_or(Path::new(""));
    // Kiro nests twice.
    if folder.ends_with(".kiro/settings") {
        folder = folder.parent().unwrap_or(folder);
    }
    let name = folder.file_name().and_then(|name| name.to_str());
    if name.is_some_and(|name| SETTINGS_FOLDERS.contains(&name)) {
        folder = folder.parent().unwrap_or(folder);
    }
    match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_owned(),
    }
}

fn guess(path: &Path) -> Option<Dialect> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder
        .and_then(|folder| folder.to_str())
        .unwrap_or_default();
    match (folder, name) {
        (".codex", _) => Some(Dialect::Codex),
        ("goose", "config.yaml") => Some(Dialect::Goose),
        (".gemini", _) => Some(Dialect::Gemini),
        (_, "opencode.json" | "opencode.jsonc") => Some(Dialect::OpenCode),
        (".zed", _) => Some(Dialect::Zed),
        (".cline", _) | (_, "cline_mcp_settings.json") => Some(Dialect::Cline),
        (".roo" | ".kilo" | ".kilocode", _) => Some(Dialect::Roo),
        (_, "mcporter.json" | "mcporter.jsonc") => Some(Dialect::Mcporter),
        _ => None,
    }
}

const SETTINGS_FOLDERS: &[&str] = &[
    ".amazonq",
    ".claude",
    ".cline",
    ".codex",
    ".copilot",
    ".cursor",
    ".gemini",
    ".github",
    ".kilo",
    ".kilocode",
    ".kiro",
    ".mcporter",
    ".opencode",
    ".roo",
    ".vscode",
    ".zed",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_run_where_the_project_is() {
        let check = |path: &str, folder: &str| {
            assert_eq!(project_folder(Path::new(path)), Path::new(folder), "{path}");
        };
        check("/a/.mcp.json", "/a");
        check("/a/.vscode/mcp.json", "/a");
        check("/a/.kiro/settings/mcp.json", "/a");
        check("/home/me/.cursor/mcp.json", "/home/me");
        check("/a/config/mcp.json", "/a/config");
        check("mcp.json", ".");
        check(".cursor/mcp.json", ".");
    }

    #[test]
    fn some_files_are_known_by_their_names() {
        let check = |path: &str, dialect| assert_eq!(guess(Path::new(path)), dialect, "{path}");
        check("/a/.gemini/settings.json", Some(Dialect::Gemini));
        check("opencode.jsonc", Some(Dialect::OpenCode));
        check("/x/cline_mcp_settings.json", Some(Dialect::Cline));
        check(".roo/mcp.json", Some(Dialect::Roo));
        check("/home/me/.codex/config.toml", Some(Dialect::Codex));
        check("/x/goose/config.yaml", Some(Dialect::Goose));
        check("config/mcporter.json", Some(Dialect::Mcporter));
        check(".mcp.json", None);
        check("", None);
    }
}
