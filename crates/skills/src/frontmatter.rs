//! The frontmatter of a `SKILL.md`: where it is and what must be in it.
//!
//! How YAML becomes JSON is in `yaml`. Members that nobody here knows pass
//! through: the object is published as the author wrote it.
//!
//! Specification: SEP-2640 (skill format, frontmatter); Agent Skills (frontmatter).

use serde_json::{Map, Value};

use crate::fault::FormatFault;
use crate::yaml;

/// The frontmatter of a `SKILL.md`, which lies in a folder of this name.
///
/// Every member of it, as JSON.
///
/// # Errors
/// When there is none, or it is not what the format allows: the error says what to change.
pub fn frontmatter(text: &str, folder: &str) -> Result<Map<String, Value>, FormatFault> {
    let block = block(text).ok_or(FormatFault::NoFrontmatter)?;
    if block.len() > MAX_BYTES {
        return Err(FormatFault::FrontmatterTooLong { limit: MAX_BYTES });
    }
    let value = yaml::to_json(block).map_err(|bad| FormatFault::BadYaml {
        // The opening line is not part of the block.
        line: bad.line + 1,
        reason: bad.reason,
    })?;
    let Value::Object(members) = value else {
        return Err(FormatFault::NoFrontmatter);
    };
    check(&members, folder)?;
    Ok(members)
}

/// Is this a name that a skill may have?
pub fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME).contains(&text.len())
        && text.bytes().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

/// The text between the first line, which is `---`, and the next such line.
fn block(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or(rest.strip_prefix('\n'))?;
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if line
            .strip_prefix("---")
            .is_some_and(|end| end.trim_matches([' ', '\t', '\r', '\n']).is_empty())
        {
            return rest.get(..length);
        }
        length += line.len();
    }
    None
}

fn check(members: &Map<String, Value>, folder: &str) -> Result<(), FormatFault> {
    let text = |key: &'static str| match members.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(FormatFault::NotText { key }),
    };
    let name = text("name")?.ok_or(FormatFault::Missing { key: "name" })?;
    if !is_name(name) {
        return Err(FormatFault::BadName {
            name: name.to_owned(),
        });
    }
    if name != folder {
        return Err(FormatFault::OtherName {
            name: name.to_owned(),
            folder: folder.to_owned(),
        });
    }
    let description = text("description")?.filter(|text| !text.trim().is_empty());
    let description = description.ok_or(FormatFault::Missing { key: "description" })?;
    check_length("description", description, MAX_DESCRIPTION)?;
    if let Some(compatibility) = text("compatibility")? {
        check_length("compatibility", compatibility, MAX_COMPATIBILITY)?;
    }
    if let Some(Value::Object(metadata)) = members.get("metadata")
        && let Some(key) = metadata.keys().find(|key| key.starts_with(RESERVED))
    {
        return Err(FormatFault::ReservedKey { key: key.clone() });
    }
    Ok(())
}

fn check_length(key: &'static str, text: &str, limit: usize) -> Result<(), FormatFault> {
    if text.chars().count() > limit {
        return Err(FormatFault::TooLong { key, limit });
    }
    Ok(())
}

// Agent Skills: in characters; names are ASCII.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;

// Ours: every listing carries it whole.
const MAX_BYTES: usize = 64 * 1024;

// SEP-2640: for metadata that extensions of MCP define; none is defined yet.
const RESERVED: &str = "io.modelcontextprotocol/";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_refused(members: &str, reason: &str) {
        let text = format!("---\n{members}\n---\nbody\n");
        let fault = frontmatter(&text, "a-1").unwrap_err().to_string();
        assert!(fault.contains(reason), "{members}: {fault}");
    }

    #[test]
    fn every_member_passes_through() {
        let text = concat!(
            "---\r\nname: a-1\r\ndescription: >-\r\n  What it does,\r\n  and when.\r\n",
            "metadata:\r\n  owner: {team: docs, pages: [1, 2]}\r\n  version: \"1.0\"\r\n",
            "allowed-tools: Read\r\n--- \r\n---\r\nnot: this\r\n"
        );
        assert_eq!(
            Value::Object(frontmatter(text, "a-1").unwrap()),
            json!({
                "name": "a-1",
                "description": "What it does, and when.",
                "metadata": {"owner": {"team": "docs", "pages": [1, 2]}, "version": "1.0"},
                "allowed-tools": "Read",
            })
        );
    }

    #[test]
    fn a_byte_order_mark_is_skipped_and_the_end_may_be_the_last_line() {
        assert!(frontmatter("\u{feff}---\nname: a\ndescription: b\n---", "a").is_ok());
    }

    #[test]
    fn a_file_without_a_whole_block_has_no_frontmatter() {
        for text in [
            "",
            "# title\n",
            " ---\nname: a\n---\n",
            "---\nname: a\n",
            "--- \nname: a\n---\n",
            "---\n- a\n---\n",
            "---\n---\n",
        ] {
            let fault = frontmatter(text, "a").unwrap_err();
            assert!(matches!(fault, FormatFault::NoFrontmatter), "{text:?}");
        }
    }

    #[test]
    fn names_follow_the_rules_of_the_format() {
        for name in ["a", "0", "a-b-c", &"a".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "a.b",
            "é",
            &"a".repeat(65),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn what_the_format_does_not_allow_is_named() {
        check_refused("description: b", "\"name\"");
        check_refused("name: a-1", "\"description\"");
        check_refused("name: a-1\ndescription: ' '", "\"description\"");
        check_refused("name: 1\ndescription: b", "must be text");
        check_refused("name: A\ndescription: b", "\"A\"");
        check_refused("name: b\ndescription: b", "\"a-1\"");
        check_refused("name: a-1\ndescription: x\n  y: z", "line 4");
        let long = "x".repeat(1025);
        check_refused(&format!("name: a-1\ndescription: {long}"), "1024");
        let reserved = "metadata: {io.modelcontextprotocol/x: y}";
        check_refused(
            &format!("name: a-1\ndescription: b\n{reserved}"),
            "io.modelcontextprotocol/x",
        );
        let filler = "y".repeat(MAX_BYTES);
        check_refused(&format!("name: a-1\n#{filler}"), "frontmatter");
    }
}
