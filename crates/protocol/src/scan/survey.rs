//! Looks through a large text in steps.
//!
//! A text of many MiB takes longer than others should wait. Looked through before, a piece at a time, it is
//! then read at once: what is long in it was seen to be valid, and is passed over.
//!
//! What is valid here is what [`Scanner`] takes, to the byte: both are compared by tests and by fuzzing.

use super::token::Found;
use super::{Bounds, Fault, MAX_DEPTH, Scanner};

/// How far a text was looked through, and what is long in it.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    at: usize,
    depth: u32,
    items: u32,
    next: Next,
    /// One bit per open container: set for an object, clear for an array.
    open: u128,
    level: u32,
    /// Where the outermost containers begin, and how many items there were left.
    begun: [(usize, u32); SHALLOW],
    /// Where the white space begins that we are in.
    space: Option<usize>,
    /// Behind the last line break outside of strings.
    line: usize,
    /// How long it must be to be noted.
    long: usize,
    stones: Vec<Stone>,
}

/// A long stretch that was seen to be valid: a value, a name, or white space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stone {
    pub start: usize,
    pub end: usize,
    /// Members and items in it.
    pub items: u32,
    /// It is a string with escapes.
    pub escaped: bool,
    /// There is a line break in it, outside of strings.
    pub broke_line: bool,
}

/// What may come next.
#[derive(Clone, Copy, Debug)]
enum Next {
    Value,
    /// A value, or the end of an array.
    Item,
    Name,
    /// A name, or the end of an object.
    FirstName,
    Colon,
    /// A comma or the end of a container.
    Comma,
    /// White space only.
    End,
    /// The rest of a string.
    String(Open),
}

/// A string that we are in.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Behind its quote.
    start: usize,
    /// From here on it was not seen to be UTF-8, unless all is ASCII.
    unseen: Option<usize>,
    escaped: bool,
    is_name: bool,
}

impl Survey {
    /// That of a text of which nothing was seen yet. What is at least so long is noted.
    pub(crate) fn new(bounds: Bounds, long: usize) -> Self {
        Self {
            at: 0,
            depth: bounds.depth.min(MAX_DEPTH),
            items: bounds.items,
            next: Next::Value,
            open: 0,
            level: 0,
            begun: [(0, 0); SHALLOW],
            space: None,
            line: 0,
            long: long.max(1),
            stones: Vec::new(),
        }
    }

    /// Looks through a piece of about this length of the text, which is the same each time. `true` when all
    /// was seen.
    ///
    /// # Errors
    /// When the text is not JSON that we accept.
    pub(crate) fn step(&mut self, text: &[u8], piece: usize) -> Result<bool, Fault> {
        let stop = self.at.saturating_add(piece);
        while self.at < stop {
            if let Next::String(open) = self.next {
                self.string(text, open, stop)?;
                continue;
            }
            let Some(byte) = self.past_space(text, stop) else {
                if self.at < text.len() {
                    break;
                }
                return match self.next {
                    Next::End => {
                        self.stones.sort_unstable_by_key(|stone| stone.start);
                        Ok(true)
                    }
                    _ => Err(Fault::Truncated),
                };
            };
            self.token(text, byte)?;
        }
        Ok(false)
    }

    /// What is long in the text, by where it begins.
    pub(crate) fn stones(&self) -> &[Stone] {
        &self.stones
    }

    /// Steps over white space: the byte behind it, unless the text or the piece ends before.
    fn past_space(&mut self, text: &[u8], stop: usize) -> Option<u8> {
        let start = self.space.take().unwrap_or(self.at);
        while self.at < stop {
            let byte = text.get(self.at).copied();
            match byte {
                Some(b' ' | b'\t') => {}
                Some(b'\n' | b'\r') => self.line = self.at + 1,
                _ => {
                    self.note(start, self.items, false);
                    return byte;
                }
            }
            self.at += 1;
        }
        self.space = Some(start);
        None
    }

