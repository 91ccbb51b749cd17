//! Tools that were written to a file: a list, or the result of `tools/list`.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use switchboard_protocol::RawJson;
use switchboard_protocol::types::Tool;

use crate::exit::{Failure, with_causes};

/// Tools, and the name of their server: that of the file.
#[derive(Debug)]
pub(crate) struct ToolFile {
    pub(crate) server: String,
    pub(crate) tools: Vec<Tool>,
}

impl ToolFile {
    /// Reads a file; `-` is standard input.
    ///
    /// # Errors
    /// When it cannot be read, or one of its tools is none: the error says which.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let is_input = path == Path::new("-");
        let wrong = |reason: String| Failure::usage(format!("{}: {reason}", path.display()));
        let mut text = String::new();
        let read = match is_input {
            true => std::io::stdin().lock().read_to_string(&mut text).map(drop),
            false => fs::read_to_string(path).map(|read| text = read),
        };
        read.map_err(|error| wrong(error.to_string()))?;
        let tools = parse(&text).map_err(wrong)?;
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self {
            server: stem
                .filter(|_| !is_input)
                .unwrap_or_else(|| "tools".to_owned()),
            tools,
        })
    }
}

fn parse(text: &str) -> Result<Vec<Tool>, String> {
    let tools = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text),
        false => serde_json::from_str(text).map(|Listed { tools }| tools),
    };
    let tools: Vec<RawJson> = tools.map_err(|error| format!("expected tools as JSON: {error}"))?;
    let decode = |(index, raw): (usize, RawJson)| {
        raw.decode::<Tool>()
            .map_err(|error| format!("tool {index}: {}", with_causes(&error)))
    };
    tools.into_iter().enumerate().map(decode).collect()
}

#[derive(Deserialize)]
struct Listed {
    tools: Vec<RawJson>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_read_from_a_list_and_from_a_result() {
        let check = |text: &str, expected: Result<usize, &str>| {
            let found = parse(text).map(|tools| tools.len());
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        };
        let tool = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
        check(&format!("[{tool}]"), Ok(1));
        check(
            &format!(r#" {{"tools":[{tool},{tool}],"nextCursor":"x"}}"#),
            Ok(2),
        );
        check(r#"[{"name":"a"}]"#, Err("tool 0"));
        check("{}", Err("expected tools"));
        check("", Err("expected tools"));
    }
}
