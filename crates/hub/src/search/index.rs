//! The words of one server's tools.
//!
//! One sorted list of words, and for each the tools that have it and how much of it they have.
//! Built once, never changed.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use serde_json::Value;
use switchboard_protocol::types::Tool;

use crate::search::words;

/// The words of some tools. A tool is known by its place.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// All words one behind the other, in order.
    text: Box<str>,
    /// For every word, where it ends in `text` and where its postings end.
    ends: Box<[(u32, u32)]>,
    postings: Box<[Posting]>,
    /// How much text each tool has, in the same measure as postings.
    lengths: Box<[u16]>,
    /// The sum of these.
    length: u64,
}

/// A tool that has a word: its place, and how much of the word it has.
///
/// Both in one number, because there are some sixty for every tool.
#[derive(Clone, Copy, Debug)]
struct Posting(u32);

impl Posting {
    const AMOUNT_BITS: u32 = 12;
    const MOST_TOOLS: usize = 1 << (32 - Self::AMOUNT_BITS);
    const MOST_AMOUNT: u32 = (1 << Self::AMOUNT_BITS) - 1;

    fn new(tool: u32, amount: u32) -> Self {
        Self(tool << Self::AMOUNT_BITS | amount.min(Self::MOST_AMOUNT))
    }

    /// Adds some, unless there is enough already.
    fn add(&mut self, amount: u32) {
        let here = self.0 & Self::MOST_AMOUNT;
        if here < ENOUGH {
            self.0 += amount.min(ENOUGH - here);
        }
    }

    fn tool(self) -> usize {
        usize::try_from(self.0 >> Self::AMOUNT_BITS).unwrap_or(usize::MAX)
    }

    fn amount(self) -> f32 {
        (self.0 & Self::MOST_AMOUNT) as f32
    }
}

/// Where a word that is looked for stands in an index.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The words that are it or begin with it.
    words: Range<usize>,
    /// Is the first of them it?
    is_exact: bool,
}

impl Place {
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

impl Index {
    /// Reads tools of a server. Of more than a million the others are not found.
    pub(crate) fn new<'a>(server: &str, tools: impl Iterator<Item = &'a Tool>) -> Self {
        let mut found: HashMap<Box<str>, Vec<Posting>> = HashMap::new();
        let mut count = 0;
        for (tool, place) in tools.take(Posting::MOST_TOOLS).zip(0_u32..) {
            count += 1;
            read(server, tool, |word, amount| {
                let new = Posting::new(place, amount);
                match found.get_mut(word) {
                    Some(postings) => match postings.last_mut() {
                        Some(last) if last.tool() == new.tool() => last.add(amount),
                        _ => postings.push(new),
                    },
                    None => {
                        found.insert(word.into(), vec![new]);
                    }
                }
            });
        }
        let mut found: Vec<(Box<str>, Vec<Posting>)> = found.into_iter().collect();
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let mut lengths = vec![0_u16; count];
        for posting in found.iter().flat_map(|(_, postings)| postings) {
            if let Some(length) = lengths.get_mut(posting.tool()) {
                let amount = posting.0 & Posting::MOST_AMOUNT;
                *length = length.saturating_add(u16::try_from(amount).unwrap_or(u16::MAX));
            }
        }
        let mut text = String::new();
        let mut ends = Vec::with_capacity(found.len());
        let mut postings = Vec::with_capacity(found.iter().map(|(_, tools)| tools.len()).sum());
        for (word, tools) in found {
            text.push_str(&word);
            postings.extend(tools);
            // More text than can be counted would be more than is ever kept in memory.
            let (Ok(word), Ok(posting)) = (text.len().try_into(), postings.len().try_into()) else {
                break;
            };
            ends.push((word, posting));
        }
        Self {
            text: text.into(),
            ends: ends.into(),
            postings: postings.into(),
            length: lengths.iter().copied().map(u64::from).sum(),
            lengths: lengths.into(),
        }
    }

    /// How many tools it knows.
    pub(crate) fn tools(&self) -> usize {
        self.lengths.len()
    }

    /// How much text they have together.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Where a word stands, and those that begin with it if it may go on.
    pub(crate) fn find(&self, word: &str, may_go_on: bool) -> Place {
        let start = self.first_not_before(word);
        let is_exact = self.word(start) == word && start < self.ends.len();
        if !may_go_on || word.chars().nth(1).is_none() {
            let end = start + usize::from(is_exact);
            return Place {
                words: start..end,
                is_exact,
            };
        }
        let mut end = start;
        while end < self.ends.len() && self.word(end).starts_with(word) {
            end += 1;
        }
        Place {
            words: start..end,
            is_exact,
        }
    }

