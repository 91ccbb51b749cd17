//! The words of a text, as they are looked for.
//!
//! Lower case; names are cut where `_`, `-`, `.` or a capital letter cuts them, and kept whole
//! besides, so that `createIssue` is found by `issue` and GitHub by `github`. The plural of English
//! is taken off. Scripts without spaces are taken by the character.

use std::ops::ControlFlow;

/// Gives each word of a text, in order, in lower case. Stops when there is no more interest.
pub(crate) fn each(text: &str, mut take: impl FnMut(&str) -> ControlFlow<()>) {
    let mut buffer = String::new();
    let runs = text.split(|letter: char| !letter.is_alphanumeric());
    for run in runs.filter(|run| !run.is_empty()) {
        if words_of_run(run, &mut buffer, &mut take).is_break() {
            return;
        }
    }
}

/// The words of letters and digits that stand together.
fn words_of_run(
    run: &str,
    buffer: &mut String,
    take: &mut impl FnMut(&str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut letters = run.char_indices().peekable();
    while let Some((place, letter)) = letters.next() {
        let after = letters.peek().map(|(_, letter)| *letter);
        if before.is_some_and(|before| begins_word(before, letter, after)) {
            give(run.get(start..place), buffer, take)?;
            start = place;
        }
        before = Some(letter);
    }
    give(run.get(start..), buffer, take)?;
    if start > 0 && !run.chars().any(stands_alone) {
        // Last, so that it is what somebody who still types is taken to mean.
        give(Some(run), buffer, take)?;
    }
    ControlFlow::Continue(())
}

/// Does a word begin at `letter`?
fn begins_word(before: char, letter: char, after: Option<char>) -> bool {
    if stands_alone(letter) || stands_alone(before) {
        return true;
    }
    // `createIssue`, and `HTTPServer` before its second word.
    letter.is_uppercase()
        && (!before.is_uppercase() || after.is_some_and(|after| after.is_lowercase()))
}

/// Is it of a script that puts no spaces between words?
fn stands_alone(letter: char) -> bool {
    matches!(letter, '\u{0e00}'..='\u{0eff}' | '\u{2e80}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

fn give(
    word: Option<&str>,
    buffer: &mut String,
    take: &mut impl FnMut(&str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let word = word.unwrap_or_default();
    buffer.clear();
    if word.is_ascii() {
        buffer.push_str(word.get(..LONGEST).unwrap_or(word));
        buffer.make_ascii_lowercase();
    } else {
        buffer.extend(word.chars().take(LONGEST).flat_map(char::to_lowercase));
    }
    take_plural_off(buffer);
    take(buffer)
}

/// `issues` is `issue`, `queries` is `query`, `class` and `status` stay.
fn take_plural_off(word: &mut String) {
    let is_plural = word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if !is_plural {
        return;
    }
    word.pop();
    if word.len() > 3 && word.ends_with("ie") {
        word.truncate(word.len() - 2);
        word.push('y');
    }
}

/// Nobody types more, and a name need not be longer to be told from others.
const LONGEST: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each(text, |word| {
            words.push(word.to_owned());
            ControlFlow::Continue(())
        });
        words
    }

    #[test]
    fn names_are_cut_into_words_and_kept_whole() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(of(text), expected, "{text}");
        };
        check("", &[]);
        check("create_issue", &["create", "issue"]);
        check("repos/get-content.v2", &["repo", "get", "content", "v2"]);
        check("createIssue", &["create", "issue", "createissue"]);
        check("HTTPServer", &["http", "server", "httpserver"]);
        check("GitHub", &["git", "hub", "github"]);
        check("a JSON file", &["a", "json", "file"]);
        check("Straße ÄNDERN", &["straße", "ändern"]);
        check("検索 v1", &["検", "索", "v1"]);
    }

    #[test]
    fn plurals_are_found_by_their_singular() {
        let check = |text: &str, expected: &str| {
            assert_eq!(of(text), [expected]);
        };
        check("issues", "issue");
        check("queries", "query");
        check("class", "class");
        check("status", "status");
        check("gas", "gas");
        check("analysis", "analysis");
    }

    #[test]
    fn a_word_without_end_is_cut() {
        assert_eq!(of(&"é".repeat(100)), ["é".repeat(48)]);
        assert_eq!(of(&"e".repeat(100)), ["e".repeat(48)]);
    }
}
