//! What is typed and what comes back, as it stands in the files of `interop/cli/`.
//!
//! Reading, and comparing lines; nothing is run here. `interop/README.md` says how a file is
//! written.

use std::collections::BTreeMap;

/// A file: a sentence on top, then what is typed, in order.
#[derive(Debug)]
pub(super) struct Transcript {
    pub(super) steps: Vec<Step>,
}

/// One thing that is typed, and what has to come of it.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Where it stands, from 1.
    pub(super) line: usize,
    pub(super) command: String,
    pub(super) input: Option<String>,
    /// What comes first.
    pub(super) first: Expected,
    /// What is done once that has come.
    pub(super) then: Option<Then>,
    /// What comes afterwards.
    pub(super) rest: Expected,
    pub(super) code: i32,
}

/// Lines of both streams.
#[derive(Debug, Default)]
pub(super) struct Expected {
    pub(super) out: Vec<String>,
    pub(super) err: Vec<String>,
}

/// What is done while a program still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It is interrupted, as by Ctrl-C.
    Interrupt,
    /// It goes on behind the steps that follow.
    Meanwhile,
}

/// What was found for a name in guillemets.
pub(super) type Names = BTreeMap<String, String>;

impl Transcript {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut steps: Vec<Step> = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            if let Some(command) = text.strip_prefix("$ ") {
                steps.push(Step {
                    line,
                    command: command.to_owned(),
                    ..Step::default()
                });
            } else if let Some(step) = steps.last_mut() {
                let added = step.add(text);
                added.map_err(|reason| format!("line {line}: {reason}"))?;
            }
        }
        for step in &mut steps {
            for expected in [&mut step.first, &mut step.rest] {
                while expected.out.last().is_some_and(String::is_empty) {
                    expected.out.pop();
                }
            }
        }
        Ok(Self { steps })
    }
}

impl Step {
    fn add(&mut self, text: &str) -> Result<(), String> {
        let expected = match self.then {
            None => &mut self.first,
            Some(_) => &mut self.rest,
        };
        match (text, text.split_at_checked(2)) {
            ("^C" | "&", _) if self.then.is_some() => return Err("a second time".to_owned()),
            ("^C", _) => self.then = Some(Then::Interrupt),
            ("&", _) => self.then = Some(Then::Meanwhile),
            (_, Some(("% ", _))) => {}
            (_, Some(("! ", line))) => expected.err.push(line.to_owned()),
            (_, Some(("< ", line))) => {
                let input = self.input.get_or_insert_default();
                input.push_str(line);
                input.push('\n');
            }
            (_, Some(("= ", code))) => {
                self.code = code.parse().map_err(|_| format!("{code:?} is no number"))?;
            }
            _ => expected.out.push(text.to_owned()),
        }
        Ok(())
    }
}

/// A command as words: blanks part them, but not between quotes.
pub(super) fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in command.chars() {
        match (quote, character) {
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), character) if open == character => quote = None,
            (None, ' ') => words.extend(word.take()),
            (_, character) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// The names behind dollar signs, replaced by what they stand for.
pub(super) fn expand(text: &str, names: &Names) -> String {
    let mut text = text.to_owned();
    // The longest first: one may begin like another.
    let mut names: Vec<(&String, &String)> = names.iter().collect();
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, value) in names {
        text = text.replace(&format!("${name}"), value);
    }
    text
}

/// The other way: what differs from machine to machine is replaced by its name.
pub(super) fn shorten(text: &str, names: &Names) -> String {
    let mut text = text.to_owned();
    let mut names: Vec<(&String, &String)> = names.iter().collect();
    names.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    for (name, value) in names {
        text = text.replace(value.as_str(), &format!("${name}"));
    }
    text
}

