//! A small mutator, for where libFuzzer is not at hand. The same seed gives the
//! same inputs.

use std::ops::Range;
use std::path::Path;
use std::{fs, io};

use crate::Target;

/// Makes inputs out of seeds.
#[derive(Debug)]
pub struct Mutator {
    state: u64,
    seeds: Vec<Vec<u8>>,
    input: Vec<u8>,
}

impl Mutator {
    /// A mutator of these seeds.
    pub fn new(seeds: Vec<Vec<u8>>, seed: u64) -> Self {
        Self {
            state: seed | 1,
            seeds,
            input: Vec::new(),
        }
    }

    /// The next input: a seed after one to eight changes, or the last input after
    /// some more.
    pub fn next_input(&mut self) -> &[u8] {
        if self.input.len() > LONGEST || self.below(4) > 0 {
            let seed = self.any_seed();
            self.input.clear();
            self.input
                .extend_from_slice(self.seeds.get(seed).map_or(&[][..], |seed| seed));
        }
        for _ in 0..=self.below(8) {
            self.change();
        }
        &self.input
    }

    fn change(&mut self) {
        let at = self.below(self.input.len() + 1);
        let end = (at + self.below(16)).min(self.input.len());
        match self.below(11) {
            0 => {
                let byte = self.below(256) as u8;
                self.input.insert(at, byte);
            }
            1 => {
                let byte = MARKS[self.below(MARKS.len())];
                self.input.insert(at, byte);
            }
            2 => drop(self.input.drain(at..end)),
            3 => {
                let bit = 1 << self.below(8);
                self.input
                    .iter_mut()
                    .skip(at)
                    .take(1)
                    .for_each(|byte| *byte ^= bit);
            }
            4 => {
                let copy = self.input[at..end].to_vec();
                let to = self.below(self.input.len() + 1);
                self.input.splice(to..to, copy);
            }
            5 => self.input.truncate(at.max(2)),
            6 => {
                let word = WORDS[self.below(WORDS.len())];
                let token = token(&self.input, at);
                self.input.splice(token, word.iter().copied());
            }
            7 => {
                let line = line(&self.input, at);
                self.input.drain(line);
            }
            8 => {
                let copy = self.input[line(&self.input, at)].to_vec();
                self.insert_line(&copy);
            }
            9 => {
                let seed = self.any_seed();
                let other = self.seeds.get(seed).cloned().unwrap_or_default();
                let from = self.below(other.len() + 1);
                self.insert_line(&other[line(&other, from)]);
            }
            _ => {
                let seed = self.any_seed();
                let other = self.seeds.get(seed).cloned().unwrap_or_default();
                let from = self.below(other.len() + 1);
                let until = (from + self.below(24)).min(other.len());
                self.input
                    .splice(at..end, other[from..until].iter().copied());
            }
        }
    }

    /// Puts a line before another one.
    fn insert_line(&mut self, text: &[u8]) {
        let at = self.below(self.input.len() + 1);
        let to = line(&self.input, at).start;
        self.input.splice(to..to, text.iter().copied());
    }

    fn any_seed(&mut self) -> usize {
        self.below(self.seeds.len().max(1))
    }

    /// A number below `end` (xorshift64*).
    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let random = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        (random % end as u64) as usize
    }
}

/// The line around a place, with its end.
fn line(text: &[u8], at: usize) -> Range<usize> {
    let is_end = |byte: &u8| *byte == b'\n';
    let start = text[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
    let end = text[at..].iter().position(is_end);
    start..end.map_or(text.len(), |end| at + end + 1)
}

/// The word or number that begins at a place or around it: what is neither is left as it is.
fn token(text: &[u8], at: usize) -> Range<usize> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let start = text[..at].iter().rev().take_while(|byte| is_part(byte));
    let end = text[at..].iter().take_while(|byte| is_part(byte));
    at - start.count()..at + end.count()
}

/// The stored inputs of a target, in the order of their names.
///
/// # Errors
/// When a folder cannot be read.
pub fn seeds(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let mut folders = vec![folder];
    folders.extend(target.more.map(|more| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        root.join(more)
    }));
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.into_iter().map(fs::read).collect()
}

/// An input over this length starts from a seed again.
const LONGEST: usize = 4096;

/// What separates something in one format or another.
const MARKS: &[u8] = b"\n\r:{}[]\",;/?&#%=+*. \0\\\xEF\xBB\xBF";

/// What is at the edge of something in one format or another.
const WORDS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1",
    b"2",
    b"1.5",
    b"1e999",
    b"9007199254740993",
    b"9223372036854775807",
    b"18446744073709551616",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"\\ud800",
    b"\\u0000",
    b"\xC3\xA4",
    b"_meta",
    b"\"id\":1,",
];
