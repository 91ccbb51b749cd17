//! Files that people and programs keep: locks, skills, logins.

use serde_json::Value;
use switchboard_auth::Entry;
use switchboard_hub::{Lock, Pin};
use switchboard_protocol::types::Tool;
use switchboard_skills::{frontmatter, is_name, text};

/// A lock that can be read is written and read again as the same, as the same text, and differs
/// from itself in nothing. A tool has one hash, in whatever order its members stand.
pub fn lock(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(tool) = serde_json::from_str::<Tool>(&text) {
        check_order(&tool);
    }
    let Ok(lock) = Lock::parse(&text, "mcp.lock") else {
        return;
    };
    let written = lock.to_text();
    let again = Lock::parse(&written, "mcp.lock").expect("what we write is a lock");
    assert_eq!(again.to_text(), written);
    assert!(lock.differences(&again).is_empty(), "{written}");
    assert!(lock.servers().eq(again.servers()));
}

/// Two spellings of which none lacks anything have one hash.
fn check_order(tool: &Tool) {
    let text = serde_json::to_string(tool).expect("JSON can be written");
    let Ok(sorted) = serde_json::from_str::<Value>(&text) else {
        return;
    };
    // A name that came twice is there once, and a number may be spelt anew.
    if sorted.to_string().len() == text.len() {
        let sorted: Tool = serde_json::from_value(sorted).expect("it is a tool");
        assert_eq!(
            Pin::tool(tool).sha256(),
            Pin::tool(&sorted).sha256(),
            "{text}"
        );
    }
}

/// A frontmatter names its folder, and says the same when it is written as JSON, which is YAML.
pub fn skill(data: &[u8]) {
    let whole = String::from_utf8_lossy(data);
    let folder = ["a", "my-skill", "x1"];
    for folder in folder {
        let Ok(members) = frontmatter(&whole, folder) else {
            continue;
        };
        assert_eq!(text(&members, "name"), folder);
        assert!(is_name(folder) && !text(&members, "description").is_empty());
        let json = serde_json::to_string(&members).expect("JSON can be written");
        let again = frontmatter(&format!("---\n{json}\n---\n"), folder);
        // Written so it may be longer than is allowed.
        if let Ok(again) = again {
            assert_eq!(again, members, "{json}");
        }
    }
}

/// A login that can be read is kept as it was; what is not one is not quoted.
pub fn login(data: &[u8]) {
    match Entry::from_text(data) {
        Ok(entry) => {
            let kept = entry.to_text();
            let again = Entry::from_text(kept.reveal().as_bytes()).expect("what we write");
            assert_eq!(again.to_text().reveal(), kept.reveal());
        }
        Err(bad) => {
            let said = format!("{bad} {bad:?}");
            assert!(said.len() < 200, "{said}");
        }
    }
}
