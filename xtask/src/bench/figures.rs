//! What rounds of measurements say together: medians, spread, ratios, as Markdown.
//!
//! A ratio is taken within each round, where both sides saw the same machine; then the rounds
//! are put together.

use std::collections::BTreeMap;

/// What stands behind a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// What is physically possible.
    Limit,
    /// Two processes and a pipe, without any message.
    RawPipe,
    Ours,
    /// We, used in another way.
    OursOtherwise,
    /// The peer in a mode that the bars are about.
    Peer,
    /// The peer in another mode, or another peer.
    PeerOtherwise,
}

/// One table: a measurement of several programs.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// Names of figures and their headings.
    pub(crate) columns: &'static [(&'static str, &'static str)],
    /// The figure whose ratios are printed. Less of it is better.
    pub(crate) judged: &'static str,
    pub(crate) rows: Vec<Row>,
}

/// One program.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    /// The figures of each round.
    pub(crate) rounds: Vec<BTreeMap<String, f64>>,
    /// Why a round has none.
    pub(crate) failures: Vec<String>,
}

impl Table {
    /// The judged figure of a row, divided by that of another in the same round.
    pub(crate) fn ratio(&self, row: &Row, other: &Row) -> Option<Spread> {
        let rounds = row.rounds.iter().zip(&other.rounds);
        let ratios = rounds.filter_map(|(own, other)| {
            let (own, other) = (own.get(self.judged)?, other.get(self.judged)?);
            (*other > 0.0).then(|| own / other)
        });
        Spread::of(ratios.collect())
    }