/// How many of the lines are what is expected, and what was found for names; as few as possible,
/// or with `is_end` all of them.
pub(super) fn fits(expected: &[String], lines: &[String], is_end: bool) -> Option<(usize, Names)> {
    let Some((first, rest)) = expected.split_first() else {
        let is_fitting = !is_end || lines.is_empty();
        return is_fitting.then(|| (0, Names::new()));
    };
    if first == ANY {
        return (0..=lines.len()).find_map(|skipped| {
            let (count, names) = fits(rest, lines.get(skipped..)?, is_end)?;
            Some((skipped + count, names))
        });
    }
    let (line, others) = lines.split_first()?;
    let mut names = line_fits(first, line)?;
    let (count, more) = fits(rest, others, is_end)?;
    names.extend(more);
    Some((1 + count, names))
}

/// Is it the line? `…` stands for anything, `«NAME»` for anything that gets that name.
fn line_fits(pattern: &str, line: &str) -> Option<Names> {
    let Some(place) = pattern.find([ANYTHING, OPEN]) else {
        return (pattern == line).then(Names::new);
    };
    let (before, behind) = pattern.split_at_checked(place)?;
    let line = line.strip_prefix(before)?;
    let (name, behind) = match behind.strip_prefix(OPEN) {
        Some(named) => {
            let (name, behind) = named.split_once(CLOSE)?;
            (Some(name), behind)
        }
        None => (None, behind.strip_prefix(ANYTHING)?),
    };
    let ends = line.char_indices().map(|(place, _)| place);
    ends.chain([line.len()]).find_map(|end| {
        let (found, line) = line.split_at_checked(end)?;
        let mut names = line_fits(behind, line)?;
        names.extend(name.map(|name| (name.to_owned(), found.to_owned())));
        Some(names)
    })
}

/// Any number of lines, where it stands alone.
const ANY: &str = "…";
const ANYTHING: char = '…';
const OPEN: char = '«';
const CLOSE: char = '»';

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_step_is_a_command_with_what_comes_of_it() {
        let text = "About it.\n\n$ call x 'a b'\n< in\nout\n! err\n^C\nmore\n= 130\n\n$ fg\n";
        let read = Transcript::read(text).unwrap();
        let [step, fg] = &*read.steps else { panic!() };
        assert_eq!((step.line, step.code), (3, 130));
        assert_eq!(words(&step.command), ["call", "x", "a b"]);
        assert_eq!(step.input.as_deref(), Some("in\n"));
        assert_eq!(step.first.out, ["out"]);
        assert_eq!(step.first.err, ["err"]);
        assert_eq!(step.then, Some(Then::Interrupt));
        assert_eq!(step.rest.out, ["more"]);
        assert_eq!((&*fg.command, fg.code), ("fg", 0));
        assert!(Transcript::read("$ a\n&\n&\n").is_err());
        assert!(Transcript::read("$ a\n= x\n").is_err());
    }

    #[test]
    fn quotes_keep_words_together() {
        assert_eq!(
            words(r#"a  b='c d' "e'f" '' g"#),
            ["a", "b=c d", "e'f", "", "g"]
        );
    }

    #[test]
    fn anything_stands_for_anything() {
        let check = |expected: &str, found: &str, is_end, wanted: Option<usize>| {
            let count = fits(&lines(expected), &lines(found), is_end);
            let count = count.map(|(count, _)| count);
            assert_eq!(count, wanted, "{expected:?} {found:?}");
        };
        check("a\nb", "a\nb", true, Some(2));
        check("a", "a\nb", true, None);
        check("a", "a\nb", false, Some(1));
        check("…\nb", "a\na\nb", true, Some(3));
        check("…", "", true, Some(0));
        check("a\n…", "a", true, Some(1));
        check("took … ms", "took 12 ms", true, Some(1));
        check("took … ms", "took 12 s", true, None);
        check("a…a…a", "abaca", true, Some(1));
        check("a", "", false, None);
    }

    #[test]
    fn what_was_found_gets_a_name() {
        let (_, names) = fits(
            &lines("at «URL»/mcp, …"),
            &lines("at http://x/mcp, yes"),
            true,
        )
        .unwrap();
        assert_eq!(names.get("URL").map(String::as_str), Some("http://x"));
        assert_eq!(expand("see $URL", &names), "see http://x");
        assert_eq!(shorten("see http://x!", &names), "see $URL!");
    }
}
