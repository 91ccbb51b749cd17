//! The text of a configuration as JSON with comments, and where in it something stands.

use std::fmt;
use std::sync::Arc;

use jsonc_parser::ast::Value;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// A place in a text. Both count from 1; a column is a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Position {
    /// The line. 0 if there is no text.
    pub line: u32,
    /// The character in it.
    pub column: u32,
}

impl Position {
    /// A place in a text.
    pub const fn new(line: u32, column: u32) -> Self {
        Self { line, column }
    }

    /// The place of a byte of a text.
    pub fn of(text: &str, offset: usize) -> Self {
        Page::new(text).position(offset)
    }
}

/// `line:column`.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A text in which places can be named.
#[derive(Debug)]
pub(super) struct Page<'a> {
    text: &'a str,
    /// Where lines begin.
    lines: Vec<usize>,
    /// How many characters begin before each block, so that nobody counts through a long line
    /// for everything that stands in it.
    counts: Vec<usize>,
    /// Where the lines stand in what the text was made of.
    places: Option<Arc<[Position]>>,
}

impl<'a> Page<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(end, _)| end + 1));
        let mut total = 0;
        let counts = text.as_bytes().chunks(BLOCK).map(|block| {
            let before = total;
            total += characters(block);
            before
        });
        Self {
            text,
            lines: lines.collect(),
            counts: counts.collect(),
            places: None,
        }
    }

    /// Names the places of another text, of which each line of this one has one.
    pub(super) fn with_places(mut self, places: Option<Arc<[Position]>>) -> Self {
        self.places = places;
        self
    }

    /// The place of a byte.
    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|begin| *begin <= offset);
        if let Some(places) = &self.places {
            let place = places.get(line.saturating_sub(1));
            return place.copied().unwrap_or_default();
        }
        let begin = self.lines.get(line.saturating_sub(1)).copied();
        let before = self.count(begin.unwrap_or_default());
        let column = self.count(offset).saturating_sub(before) + 1;
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    /// How many characters begin before a byte.
    fn count(&self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        let block = offset / BLOCK;
        let before = self.counts.get(block).copied();
        let part = self.text.as_bytes().get(block * BLOCK..offset);
        match before {
            Some(before) => before + characters(part.unwrap_or_default()),
            // The end of a text that fills its last block.
            None => self.text.chars().count(),
        }
    }

    /// The value in the text; none if there is nothing but comments. Otherwise what is wrong,
    /// and where.
    pub(super) fn parse(&self) -> Result<Option<Value<'a>>, (Position, SyntaxFault)> {
        let collect = CollectOptions::default();
        match parse_to_ast(self.text, &collect, &OPTIONS) {
            Ok(parsed) => Ok(parsed.value),
            Err(error) => {
                let start = error.range().start;
                let begins = self.text.get(start..).and_then(|rest| rest.chars().next());
                let fault = match SyntaxFault::of(error.kind()) {
                    SyntaxFault::Unexpected if begins.is_some_and(char::is_alphanumeric) => {
                        SyntaxFault::BareWord
                    }
                    other => other,
                };
                Err((self.position(start), fault))
            }
        }
    }
}

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxFault {
    /// No comma between two things.
    NoComma,
    /// No colon after a key.
    NoColon,
    /// No value after a colon.
    NoValue,
    /// A key without double quotes.
    BareKey,
    /// A text without double quotes.
    BareWord,
    /// Single quotes.
    SingleQuotes,
    /// A text without an end.
    OpenText,
    /// A backslash before something that cannot follow it.
    BadEscape,
    /// A number of another language than JSON.
    BadNumber,
    /// An object without an end.
    OpenObject,
    /// A list without an end.
    OpenList,
    /// A comment without an end.
    OpenComment,
    /// Something that has no place here.
    Unexpected,
    /// Something after the end.
    TwoValues,
    /// Too many brackets in each other.
    TooDeep,
}

