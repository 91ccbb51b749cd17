//! What a run may be asked for.

use std::path::PathBuf;
use std::time::Duration;

use switchboard_testkit::span;

/// What a run may be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The binary that is tested.
    pub(crate) gateway: PathBuf,
    pub(crate) time: Duration,
    pub(crate) clients: usize,
    pub(crate) servers: usize,
    /// Calls that each client has in flight.
    pub(crate) workers: usize,
    pub(crate) seed: u64,
    /// Where the curves are drawn.
    pub(crate) plot: Option<PathBuf>,
    /// Where the files of the run stay.
    pub(crate) keep: Option<PathBuf>,
}

impl Options {
    pub(crate) fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            gateway: PathBuf::new(),
            time: Duration::from_secs(60),
            clients: 20,
            servers: 10,
            workers: 10,
            seed: 1,
            plot: None,
            keep: None,
        };
        for Said { name, value } in said(words)? {
            match name {
                "--gateway" => options.gateway = PathBuf::from(value),
                "--for" => options.time = time(name, value)?,
                "--clients" => options.clients = number(name, value)?,
                "--servers" => options.servers = number(name, value)?,
                "--workers" => options.workers = number(name, value)?,
                "--seed" => options.seed = number(name, value)? as u64,
                "--plot" => options.plot = Some(PathBuf::from(value)),
                "--keep" => options.keep = Some(PathBuf::from(value)),
                _ => return Err(unknown(name)),
            }
        }
        Ok(options)
    }
}

/// An option and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
}

/// Options come with their values, always.
pub(crate) fn said<'a>(words: &[&'a str]) -> Result<Vec<Said<'a>>, String> {
    let pairs = words.chunks(2).map(|pair| match pair {
        [name, value] => Ok(Said { name, value }),
        rest => Err(format!("{} wants a value", rest.concat())),
    });
    pairs.collect()
}

/// A number above zero.
pub(crate) fn number(name: &str, value: &str) -> Result<usize, String> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{name} {value}: not understood"))
}

/// A span of time.
pub(crate) fn time(name: &str, value: &str) -> Result<Duration, String> {
    span::read(value).map_err(|reason| format!("{name}: {reason}"))
}

/// What is said of an option that nobody knows.
pub(crate) fn unknown(name: &str) -> String {
    format!("unknown option of soak: {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_an_option_is_refused() {
        assert!(Options::read(&["--for", "1m", "--seed", "7"]).is_ok());
        for words in [&["--fast"][..], &["--for"], &["--clients", "0"]] {
            assert!(Options::read(words).is_err(), "{words:?}");
        }
    }
}
