//! The grammar of templates.
//!
//! Specification: RFC 6570, section 2, with erratum 6937 (`'` is a literal).

use std::fmt;

use super::pattern::Pattern;
use super::{UriTemplate, is_reserved, is_unreserved, triplet};

/// A piece of a template.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Text that stands in the URI.
    Literal(Literal),
    /// Variables in braces.
    Expression(Expression),
}

impl Part {
    pub(super) fn variable_names(&self) -> impl Iterator<Item = &str> {
        let variables = match self {
            Self::Literal(_) => &[],
            Self::Expression(expression) => expression.variables.as_slice(),
        };
        variables.iter().map(|variable| variable.name.as_str())
    }
}

/// Text that stands in the URI, percent-encoded where a URI wants it, and as it
/// was written if that is different.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    pub(super) encoded: Pattern,
    pub(super) written: Option<Pattern>,
}

impl Literal {
    pub(super) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        std::iter::once(&self.encoded).chain(&self.written)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) operator: Operator,
    pub(super) variables: Vec<Variable>,
}

impl Expression {
    pub(super) fn has_explode(&self) -> bool {
        self.variables.iter().any(|variable| variable.explode)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) explode: bool,
    /// Only so many characters of the value are used.
    pub(super) prefix: Option<usize>,
}

/// What stands after the opening brace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `{name}`
    Simple,
    /// `{+name}`
    Reserved,
    /// `{#name}`
    Fragment,
    /// `{.name}`
    Label,
    /// `{/name}`
    Path,
    /// `{;name}`
    Parameter,
    /// `{?name}`
    Query,
    /// `{&name}`
    Continuation,
}

impl Operator {
    /// What stands before the first value.
    pub(super) const fn first(self) -> Option<u8> {
        match self {
            Self::Simple | Self::Reserved => None,
            Self::Fragment => Some(b'#'),
            Self::Label => Some(b'.'),
            Self::Path => Some(b'/'),
            Self::Parameter => Some(b';'),
            Self::Query => Some(b'?'),
            Self::Continuation => Some(b'&'),
        }
    }

    /// What stands between two values.
    pub(super) const fn separator(self) -> u8 {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => b',',
            Self::Label => b'.',
            Self::Path => b'/',
            Self::Parameter => b';',
            Self::Query | Self::Continuation => b'&',
        }
    }

    /// Do values come with the name of their variable?
    pub(super) const fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Do reserved characters stay as they are?
    pub(super) const fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }

    const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            b'+' => Self::Reserved,
            b'#' => Self::Fragment,
            b'.' => Self::Label,
            b'/' => Self::Path,
            b';' => Self::Parameter,
            b'?' => Self::Query,
            b'&' => Self::Continuation,
            _ => return None,
        })
    }
}

/// Why a text is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateError {
    /// Where, in bytes from the start.
    pub position: usize,
    /// What is wrong there.
    pub kind: TemplateErrorKind,
}

/// What is wrong in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateErrorKind {
    /// It is longer than [`UriTemplate::LONGEST`].
    TooLong,
    /// It has more than [`UriTemplate::MOST_EXPRESSIONS`], or an expression has
    /// more than [`UriTemplate::MOST_VARIABLES`].
    TooMany,
    /// A character that cannot stand outside of an expression.
    Literal,
    /// A brace that is not closed.
    Unclosed,
    /// An operator that RFC 6570 keeps for later.
    Operator,
    /// No variable, or a character that no name can have.
    Name,
    /// A prefix that is not a number from 1 to 9999.
    Prefix,
    /// Something after a variable that is no comma and no closing brace.
    Modifier,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.kind {
            TemplateErrorKind::TooLong => "URI template is too long",
            TemplateErrorKind::TooMany => "URI template has too many expressions or variables",
            TemplateErrorKind::Literal => "character cannot stand in a URI template",
            TemplateErrorKind::Unclosed => "brace is not closed",
            TemplateErrorKind::Operator => "operator is reserved",
            TemplateErrorKind::Name => "variable name expected",
            TemplateErrorKind::Prefix => "prefix must be a number from 1 to 9999",
            TemplateErrorKind::Modifier => "comma or closing brace expected",
        };
        write!(f, "{problem} at byte {}", self.position)
    }
}

