//! The rules about words: is there a description, and is it meant for a person?
//!
//! Everything that a model may be shown of a tool is looked at: titles, descriptions, names and
//! values in schemas. The rules are fixed, so that the same text always gives the same findings;
//! what they look for is how descriptions have been used to steer models. They find what was
//! written carelessly, not what was hidden by somebody who knows them.

use serde_json::Value;

use super::Desk;
use super::phrase::{Step, Words, is_hidden, one, within};
use super::rule::{self, Rule};
use crate::pointer::step as pointer;

pub(super) fn check(desk: &mut Desk<'_>) {
    let tool = desk.subject.tool;
    let description = tool.description.as_deref().unwrap_or_default();
    if description.trim().is_empty() {
        desk.report(&rule::DESCRIPTION_MISSING, "", "");
    }
    let length = description.chars().count();
    if length > LONGEST {
        desk.report(
            &rule::DESCRIPTION_LONG,
            "/description",
            format!("{length} characters"),
        );
    }
    // As it is sent, with what this program does not know.
    let Ok(definition) = serde_json::to_value(tool) else {
        return;
    };
    let mut left = MOST;
    look(desk, &definition, "", &mut left);
}

fn look(desk: &mut Desk<'_>, value: &Value, place: &str, left: &mut usize) {
    let Some(rest) = left.checked_sub(1) else {
        return;
    };
    *left = rest;
    match value {
        Value::String(text) => check_text(desk, text, place),
        Value::Array(parts) => {
            for (index, part) in parts.iter().enumerate() {
                look(desk, part, &pointer(place, &index.to_string()), left);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let place = pointer(place, name);
                // Pictures are encoded, and models do not read them.
                if place == "/icons" || place == "/_meta" {
                    continue;
                }
                check_text(desk, name, &place);
                look(desk, member, &place, left);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn check_text(desk: &mut Desk<'_>, text: &str, place: &str) {
    if let Some(hidden) = first_hidden(text) {
        let shown = format!("U+{:04X}", u32::from(hidden));
        desk.report(&rule::HIDDEN_TEXT, place, shown);
    }
    if text.len() < SHORTEST {
        return;
    }
    if text.split(|c: char| !is_encoded(c)).any(is_blob) {
        desk.report(&rule::ENCODED_TEXT, place, "");
    }
    let lower = text.to_lowercase();
    if let Some(mark) = MARKS.iter().find(|mark| lower.contains(**mark)) {
        desk.report(&rule::MARKUP, place, *mark);
    }
    if let Some(file) = SECRETS.iter().find(|file| lower.contains(**file)) {
        desk.report(&rule::EXFILTRATION, place, *file);
    }
    let words = Words::new(text);
    for (rule, phrases) in PHRASES {
        if let Some(found) = phrases.iter().find_map(|phrase| words.find(phrase)) {
            desk.report(rule, place, found);
        }
    }
}

fn first_hidden(text: &str) -> Option<char> {
    let mut before = None;
    text.chars().find(|character| {
        // Joins pictures to one picture, and letters of some scripts.
        let joins =
            matches!(character, '\u{200c}' | '\u{200d}') && before.is_some_and(|c| c > '\u{2ff}');
        before = Some(*character);
        is_hidden(*character) && !joins
    })
}

fn is_encoded(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '=')
}

/// Long, and not a word of any language: with digits, and both kinds of letters.
fn is_blob(part: &str) -> bool {
    let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
    part.len() >= BLOB
        && has(u8::is_ascii_digit)
        && (has(u8::is_ascii_lowercase) || has(u8::is_ascii_uppercase))
}

type Phrase = &'static [Step];

const PHRASES: &[(&Rule, &[Phrase])] = &[
    (&rule::OVERRIDE, OVERRIDE),
    (&rule::SECRECY, SECRECY),
    (&rule::STEERING, STEERING),
    (&rule::EXFILTRATION, EXFILTRATION),
];

const OVERRIDE: &[Phrase] = &[
    &[
        one(&[
            "ignore",
            "disregard",
            "forget",
            "override",
            "bypass",
            "neglect",
        ]),
        within(
            3,
            &[
                "previous",
                "prior",
                "preceding",
                "above",
                "earlier",
                "existing",
                "other",
                "your",
                "system",
                "safety",
            ],
        ),
        within(
            2,
            &[
                "instruction",
                "instructions",
                "prompt",
                "prompts",
                "rules",
                "guidelines",
                "directions",
                "commands",
                "context",
            ],
        ),
    ],
    &[
        one(&["new", "updated", "real", "actual"]),
        one(&["system"]),
        one(&["prompt", "instructions", "message"]),
    ],
    &[
        one(&["you"]),
        one(&["are"]),
        one(&["now"]),
        within(
            2,
            &[
                "an",
                "a",
                "in",
                "dan",
                "developer",
                "jailbroken",
                "unrestricted",
            ],
        ),
    ],
    &[
        one(&["regardless"]),
        one(&["of"]),
        within(2, &["what"]),
        one(&["the"]),
        one(&["user"]),
    ],
];

const SECRECY: &[Phrase] = &[
    &[
        one(&["not", "dont", "never", "without", "avoid"]),
        within(
            2,
            &[
                "tell",
                "telling",
                "mention",
                "mentioning",
                "inform",
                "informing",
                "notify",
                "notifying",
                "reveal",
                "revealing",
                "show",
                "showing",
                "disclose",
                "disclosing",
                "alert",
                "alerting",
                "ask",
                "asking",
            ],
        ),
        within(4, &["user", "human", "person", "anyone", "anybody"]),
    ],
    &[
        one(&["not", "dont", "never"]),
        within(2, &["mention", "reveal", "disclose"]),
        within(
            4,
            &["tool", "instruction", "instructions", "step", "parameter"],
        ),
        within(8, &["user", "conversation", "reply", "response"]),
    ],
    &[
        one(&["hide", "conceal"]),
        one(&["this", "it", "that"]),
        one(&["from"]),
        within(1, &["user", "human"]),
    ],
    &[
        one(&["keep"]),
        one(&["this", "it", "that"]),
        within(1, &["secret", "hidden", "confidential"]),
        within(2, &["user", "human"]),
    ],
    &[
        one(&["user"]),
        one(&["must", "should", "does", "will"]),
        one(&["not"]),
        one(&["know", "see", "notice", "learn"]),
    ],
];

const STEERING: &[Phrase] = &[
    &[
        one(&["before"]),
        within(1, &["using", "calling", "invoking", "running"]),
        one(&["any"]),
        within(1, &["other", "tool", "tools"]),
    ],
    &[
        one(&["always", "must"]),
        within(1, &["call", "use", "run", "invoke"]),
        one(&["this"]),
        within(1, &["tool", "function"]),
        one(&["first", "before", "instead"]),
    ],
    &[
        one(&["instead"]),
        one(&["of"]),
        within(1, &["calling", "using"]),
        within(3, &["other", "another"]),
        within(2, &["tool", "tools", "server"]),
    ],
    &[
        one(&["not", "dont", "never"]),
        one(&["use", "call", "trust"]),
        within(1, &["other", "another"]),
        within(2, &["tool", "tools", "server", "servers"]),
    ],
    &[
        one(&["when", "whenever", "if"]),
        within(3, &["tool", "tools"]),
        within(3, &["is", "are"]),
        within(2, &["called", "used", "invoked", "available", "present"]),
        within(3, &["must", "always"]),
    ],
];

const EXFILTRATION: &[Phrase] = &[
    &[
        one(&[
            "read", "cat", "pass", "send", "include", "append", "provide", "attach", "paste",
        ]),
        within(4, &["contents", "content"]),
        within(
            5,
            &[
                "ssh",
                "env",
                "credentials",
                "passwords",
                "secrets",
                "keychain",
            ],
        ),
    ],
    &[
        one(&["send", "forward", "transmit", "exfiltrate", "leak", "bcc"]),
        within(
            2,
            &["your", "all", "any", "user", "users", "these", "their"],
        ),
        within(
            2,
            &[
                "conversation",
                "credentials",
                "passwords",
                "secrets",
                "keys",
                "history",
            ],
        ),
        within(3, &["to"]),
    ],
    &[
        one(&[
            "include", "pass", "provide", "put", "paste", "append", "write", "add",
        ]),
        within(4, &["conversation", "chat", "system"]),
        one(&["history", "log", "transcript", "prompt", "context"]),
    ],
    &[
        one(&["full", "entire", "whole", "complete"]),
        one(&["conversation", "chat"]),
        within(2, &["history", "log", "transcript", "context"]),
    ],
];

/// What stands between the parts of a conversation, or claims to be more than a description.
const MARKS: &[&str] = &[
    "<important>",
    "</important>",
    "<system>",
    "</system>",
    "<system-reminder>",
    "<instructions>",
    "<secret>",
    "<hidden>",
    "<admin>",
    "<assistant>",
    "<user>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|endoftext|>",
    "<!--",
    "### system:",
    "### instruction:",
    "[system]",
];

/// Files that hold keys, and the settings of hosts.
const SECRETS: &[&str] = &[
    "~/.ssh",
    ".ssh/",
    "id_rsa",
    "id_ed25519",
    "/etc/passwd",
    "/etc/shadow",
    ".aws/credentials",
    "~/.aws",
    ".netrc",
    ".npmrc",
    ".git-credentials",
    ".kube/config",
    "claude_desktop_config",
    "~/.cursor",
    ".cursor/mcp.json",
    "~/.claude",
    "~/.codex",
    "~/.config/gh",
    "wallet.dat",
    "/proc/self/environ",
];

/// No phrase is shorter.
const SHORTEST: usize = 6;
const LONGEST: usize = 1_024;
/// Hashes and identifiers are shorter.
const BLOB: usize = 72;
/// Texts of one tool that are looked at.
const MOST: usize = 50_000;
