//! Finding a literal in time that does not depend on what it and the URI repeat
//! (Knuth, Morris, Pratt).

/// A text to be found.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    /// For each length of the text's start: how long an end of it is a start too.
    borders: Vec<usize>,
}

impl Pattern {
    pub(super) fn new(text: String) -> Self {
        let mut pattern = Self {
            borders: vec![0, 0],
            text,
        };
        let mut border = 0;
        for at in 1..pattern.text.len() {
            border = pattern.advance(border, pattern.text.as_bytes().get(at).copied(), &mut 0);
            pattern.borders.push(border);
        }
        pattern
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    /// How much of the text's start is matched after one more byte.
    pub(super) fn advance(&self, mut matched: usize, byte: Option<u8>, steps: &mut usize) -> usize {
        let text = self.text.as_bytes();
        while text.get(matched).copied() != byte {
            if matched == 0 {
                return 0;
            }
            matched = self.borders.get(matched).copied().unwrap_or_default();
            *steps += 1;
        }
        matched + 1
    }
}