    /// How many tools have a word that was found; one with several words counts several times.
    pub(crate) fn tools_at(&self, place: &Place) -> u64 {
        u64::try_from(self.postings_of(place.words.clone()).len()).unwrap_or(u64::MAX)
    }

    /// Adds to the scores of the tools what a word of this weight is worth in them.
    pub(crate) fn add_scores(
        &self,
        place: &Place,
        weight: f32,
        usual_length: f32,
        scores: &mut [f32],
    ) {
        // SATURATION * (1 - BY_LENGTH + BY_LENGTH * length / usual_length), per tool.
        let (least, per_length) = (
            SATURATION * (1.0 - BY_LENGTH),
            SATURATION * BY_LENGTH / usual_length,
        );
        let mut add = |words: Range<usize>, factor: f32| {
            let weight = factor * weight * (SATURATION + 1.0);
            for posting in self.postings_of(words) {
                let tool = posting.tool();
                let (Some(score), Some(length)) = (scores.get_mut(tool), self.lengths.get(tool))
                else {
                    continue;
                };
                let amount = posting.amount() / UNIT;
                let damped = least + per_length * f32::from(*length);
                *score += weight * amount / (amount + damped);
            }
        };
        let Range { start, end } = place.words;
        if place.is_exact {
            add(start..start + 1, 1.0);
            add(start + 1..end, BEGINNING);
        } else {
            add(start..end, BEGINNING);
        }
    }

    /// The place of the first word that is not before this one.
    fn first_not_before(&self, word: &str) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.word(middle) < word {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn word(&self, place: usize) -> &str {
        let start = self.ends_before(place).0;
        let end = self.ends.get(place).map_or(start, |ends| ends.0);
        self.text.get(range(start, end)).unwrap_or_default()
    }

    fn postings_of(&self, words: Range<usize>) -> &[Posting] {
        let (start, end) = (
            self.ends_before(words.start).1,
            self.ends_before(words.end).1,
        );
        self.postings.get(range(start, end)).unwrap_or_default()
    }

    fn ends_before(&self, place: usize) -> (u32, u32) {
        let before = place.checked_sub(1).and_then(|place| self.ends.get(place));
        before.copied().unwrap_or_default()
    }
}

/// Gives each word of a tool, with how much it counts where it stands.
fn read(server: &str, tool: &Tool, mut found: impl FnMut(&str, u32)) {
    let mut left = MOST_WORDS;
    let mut take = |text: &str, weight: u32| {
        words::each(text, |word| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            found(word, weight);
            ControlFlow::Continue(())
        });
    };
    take(&tool.name, NAME);
    let annotated = tool.annotations.as_ref().and_then(|a| a.title.as_deref());
    let title = tool.title.as_deref().or(annotated);
    take(title.unwrap_or_default(), TITLE);
    take(server, SERVER);
    take(tool.description.as_deref().unwrap_or_default(), DESCRIPTION);
    if let Ok(schema) = tool.input_schema.decode::<Value>() {
        read_schema(&schema, &mut take);
    }
}

/// The names and descriptions of parameters, wherever they stand in the schema.
fn read_schema(schema: &Value, take: &mut impl FnMut(&str, u32)) {
    // The depth of JSON that was read is bounded by its reader.
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("description" | "title", Value::String(text)) => take(text, PARAMETER_TEXT),
                    ("properties", Value::Object(parameters)) => {
                        for (name, parameter) in parameters {
                            take(name, PARAMETER_NAME);
                            read_schema(parameter, take);
                        }
                    }
                    (_, value) => read_schema(value, take),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| read_schema(item, take)),
        _ => {}
    }
}

fn range(start: u32, end: u32) -> Range<usize> {
    let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    place(start)..place(end)
}

/// How much a word counts, by where it stands; in a description it is one.
const UNIT: f32 = 2.0;
const NAME: u32 = 12;
const TITLE: u32 = 6;
const SERVER: u32 = 4;
const DESCRIPTION: u32 = 2;
const PARAMETER_NAME: u32 = 3;
const PARAMETER_TEXT: u32 = 1;

/// What a word can count that is not in the name. A long description that repeats it must not
/// stand before the tool that is called so.
const ENOUGH: u32 = 6;

/// The k₁ of BM25: how soon more of the same word says nothing more. The upper end of what is
/// usual, because where a word stands makes amounts differ widely.
const SATURATION: f32 = 2.0;

/// The b of BM25: how much a long text is held against a tool. Less than the usual 0.75, because a
/// tool with many parameters is not worse for it.
const BY_LENGTH: f32 = 0.3;

/// What a word is worth that only begins with the one that is looked for.
const BEGINNING: f32 = 0.5;

/// What is read of one tool.
const MOST_WORDS: usize = 4096;
