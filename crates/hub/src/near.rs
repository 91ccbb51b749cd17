//! What somebody probably meant: names that are written nearly like a given one.

/// The nearest of these names, the nearest first; a few at most.
///
/// Looks at no more than a bounded number of names, because anybody can give wrong ones.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let given = plain(given);
    let most = match given.len() {
        0..=2 => 0,
        3..=5 => 1,
        length => (length / 4).clamp(2, FARTHEST),
    };
    let names = names.into_iter().take(MOST_LOOKED_AT);
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| Some((distance(&given, &plain(name), most)?, name)))
        .collect();
    // Of those that are as near, the first.
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(MOST);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Without what people write differently: case, and the marks between words.
fn plain(word: &str) -> Vec<char> {
    let marks = ['_', '-', ' ', '.'];
    let characters = word.chars().filter(|character| !marks.contains(character));
    characters
        .take(LONGEST + 1)
        .flat_map(char::to_lowercase)
        .collect()
}

/// How many characters must be put in, left out, replaced or swapped with the next one; none if
/// it is more than `most`.
fn distance(one: &[char], other: &[char], most: usize) -> Option<usize> {
    // Most are told apart by their lengths, and what is longer is no name that anybody meant.
    if one.len().abs_diff(other.len()) > most || one.len().max(other.len()) > LONGEST {
        return None;
    }
    let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(FAR);
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(line + 1);
        for (column, found) in other.iter().enumerate() {
            let changed = at(&row, column) + usize::from(letter != found);
            let mut best = changed
                .min(at(&row, column + 1) + 1)
                .min(at(&next, column) + 1);
            let last = column.checked_sub(1);
            let is_swapped = line > 0
                && one.get(line - 1) == Some(found)
                && last.and_then(|last| other.get(last)) == Some(letter);
            if let Some(last) = last.filter(|_| is_swapped) {
                best = best.min(at(&before, last) + 1);
            }
            next.push(best);
        }
        if next.iter().all(|cell| *cell > most) {
            return None;
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|distance| *distance <= most)
}

/// As many as a person wants to read.
const MOST: usize = 3;
const FARTHEST: usize = 4;
const LONGEST: usize = 160;
const MOST_LOOKED_AT: usize = 1_000;
/// Beyond all distances.
const FAR: usize = usize::MAX / 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_counted_in_letters() {
        let check = |one: &str, other: &str, expected: Option<usize>| {
            let (one, other) = (plain(one), plain(other));
            assert_eq!(distance(&one, &other, 3), expected, "{one:?} {other:?}");
            assert_eq!(distance(&other, &one, 3), expected, "{other:?} {one:?}");
        };
        check("", "", Some(0));
        check("", "abc", Some(3));
        check("", "abcd", None);
        check("kitten", "sitting", Some(3));
        check("abcd", "abdc", Some(1));
        check("create_issue", "Create-Issues", Some(1));
        check("größe", "grosse", Some(3));
        check("abcdef", "uvwxyz", None);
        check(&"a".repeat(200), &"a".repeat(200), None);
    }

    #[test]
    fn the_nearest_come_first() {
        let names = ["create_issue", "create_issues", "list_issues", "creat_isue"];
        assert_eq!(
            nearest("create_isue", names),
            ["create_issue", "creat_isue", "create_issues"]
        );
        assert!(nearest("x", names).is_empty());
    }

    #[test]
    fn only_so_many_names_are_looked_at() {
        let behind = |others: usize| {
            let others = std::iter::repeat_n("something else", others);
            nearest("create_isue", others.chain(["create_issue"; 9])).len()
        };
        assert_eq!(behind(MOST_LOOKED_AT - 9), MOST);
        assert_eq!(behind(MOST_LOOKED_AT - 1), 1);
        assert_eq!(behind(MOST_LOOKED_AT), 0);
    }

    #[test]
    fn a_misspelt_word_is_recognized() {
        let known = [
            "command",
            "args",
            "env",
            "url",
            "headers",
            "serverUrl",
            "envFile",
        ];
        let check = |word: &str, near: Option<&str>| {
            assert_eq!(nearest(word, known).first().copied(), near, "{word}");
        };
        check("comand", Some("command"));
        check("cmomand", Some("command"));
        check("Command", Some("command"));
        check("arg", Some("args"));
        check("argz", Some("args"));
        check("server_url", Some("serverUrl"));
        check("serverURL", Some("serverUrl"));
        check("env-file", Some("envFile"));
        check("header", Some("headers"));
        check("description", None);
        check("ul", None);
        check("", None);
        check(&"a".repeat(100_000), None);
    }
}
