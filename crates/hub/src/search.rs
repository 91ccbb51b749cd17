//! Finds tools by words.
//!
//! Ranks by BM25 over the words of a tool's name, title, description, and the names and
//! descriptions of its parameters. Each server has an index of its own, built once and
//! shared by all snapshots that still have these tools; what BM25 must know of all tools is summed
//! up when someone asks. Which tools may be found at all is said by whoever asks.
//!
//! Specification: client best practices (progressive discovery of tools).

mod index;
mod words;

pub(crate) use index::Index;
use words::Word;

/// What somebody looks for.
#[derive(Debug)]
pub(crate) struct Query {
    words: Vec<Wanted>,
}

#[derive(Debug)]
struct Wanted {
    word: Word,
    /// Somebody may still be typing it.
    is_last: bool,
}

impl Query {
    pub(crate) fn new(text: &str) -> Self {
        let mut words: Vec<Wanted> = Vec::new();
        let mut found = words::of(text).peekable();
        while let Some(word) = found.next() {
            let is_last = found.peek().is_none();
            match words.iter_mut().find(|wanted| wanted.word == word) {
                Some(wanted) => wanted.is_last |= is_last,
                None => words.push(Wanted { word, is_last }),
            }
            if words.len() == MOST_WORDS {
                break;
            }
        }
        Self { words }
    }

    /// The best tools of these indexes: the place of the index, the place in it, the score.
    ///
    /// The best first; of two that are as good, the one that stands first.
    pub(crate) fn run<'a>(
        &self,
        indexes: impl Iterator<Item = &'a Index> + Clone,
        limit: usize,
        is_wanted: impl Fn(usize, usize) -> bool,
    ) -> Vec<(usize, usize, f32)> {
        let (mut tools, mut length) = (0_u64, 0_u64);
        let mut places = Vec::new();
        let mut found_in = vec![0_u64; self.words.len()];
        for index in indexes.clone() {
            tools += count(index.tools());
            length += index.length();
            for (wanted, found_in) in self.words.iter().zip(&mut found_in) {
                let place = index.find(&wanted.word, wanted.is_last);
                *found_in += index.tools_at(&place);
                places.push(place);
            }
        }
        let weights: Vec<f32> = found_in.iter().map(|found| rarity(*found, tools)).collect();
        let usual_length = (length as f32 / tools.max(1) as f32).max(1.0);

        let mut best: Vec<(usize, usize, f32)> = Vec::new();
        let mut scores: Vec<f32> = Vec::new();
        let mut places = places.chunks(self.words.len().max(1));
        for (number, index) in indexes.enumerate() {
            let Some(places) = places.next() else {
                break;
            };
            if places.iter().all(|place| place.is_empty()) {
                continue;
            }
            scores.clear();
            scores.resize(index.tools(), 0.0);
            for (place, weight) in places.iter().zip(&weights) {
                index.add_scores(place, *weight, usual_length, &mut scores);
            }
            let scored = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
            best.extend(
                scored
                    .filter(|(tool, _)| is_wanted(number, *tool))
                    .map(|(tool, score)| (number, tool, *score)),
            );
        }
        let order = |one: &(usize, usize, f32), other: &(usize, usize, f32)| {
            let by_score = other.2.total_cmp(&one.2);
            by_score.then_with(|| (one.0, one.1).cmp(&(other.0, other.1)))
        };
        if limit < best.len() {
            best.select_nth_unstable_by(limit, order);
            best.truncate(limit);
        }
        best.sort_unstable_by(order);
        best
    }
}

/// How much it says of a tool that it has a word that this many of all tools have.
fn rarity(found: u64, tools: u64) -> f32 {
    let (found, tools) = (found.min(tools) as f32, tools as f32);
    (1.0 + (tools - found + 0.5) / (found + 0.5)).ln()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// More say nothing that the first do not; a model might send a page.
const MOST_WORDS: usize = 32;
