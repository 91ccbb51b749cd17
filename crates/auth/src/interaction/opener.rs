//! Opens an address in the browser of whoever sits here.
//!
//! A program gets the address as one argument: no shell, no terminal, no input. It is not waited
//! for, since some only end with the browser, and an interrupt at the terminal is not its
//! business. Only a [`Place`] comes this far, so it is neither an option nor a script.
//!
//! Specification: basic/security_best_practices, "Open Redirection"; RFC 8252, section 8.12.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::place::Place;

/// Is there a browser that the person who is asked would see?
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    /// What `BROWSER` says: programs, the best first.
    browser: Option<OsString>,
    system: System,
    has_display: bool,
    /// Somebody looks at this machine from another.
    is_remote: bool,
    /// Linux within Windows.
    is_within_windows: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum System {
    #[default]
    Other,
    Mac,
    Windows,
}

impl Surroundings {
    /// As this process finds them.
    pub(super) fn of_process() -> Self {
        let has = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            browser: env::var_os("BROWSER").filter(|value| !value.is_empty()),
            system: if cfg!(target_os = "macos") {
                System::Mac
            } else if cfg!(windows) {
                System::Windows
            } else {
                System::Other
            },
            has_display: has("DISPLAY") || has("WAYLAND_DISPLAY"),
            is_remote: has("SSH_CONNECTION") || has("SSH_CLIENT") || has("SSH_TTY"),
            is_within_windows: has("WSL_DISTRO_NAME") || has("WSL_INTEROP"),
        }
    }

    #[cfg(test)]
    pub(super) fn with_browser(browser: impl Into<OsString>) -> Self {
        Self {
            browser: Some(browser.into()),
            ..Self::default()
        }
    }

    /// The programs that may open an address, the best first. None: a browser that opened here
    /// would be seen by nobody.
    pub(super) fn programs(&self, place: &Place) -> Vec<Program> {
        let mut programs = Vec::new();
        // Editors that work on another machine set it to what opens a browser on the own one.
        if let Some(browser) = &self.browser {
            let entries = env::split_paths(browser).take(MOST_ENTRIES);
            programs.extend(entries.filter_map(|entry| Program::of_entry(&entry, place)));
        }
        let plain: &[&[&str]] = match self.system {
            _ if self.is_remote && !self.has_display => &[],
            System::Mac => &[&["/usr/bin/open"]],
            System::Windows => &[&["rundll32.exe", "url.dll,FileProtocolHandler"]],
            System::Other if self.is_within_windows => &[
                &["wslview"],
                &["rundll32.exe", "url.dll,FileProtocolHandler"],
                &["xdg-open"],
            ],
            System::Other if self.has_display => &[&["xdg-open"], &["gio", "open"]],
            System::Other => &[],
        };
        programs.extend(plain.iter().filter_map(|words| Program::of(words, place)));
        programs
    }

    pub(super) fn has_browser(&self) -> bool {
        let anywhere = Place::parse("https://localhost/");
        anywhere.is_ok_and(|place| !self.programs(&place).is_empty())
    }
}

/// A program and what it is given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    name: OsString,
    arguments: Vec<OsString>,
}

impl Program {
    fn of(words: &[&str], place: &Place) -> Option<Self> {
        let (name, arguments) = words.split_first()?;
        let mut arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        arguments.push(place.as_str().into());
        Some(Self {
            name: name.into(),
            arguments,
        })
    }

    /// An entry of `BROWSER`: a program, or a program and its arguments with `%s` for the
    /// address.
    fn of_entry(entry: &Path, place: &Place) -> Option<Self> {
        let address = || OsString::from(place.as_str());
        if entry.components().count() > 1 && entry.is_file() {
            return Some(Self {
                name: entry.into(),
                arguments: vec![address()],
            });
        }
        let mut words = entry.to_str()?.split_whitespace();
        let name = OsString::from(words.next()?);
        let mut has_address = false;
        let mut arguments: Vec<OsString> = words
            .map(|word| word.trim_matches(['"', '\'']))
            .map(|word| match word.contains("%s") {
                true => {
                    has_address = true;
                    word.replace("%s", place.as_str()).into()
                }
                false => word.into(),
            })
            .collect();
        if !has_address {
            arguments.push(address());
        }
        Some(Self { name, arguments })
    }

