//! Which variables a server sees.
//!
//! Not ours: they hold the keys of everything else that the person uses. A short list, what the
//! configuration passes on by name, and what it sets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::ProcessSpec;

/// The whole environment of the server.
pub(super) fn of(spec: &ProcessSpec) -> BTreeMap<OsString, OsString> {
    choose(spec, std::env::vars_os())
}

fn choose(
    spec: &ProcessSpec,
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let is_among =
        |names: &[OsString], name: &OsStr| names.iter().any(|other| is_same(other, name));
    let mut chosen: BTreeMap<_, _> = ours
        .filter(|(name, _)| !is_among(&spec.withheld, name))
        .filter(|(name, value)| {
            is_among(&spec.inherited, name) || is_common(name) && !is_function(value)
        })
        .collect();
    for (name, value) in &spec.environment {
        chosen.retain(|other, _| !is_same(other, name));
        chosen.insert(name.clone(), value.clone());
    }
    chosen
}

fn is_common(name: &OsStr) -> bool {
    COMMON
        .iter()
        .any(|common| is_same(OsStr::new(common), name))
        || name.as_encoded_bytes().starts_with(b"LC_")
}

/// Names are the same in either case on Windows.
fn is_same(one: &OsStr, other: &OsStr) -> bool {
    if cfg!(windows) {
        one.eq_ignore_ascii_case(other)
    } else {
        one == other
    }
}

/// A function that a shell has exported is code, and not what the variable is for.
fn is_function(value: &OsStr) -> bool {
    value.as_encoded_bytes().starts_with(b"()")
}

/// Who the person is, where programs and files are, how text looks. None of them is a secret.
///
/// The directories of XDG are those in which package runners keep what they have downloaded: a
/// server without them fills a second cache. `XDG_RUNTIME_DIR` is left out, for it leads to the
/// sockets of the session, and proxies are left out, for their addresses may hold a password.
#[cfg(not(windows))]
const COMMON: &[&str] = &[
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Who the person is and where programs and files are. Without `SystemRoot` hardly any program
/// starts, and without `PATHEXT` no script is found.
#[cfg(windows)]
const COMMON: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spec: ProcessSpec, ours: &[(&str, &str)], expected: &[(&str, &str)]) {
        let pairs = |list: &[(&str, &str)]| -> Vec<(OsString, OsString)> {
            let pair = |(name, value): &(&str, &str)| (name.into(), value.into());
            list.iter().map(pair).collect()
        };
        let chosen = choose(&spec, pairs(ours).into_iter());
        assert_eq!(chosen, pairs(expected).into_iter().collect());
    }

    #[test]
    fn only_what_is_common_is_passed_on() {
        check(
            ProcessSpec::new("x"),
            &[
                ("PATH", "/bin"),
                ("AWS_SECRET_ACCESS_KEY", "k"),
                ("LC_TIME", "C"),
            ],
            &[("PATH", "/bin"), ("LC_TIME", "C")],
        );
    }

    #[test]
    fn more_is_passed_on_by_name() {
        check(
            ProcessSpec::new("x")
                .inherit("HTTPS_PROXY")
                .inherit("ABSENT"),
            &[("HTTPS_PROXY", "p"), ("HTTP_PROXY", "q")],
            &[("HTTPS_PROXY", "p")],
        );
    }

    #[test]
    fn what_is_set_wins_and_the_last_wins() {
        let spec = ProcessSpec::new("x").inherit("A");
        check(
            spec.variable("A", "1")
                .variable("PATH", "p")
                .variable("A", "2"),
            &[("A", "0"), ("PATH", "/bin")],
            &[("A", "2"), ("PATH", "p")],
        );
    }

    #[test]
    fn what_is_withheld_is_not_passed_on_and_may_be_set() {
        let spec = ProcessSpec::new("x").inherit("A").withhold("A");
        check(
            spec.withhold("HOME")
                .withhold("TERM")
                .variable("TERM", "dumb"),
            &[
                ("A", "0"),
                ("HOME", "/me"),
                ("TERM", "xterm"),
                ("USER", "me"),
            ],
            &[("TERM", "dumb"), ("USER", "me")],
        );
    }

    #[test]
    fn a_function_is_not_a_value() {
        check(ProcessSpec::new("x"), &[("TERM", "() { :; }")], &[]);
    }
}