impl SyntaxFault {
    const fn of(kind: &ParseErrorKind) -> Self {
        match kind {
            ParseErrorKind::ExpectedComma => Self::NoComma,
            ParseErrorKind::ExpectedColonAfterObjectKey => Self::NoColon,
            ParseErrorKind::ExpectedObjectValue => Self::NoValue,
            ParseErrorKind::ExpectedStringObjectProperty => Self::BareKey,
            ParseErrorKind::UnexpectedWord => Self::BareWord,
            ParseErrorKind::SingleQuotedStringsNotAllowed => Self::SingleQuotes,
            ParseErrorKind::String(kind) => match kind {
                jsonc_parser::ParseStringErrorKind::UnterminatedStringLiteral => Self::OpenText,
                _ => Self::BadEscape,
            },
            ParseErrorKind::BareDecimalPointNumbersNotAllowed
            | ParseErrorKind::ExpectedDigit
            | ParseErrorKind::ExpectedDigitFollowingNegativeSign
            | ParseErrorKind::ExpectedPlusMinusOrDigitInNumberLiteral
            | ParseErrorKind::HexadecimalNumbersNotAllowed
            | ParseErrorKind::NonFiniteNumbersNotAllowed
            | ParseErrorKind::UnaryPlusNumbersNotAllowed => Self::BadNumber,
            ParseErrorKind::UnterminatedObject => Self::OpenObject,
            ParseErrorKind::UnterminatedArray => Self::OpenList,
            ParseErrorKind::UnterminatedCommentBlock => Self::OpenComment,
            ParseErrorKind::MultipleRootJsonValues => Self::TwoValues,
            ParseErrorKind::NestingDepthExceeded => Self::TooDeep,
            _ => Self::Unexpected,
        }
    }
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoComma => "expected a comma",
            Self::NoColon => "expected a colon after the key",
            Self::NoValue => "expected a value after the colon",
            Self::BareKey => "expected a key in double quotes",
            Self::BareWord => "expected a value, and texts in double quotes",
            Self::SingleQuotes => "expected double quotes, found single ones",
            Self::OpenText => "the text that begins here has no closing quote",
            Self::BadEscape => "the backslash is followed by something that it cannot escape",
            Self::BadNumber => "expected a number as JSON has them",
            Self::OpenObject => "the object that begins here has no closing brace",
            Self::OpenList => "the list that begins here has no closing bracket",
            Self::OpenComment => "the comment that begins here has no end",
            Self::Unexpected => "found something that has no place here",
            Self::TwoValues => "expected the end of the file",
            Self::TooDeep => "too many brackets in each other",
        })
    }
}

/// How many characters begin in these bytes.
fn characters(bytes: &[u8]) -> usize {
    let begins = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
    bytes.iter().filter(begins).count()
}

/// Comments and trailing commas, as in VS Code; nothing else that JSON does not have.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const BLOCK: usize = 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_and_characters_are_counted_from_one() {
        let page = Page::new("aé\r\n\u{1f600}x\n");
        let check = |offset, line, column| {
            assert_eq!(page.position(offset), Position { line, column }, "{offset}");
        };
        check(0, 1, 1);
        check(1, 1, 2);
        check(3, 1, 3);
        check(5, 2, 1);
        check(9, 2, 2);
        check(11, 3, 1);
        check(999, 3, 1);
    }

    proptest! {
        #[test]
        fn a_place_is_what_counting_says(text in "(?s).{0,300}", repeat in 1..20usize, at in 0..9000usize) {
            let text = text.repeat(repeat);
            let mut at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let before = &text[..at];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let position = Page::new(&text).position(at);
            prop_assert_eq!((position.line as usize, position.column as usize), (line, column));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in r#"[\[\]{}:,"'\\/*#$nultrefas0-9eE+.\-\n \u{feff}é]{0,80}"#) {
            let _ = Page::new(&text).parse();
        }
    }
}
