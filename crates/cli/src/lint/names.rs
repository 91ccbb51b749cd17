//! The rules about the names of many tools: the same, nearly the same, the same to the eye.
//!
//! Linear in the number of tools, but for what is found.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use switchboard_hub::is_invisible;

use super::Subject;
use super::finding::Finding;
use super::phrase::ascii_look;
use super::rule::{self, Rule};

pub(super) fn check(subjects: &[Subject<'_>], findings: &mut Vec<Finding>) {
    let mut same: HashMap<&str, usize> = HashMap::new();
    let mut looks: HashMap<String, usize> = HashMap::new();
    let mut folded: HashMap<(&str, String), usize> = HashMap::new();
    let mut shortened: HashMap<(&str, String), usize> = HashMap::new();
    let mut everywhere = Everywhere::default();
    for (index, subject) in subjects.iter().enumerate() {
        let (server, name) = (subject.server, subject.tool.name.as_str());
        let mut report = |rule: &'static Rule, other: &Subject<'_>| {
            let shown = match other.server == server {
                true => format!("{:?}", other.tool.name),
                false => format!("{:?} of {:?}", other.tool.name, other.server),
            };
            findings.push(Finding::new(rule, subject, "/name".to_owned(), shown));
        };
        match same.entry(name) {
            Entry::Occupied(place) => {
                if let Some(other) = subjects.get(*place.get()) {
                    let rule = match other.server == server {
                        true => &rule::NAME_DUPLICATE,
                        false => &rule::NAME_SHADOWED,
                    };
                    report(rule, other);
                }
                continue;
            }
            Entry::Vacant(place) => {
                place.insert(index);
            }
        }
        let first = *looks.entry(look(name)).or_insert(index);
        let other = subjects.get(first).filter(|_| first != index);
        if let Some(other) = other.filter(|other| !other.tool.name.eq_ignore_ascii_case(name)) {
            report(&rule::NAME_LOOK_ALIKE, other);
            continue;
        }
        let key = fold(name);
        if let Some(other) = everywhere.find(subjects, index, &key) {
            report(&rule::NAME_IMITATED, other);
        }
        let first = *folded.entry((server, key.clone())).or_insert(index);
        if let Some(other) = subjects.get(first).filter(|_| first != index) {
            report(&rule::NAME_NEAR, other);
            continue;
        }
        // Two words are one letter apart when both become the same by losing a letter, or one of
        // them becomes the other.
        let slip = |first: usize| {
            let other = subjects.get(first).filter(|_| first != index);
            other.filter(|other| is_slip(&other.tool.name, name))
        };
        let longer = shortened.get(&(server, key.clone()));
        let mut near = longer.and_then(|first| slip(*first));
        for short in without_a_letter(&key) {
            let key = (server, short);
            let shorter = folded.get(&key).copied();
            let first = *shortened.entry(key).or_insert(index);
            near = near.or_else(|| slip(first)).or_else(|| slip(shorter?));
        }
        if let Some(other) = near {
            report(&rule::NAME_NEAR, other);
        }
    }
}

/// Names of all servers, by what they have in common.
#[derive(Default)]
struct Everywhere {
    folded: HashMap<String, usize>,
    shortened: HashMap<String, usize>,
}

impl Everywhere {
    /// A tool of another server whose name is nearly this one's: in other letters, or by a slip.
    fn find<'a>(
        &mut self,
        subjects: &'a [Subject<'a>],
        index: usize,
        key: &str,
    ) -> Option<&'a Subject<'a>> {
        let own = subjects.get(index)?;
        let other = |first: usize| {
            let other = subjects.get(first)?;
            (other.server != own.server).then_some(other)
        };
        let first = *self.folded.entry(key.to_owned()).or_insert(index);
        let slip =
            |first: usize| other(first).filter(|other| is_slip(&other.tool.name, &own.tool.name));
        let longer = self.shortened.get(key).copied();
        let mut found = other(first).or_else(|| slip(longer?));
        for short in without_a_letter(key) {
            let shorter = self.folded.get(&short).copied();
            let first = *self.shortened.entry(short).or_insert(index);
            found = found.or_else(|| slip(first)).or_else(|| slip(shorter?));
        }
        found
    }
}

/// Servers whose names nobody tells apart.
pub(super) fn check_servers(subjects: &[Subject<'_>], findings: &mut Vec<Finding>) {
    let mut looks: HashMap<String, &str> = HashMap::new();
    for subject in subjects {
        let name = subject.server;
        let visible: String = name.chars().filter(|c| !is_invisible(*c)).collect();
        match looks.entry(look(&visible)) {
            Entry::Occupied(known) if *known.get() != name => {
                let seen = |finding: &Finding| {
                    finding.rule == rule::SERVER_LOOK_ALIKE.id && finding.server == name
                };
                if !findings.iter().any(seen) {
                    let other = format!("{:?}", known.get());
                    findings.push(Finding::of_server(&rule::SERVER_LOOK_ALIKE, name, other));
                }
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert(name);
            }
        }
    }
}

/// As it looks in most typefaces.
fn look(name: &str) -> String {
    let letters = name.chars().map(|c| match ascii_look(c).unwrap_or(c) {
        '0' | 'O' => 'o',
        '1' | 'I' | '|' => 'l',
        other => other,
    });
    letters.collect()
}

/// Without what models do not keep apart.
fn fold(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn without_a_letter(key: &str) -> Vec<String> {
    let letters: Vec<char> = key.chars().take(LONGEST).collect();
    if letters.len() < SHORTEST {
        return Vec::new();
    }
    let without = |place: usize| {
        let kept = letters
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != place);
        kept.map(|(_, letter)| *letter).collect()
    };
    (0..letters.len()).map(without).collect()
}

/// Is one of the two a slip of the pen? Numbers, plurals and short words (`get`, `set`) are not.
fn is_slip(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    if one.len() != other.len() {
        return false;
    }
    let mut apart = one.iter().zip(&other).filter(|(one, other)| one != other);
    let (Some((one, other)), None) = (apart.next(), apart.next()) else {
        return false;
    };
    let is_long = one.len().min(other.len()) >= SHORTEST;
    let has_digits = [one, other]
        .iter()
        .any(|word| word.contains(|c: char| c.is_ascii_digit()));
    let is_plural = one.strip_suffix('s') == Some(other) || other.strip_suffix('s') == Some(one);
    is_long && !has_digits && !is_plural && is_one_apart(one, other)
}

fn is_one_apart(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = one
        .iter()
        .zip(&other)
        .take_while(|(one, other)| one == other)
        .count();
    let ends = one.iter().rev().zip(other.iter().rev());
    let same_end = ends.take_while(|(one, other)| one == other).count();
    same + same_end + 1 >= one.len().max(other.len()) && one.len().abs_diff(other.len()) <= 1
}

/// The words of a name, in lower case: `getFile_name` has three.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        let is_break = !letter.is_alphanumeric() || (letter.is_uppercase() && was_small);
        if is_break {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

const SHORTEST: usize = 6;
const LONGEST: usize = 128;
