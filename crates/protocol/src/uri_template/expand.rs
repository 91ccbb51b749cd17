//! Templates filled in.
//!
//! Specification: RFC 6570, section 3.

use std::fmt;

use super::parse::{Expression, Operator, Part, Variable};
use super::{Value, Variables, is_reserved, is_unreserved, triplet};

/// Why a template cannot be filled in with some values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpandError {
    /// The template takes a prefix of this variable, but it is no text.
    PrefixOfComposite(String),
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::PrefixOfComposite(name) = self;
        write!(
            f,
            "variable {name:?} must be one text: the template takes a prefix of it"
        )
    }
}

impl std::error::Error for ExpandError {}

/// The URI that the values make.
pub(super) fn expand(parts: &[Part], variables: &Variables) -> Result<String, ExpandError> {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => out.push_str(literal.encoded.as_str()),
            Part::Expression(expression) => expand_expression(expression, variables, &mut out)?,
        }
    }
    Ok(out)
}

fn expand_expression(
    expression: &Expression,
    variables: &Variables,
    out: &mut String,
) -> Result<(), ExpandError> {
    let mut writer = Writer {
        operator: expression.operator,
        is_first: true,
        out,
    };
    for variable in &expression.variables {
        match variables.get(&variable.name) {
            None => {}
            Some(Value::Text(text)) => writer.text(variable, text),
            Some(Value::List(items)) if items.is_empty() => {}
            Some(Value::Pairs(pairs)) if pairs.is_empty() => {}
            Some(Value::List(_) | Value::Pairs(_)) if variable.prefix.is_some() => {
                return Err(ExpandError::PrefixOfComposite(variable.name.clone()));
            }
            Some(Value::List(items)) if variable.explode => {
                items
                    .iter()
                    .for_each(|item| writer.named(&variable.name, item));
            }
            Some(Value::Pairs(pairs)) if variable.explode => {
                pairs.iter().for_each(|(key, item)| writer.pair(key, item));
            }
            Some(Value::List(items)) => writer.joined(variable, items.iter()),
            Some(Value::Pairs(pairs)) => {
                writer.joined(variable, pairs.iter().flat_map(|(key, item)| [key, item]));
            }
        }
    }
    Ok(())
}

/// Writes the values of one expression.
struct Writer<'a> {
    operator: Operator,
    is_first: bool,
    out: &'a mut String,
}

impl Writer<'_> {
    fn text(&mut self, variable: &Variable, text: &str) {
        let end = variable
            .prefix
            .and_then(|length| text.char_indices().nth(length));
        let text = end.and_then(|(end, _)| text.get(..end)).unwrap_or(text);
        self.named(&variable.name, text);
    }

    /// A value, with the name of its variable if the operator wants it.
    fn named(&mut self, name: &str, value: &str) {
        self.separate();
        if self.operator.is_named() {
            // A name is written as the template has it.
            self.out.push_str(name);
            self.equals(value);
        }
        self.encode(value);
    }

    fn pair(&mut self, key: &str, value: &str) {
        self.separate();
        self.encode(key);
        if self.operator.is_named() {
            self.equals(value);
        } else {
            self.out.push('=');
        }
        self.encode(value);
    }

    fn joined<'v>(&mut self, variable: &Variable, values: impl Iterator<Item = &'v String>) {
        self.separate();
        if self.operator.is_named() {
            self.out.push_str(&variable.name);
            self.out.push('=');
        }
        for (index, value) in values.enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.encode(value);
        }
    }

    fn separate(&mut self) {
        let separator = Some(self.operator.separator());
        let byte = if self.is_first {
            self.operator.first()
        } else {
            separator
        };
        self.out.extend(byte.map(char::from));
        self.is_first = false;
    }

    /// A parameter without a value has no equals sign; in a query it has.
    fn equals(&mut self, value: &str) {
        if self.operator != Operator::Parameter || !value.is_empty() {
            self.out.push('=');
        }
    }

    fn encode(&mut self, value: &str) {
        encode(value, self.operator.keeps_reserved(), self.out);
    }
}