    /// The row in a role that needs the least.
    pub(crate) fn best(&self, role: Role) -> Option<&Row> {
        let rows = self.rows.iter().filter(|row| row.role == role);
        let judged = rows.filter_map(|row| Some((row, row.spread(self.judged)?.median)));
        judged
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(row, _)| row)
    }

    /// The row of this name, which is made if there is none.
    pub(crate) fn row(&mut self, name: &'static str, role: Role) -> &mut Row {
        let known = self.rows.iter().position(|row| row.name == name);
        let index = known.unwrap_or_else(|| {
            self.rows.push(Row::new(name, role));
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }

    /// The table in Markdown, under its title.
    pub(crate) fn markdown(&self) -> String {
        let headings = self.columns.iter().map(|(key, heading)| {
            if *key == self.judged {
                format!(" **{heading}** |")
            } else {
                format!(" {heading} |")
            }
        });
        let mut text = format!("### {}\n\n| program |", self.title);
        text.extend(headings);
        text += " of limit | of rmcp |\n|---|";
        text.extend(self.columns.iter().map(|_| "---:|"));
        text += "---:|---:|\n";
        for row in &self.rows {
            text += &format!("| {} |", row.name);
            for (key, _) in self.columns {
                let cell = row
                    .spread(key)
                    .map_or("-".to_owned(), |found| found.to_string());
                text += &format!(" {cell} |");
            }
            for role in [Role::Limit, Role::Peer] {
                let ratio = self.best(role).and_then(|best| self.ratio(row, best));
                let cell = ratio.map_or("-".to_owned(), |it| format!("{}×", number(it.median)));
                text += &format!(" {cell} |");
            }
            text += "\n";
        }
        for row in &self.rows {
            if let Some(reason) = row.failures.first() {
                let (name, count) = (row.name, row.failures.len());
                text += &format!("\n{name}, not measured {count} times: {reason}\n");
            }
        }
        text
    }
}

impl Row {
    pub(crate) fn new(name: &'static str, role: Role) -> Self {
        Self {
            name,
            role,
            rounds: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// How much more of a figure it has than another in the same round.
    pub(crate) fn more_than(&self, key: &str, other: &Self) -> Option<Spread> {
        let rounds = self.rounds.iter().zip(&other.rounds);
        let more = rounds.filter_map(|(own, other)| Some(own.get(key)? - other.get(key)?));
        Spread::of(more.collect())
    }

    pub(crate) fn spread(&self, key: &str) -> Option<Spread> {
        let values = self
            .rounds
            .iter()
            .filter_map(|round| round.get(key).copied());
        Spread::of(values.collect())
    }
}

/// One figure in several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    lowest: f64,
    highest: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (lowest, highest) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let upper = *values.get(middle)?;
        let median = if values.len() % 2 == 1 {
            upper
        } else {
            f64::midpoint(*values.get(middle - 1)?, upper)
        };
        Some(Self {
            median,
            lowest,
            highest,
        })
    }

    /// The other way round: what divides becomes what is divided.
    pub(crate) fn inverse(self) -> Self {
        Self {
            median: 1.0 / self.median,
            lowest: 1.0 / self.highest,
            highest: 1.0 / self.lowest,
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", number(self.median))?;
        if self.lowest < self.highest {
            write!(f, " [{}..{}]", number(self.lowest), number(self.highest))?;
        }
        Ok(())
    }
}

/// Three digits that matter, or all in front of the point, in groups of three.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    let whole = text.split('.').next().unwrap_or_default();
    let digits = whole.len();
    let grouped = text.chars().enumerate().flat_map(|(index, character)| {
        let left = digits.saturating_sub(index);
        let gap = index > 0 && left > 0 && left % 3 == 0;
        gap.then_some(' ').into_iter().chain([character])
    });
    grouped.collect()
}

/// The bars as the last table.
pub(crate) fn bars_table(bars: &[Bar]) -> String {
    let mut text = "### Bars\n\n| bar | wanted | found | |\n|---|---:|---:|---|".to_owned();
    for bar in bars {
        text = text + "\n" + &bar.markdown();
    }
    text
}

/// What the project promises of a figure.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) claim: String,
    pub(crate) found: Option<Spread>,
    pub(crate) bound: Bound,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    /// The row of the bar in the last table.
    fn markdown(&self) -> String {
        let (wanted, is_met) = match self.bound {
            Bound::AtLeast(bound) => (format!("≥ {bound}"), self.median() >= Some(bound)),
            Bound::AtMost(bound) => {
                let is_met = self.median().is_some_and(|median| median <= bound);
                (format!("≤ {bound}"), is_met)
            }
        };
        let (found, word) = match self.found {
            Some(found) if is_met => (found.to_string(), "met"),
            Some(found) => (found.to_string(), "**not met**"),
            None => ("-".to_owned(), "not measured"),
        };
        format!("| {} | {wanted} | {found} | {word} |", self.claim)
    }

    fn median(&self) -> Option<f64> {
        self.found.map(|found| found.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, role: Role, figures: &[f64]) -> Row {
        let round = |&figure: &f64| BTreeMap::from([("cpu".to_owned(), figure)]);
        let mut row = Row::new(name, role);
        row.rounds = figures.iter().map(round).collect();
        row
    }

    fn table(rows: Vec<Row>) -> Table {
        Table {
            title: "calls".to_owned(),
            columns: &[("cpu", "CPU µs")],
            judged: "cpu",
            rows,
        }
    }

    #[test]
    fn numbers_keep_three_digits() {
        let written = [0.1234, 1.234, 12.34, 123.4, 1234.5, 1_234_567.0].map(number);
        assert_eq!(
            written,
            ["0.123", "1.23", "12.3", "123", "1 234", "1 234 567"]
        );
    }

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        let table = table(vec![
            row("ours", Role::Ours, &[1.0, 10.0, 2.0]),
            row("peer", Role::Peer, &[10.0, 100.0, 30.0]),
        ]);
        let ratio = table
            .ratio(&table.rows[0], &table.rows[1])
            .unwrap()
            .inverse();
        assert_eq!(ratio.to_string(), "10.0 [10.0..15.0]");
    }

    #[test]
    fn the_better_mode_of_the_peer_is_compared() {
        let table = table(vec![
            row("threads", Role::Peer, &[30.0]),
            row("one thread", Role::Peer, &[20.0]),
            row("sessions", Role::PeerOtherwise, &[1.0]),
        ]);
        assert_eq!(table.best(Role::Peer).unwrap().name, "one thread");
    }

    #[test]
    fn a_table_says_what_is_missing() {
        let mut lost = row("ours", Role::Ours, &[]);
        lost.failures.push("the server ended".to_owned());
        let text = table(vec![row("limit", Role::Limit, &[2.0, 4.0]), lost]).markdown();
        assert!(
            text.contains("| limit | 3.00 [2.00..4.00] | 1.00× | - |"),
            "{text}"
        );
        assert!(text.contains("| ours | - | - | - |"), "{text}");
        assert!(
            text.contains("ours, not measured 1 times: the server ended"),
            "{text}"
        );
    }

    #[test]
    fn a_bar_without_a_figure_is_not_met() {
        for bound in [Bound::AtLeast(1.0), Bound::AtMost(1.0)] {
            let bar = Bar {
                claim: "start".to_owned(),
                found: None,
                bound,
            };
            assert!(bar.markdown().ends_with("| not measured |"));
        }
    }
}
