//! A configuration as it may be shown: without what may be secret.

use jsonc_parser::ast::Value;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use switchboard_hub::Template;

/// The text with values of variables, headers, tokens and the like hidden; references stay. Lines
/// stay where they are.
pub(crate) fn hidden(text: &str) -> String {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let Some(root) = parsed.ok().and_then(|parsed| parsed.value) else {
        return String::new();
    };
    let mut places = Vec::new();
    collect(&root, false, &mut places);
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, value) in places {
        shown.push_str(text.get(at..start).unwrap_or_default());
        let value = Template::parse(&value).secret().to_string();
        shown.push_str(&serde_json::Value::from(value).to_string());
        at = end;
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    shown
}

/// Texts that may be secret, in the order of the file.
fn collect(value: &Value<'_>, is_secret: bool, places: &mut Vec<(usize, usize, String)>) {
    match value {
        Value::StringLit(text) if is_secret => {
            places.push((text.range.start, text.range.end, text.value.to_string()));
        }
        Value::Object(object) => {
            for member in &object.properties {
                let key = member.name.as_str().to_ascii_lowercase();
                let names_secret = SECRETS.iter().any(|secret| key.contains(secret));
                let is_secret = is_secret || names_secret && key != "envfile";
                collect(&member.value, is_secret, places);
            }
        }
        Value::Array(list) => {
            for item in &list.elements {
                collect(item, is_secret, places);
            }
        }
        _ => {}
    }
}

/// Parts of keys under which secrets are.
const SECRETS: [&str; 6] = ["env", "headers", "token", "secret", "password", "apikey"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_not_shown() {
        let text = "{ // c\n\"a\": {\"command\": \"x\", \"env\": {\"K\": \"v\", \"L\": \"${M}\"}},\n\
                    \"b\": {\"headers\": {\"A\": \"Bearer ${T}\"}, \"bearerToken\": \"t\"}}";
        let shown = hidden(text);
        assert_eq!(
            shown,
            "{ // c\n\"a\": {\"command\": \"x\", \"env\": {\"K\": \"***\", \"L\": \"${M}\"}},\n\
             \"b\": {\"headers\": {\"A\": \"***${T}\"}, \"bearerToken\": \"***\"}}"
        );
    }
}