/// Appends text, percent-encoded but for what may stay.
pub(super) fn encode(text: &str, keep_reserved: bool, out: &mut String) {
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let stays =
            keep_reserved && (is_reserved(byte) || (byte == b'%' && triplet(bytes, at).is_some()));
        if stays || is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            let digits = b"0123456789ABCDEF";
            let digit = |value: u8| digits.get(usize::from(value)).copied().map(char::from);
            out.push('%');
            out.extend(digit(byte >> 4).into_iter().chain(digit(byte & 15)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uri_template::UriTemplate;

    /// The variables of RFC 6570, section 3.2.
    fn variables() -> Variables {
        let keys = [("semi", ";"), ("dot", "."), ("comma", ",")];
        [
            ("count", Value::from(["one", "two", "three"])),
            ("dom", ["example", "com"].into()),
            ("dub", "me/too".into()),
            ("hello", "Hello World!".into()),
            ("half", "50%".into()),
            ("var", "value".into()),
            ("who", "fred".into()),
            ("base", "http://example.com/home/".into()),
            ("path", "/foo/bar".into()),
            ("list", ["red", "green", "blue"].into()),
            ("keys", keys.into()),
            ("v", "6".into()),
            ("x", "1024".into()),
            ("y", "768".into()),
            ("empty", "".into()),
            ("empty_keys", Value::Pairs(Vec::new())),
            ("empty_list", Value::List(Vec::new())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn check(cases: &[(&str, &str)]) {
        for (template, expected) in cases {
            let uri = UriTemplate::parse(template).unwrap().expand(&variables());
            assert_eq!(uri.as_deref(), Ok(*expected), "{template}");
        }
    }

    #[test]
    fn literals_and_variable_expansion() {
        check(&[
            ("", ""),
            ("/a%20b/é'", "/a%20b/%C3%A9'"),
            ("{count}", "one,two,three"),
            ("{count*}", "one,two,three"),
            ("{/count}", "/one,two,three"),
            ("{/count*}", "/one/two/three"),
            ("{;count}", ";count=one,two,three"),
            ("{;count*}", ";count=one;count=two;count=three"),
            ("{?count}", "?count=one,two,three"),
            ("{?count*}", "?count=one&count=two&count=three"),
            ("{&count*}", "&count=one&count=two&count=three"),
        ]);
    }

    #[test]
    fn simple_expansion() {
        check(&[
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{half}", "50%25"),
            ("O{empty}X", "OX"),
            ("O{undef}X", "OX"),
            ("{x,y}", "1024,768"),
            ("{x,hello,y}", "1024,Hello%20World%21,768"),
            ("?{x,empty}", "?1024,"),
            ("?{x,undef}", "?1024"),
            ("?{undef,y}", "?768"),
            ("{var:3}", "val"),
            ("{var:30}", "value"),
            ("{list}", "red,green,blue"),
            ("{list*}", "red,green,blue"),
            ("{keys}", "semi,%3B,dot,.,comma,%2C"),
            ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
            ("O{empty_list,empty_keys*}X", "OX"),
        ]);
    }

    #[test]
    fn reserved_expansion() {
        check(&[
            ("{+var}", "value"),
            ("{+hello}", "Hello%20World!"),
            ("{+half}", "50%25"),
            ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
            ("{+base}index", "http://example.com/home/index"),
            ("O{+empty}X", "OX"),
            ("O{+undef}X", "OX"),
            ("{+path}/here", "/foo/bar/here"),
            ("here?ref={+path}", "here?ref=/foo/bar"),
            ("up{+path}{var}/here", "up/foo/barvalue/here"),
            ("{+x,hello,y}", "1024,Hello%20World!,768"),
            ("{+path,x}/here", "/foo/bar,1024/here"),
            ("{+path:6}/here", "/foo/b/here"),
            ("{+list}", "red,green,blue"),
            ("{+list*}", "red,green,blue"),
            ("{+keys}", "semi,;,dot,.,comma,,"),
            ("{+keys*}", "semi=;,dot=.,comma=,"),
        ]);
    }

    #[test]
    fn fragment_expansion() {
        check(&[
            ("{#var}", "#value"),
            ("{#hello}", "#Hello%20World!"),
            ("{#half}", "#50%25"),
            ("foo{#empty}", "foo#"),
            ("foo{#undef}", "foo"),
            ("{#x,hello,y}", "#1024,Hello%20World!,768"),
            ("{#path,x}/here", "#/foo/bar,1024/here"),
            ("{#path:6}/here", "#/foo/b/here"),
            ("{#list}", "#red,green,blue"),
            ("{#list*}", "#red,green,blue"),
            ("{#keys}", "#semi,;,dot,.,comma,,"),
            ("{#keys*}", "#semi=;,dot=.,comma=,"),
        ]);
    }

    #[test]
    fn label_expansion() {
        check(&[
            ("{.who}", ".fred"),
            ("{.who,who}", ".fred.fred"),
            ("{.half,who}", ".50%25.fred"),
            ("www{.dom*}", "www.example.com"),
            ("X{.var}", "X.value"),
            ("X{.empty}", "X."),
            ("X{.undef}", "X"),
            ("X{.var:3}", "X.val"),
            ("X{.list}", "X.red,green,blue"),
            ("X{.list*}", "X.red.green.blue"),
            ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"),
            ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
            ("X{.empty_list}", "X"),
            ("X{.empty_list*}", "X"),
            ("X{.empty_keys}", "X"),
            ("X{.empty_keys*}", "X"),
        ]);
    }

    #[test]
    fn path_expansion() {
        check(&[
            ("{/who}", "/fred"),
            ("{/who,who}", "/fred/fred"),
            ("{/half,who}", "/50%25/fred"),
            ("{/who,dub}", "/fred/me%2Ftoo"),
            ("{/var}", "/value"),
            ("{/var,empty}", "/value/"),
            ("{/var,undef}", "/value"),
            ("{/var,x}/here", "/value/1024/here"),
            ("{/var:1,var}", "/v/value"),
            ("{/list}", "/red,green,blue"),
            ("{/list*}", "/red/green/blue"),
            ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
            ("{/keys}", "/semi,%3B,dot,.,comma,%2C"),
            ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
        ]);
    }

    #[test]
    fn parameter_expansion() {
        check(&[
            ("{;who}", ";who=fred"),
            ("{;half}", ";half=50%25"),
            ("{;empty}", ";empty"),
            ("{;v,empty,who}", ";v=6;empty;who=fred"),
            ("{;v,bar,who}", ";v=6;who=fred"),
            ("{;x,y}", ";x=1024;y=768"),
            ("{;x,y,empty}", ";x=1024;y=768;empty"),
            ("{;x,y,undef}", ";x=1024;y=768"),
            ("{;hello:5}", ";hello=Hello"),
            ("{;list}", ";list=red,green,blue"),
            ("{;list*}", ";list=red;list=green;list=blue"),
            ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"),
            ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
        ]);
    }

    #[test]
    fn query_expansion() {
        check(&[
            ("{?who}", "?who=fred"),
            ("{?half}", "?half=50%25"),
            ("{?x,y}", "?x=1024&y=768"),
            ("{?x,y,empty}", "?x=1024&y=768&empty="),
            ("{?x,y,undef}", "?x=1024&y=768"),
            ("{?var:3}", "?var=val"),
            ("{?list}", "?list=red,green,blue"),
            ("{?list*}", "?list=red&list=green&list=blue"),
            ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
            ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
            ("{&who}", "&who=fred"),
            ("{&half}", "&half=50%25"),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("{&x,y,empty}", "&x=1024&y=768&empty="),
            ("{&var:3}", "&var=val"),
            ("{&list}", "&list=red,green,blue"),
            ("{&list*}", "&list=red&list=green&list=blue"),
            ("{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"),
            ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
        ]);
    }

    #[test]
    fn a_prefix_counts_characters_and_needs_a_text() {
        let variables = Variables::from([
            ("v".to_owned(), "äöü".into()),
            ("l".to_owned(), ["a"].into()),
        ]);
        let expand = |template: &str| UriTemplate::parse(template).unwrap().expand(&variables);
        assert_eq!(expand("{v:2}").as_deref(), Ok("%C3%A4%C3%B6"));
        let error = expand("{+l:1}").unwrap_err();
        assert_eq!(error, ExpandError::PrefixOfComposite("l".to_owned()));
        assert_eq!(
            error.to_string(),
            r#"variable "l" must be one text: the template takes a prefix of it"#
        );
    }
}
