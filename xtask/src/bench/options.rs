//! What `cargo xtask bench server`, `bench client` and `bench cli` may be asked for, and where they ran.

use std::fs;

/// What the command line may ask for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) rounds: u32,
    /// The number of calls is divided by this.
    pub(crate) share: u32,
    /// How the names of the programs wanted begin; all if there are none.
    only: Vec<String>,
    pub(crate) instructions: bool,
}

impl Options {
    pub(crate) fn read(words: &[&str]) -> Result<Self, String> {
        let mut rounds = None;
        let mut options = Self {
            rounds: 3,
            share: 1,
            only: Vec::new(),
            instructions: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => (options.share, options.rounds) = (10, 1),
                "--instructions" => options.instructions = true,
                "--rounds" => {
                    let count = words.next().and_then(|word| word.parse().ok());
                    rounds = Some(
                        count
                            .filter(|&it| it > 0)
                            .ok_or("--rounds wants a number")?,
                    );
                }
                "--only" => {
                    let names = words.next().ok_or("--only wants names")?;
                    options.only.extend(names.split(',').map(str::to_owned));
                }
                _ => return Err(format!("unknown option of bench: {word}")),
            }
        }
        options.rounds = rounds.unwrap_or(options.rounds);
        Ok(options)
    }

    /// Is a program of this name to be measured?
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.starts_with(only.as_str()))
    }

    /// What ran, where, and what the tables say.
    pub(crate) fn machine(&self) -> String {
        let place = self.place();
        format!(
            "{place}Median [lowest..highest] of the rounds; ratios are of the column in bold, taken\n\
             within each round, to the best row of the limit and of rmcp.\n"
        )
    }

    /// What ran, and where: figures of different runs are not to be compared.
    pub(crate) fn place(&self) -> String {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let processors = read("/proc/cpuinfo");
        let model = processors.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == "model name").then(|| value.trim().to_owned())
        });
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let load = read("/proc/loadavg");
        let load = load.split_whitespace().next().unwrap_or("unknown");
        format!(
            "Rounds: {}{}. Machine: {cores} cores, {}, load {load} at the start.\n",
            self.rounds,
            if self.share > 1 { ", quick" } else { "" },
            model.as_deref().unwrap_or("unknown"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_come_in_any_order() {
        let options = Options::read(&["--rounds", "5", "--quick", "--only", "limit,rmcp"]).unwrap();
        assert_eq!((options.rounds, options.share), (5, 10));
        assert!(options.wants("rmcp, one thread"));
        assert!(!options.wants("switchboard"));
    }

    #[test]
    fn what_is_not_an_option_is_refused() {
        for words in [
            &["--fast"][..],
            &["--rounds"],
            &["--rounds", "0"],
            &["--only"],
        ] {
            assert!(Options::read(words).is_err(), "{words:?}");
        }
    }
}
