//! What an example is told on its command line.

use std::ffi::{OsStr, OsString};
use std::io;

/// What an example was told on its command line.
///
/// Every example has `--http PORT` and `--help`; others are its [own](OwnOption).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    http: Option<u16>,
    own: Vec<(&'static str, OsString)>,
}

/// An option that an example has besides those of all of them. It takes a value.
#[derive(Clone, Copy, Debug)]
pub struct OwnOption {
    /// How it is written, with its dashes.
    pub name: &'static str,
    /// What its value is, in one word.
    pub value: &'static str,
    /// What it is for, in one line.
    pub help: &'static str,
}

impl Options {
    /// The options of this process; none if only help was wanted, which has been printed
    /// to standard error.
    ///
    /// # Errors
    /// An option is not known, lacks its value, or is given twice.
    pub fn of_process(about: &str, own: &[OwnOption]) -> io::Result<Option<Self>> {
        let options = Self::read(std::env::args_os().skip(1), own)?;
        if options.is_none() {
            crate::print(&help(about, own));
        }
        Ok(options)
    }

    /// The port to listen on at 127.0.0.1, 0 for any free one; none for stdio.
    pub const fn http(&self) -> Option<u16> {
        self.http
    }

    /// The value of an option of the example's own.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        let found = self.own.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// None if help is wanted.
    fn read(
        mut arguments: impl Iterator<Item = OsString>,
        own: &[OwnOption],
    ) -> io::Result<Option<Self>> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            let argument = argument.to_string_lossy();
            if matches!(&*argument, "--help" | "-h") {
                return Ok(None);
            }
            let known = own.iter().find(|option| option.name == argument);
            if known.is_none() && argument != HTTP {
                return Err(wrong(format!("unknown option {argument:?}, see --help")));
            }
            let value = arguments
                .next()
                .ok_or_else(|| wrong(format!("{argument} needs a value, see --help")))?;
            let is_repeated = match known {
                Some(option) => {
                    let is_repeated = options.value(option.name).is_some();
                    options.own.push((option.name, value));
                    is_repeated
                }
                None => options.http.replace(port(&value)?).is_some(),
            };
            if is_repeated {
                return Err(wrong(format!("{argument} is given more than once")));
            }
        }
        Ok(Some(options))
    }
}

fn port(value: &OsStr) -> io::Result<u16> {
    let port = value.to_str().and_then(|text| text.parse().ok());
    port.ok_or_else(|| {
        wrong(format!(
            "{HTTP} needs a port, 0 for any free one, not {value:?}"
        ))
    })
}

fn help(about: &str, own: &[OwnOption]) -> String {
    let mut text = format!("{about}\n\nIt serves on stdio unless --http is given.\n\nOptions:\n");
    for option in own.iter().chain(&SHARED) {
        let name = format!("{} {}", option.name, option.value);
        text.push_str(&format!("  {name:<12}  {}\n", option.help));
    }
    text
}

fn wrong(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

const HTTP: &str = "--http";

const SHARED: [OwnOption; 2] = [
    OwnOption {
        name: HTTP,
        value: "PORT",
        help: "serve at http://127.0.0.1:PORT/mcp instead; 0 for any free port",
    },
    OwnOption {
        name: "--help",
        value: "",
        help: "print this",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: OwnOption = OwnOption {
        name: "--file",
        value: "FILE",
        help: "where it is",
    };

    fn read(arguments: &[&str]) -> io::Result<Option<Options>> {
        Options::read(arguments.iter().map(OsString::from), &[FILE])
    }

    #[test]
    fn options_are_read_in_any_order() {
        let options = read(&["--file", "a", "--http", "80"]).unwrap().unwrap();
        assert_eq!(options.http(), Some(80));
        assert_eq!(options.value("--file"), Some(OsStr::new("a")));
        assert_eq!(
            read(&["--http", "80", "--file", "a"]).unwrap(),
            Some(options)
        );
        assert_eq!(read(&[]).unwrap(), Some(Options::default()));
    }

    #[test]
    fn help_names_every_option() {
        assert_eq!(read(&["--http", "1", "--help", "--what"]).unwrap(), None);
        let help = help("A demo.", &[FILE]);
        for part in ["A demo.", "--file FILE", "--http PORT", "--help"] {
            assert!(help.contains(part), "{help}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |arguments: &[&str], expected: &str| {
            let error = read(arguments).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(&["--what"], "unknown option \"--what\"");
        check(&["--file"], "--file needs a value");
        check(&["--http", "x"], "--http needs a port");
        check(&["--http", "70000"], "--http needs a port");
        check(&["--http", "1", "--http", "2"], "more than once");
        check(&["--file", "a", "--file", "b"], "more than once");
    }
}
