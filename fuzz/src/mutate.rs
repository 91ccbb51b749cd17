//! A small mutator, for where libFuzzer is not at hand. The same seed gives the
//! same inputs.

use std::path::Path;
use std::{fs, io};

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
        match self.below(7) {
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

/// The stored inputs of a target, in the order of their names.
///
/// # Errors
/// When the folder cannot be read.
pub fn seeds(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let mut paths = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(fs::read).collect()
}

/// An input over this length starts from a seed again.
const LONGEST: usize = 4096;

/// What separates something in one format or another.
const MARKS: &[u8] = b"\n\r:{}[]\",;/?&#%=+*. \0\\\xEF\xBB\xBF";
