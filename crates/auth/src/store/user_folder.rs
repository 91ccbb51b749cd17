//! Where the programs of a user keep what they need between runs.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// None: this user has none.
pub(super) fn user_folder() -> Option<PathBuf> {
    choose(|name| env::var_os(name), env::home_dir())
}

/// A path that is not absolute would be another in every folder we are started in.
fn choose(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = home.filter(absolute);
    if cfg!(windows) {
        let local = variable("LOCALAPPDATA").map(PathBuf::from).filter(absolute);
        return local.or_else(|| Some(home?.join("AppData").join("Local")));
    }
    if cfg!(target_os = "macos") {
        return Some(home?.join("Library").join("Application Support"));
    }
    let state = variable("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(absolute);
    state.or_else(|| Some(home?.join(".local").join("state")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_of(state: Option<&str>, home: Option<&str>) -> Option<PathBuf> {
        let variable = |_: &str| state.map(OsString::from);
        choose(variable, home.map(PathBuf::from))
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn logins_are_state_of_the_user() {
        let check = |state, home, expected: Option<&str>| {
            assert_eq!(folder_of(state, home), expected.map(PathBuf::from));
        };
        check(Some("/state"), Some("/home/me"), Some("/state"));
        check(None, Some("/home/me"), Some("/home/me/.local/state"));
        check(Some("relative"), Some("/me"), Some("/me/.local/state"));
        check(Some(""), Some("/me"), Some("/me/.local/state"));
        check(None, None, None);
        check(None, Some(""), None);
    }

    #[test]
    fn a_user_without_a_home_is_told() {
        assert_eq!(folder_of(None, None), None);
    }
}
