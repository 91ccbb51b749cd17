//! `switchboard __complete`: what could come next on a command line.
//!
//! A line for each candidate: the word, a tab, what it is.

use serde_json::json;

use crate::app::App;
use crate::args::check::CompleteWords;
use crate::completion::{Candidate, candidates};
use crate::exit::Failure;
use crate::output::{Outcome, Page, clean_line, shorten};

pub(crate) async fn run(args: &CompleteWords, app: &App) -> Result<Outcome, Failure> {
    let words = match &args.line {
        Some(line) => split(line),
        None => args.words.clone(),
    };
    let found = candidates(&words, app).await;
    let behind = words.last().map_or(0, |word| broken(word, &args.breaks));
    let lines = found.iter().filter_map(|candidate| line(candidate, behind));
    let text = lines.collect::<String>();
    Ok(Outcome::of(
        app,
        || Page::new().text(&text),
        || json!({ "text": text }),
    ))
}

/// What is printed of a candidate. One that would break the line is left out.
fn line(candidate: &Candidate, behind: usize) -> Option<String> {
    let value = candidate.value.get(behind..)?;
    let about = shorten(&clean_line(&candidate.about).replace('\t', " "), WIDEST);
    let is_plain = !value.is_empty() && !value.chars().any(char::is_control);
    is_plain.then(|| format!("{value}\t{about}\n"))
}

/// How much of a word stands before the place where the shell last broke it.
fn broken(word: &str, breaks: &str) -> usize {
    // Quotes and spaces are none that we see: the word is without them.
    let is_break = |c: char| breaks.contains(c) && matches!(c, '=' | ':' | '@');
    let last = word.rfind(is_break);
    last.map_or(0, |place| place + 1)
}

/// The words of a line as a shell sees them, from the name of this program on. The last is what
/// is being typed; it may be empty.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let Some(word) = words.last_mut() else {
            break;
        };
        match (letter, quote) {
            ('\\', None | Some('"')) => word.extend(letters.next()),
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (letter, None) if letter.is_whitespace() => {
                if !word.is_empty() {
                    words.push(String::new());
                }
            }
            (letter, _) => word.push(letter),
        }
    }
    let is_program = |word: &String| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
        name.strip_suffix(".exe").unwrap_or(name) == "switchboard"
    };
    let start = words.iter().position(is_program).unwrap_or(0);
    words.split_off(start)
}

/// How long a description is shown.
const WIDEST: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_as_a_shell_would() {
        let check = |line: &str, expected: &[&str]| assert_eq!(split(line), expected, "{line}");
        check("switchboard ca", &["switchboard", "ca"]);
        check("switchboard  call ", &["switchboard", "call", ""]);
        check("A=1 /usr/bin/switchboard x", &["/usr/bin/switchboard", "x"]);
        check(
            r#"switchboard call a="b c" 'd e"#,
            &["switchboard", "call", "a=b c", "d e"],
        );
        check(r"switchboard a\ b", &["switchboard", "a b"]);
        check("", &[""]);
    }

    #[test]
    fn only_what_is_behind_the_break_is_printed() {
        let check = |word: &str, breaks: &str, expected: usize| {
            assert_eq!(broken(word, breaks), expected, "{word}");
        };
        check("tone=k", " \t\n\"'><=;|&(:", 5);
        check("tone=k", "", 0);
        check("a:b=c", ":", 2);
        let candidate = Candidate {
            value: "tone=kind".to_owned(),
            about: "a\tb\u{1b}[2J".to_owned(),
        };
        assert_eq!(line(&candidate, 5).unwrap(), "kind\ta b[2J\n");
    }

    #[test]
    fn what_would_break_the_line_is_left_out() {
        let candidate = Candidate {
            value: "a\nb".to_owned(),
            about: String::new(),
        };
        assert_eq!(line(&candidate, 0), None);
    }
}
