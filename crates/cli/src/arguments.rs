//! The words behind a target as the arguments of a tool, typed by its schema.
//!
//! `name=value` is what the schema says it is, `name:=JSON` is what it looks like, `name=@FILE` is
//! in a file. What the schema does not know is an error with what was probably meant. How a value
//! gets its type is in `typing`.

mod typing;

use std::fs;
use std::io::Read as _;

use serde_json::{Map, Value};
use switchboard_hub::nearest;
use switchboard_protocol::types::{Prompt, Tool};

use crate::exit::Failure;
use crate::json::Json;
use crate::signature;
use typing::{Typing, kinds};

/// The arguments of a tool.
///
/// # Errors
/// When a word is no argument, a value does not fit, or one is missing.
pub(crate) fn of_tool(
    tool: &Tool,
    words: &[String],
    input: &Input,
) -> Result<Map<String, Value>, Failure> {
    let schema = Json::read(tool.input_schema.as_str().as_bytes());
    let mut arguments = Map::new();
    for word in words {
        let Some(said) = Said::read(word, input)? else {
            arguments.extend(whole(word, input)?);
            continue;
        };
        let own = property(tool, &schema, &said.name)?;
        let value = match (said.is_json, own) {
            (true, _) => parse(&said.name, &said.value)?,
            (false, Some(own)) => Typing { schema: &schema }.value(&said, own)?,
            (false, None) => guess(&said.value),
        };
        add(&mut arguments, said, value, own, &schema);
    }
    let missing: Vec<String> = signature::arguments(&schema)
        .into_iter()
        .filter(|argument| argument.is_required && !arguments.contains_key(&argument.name))
        .map(|argument| format!("{}: {}", argument.name, argument.kind))
        .collect();
    match missing.is_empty() {
        true => Ok(arguments),
        false => Err(Failure::usage(format!(
            "the tool {:?} also wants {}",
            tool.name,
            missing.join(", ")
        ))
        .hint(signature::of_tool(tool))),
    }
}

/// The arguments of a prompt, which are texts.
///
/// # Errors
/// When a word is no argument, or one is missing.
pub(crate) fn of_prompt(
    prompt: &Prompt,
    words: &[String],
    input: &Input,
) -> Result<Vec<(String, String)>, Failure> {
    let mut arguments: Vec<(String, String)> = Vec::new();
    let known = || prompt.arguments.iter().flatten();
    for word in words {
        let said = Said::read(word, input)?.ok_or_else(|| no_argument(word))?;
        if !known().any(|argument| argument.name == said.name) {
            let names = known().map(|argument| argument.name.as_str());
            let what = format!("the prompt {:?}", prompt.name);
            return Err(unknown(&what, &said.name, names));
        }
        arguments.retain(|(name, _)| *name != said.name);
        arguments.push((said.name, said.value));
    }
    let missing: Vec<&str> = known()
        .filter(|argument| argument.is_required())
        .map(|argument| argument.name.as_str())
        .filter(|name| !arguments.iter().any(|(given, _)| given == name))
        .collect();
    match missing.is_empty() {
        true => Ok(arguments),
        false => Err(Failure::usage(format!(
            "the prompt {:?} also wants {}",
            prompt.name,
            missing.join(", ")
        ))),
    }
}

/// What came on standard input, if any word wants it.
///
/// It is read before anything is connected: while it is waited for, Ctrl-C still ends the program
/// by itself.
#[derive(Debug, Default)]
pub(crate) struct Input(String);

impl Input {
    pub(crate) fn ahead(words: &[String]) -> Result<Self, Failure> {
        let wants = |word: &String| word == "-" || word.ends_with("=@-");
        match words.iter().any(wants) {
            true => standard_input(LARGEST_INPUT).map(Self),
            false => Ok(Self::default()),
        }
    }
}

/// `name=value` as it was said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Is the value JSON?
    is_json: bool,
}

impl Said {
    /// None, if it is a whole object or `-`.
    pub(crate) fn read(word: &str, input: &Input) -> Result<Option<Self>, Failure> {
        if word == "-" || word.starts_with('{') {
            return Ok(None);
        }
        let (name, value) = word.split_once('=').ok_or_else(|| no_argument(word))?;
        let (name, is_json) = match name.strip_suffix(':') {
            Some(name) => (name, true),
            None => (name, false),
        };
        if name.is_empty() {
            return Err(no_argument(word));
        }
        let value = match value.strip_prefix('@') {
            Some("-") => input.0.clone(),
            Some(file) if !file.is_empty() => fs::read_to_string(file)
                .map_err(|error| Failure::usage(format!("{name}=@{file}: {error}")))?,
            _ => value.to_owned(),
        };
        Ok(Some(Self {
            name: name.to_owned(),
            value,
            is_json,
        }))
    }
}

/// Does a word look like an argument rather than a name?
pub(crate) fn looks_like_one(word: &str) -> bool {
    word == "-" || word.starts_with('{') || word.contains('=')
}

/// All that comes on standard input.
pub(crate) fn standard_input(largest: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let wrong = |reason: &str| Failure::usage(format!("standard input: {reason}"));
    let input = std::io::stdin().lock();
    let read = input.take(largest + 1).read_to_end(&mut bytes);
    read.map_err(|error| wrong(&error.to_string()))?;
    if bytes.len() as u64 > largest {
        let most = largest >> 20;
        return Err(wrong(&format!(
            "it is larger than {most} MiB, no more is read"
        )));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is no UTF-8"))
}

/// All arguments as one object.
fn whole(word: &str, input: &Input) -> Result<Map<String, Value>, Failure> {
    let text = if word == "-" { &input.0 } else { word };
    serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("the arguments are no JSON object: {error}")))
}

