//! The words of a text, as they are looked for.
//!
//! Lower case; names are cut where `_`, `-`, `.` or a capital letter cuts them, and kept whole
//! besides, so that `createIssue` is found by `issue` and GitHub by `github`. The plural of English
//! is taken off. Scripts without spaces are taken by the character.

/// One word, in lower case.
pub(crate) type Word = String;

/// The words of a text, in order.
pub(crate) fn of(text: &str) -> impl Iterator<Item = Word> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|run| !run.is_empty())
        .flat_map(words_of_run)
}

/// The words of letters and digits that stand together.
fn words_of_run(run: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut letters = run.char_indices().peekable();
    while let Some((place, letter)) = letters.next() {
        let after = letters.peek().map(|(_, letter)| *letter);
        if before.is_some_and(|before| begins_word(before, letter, after)) {
            push(&mut words, run.get(start..place));
            start = place;
        }
        before = Some(letter);
    }
    push(&mut words, run.get(start..));
    if words.len() > 1 && !run.chars().any(stands_alone) {
        // Last, so that it is what somebody who still types is taken to mean.
        push(&mut words, Some(run));
    }
    words
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

fn push(words: &mut Vec<Word>, word: Option<&str>) {
    let mut word = word.unwrap_or_default().to_lowercase();
    if let Some((end, _)) = word.char_indices().nth(LONGEST) {
        word.truncate(end);
    }
    take_plural_off(&mut word);
    if !word.is_empty() {
        words.push(word);
    }
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

    #[test]
    fn names_are_cut_into_words_and_kept_whole() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(of(text).collect::<Vec<_>>(), expected, "{text}");
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
            assert_eq!(of(text).collect::<Vec<_>>(), [expected]);
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
        let words: Vec<_> = of(&"é".repeat(100)).collect();
        assert_eq!(words, ["é".repeat(48)]);
    }
}
