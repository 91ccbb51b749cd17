//! What somebody probably meant.

/// The word that is meant by a misspelt one, if there is one near enough.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(word);
    // Anything longer is no word of ours, and would take its time.
    if plain.len() > LONGEST {
        return None;
    }
    let allowed = match plain.len() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let near = known.into_iter().filter_map(|other| {
        let other_plain = self::plain(other);
        // Most are told apart by their lengths.
        if other_plain.len().abs_diff(plain.len()) > allowed {
            return None;
        }
        let distance = distance(&plain, &other_plain);
        (distance <= allowed).then_some((distance, other))
    });
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
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

/// How many characters must be put in, left out, replaced or swapped with the next one.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let at =
                |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut best = at(&row, j) + usize::from(a != b);
            best = best.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let is_swapped =
                i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if is_swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

const LONGEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

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
        let check =
            |word: &str, near: Option<&str>| assert_eq!(nearest(word, known), near, "{word}");
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
