//! The grammar of variables.
//!
//! One pass finds the ends of all `${`, so that a long text with many beginnings and no end
//! costs no more than any other.

use std::collections::HashMap;

use super::{Piece, Reference};
use crate::config::Grammar;

/// Cuts a text where something is to be filled in.
pub(super) fn pieces(text: &str, grammar: &Grammar) -> Vec<Piece> {
    let reader = Reader {
        text,
        ends: ends(text),
        grammar,
    };
    reader.read(0, text.len(), 0)
}

struct Reader<'a> {
    text: &'a str,
    /// Where a `${` begins, and where its `}` is.
    ends: HashMap<usize, usize>,
    grammar: &'a Grammar,
}

/// What was found at a sign, and where it ends.
struct Found {
    what: What,
    end: usize,
}

enum What {
    Text(&'static str),
    Reference(Reference),
    LeftAlone,
}

impl Reader<'_> {
    fn slice(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to).unwrap_or_default()
    }

    fn read(&self, from: usize, to: usize, depth: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut at = from;
        while at < to {
            let rest = self.slice(at, to);
            let skipped = rest.find(['$', '{', '%']).unwrap_or(rest.len());
            plain.push_str(self.slice(at, at + skipped));
            at += skipped;
            let Some(sign) = self.slice(at, to).chars().next() else {
                break;
            };
            let Some(Found { what, end }) = self.find(at, to, depth) else {
                plain.push(sign);
                at += sign.len_utf8();
                continue;
            };
            let written = self.slice(at, end).to_owned();
            at = end;
            if let What::Text(text) = what {
                plain.push_str(text);
                continue;
            }
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(match what {
                What::Reference(reference) => Piece::Reference { written, reference },
                _ => Piece::LeftAlone(written),
            });
        }
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        pieces
    }

    /// What the sign at this place begins.
    fn find(&self, at: usize, to: usize, depth: usize) -> Option<Found> {
        let rest = self.slice(at, to);
        if rest.starts_with("$$") {
            let end = at + 2;
            return Some(Found {
                what: What::Text("$"),
                end,
            });
        }
        if rest.starts_with("${") {
            let close = *self.ends.get(&at).filter(|close| **close < to)?;
            let reference = match depth < DEEPEST {
                true => self.reference(at + 2, close, depth),
                false => None,
            };
            let what = reference.map_or(What::LeftAlone, What::Reference);
            let end = close + 1;
            return Some(Found { what, end });
        }
        let (reference, length) = self.foreign(rest)?;
        let what = What::Reference(reference);
        let end = at + length;
        Some(Found { what, end })
    }

    /// What stands between the braces.
    fn reference(&self, from: usize, to: usize, depth: usize) -> Option<Reference> {
        let inner = self.slice(from, to);
        if let Some(folder) = self.grammar.folder(inner) {
            return Some(Reference::Folder(folder));
        }
        match inner {
            "userHome" => return Some(Reference::Home),
            "pathSeparator" | "/" => return Some(Reference::Separator),
            _ => {}
        }
        let start = |scheme: &str| inner.starts_with(scheme).then_some(from + scheme.len());
        let is_some = |from: usize| !self.slice(from, to).trim().is_empty();
        if let Some(path) = start("file:") {
            return is_some(path).then(|| Reference::File(self.read(path, to, depth + 1)));
        }
        if let Some(line) = start("cmd:") {
            return is_some(line).then(|| Reference::Command(self.words(line, to, depth + 1)));
        }
        let plain = |from: usize| {
            let name = self.slice(from, to);
            (is_some(from) && !name.contains('$')).then(|| name.to_owned())
        };
        if let Some(name) = start("keyring:") {
            return plain(name).map(Reference::Keyring);
        }
        if let Some(id) = start("input:") {
            return plain(id).map(Reference::Input);
        }
        let env = start("env:");
        let name_from = env.unwrap_or(from);
        let (name, default) = match self.slice(name_from, to).split_once(":-") {
            Some((name, _)) => {
                let default = name_from + name.len() + 2;
                (name, Some(self.read(default, to, depth + 1)))
            }
            None => (self.slice(name_from, to), None),
        };
        let is_named = match env {
            // Said outright, so also `ProgramFiles(x86)`.
            Some(_) => !name.is_empty() && !name.contains(['$', '{', '=', ':', '\0']),
            None => is_name(name),
        };
        let name = name.to_owned();
        is_named.then_some(Reference::Variable { name, default })
    }

    /// The words of a command. Quotes keep them together, and nothing else is understood: a
    /// backslash is common in paths.
    fn words(&self, from: usize, to: usize, depth: usize) -> Vec<Vec<Piece>> {
        let mut words = Vec::new();
        let mut word: Option<Vec<Piece>> = None;
        let mut at = from;
        while at < to {
            let rest = self.slice(at, to);
            let Some(sign) = rest.chars().next() else {
                break;
            };
            let (inner, end, next) = match sign {
                '\'' | '"' => {
                    let length = self.slice(at + 1, to).find(sign);
                    let end = length.map_or(to, |length| at + 1 + length);
                    (at + 1, end, end + 1)
                }
                space if space.is_whitespace() => {
                    words.extend(word.take());
                    at += space.len_utf8();
                    continue;
                }
                _ => {
                    let end = self.word_end(at, to);
                    (at, end, end)
                }
            };
            word.get_or_insert_default()
                .extend(self.read(inner, end, depth));
            at = next;
        }
        words.extend(word);
        words
    }

    /// Where a word ends that is not quoted. A variable within is part of it, spaces and all.
    fn word_end(&self, from: usize, to: usize) -> usize {
        let mut at = from;
        while at < to {
            let Some(sign) = self.slice(at, to).chars().next() else {
                break;
            };
            match self.ends.get(&at) {
                Some(close) if *close < to => at = close + 1,
                _ if sign.is_whitespace() || matches!(sign, '\'' | '"') => return at,
                _ => at += sign.len_utf8(),
            }
        }
        to
    }

    /// Spellings that mean something in the files of some products only.
    fn foreign(&self, rest: &str) -> Option<(Reference, usize)> {
        let variable = |name: &str| Reference::Variable {
            name: name.to_owned(),
            default: None,
        };
        if self.grammar.has_dollar_env()
            && let Some(after) = rest.strip_prefix("$env:")
        {
            let name = leading_name(after)?;
            return Some((variable(name), "$env:".len() + name.len()));
        }
        if self.grammar.has_dollar_names()
            && let Some(after) = rest.strip_prefix('$')
        {
            let name = leading_name(after)?;
            return Some((variable(name), 1 + name.len()));
        }
        if self.grammar.has_percent_names()
            && let Some(after) = rest.strip_prefix('%')
        {
            let name = leading_name(after)?;
            let is_closed = after.get(name.len()..)?.starts_with('%');
            return is_closed.then(|| (variable(name), name.len() + 2));
        }
        if self.grammar.has_braces() && rest.starts_with('{') {
            let near: &str = match rest.char_indices().nth(LONGEST_BRACES) {
                Some((end, _)) => rest.get(..end)?,
                None => rest,
            };
            let inner = near.get(1..near.find('}')?)?;
            let length = inner.len() + 2;
            if let Some(name) = inner.strip_prefix("env:") {
                return is_name(name).then(|| (variable(name), length));
            }
            let path = inner
                .strip_prefix("file:")
                .filter(|path| !path.is_empty())?;
            let path = vec![Piece::Text(path.to_owned())];
            return Some((Reference::File(path), length));
        }
        None
    }
}

/// The `}` of every `${` that has one.
fn ends(text: &str) -> HashMap<usize, usize> {
    let mut ends = HashMap::new();
    let mut open = Vec::new();
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        let next = bytes.peek().map(|(_, next)| *next);
        match (byte, next) {
            (b'$', Some(b'$')) => {
                bytes.next();
            }
            (b'$', Some(b'{')) => {
                bytes.next();
                open.push(at);
            }
            (b'}', _) => {
                if let Some(begin) = open.pop() {
                    ends.insert(begin, at);
                }
            }
            _ => {}
        }
    }
    ends
}

/// What shells and all the products take as the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    leading_name(text).is_some_and(|name| name.len() == text.len())
}

fn leading_name(text: &str) -> Option<&str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = text.bytes().take_while(|byte| is_part(byte)).count();
    let begins_well = text
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    text.get(..length)
        .filter(|name| begins_well && !name.is_empty())
}

// Nobody has a default of a default of a default.
const DEEPEST: usize = 8;
const LONGEST_BRACES: usize = 1024;
