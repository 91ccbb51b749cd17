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

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

pub(crate) use index::Index;

/// What somebody looks for.
#[derive(Debug)]
pub(crate) struct Query {
    words: Vec<Wanted>,
}

#[derive(Debug)]
struct Wanted {
    word: String,
    /// Somebody may still be typing it.
    is_last: bool,
}

impl Query {
    pub(crate) fn new(text: &str) -> Self {
        let mut words: Vec<Wanted> = Vec::new();
        let mut last = None;
        words::each(text, |word| {
            let known = words.iter().position(|wanted| wanted.word == word);
            last = known.or(Some(words.len()));
            if known.is_none() {
                words.push(Wanted {
                    word: word.to_owned(),
                    is_last: false,
                });
            }
            match words.len() {
                0..MOST_WORDS => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        if let Some(last) = last.and_then(|last| words.get_mut(last)) {
            last.is_last = true;
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

        let mut best = Best::new(limit);
        let mut scores: Vec<f32> = Vec::new();
        let mut places = places.chunks(self.words.len().max(1));
        for (number, index) in indexes.enumerate() {
            let Some(places) = places.next() else {
                break;
            };
            if places.iter().all(index::Place::is_empty) {
                continue;
            }
            scores.clear();
            scores.resize(index.tools(), 0.0);
            for (place, weight) in places.iter().zip(&weights) {
                index.add_scores(place, *weight, usual_length, &mut scores);
            }
            for (tool, score) in scores.iter().enumerate() {
                if *score > 0.0 && best.would_take(*score) && is_wanted(number, tool) {
                    best.take(Found {
                        score: *score,
                        place: Reverse((number, tool)),
                    });
                }
            }
        }
        best.into_sorted()
    }
}

/// The best of what was found so far.
#[derive(Debug)]
struct Best {
    /// The worst on top.
    heap: BinaryHeap<Reverse<Found>>,
    limit: usize,
}

/// The better is the greater: by score, then by who stands first.
#[derive(Clone, Copy, Debug)]
struct Found {
    score: f32,
    place: Reverse<(usize, usize)>,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self {
            heap: BinaryHeap::new(),
            limit,
        }
    }

    /// Is this score good enough, for one that comes behind all others?
    fn would_take(&self, score: f32) -> bool {
        self.heap.len() < self.limit
            || self
                .heap
                .peek()
                .is_some_and(|Reverse(worst)| score > worst.score)
    }

    fn take(&mut self, found: Found) {
        self.heap.push(Reverse(found));
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }

    fn into_sorted(self) -> Vec<(usize, usize, f32)> {
        let found = self.heap.into_sorted_vec().into_iter();
        let found = found.map(|Reverse(found)| {
            let Reverse((index, tool)) = found.place;
            (index, tool, found.score)
        });
        found.collect()
    }
}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| self.place.cmp(&other.place))
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Found {}

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
