//! What a run may be asked for.

use std::path::PathBuf;
use std::time::Duration;

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
            workers: 4,
            seed: 1,
            plot: None,
            keep: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = *words.next().ok_or(format!("{word} wants a value"))?;
            let wrong = || format!("{word} {value}: not understood");
            let number = || value.parse::<usize>().ok().filter(|number| *number > 0);
            match *word {
                "--gateway" => options.gateway = PathBuf::from(value),
                "--for" => options.time = read_time(value).ok_or_else(wrong)?,
                "--clients" => options.clients = number().ok_or_else(wrong)?,
                "--servers" => options.servers = number().ok_or_else(wrong)?,
                "--workers" => options.workers = number().ok_or_else(wrong)?,
                "--seed" => options.seed = value.parse().map_err(|_| wrong())?,
                "--plot" => options.plot = Some(PathBuf::from(value)),
                "--keep" => options.keep = Some(PathBuf::from(value)),
                _ => return Err(format!("unknown option of soak: {word}")),
            }
        }
        Ok(options)
    }
}

/// `90s`, `10m`, `1h`.
fn read_time(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    let seconds = number.parse::<u64>().ok()?.checked_mul(factor)?;
    (seconds > 0).then_some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(read_time("90s"), Some(Duration::from_secs(90)));
        assert_eq!(read_time("10m"), Some(Duration::from_secs(600)));
        for wrong in ["", "10", "m", "0s", "-1s", "1d", "1é"] {
            assert_eq!(read_time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_not_an_option_is_refused() {
        assert!(Options::read(&["--for", "1m", "--seed", "7"]).is_ok());
        for words in [&["--fast"][..], &["--for"], &["--clients", "0"]] {
            assert!(Options::read(words).is_err(), "{words:?}");
        }
    }
}
