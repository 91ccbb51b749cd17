//! Names that languages accept, made from names that they do not.

use std::collections::HashSet;

/// Gives out names, each once.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// Names that are taken from the beginning.
    pub(super) fn without(taken: &[&str]) -> Self {
        Self(taken.iter().map(|name| (*name).to_owned()).collect())
    }

    /// The name, or the first free one with a number behind it.
    pub(super) fn take(&mut self, name: &str) -> String {
        let numbered = (2_u64..).map(
            |number| match name.ends_with(|c: char| c.is_ascii_digit()) {
                true => format!("{name}_{number}"),
                false => format!("{name}{number}"),
            },
        );
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let free = names
            .find(|name| !self.0.contains(name))
            .unwrap_or_default();
        self.0.insert(free.clone());
        free
    }
}

/// `get-sum` is `GetSum`. Never empty, never begins with a digit.
pub(super) fn pascal(name: &str) -> String {
    let mut text = String::new();
    for word in words(name) {
        let mut letters = word.chars();
        text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        text.push_str(letters.as_str());
    }
    match text.chars().next() {
        None => "Unnamed".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("N{text}"),
        Some(_) => text,
    }
}

/// `getSum` and `get-sum` are `get_sum`. Never empty, never begins with a digit.
pub(super) fn snake(name: &str) -> String {
    let words: Vec<String> = words(name)
        .into_iter()
        .map(|word| word.to_lowercase())
        .collect();
    let text = words.join("_");
    match text.chars().next() {
        None => "unnamed".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("n{text}"),
        Some(_) => text,
    }
}

/// The name with `_` for all that is neither a letter nor a digit. Never empty, never begins with
/// a digit.
pub(super) fn plain(name: &str) -> String {
    let text: String = name
        .chars()
        .map(|c| match c.is_ascii_alphanumeric() || c == '_' {
            true => c,
            false => '_',
        })
        .collect();
    match text.chars().next() {
        None => "_".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{text}"),
        Some(_) => text,
    }
}

/// The words of a name in ASCII: at signs, and where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let is_word = letter.is_ascii_alphanumeric();
        if !is_word || (letter.is_ascii_uppercase() && before.is_ascii_lowercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| is_word) {
            word.push(letter);
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}
