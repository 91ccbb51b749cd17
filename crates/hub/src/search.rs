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

impl Wanted {
    /// Does it say nothing of what is looked for? In descriptions of tools `how` and `I` are rare,
    /// so they would count for much.
    fn is_filler(&self) -> bool {
        FILLERS.binary_search(&self.word.as_str()).is_ok()
    }
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
        if words.iter().any(|wanted| !wanted.is_filler()) {
            words.retain(|wanted| !wanted.is_filler());
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

/// In order, as `words` writes them.
const FILLERS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do",
    "doe", "for", "from", "have", "how", "i", "if", "in", "into", "is", "it", "like", "me", "my",
    "need", "of", "on", "or", "our", "please", "should", "some", "that", "the", "their", "there",
    "these", "thi", "this", "those", "to", "tool", "use", "using", "want", "was", "we", "what",
    "when", "where", "which", "who", "will", "with", "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Vec<String> {
        let query = Query::new(text);
        let words = query.words.into_iter();
        words
            .map(|wanted| format!("{}{}", wanted.word, if wanted.is_last { "…" } else { "" }))
            .collect()
    }

    #[test]
    fn a_question_is_reduced_to_what_it_is_about() {
        assert!(FILLERS.is_sorted());
        assert_eq!(wanted("How do I delete the issues"), ["delete", "issue…"]);
        assert_eq!(wanted("issue issue"), ["issue…"]);
        assert_eq!(wanted("issue, and issue label"), ["issue", "label…"]);
        assert_eq!(wanted("what is this"), ["what", "is", "this…"]);
        assert_eq!(wanted("?!"), [""; 0]);
    }

    #[test]
    fn a_page_of_words_is_cut() {
        let page: Vec<String> = (0..1000).map(|number| format!("w{number}")).collect();
        assert_eq!(wanted(&page.join(" ")).len(), MOST_WORDS);
    }

    #[test]
    fn a_word_in_the_name_counts_more_than_one_that_is_repeated() {
        let tool = |name: &str, description: &str| {
            let text = serde_json::json!({"name": name, "description": description,
                "inputSchema": {}});
            serde_json::from_value(text).unwrap()
        };
        let tools = [
            tool("other", &"scrape it ".repeat(40)),
            tool("scrape", "It reads a page"),
        ];
        let index = Index::new("s", tools.iter());
        let found = Query::new("scrape").run([&index].into_iter(), 9, |_, _| true);
        let order: Vec<usize> = found.iter().map(|(_, tool, _)| *tool).collect();
        assert_eq!(order, [1, 0]);
    }

    #[test]
    fn only_what_is_wanted_takes_up_room() {
        let tools: Vec<_> = (0..100)
            .map(|number| {
                let text = format!(r#"{{"name":"x_{number}","inputSchema":{{}}}}"#);
                serde_json::from_str(&text).unwrap()
            })
            .collect();
        let index = Index::new("s", tools.iter());
        let found = Query::new("x").run([&index, &index].into_iter(), 3, |_, tool| tool > 97);
        let places: Vec<_> = found
            .iter()
            .map(|(index, tool, _)| (*index, *tool))
            .collect();
        assert_eq!(places, [(0, 98), (0, 99), (1, 98)]);
    }
}