impl std::error::Error for TemplateError {}

/// Reads a whole template.
pub(super) fn parse(template: &str) -> Result<Vec<Part>, TemplateError> {
    let mut reader = Reader {
        template,
        position: 0,
    };
    if template.len() > UriTemplate::LONGEST {
        reader.position = UriTemplate::LONGEST;
        return Err(reader.error(TemplateErrorKind::TooLong));
    }
    let (mut parts, mut expressions) = (Vec::new(), 0);
    while let Some(byte) = reader.peek() {
        if byte == b'{' {
            expressions += 1;
            if expressions > UriTemplate::MOST_EXPRESSIONS {
                return Err(reader.error(TemplateErrorKind::TooMany));
            }
            parts.push(Part::Expression(reader.expression()?));
        } else {
            parts.push(Part::Literal(reader.literal()?));
        }
    }
    Ok(parts)
}

struct Reader<'a> {
    template: &'a str,
    position: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.template.as_bytes().get(self.position).copied()
    }

    /// Passes over a byte if it is this one.
    fn accept(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.position += usize::from(is_it);
        is_it
    }

    fn error(&self, kind: TemplateErrorKind) -> TemplateError {
        TemplateError {
            position: self.position,
            kind,
        }
    }

    fn text_from(&self, start: usize) -> &'a str {
        self.template.get(start..self.position).unwrap_or_default()
    }

    fn literal(&mut self) -> Result<Literal, TemplateError> {
        let start = self.position;
        let bytes = self.template.as_bytes();
        while let Some(byte) = self.peek().filter(|byte| *byte != b'{') {
            let length = match byte {
                b'%' if triplet(bytes, self.position).is_some() => 3,
                _ if is_unreserved(byte) || is_reserved(byte) || !byte.is_ascii() => 1,
                _ => return Err(self.error(TemplateErrorKind::Literal)),
            };
            self.position += length;
        }
        let text = self.text_from(start);
        let mut encoded = String::with_capacity(text.len());
        super::expand::encode(text, true, &mut encoded);
        let written = (text != encoded).then(|| Pattern::new(text.to_owned()));
        Ok(Literal {
            encoded: Pattern::new(encoded),
            written,
        })
    }

    fn expression(&mut self) -> Result<Expression, TemplateError> {
        self.position += 1;
        let operator = self.peek().and_then(Operator::from_byte);
        if operator.is_some() {
            self.position += 1;
        } else if matches!(self.peek(), Some(b'=' | b',' | b'!' | b'@' | b'|')) {
            return Err(self.error(TemplateErrorKind::Operator));
        }
        let mut variables = Vec::new();
        loop {
            if variables.len() == UriTemplate::MOST_VARIABLES {
                return Err(self.error(TemplateErrorKind::TooMany));
            }
            variables.push(self.variable()?);
            if self.accept(b'}') {
                break;
            }
            if !self.accept(b',') {
                return Err(self.expected(TemplateErrorKind::Modifier));
            }
        }
        Ok(Expression {
            operator: operator.unwrap_or(Operator::Simple),
            variables,
        })
    }

    fn variable(&mut self) -> Result<Variable, TemplateError> {
        let name = self.name()?;
        let mut prefix = None;
        if self.accept(b':') {
            prefix = Some(self.prefix()?);
        }
        Ok(Variable {
            name: name.to_owned(),
            explode: prefix.is_none() && self.accept(b'*'),
            prefix,
        })
    }

    fn name(&mut self) -> Result<&'a str, TemplateError> {
        let start = self.position;
        let bytes = self.template.as_bytes();
        // A dot stands between two other characters of a name.
        let mut may_end = false;
        while let Some(byte) = self.peek() {
            let length = match byte {
                b'%' if triplet(bytes, self.position).is_some() => 3,
                b'.' if may_end => 1,
                _ if byte.is_ascii_alphanumeric() || byte == b'_' => 1,
                _ => break,
            };
            may_end = byte != b'.';
            self.position += length;
        }
        if may_end {
            Ok(self.text_from(start))
        } else {
            Err(self.expected(TemplateErrorKind::Name))
        }
    }

    fn prefix(&mut self) -> Result<usize, TemplateError> {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        let digits = self.text_from(start);
        let is_number = (1..=4).contains(&digits.len()) && !digits.starts_with('0');
        match digits.parse() {
            Ok(prefix) if is_number => Ok(prefix),
            _ => {
                self.position = start;
                Err(self.expected(TemplateErrorKind::Prefix))
            }
        }
    }

    /// At the end of the template, what is missing is the brace.
    fn expected(&self, kind: TemplateErrorKind) -> TemplateError {
        self.error(match self.peek() {
            Some(_) => kind,
            None => TemplateErrorKind::Unclosed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::TemplateErrorKind::{
        Literal, Modifier, Name, Operator, Prefix, TooLong, TooMany, Unclosed,
    };
    use super::*;

    fn check(template: &str, kind: TemplateErrorKind, position: usize) {
        let error = UriTemplate::parse(template).unwrap_err();
        assert_eq!(error, TemplateError { position, kind }, "{template}");
    }

    #[test]
    fn errors_name_the_position() {
        check("{/id*", Unclosed, 5);
        check("a{", Unclosed, 2);
        check("/id*}", Literal, 4);
        check("a b", Literal, 1);
        check("50%", Literal, 2);
        check("%zz", Literal, 0);
        check("{/?id}", Name, 2);
        check("{??hello}", Name, 2);
        check("{}", Name, 1);
        check("{%zz}", Name, 1);
        check("{a,}", Name, 3);
        check("{a..b}", Name, 3);
        check("{a.}", Name, 3);
        check("{*keys?}", Name, 1);
        check("{$var}", Name, 1);
        check("{-join|&|var,list}", Name, 1);
        check("{!hello}", Operator, 1);
        check("{=path}", Operator, 1);
        check("{|var*}", Operator, 1);
        check("{var:prefix}", Prefix, 5);
        check("{var:0}", Prefix, 5);
        check("{var:}", Prefix, 5);
        check("{var:10000}", Prefix, 5);
        check("{hello:2*}", Modifier, 8);
        check("{with space}", Modifier, 5);
        check("{default-graph-uri}", Modifier, 8);
        check("{?empty=default,var}", Modifier, 7);
        check("/h{#hello+}", Modifier, 9);
        check("{a{b}}", Modifier, 2);
    }

    #[test]
    fn templates_are_bounded() {
        check(&"a".repeat(8193), TooLong, 8192);
        check(&"{a}".repeat(33), TooMany, 96);
        check(&format!("{{a{}}}", ",a".repeat(32)), TooMany, 65);
        assert!(UriTemplate::parse(&"a".repeat(8192)).is_ok());
        assert!(UriTemplate::parse(&"{a}".repeat(32)).is_ok());
    }

    #[test]
    fn an_error_says_what_is_wrong_and_where() {
        let check = |template, expected| {
            let error = UriTemplate::parse(template).unwrap_err();
            assert_eq!(error.to_string(), expected, "{template}");
        };
        check("a b", "character cannot stand in a URI template at byte 1");
        check("a{", "brace is not closed at byte 2");
        check("{!a}", "operator is reserved at byte 1");
        check("{}", "variable name expected at byte 1");
        check("{a:0}", "prefix must be a number from 1 to 9999 at byte 3");
        check("{a b}", "comma or closing brace expected at byte 2");
    }

    #[test]
    fn names_may_have_dots_digits_and_triplets() {
        let template = UriTemplate::parse("{a.b}x{?_1,%20,q*}").unwrap();
        assert_eq!(
            template.variable_names().collect::<Vec<_>>(),
            ["a.b", "_1", "%20", "q"]
        );
    }
}
