//! Names that somebody may have meant.

/// The nearest of these names to the one that was given, the nearest first; a few at most.
///
/// Looks at no more than a bounded number of names, because anybody can give wrong ones.
pub(crate) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let most = (given.chars().count() / 4).clamp(1, FARTHEST);
    let mut near: Vec<(usize, &str)> = names
        .take(MOST_LOOKED_AT)
        .filter_map(|name| Some((distance(given, name, most)?, name)))
        .collect();
    near.sort();
    near.truncate(MOST);
    near.into_iter().map(|(_, name)| name).collect()
}

/// How many letters must be added, left out or changed; none if it is more than `most`.
///
/// Upper and lower case are the same.
fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most * 4 || one.len().max(other.len()) > LONGEST {
        return None;
    }
    let other: Vec<char> = other.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        let mut least = left;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, found) in row.iter_mut().skip(1).zip(&other) {
            let above = *cell;
            let changed = diagonal + usize::from(*found != letter);
            left = changed.min(above + 1).min(left + 1);
            *cell = left;
            diagonal = above;
            least = least.min(left);
        }
        if least > most {
            return None;
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
}

/// As many as a person wants to read.
const MOST: usize = 3;

const FARTHEST: usize = 4;

const LONGEST: usize = 160;

const MOST_LOOKED_AT: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_counted_in_letters() {
        let check = |one: &str, other: &str, expected: Option<usize>| {
            assert_eq!(distance(one, other, 3), expected, "{one} {other}");
            assert_eq!(distance(other, one, 3), expected, "{other} {one}");
        };
        check("", "", Some(0));
        check("", "abc", Some(3));
        check("", "abcd", None);
        check("kitten", "sitting", Some(3));
        check("create_issue", "Create_Issues", Some(1));
        check("größe", "grosse", Some(3));
        check("abcdef", "uvwxyz", None);
    }

    #[test]
    fn the_nearest_come_first() {
        let names = ["create_issue", "create_issues", "list_issues", "creat_isue"];
        assert_eq!(
            nearest("create_isue", names.into_iter()),
            ["creat_isue", "create_issue", "create_issues"]
        );
        assert!(nearest("x", names.into_iter()).is_empty());
    }
}
