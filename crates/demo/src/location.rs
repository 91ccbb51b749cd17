//! Where the tasks of a user are, if nothing else is said.
//!
//! In the folder for data of programs: `XDG_DATA_HOME` or `~/.local/share`, on macOS
//! `~/Library/Application Support`, on Windows `%LOCALAPPDATA%`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// The file of this user's tasks.
///
/// # Errors
/// When the user has no data folder.
pub fn of_user() -> io::Result<PathBuf> {
    let folder = data_folder(|name| env::var_os(name)).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "the user has no data folder; say where the tasks are with --db FILE",
        )
    })?;
    Ok(folder.join("switchboard").join("tasks.sqlite"))
}

fn data_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // Relative paths are not valid there, by the XDG specification.
    let path = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    if cfg!(windows) {
        path("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        Some(path("HOME")?.join("Library/Application Support"))
    } else {
        path("XDG_DATA_HOME").or_else(|| Some(path("HOME")?.join(".local/share")))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        assert_eq!(data_folder(variable), expected.map(PathBuf::from));
    }

    #[test]
    fn the_data_folder_is_where_the_platform_says() {
        check(&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")], Some("/d"));
        check(&[("HOME", "/h")], Some("/h/.local/share"));
        check(
            &[("XDG_DATA_HOME", "d"), ("HOME", "/h")],
            Some("/h/.local/share"),
        );
        check(&[], None);
    }
}