/// The schema of an argument. None, if the tool takes arguments that it does not name.
fn property<'a>(tool: &Tool, schema: &'a Json, name: &str) -> Result<Option<&'a Json>, Failure> {
    let properties = schema.get("properties").map(Json::members);
    let properties = properties.unwrap_or_default();
    if let Some((_, own)) = properties.iter().find(|(known, _)| known == name) {
        return Ok(Some(own));
    }
    let names = || properties.iter().map(|(known, _)| known.as_str());
    let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    match is_closed || !nearest(name, names()).is_empty() {
        true => Err(unknown(&format!("the tool {:?}", tool.name), name, names())
            .or_hint(|| signature::of_tool(tool))),
        false => Ok(None),
    }
}

fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> Failure {
    let failure = Failure::usage(format!("{what} has no argument {name:?}"));
    match nearest(name, names).first() {
        Some(near) => failure.hint(format!("did you mean {near:?}?")),
        None => failure,
    }
}

fn no_argument(word: &str) -> Failure {
    Failure::usage(format!("{word:?} is no argument"))
        .hint("write name=value, name:=JSON, name=@FILE, one JSON object, or - for standard input")
}

fn parse(name: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("{name}:= wants JSON: {error}")))
}

/// What a value looks like, where no schema says what it is.
fn guess(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// One more argument. Of a list, each time it is named is one more item.
fn add(
    arguments: &mut Map<String, Value>,
    said: Said,
    value: Value,
    own: Option<&Json>,
    schema: &Json,
) {
    let is_list = own.is_some_and(|own| kinds(own, schema).contains(&"array"));
    match (arguments.get_mut(&said.name), value) {
        (Some(Value::Array(list)), Value::Array(more)) if is_list => list.extend(more),
        (_, value) => {
            arguments.insert(said.name, value);
        }
    }
}

// Larger than any message that a server takes.
pub(crate) const LARGEST_INPUT: u64 = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{"type":"object","additionalProperties":false,"required":["title"],
        "properties":{
            "title":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},
            "done":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},
            "sizes":{"type":"array","items":{"type":"integer"}},
            "level":{"$ref":"#/$defs/level"},"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
            "where":{"type":"object"},"any":{}},
        "$defs":{"level":{"enum":["low","high"]}}}"##;

    fn read(words: &[&str]) -> Result<String, String> {
        let tool = format!(r#"{{"name":"f","inputSchema":{SCHEMA}}}"#);
        let tool: Tool = serde_json::from_str(&tool).unwrap();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let read = of_tool(&tool, &words, &Input::default());
        read.map(|arguments| Value::Object(arguments).to_string())
            .map_err(|failure| failure.message + &failure.hint.unwrap_or_default())
    }

    #[test]
    fn values_have_the_type_of_the_schema() {
        let check = |word: &str, expected: &str| {
            let all = read(&["title=x", word]).unwrap();
            let expected = match expected {
                "" => r#"{"title":"x"}"#.to_owned(),
                expected => {
                    let mut both: Map<String, Value> = serde_json::from_str(expected).unwrap();
                    both.entry("title").or_insert_with(|| "x".into());
                    Value::Object(both).to_string()
                }
            };
            assert_eq!(all, expected, "{word}");
        };
        check("title=5", r#"{"title":"5"}"#);
        check("title=a=b", r#"{"title":"a=b"}"#);
        check("count=5", r#"{"count":5}"#);
        check("ratio=-2.5", r#"{"ratio":-2.5}"#);
        check("done=yes", r#"{"done":true}"#);
        check("tags=a", r#"{"tags":["a"]}"#);
        check(r#"tags=["a","b"]"#, r#"{"tags":["a","b"]}"#);
        check("sizes=3", r#"{"sizes":[3]}"#);
        check("level=low", r#"{"level":"low"}"#);
        check("maybe=null", r#"{"maybe":null}"#);
        check("maybe=7", r#"{"maybe":7}"#);
        check(r#"where={"a":1}"#, r#"{"where":{"a":1}}"#);
        check("any=true", r#"{"any":true}"#);
        check("any=text", r#"{"any":"text"}"#);
        check("title:=null", r#"{"title":null}"#);
        check(r#"{"count":1}"#, r#"{"count":1}"#);
    }

    #[test]
    fn a_list_is_named_once_for_each_item() {
        assert_eq!(
            read(&["title=x", "tags=a", "tags=b"]).unwrap(),
            r#"{"tags":["a","b"],"title":"x"}"#
        );
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let check = |words: &[&str], expected: &str| {
            let error = read(words).unwrap_err();
            assert!(error.contains(expected), "{words:?}: {error}");
        };
        check(
            &["title=x", "count=many"],
            r#"count wants integer, not "many""#,
        );
        check(&["title=x", "count=1.5"], "count wants integer");
        check(&["title=x", "level=hihg"], "did you mean level=high?");
        check(
            &["titel=x"],
            r#"has no argument "titel"did you mean "title"?"#,
        );
        check(&["title=x", "nothing=1"], r#"has no argument "nothing""#);
        check(&[], "also wants title: string");
        check(&["word"], r#""word" is no argument"#);
        check(&["=x"], "is no argument");
        check(&["title:=x"], "title:= wants JSON");
        check(&["title=@/no/such/file"], "/no/such/file");
        check(&["{"], "no JSON object");
    }
}