    /// Starts it and stays with it. Returns if it did not work.
    async fn run(self) {
        let mut command = Command::new(&self.name);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // An interrupt that ends the login must not end the browser.
        #[cfg(unix)]
        command.process_group(0);
        let shown = Path::new(&self.name).file_name().map(OsStr::to_owned);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                tracing::debug!(program = ?shown, %error, "this browser cannot be started");
                return;
            }
        };
        match timeout(SETTLED, child.wait()).await {
            Ok(Ok(status)) if !status.success() => {
                tracing::debug!(program = ?shown, %status, "this browser did not start");
                return;
            }
            Ok(_) => {}
            // It is the browser itself. Dropped, it lives on, and is reaped when it has ended.
            Err(_) => {
                let _ = child.wait().await;
            }
        }
        std::future::pending().await
    }
}

/// Opens an address with the first of these that works, and stays with it. Returns when none
/// did.
pub(super) async fn open(programs: Vec<Program>) {
    for program in programs {
        program.run().await;
    }
}

const MOST_ENTRIES: usize = 8;
// One that ends with an error later than this had shown something.
const SETTLED: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "https://login.example/a?b=c&d=$(e)";

    fn place() -> Place {
        Place::parse(ADDRESS).unwrap()
    }

    /// The programs with what they are given, without the address.
    fn found(surroundings: &Surroundings) -> Vec<String> {
        let programs = surroundings.programs(&place()).into_iter();
        let texts = programs.map(|program| {
            let (address, others) = program.arguments.split_last().unwrap();
            assert_eq!(address, ADDRESS);
            let words = std::iter::once(&program.name).chain(others);
            let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
            words.join(" ")
        });
        texts.collect()
    }

    #[test]
    fn a_browser_is_opened_only_where_somebody_sees_it() {
        let nothing = Surroundings::default();
        assert!(found(&nothing).is_empty() && !nothing.has_browser());
        let desk = Surroundings {
            has_display: true,
            ..Surroundings::default()
        };
        assert_eq!(found(&desk), ["xdg-open", "gio open"]);
        let forwarded = Surroundings {
            is_remote: true,
            ..desk
        };
        assert_eq!(found(&forwarded), ["xdg-open", "gio open"]);
        let mac = Surroundings {
            system: System::Mac,
            ..Surroundings::default()
        };
        assert_eq!(found(&mac), ["/usr/bin/open"]);
        let mac_elsewhere = Surroundings {
            is_remote: true,
            ..mac
        };
        assert!(!mac_elsewhere.has_browser());
        let windows = Surroundings {
            system: System::Windows,
            ..Surroundings::default()
        };
        assert_eq!(
            found(&windows),
            ["rundll32.exe url.dll,FileProtocolHandler"]
        );
        let within = Surroundings {
            is_within_windows: true,
            ..Surroundings::default()
        };
        assert_eq!(
            found(&within),
            [
                "wslview",
                "rundll32.exe url.dll,FileProtocolHandler",
                "xdg-open"
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_the_user_named_comes_first_and_counts_anywhere() {
        let editor = Surroundings {
            is_remote: true,
            ..Surroundings::with_browser("/opt/editor/helper:firefox -P work")
        };
        assert_eq!(found(&editor), ["/opt/editor/helper", "firefox -P work"]);
        let placed = Surroundings::with_browser("app \"%s\" --new");
        assert_eq!(
            placed.programs(&place()),
            [Program {
                name: "app".into(),
                arguments: vec![ADDRESS.into(), "--new".into()],
            }]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_program_may_have_a_space_in_its_name() {
        let folder = env::temp_dir().join(format!("switchboard opener {}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("my browser");
        std::fs::write(&path, "").unwrap();
        let surroundings = Surroundings::with_browser(&path);
        assert_eq!(found(&surroundings), [path.to_str().unwrap()]);
        std::fs::remove_dir_all(&folder).unwrap();
        let parts = surroundings.programs(&place());
        assert_eq!(parts[0].arguments.last().unwrap(), ADDRESS);
    }
}