    /// Steps over what begins with this byte.
    fn token(&mut self, text: &[u8], byte: u8) -> Result<(), Fault> {
        let in_object = self.open & 1 == 1;
        match (self.next, byte) {
            (Next::Item, b']') | (Next::FirstName, b'}') => self.close(),
            (Next::Comma, b']') if !in_object => self.close(),
            (Next::Comma, b'}') if in_object => self.close(),
            (Next::Comma, b',') => {
                self.at += 1;
                self.count()?;
                self.next = match in_object {
                    true => Next::Name,
                    false => Next::Value,
                };
            }
            (Next::FirstName, _) => {
                self.count()?;
                self.next = Next::Name;
            }
            (Next::Name, b'"') => self.begin_string(text, true),
            (Next::Colon, b':') => {
                self.at += 1;
                self.next = Next::Value;
            }
            (Next::Item, _) => {
                self.count()?;
                self.next = Next::Value;
            }
            (Next::Value, b'"') => self.begin_string(text, false),
            (Next::Value, b'{' | b'[') => self.open(byte)?,
            (Next::Value, b't' | b'f' | b'n' | b'-' | b'0'..=b'9') => {
                let start = self.at;
                let mut scanner = Scanner::at(text, self.at);
                let outcome = scanner.plain_value(byte);
                self.at = scanner.position();
                outcome?;
                self.note(start, self.items, false);
                self.ended();
            }
            _ => return Err(self.unexpected()),
        }
        Ok(())
    }

    fn open(&mut self, byte: u8) -> Result<(), Fault> {
        if self.level >= self.depth {
            return Err(Fault::TooDeep);
        }
        if let Some(begun) = self.begun.get_mut(self.level as usize) {
            *begun = (self.at, self.items);
        }
        self.at += 1;
        self.level += 1;
        let is_object = byte == b'{';
        self.open = self.open << 1 | u128::from(is_object);
        self.next = match is_object {
            true => Next::FirstName,
            false => Next::Item,
        };
        Ok(())
    }

    fn close(&mut self) {
        self.at += 1;
        self.level -= 1;
        self.open >>= 1;
        if let Some((start, items)) = self.begun.get(self.level as usize).copied() {
            self.note(start, items, false);
        }
        self.ended();
    }

    fn begin_string(&mut self, text: &[u8], is_name: bool) {
        let start = self.at + 1;
        let mut scanner = Scanner::at(text, self.at);
        let is_over = scanner.short_string();
        self.at = scanner.position();
        if is_over {
            return self.string_ended(is_name);
        }
        self.next = Next::String(Open {
            start,
            unseen: None,
            escaped: false,
            is_name,
        });
    }

    const fn string_ended(&mut self, is_name: bool) {
        match is_name {
            true => self.next = Next::Colon,
            false => self.ended(),
        }
    }

    /// Goes on with a string, up to its end or that of the piece.
    fn string(&mut self, text: &[u8], mut open: Open, stop: usize) -> Result<(), Fault> {
        let mut not_ascii = open.unseen;
        let mut scanner = Scanner::at(text, self.at);
        let found = scanner.find_quote(stop, &mut not_ascii);
        self.at = scanner.position();
        let is_over = !matches!(found, Ok(Found::Paused { .. }));
        if let Some(from) = not_ascii {
            let seen = text.get(from..self.at).unwrap_or_default();
            open.unseen = match std::str::from_utf8(seen) {
                Ok(_) => None,
                // The rest of a character may stand in the next piece.
                Err(error) if error.error_len().is_none() && !is_over => {
                    Some(from + error.valid_up_to())
                }
                Err(error) => {
                    let at = from + error.valid_up_to();
                    return Err(Fault::NotUtf8 { at });
                }
            };
        }
        match found? {
            Found::Paused { escaped } => {
                open.escaped |= escaped;
                self.next = Next::String(open);
            }
            Found::Quote { escaped } => {
                self.at += 1;
                self.note(open.start - 1, self.items, open.escaped | escaped);
                self.string_ended(open.is_name);
            }
        }
        Ok(())
    }

