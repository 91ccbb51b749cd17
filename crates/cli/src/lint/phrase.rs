//! Phrases in texts, however they are spelled: in capitals, with letters that look like others,
//! with invisible characters or signs between.
//!
//! No expressions that could take long on a hostile text: a phrase is a row of steps, each a
//! choice of words, with at most so many other words before it.

use switchboard_hub::is_invisible;

/// A text as its words, as a reader would read it.
pub(super) struct Words(Vec<String>);

impl Words {
    pub(super) fn new(text: &str) -> Self {
        let mut words = vec![String::new()];
        for letter in text.chars().filter(|c| !is_invisible(*c)) {
            let letter = ascii_look(letter).unwrap_or(letter);
            // An apostrophe is nothing: "don't" is "dont".
            if matches!(letter, '\'' | '’') {
                continue;
            }
            match (letter.is_alphanumeric(), words.last_mut()) {
                (true, Some(word)) => word.extend(letter.to_lowercase()),
                (false, Some(word)) if !word.is_empty() => words.push(String::new()),
                _ => {}
            }
        }
        Self(words)
    }

    /// The words that a phrase was found in, as far as it goes.
    pub(super) fn find(&self, phrase: &[Step]) -> Option<String> {
        (0..self.0.len()).find_map(|start| {
            let first = phrase.first()?;
            first
                .words
                .contains(&self.0.get(start)?.as_str())
                .then_some(())?;
            let end = self.follow(start + 1, phrase.get(1..)?)?;
            Some(self.0.get(start..end)?.join(" "))
        })
    }

    /// Where the rest of a phrase ends.
    fn follow(&self, from: usize, steps: &[Step]) -> Option<usize> {
        let Some((step, rest)) = steps.split_first() else {
            return Some(from);
        };
        (from..=from + step.gap).find_map(|place| {
            let is_here = step.words.contains(&self.0.get(place)?.as_str());
            is_here.then(|| self.follow(place + 1, rest)).flatten()
        })
    }
}

/// One word of a phrase.
pub(super) struct Step {
    /// So many others may stand before it.
    gap: usize,
    /// One of these.
    words: &'static [&'static str],
}

/// One of these words, right behind the last.
pub(super) const fn one(words: &'static [&'static str]) -> Step {
    Step { gap: 0, words }
}

/// One of these words, with at most so many others before it.
pub(super) const fn within(gap: usize, words: &'static [&'static str]) -> Step {
    Step { gap, words }
}

/// The ASCII character that this one looks like.
pub(super) fn ascii_look(character: char) -> Option<char> {
    // Full width, as in Japanese texts.
    if let '\u{ff01}'..='\u{ff5e}' = character {
        return char::from_u32(u32::from(character) - 0xff01 + 0x21);
    }
    // Letters for mathematics: bold, italic, script, thirteen alphabets in a row.
    if let '\u{1d400}'..='\u{1d6a3}' = character {
        let place = (u32::from(character) - 0x1d400) % 52;
        let base = if place < 26 { 'A' } else { 'a' };
        return char::from_u32(u32::from(base) + place % 26);
    }
    let (_, look) = LOOKS
        .iter()
        .find(|(letters, _)| letters.contains(character))?;
    Some(*look)
}

/// Cyrillic, Greek and others; the small ones that are really used to deceive.
const LOOKS: &[(&str, char)] = &[
    ("аɑα", 'a'),
    ("ЬƄ", 'b'),
    ("сϲⅽ", 'c'),
    ("ԁⅾ", 'd'),
    ("еҽ℮", 'e'),
    ("ɡց", 'g'),
    ("һհ", 'h'),
    ("іıιⅰ", 'i'),
    ("јϳ", 'j'),
    ("κк", 'k'),
    ("ӏⅼǀ", 'l'),
    ("мⅿ", 'm'),
    ("ոռ", 'n'),
    ("оοօᴏ", 'o'),
    ("рρ", 'p'),
    ("ԛգ", 'q'),
    ("гᴦ", 'r'),
    ("ѕꜱ", 's'),
    ("тτ", 't'),
    ("υսᴜ", 'u'),
    ("νѵⅴ", 'v'),
    ("ѡԝᴡ", 'w'),
    ("хχⅹ", 'x'),
    ("уγү", 'y'),
    ("ᴢ", 'z'),
    ("АΑ", 'A'),
    ("ВΒ", 'B'),
    ("СϹⅭ", 'C'),
    ("Ⅾ", 'D'),
    ("ЕΕ", 'E'),
    ("НΗ", 'H'),
    ("ІΙӀ", 'I'),
    ("Ј", 'J'),
    ("КΚ", 'K'),
    ("Ⅼ", 'L'),
    ("МΜⅯ", 'M'),
    ("Ν", 'N'),
    ("ОΟ", 'O'),
    ("РΡ", 'P'),
    ("Ѕ", 'S'),
    ("ТΤ", 'T'),
    ("Ⅴ", 'V'),
    ("ХΧⅩ", 'X'),
    ("ΥҮ", 'Y'),
    ("Ζ", 'Z'),
    ("‐‑‒–—―−", '-'),
    ("＿", '_'),
];