    /// A value has ended here.
    const fn ended(&mut self) {
        self.next = match self.level {
            0 => Next::End,
            _ => Next::Comma,
        };
    }

    /// Remembers what ends here, if it is long.
    fn note(&mut self, start: usize, items: u32, escaped: bool) {
        if self.at - start >= self.long {
            self.stones.push(Stone {
                start,
                end: self.at,
                items: items - self.items,
                escaped,
                broke_line: self.line > start,
            });
        }
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.items = self.items.checked_sub(1).ok_or(Fault::TooComplex)?;
        Ok(())
    }

    const fn unexpected(&self) -> Fault {
        Fault::Unexpected { at: self.at }
    }
}

/// Of containers, those are noted that a reader passes over: the members of the parameters or the result of a
/// message of a batch, and all around them.
const SHALLOW: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::scan::Text;

    /// Everything that a reader sees of a text.
    #[derive(Debug, PartialEq, Eq)]
    struct Seen {
        outcome: Result<(), Fault>,
        names: Vec<Text>,
        values: Vec<std::ops::Range<usize>>,
        last: Vec<Text>,
        items_left: u32,
        broke_line: bool,
    }

    /// Reads three levels as messages are read, and passes over what is deeper.
    fn read(mut scanner: Scanner<'_>) -> Seen {
        let mut seen = Seen {
            outcome: Ok(()),
            names: Vec::new(),
            values: Vec::new(),
            last: Vec::new(),
            items_left: 0,
            broke_line: false,
        };
        seen.outcome = seen
            .read_level(&mut scanner, 3)
            .and_then(|()| scanner.end());
        seen.items_left = scanner.items_left();
        seen.broke_line = scanner.broke_line;
        seen
    }

    impl Seen {
        fn read_level(&mut self, scanner: &mut Scanner<'_>, levels: u32) -> Result<(), Fault> {
            match scanner.peek()? {
                b'{' if levels > 0 => {
                    scanner.enter(b'{')?;
                    let mut first = true;
                    while scanner.next_name(first)? {
                        first = false;
                        self.names.push(scanner.text());
                        self.read_level(scanner, levels - 1)?;
                    }
                }
                b'[' if levels > 0 => {
                    scanner.enter(b'[')?;
                    let mut first = true;
                    while scanner.next_item(first)? {
                        first = false;
                        self.read_level(scanner, levels - 1)?;
                    }
                }
                b'"' => {
                    scanner.string()?;
                    self.last.push(scanner.text());
                }
                _ => {
                    let value = scanner.value()?;
                    self.values.push(value);
                }
            }
            Ok(())
        }
    }

    fn check(text: &[u8], bounds: Bounds) {
        let expected = read(Scanner::new(text, bounds));
        for (piece, long) in [(1, 1), (3, 2), (64, 9), (1_000, 200), (1 << 20, 1)] {
            let mut survey = Survey::new(bounds, long);
            let mut steps = 0;
            let outcome = loop {
                steps += 1;
                assert!(steps <= text.len() * 2 + 10, "it does not end");
                match survey.step(text, piece) {
                    Ok(false) => {}
                    Ok(true) => break Ok(()),
                    Err(fault) => break Err(fault),
                }
            };
            let shown = text.escape_ascii();
            assert_eq!(outcome, expected.outcome, "{shown} by {piece}");
            if outcome.is_ok() {
                let found = read(Scanner::new(text, bounds).passing(&survey));
                assert_eq!(found, expected, "{shown} by {piece}, from {long} on");
            }
        }
    }

    const BOUNDS: Bounds = Bounds {
        depth: 7,
        items: 40,
    };

    #[test]
    fn what_is_found_in_steps_is_what_is_found_at_once() {
        let long = "x".repeat(700);
        let wide = "é€😀".repeat(200);
        let escaped = r#"a\n\u00e9\\\""#.repeat(100);
        let half = "😀".as_bytes().split_last().unwrap().1;
        for text in [
            "",
            " ",
            "1 1",
            "[1,]",
            "[,1]",
            "{,}",
            r#"{"a":1,}"#,
            r#"{"a""#,
            r#"{"a":"#,
            r#"{1:2}"#,
            "[}",
            "{]",
            "[1}",
            r#"{"a":1]"#,
            "[[]",
            "tru",
            "01",
            "-",
            "\u{feff}1",
            "[[[[[[[1]]]]]]]",
            "[[[[[[[[1]]]]]]]]",
            "[\n  {\"a\" :\r\n [1, 2.5e+7 , null]}\t]\n",
        ] {
            check(text.as_bytes(), BOUNDS);
        }
        for inside in [&long, &wide, &escaped] {
            for text in [
                format!(r#"{{"a":"{inside}","b":[["{inside}"],{{"{inside}":"{inside}"}}]}}"#),
                format!(r#"{{"{inside}":{{"params":{{"x":"{inside}","y":[1,2,3]}}}}}} "#),
                format!("\n[\"{inside}\", {}1]", " \n".repeat(300)),
                format!("[\"{inside}"),
                format!("[\"{inside}\\x\"]"),
                format!("[\"{inside}\n\"]"),
                format!("[\"{inside}\"{}", " ".repeat(300)),
                format!("[{}]", "1".repeat(900)),
                format!("[{}x]", "1".repeat(900)),
            ] {
                check(text.as_bytes(), BOUNDS);
            }
            let cut = [b"[\"", inside.as_bytes(), half, b"\"]"].concat();
            check(&cut, BOUNDS);
            check(&cut[..cut.len() - 2], BOUNDS);
        }
        for items in 0..12 {
            let bounds = Bounds { depth: 7, items };
            for text in [
                r#"{"a":[1,2,{"b":3,"c":[]}],"d":{}}"#,
                r#"{"a":1,"#,
                "[1,",
                "[",
                "{\"a\":[x",
            ] {
                check(text.as_bytes(), bounds);
            }
        }
    }

    #[test]
    fn what_is_long_and_was_seen_is_not_looked_at_again() {
        // What is valid instead of `~` was seen, and then something else stands there.
        fn check(around: &str, valid: &str) {
            let text = around.replace('~', &valid.repeat(200));
            let mut survey = Survey::new(BOUNDS, 200);
            assert_eq!(survey.step(text.as_bytes(), usize::MAX), Ok(true));
            let changed = around.replace('~', &"\u{1}".repeat(200));
            let scanner = Scanner::new(changed.as_bytes(), BOUNDS);
            assert!(read(scanner.clone()).outcome.is_err(), "{around}");
            let expected = read(Scanner::new(text.as_bytes(), BOUNDS));
            assert_eq!(read(scanner.passing(&survey)), expected, "{around}");
        }
        check(r#"{"a":"~","b":1}"#, "x");
        check(r#"{"~":1}"#, "x");
        check("[1~]", "2");
        check("[[[[1~],2]]]", "2");
        for space in [" ", "\n"] {
            check(" ~[1]", space);
            check("[ ~1 ~, ~2 ~]", space);
            check("{ ~\"a\" ~: ~1}", space);
            check("1 ~", space);
        }
        check("\n~[1]", " ");
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,200}".prop_map(Value::from),
            "[a-z\"\\\\é]{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map("[a-zé\n]{0,12}", inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_text_is_seen_in_steps_as_it_is_at_once(
            value in json(),
            is_pretty: bool,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            end in any::<prop::sample::Index>(),
            is_cut: bool,
        ) {
            let mut text = match is_pretty {
                true => serde_json::to_vec_pretty(&value),
                false => serde_json::to_vec(&value),
            }.unwrap();
            for (place, byte) in changes {
                let place = place.index(text.len());
                text[place] = byte;
            }
            if is_cut {
                text.truncate(end.index(text.len()));
            }
            check(&text, BOUNDS);
            check(&text, Bounds { depth: 100, items: 10_000 });
        }
    }
}
