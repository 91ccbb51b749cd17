//! The rules about words: is there a description, and is it meant for a person?
//!
//! Everything that a model may be shown of a tool is looked at: titles, descriptions, names and
//! values in schemas. The rules are fixed, so that the same text always gives the same findings;
//! what they look for is how descriptions have been used to steer models. They find what was
//! written carelessly, not what was hidden by somebody who knows them.

use serde_json::Value;
use switchboard_hub::is_invisible;
use switchboard_protocol::types::Tool;

use super::Desk;
use super::phrase::{Step, Words, ascii_look, one, within};
use super::rule::{self, Rule};
use crate::pointer::step as pointer;

pub(super) fn check(desk: &mut Desk<'_>, tool: &Tool) {
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
    check_all(desk, &definition);
}

/// Only the words that are in there, whatever it is.
pub(super) fn check_all(desk: &mut Desk<'_>, definition: &Value) {
    let mut left = MOST;
    look(desk, definition, "", &mut left);
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
    if text.contains(['\u{1b}', '\u{9b}']) {
        desk.report(&rule::TERMINAL, place, "");
    } else if let Some(hidden) = first_hidden(text) {
        let shown = format!("U+{:04X}", u32::from(hidden));
        desk.report(&rule::HIDDEN_TEXT, place, shown);
    }
    if text.len() < SHORTEST {
        return;
    }
    if let Some(word) = text
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| is_mixed(word))
    {
        let word: String = word.chars().take(LONGEST_SHOWN).collect();
        desk.report(&rule::MIXED_SCRIPTS, place, format!("{word:?}"));
    }
    if has_gap(text) {
        desk.report(&rule::PADDED, place, "");
    }
    if text.split(|c: char| !is_encoded(c)).any(is_blob) {
        desk.report(&rule::ENCODED_TEXT, place, "");
    }
    let lower = text.to_lowercase();
    if let Some(mark) = MARKS.iter().find(|mark| lower.contains(**mark)) {
        desk.report(&rule::MARKUP, place, *mark);
    }
    let tight: String = lower.chars().filter(|c| !matches!(c, ' ' | '\t')).collect();
    if let Some(mark) = UNRENDERED.iter().find(|mark| tight.contains(**mark)) {
        desk.report(&rule::UNRENDERED, place, *mark);
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
        // One says how a picture is drawn; a row of them says something else.
        let draws = is_selector(*character) && before.is_some_and(|c| !is_invisible(c));
        before = Some(*character);
        is_invisible(*character) && !joins && !draws
    })
}

const fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}')
}

/// Has the word Latin letters, and others that look like such?
fn is_mixed(word: &str) -> bool {
    let looks_latin = |c: char| !c.is_ascii() && c.is_alphabetic() && ascii_look(c).is_some();
    word.contains(|c: char| c.is_ascii_alphabetic()) && word.contains(looks_latin)
}

/// Is there so much white space before more text that nobody looks for it?
fn has_gap(text: &str) -> bool {
    let (mut spaces, mut lines) = (0, 0);
    for character in text.trim().chars() {
        match character {
            '\n' => (spaces, lines) = (0, lines + 1),
            '\r' => {}
            _ if character.is_whitespace() => spaces += 1,
            _ => (spaces, lines) = (0, 0),
        }
        if spaces >= WIDE || lines >= HIGH {
            return true;
        }
    }
    false
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
    (&rule::CONSENT, CONSENT),
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
        one(&["pretend"]),
        within(1, &["to", "you", "that"]),
        within(1, &["be", "are"]),
    ],
    &[
        one(&["regardless"]),
        one(&["of"]),
        within(2, &["what"]),
        one(&["the"]),
        one(&["user"]),
    ],
];

const CONSENT: &[Phrase] = &[
    &[
        one(&["without", "skip", "bypass"]),
        within(
            2,
            &[
                "confirmation",
                "approval",
                "permission",
                "confirming",
                "consent",
            ],
        ),
        within(3, &["user", "human"]),
    ],
    &[
        one(&["no"]),
        one(&["need"]),
        within(
            3,
            &[
                "ask",
                "confirm",
                "approve",
                "confirmation",
                "approval",
                "permission",
            ],
        ),
    ],
    &[
        one(&["not", "dont", "never"]),
        one(&["ask"]),
        within(2, &["confirmation", "approval", "permission", "consent"]),
    ],
    &[
        one(&["user"]),
        one(&["has", "have"]),
        one(&["already"]),
        one(&[
            "approved",
            "consented",
            "confirmed",
            "agreed",
            "authorized",
            "authorised",
        ]),
    ],
];

const SECRECY: &[Phrase] = &[
    &[
        one(&["silently", "secretly", "covertly"]),
        within(
            1,
            &[
                "send", "forward", "upload", "bcc", "copy", "transmit", "leak",
            ],
        ),
    ],
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
        one(&["read", "cat", "open", "send", "include", "upload", "pass"]),
        within(3, &["ssh", "private"]),
        one(&["key", "keys"]),
    ],
    &[
        one(&["read", "cat", "open", "send", "include", "upload", "pass"]),
        within(3, &["env"]),
        one(&["file", "files", "variables"]),
    ],
    &[
        one(&[
            "reveal", "print", "output", "repeat", "send", "include", "pass",
        ]),
        within(2, &["your", "the"]),
        within(1, &["system"]),
        one(&["prompt", "instructions", "message"]),
    ],
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

/// What keeps a part of a page from being shown, without spaces.
const UNRENDERED: &[&str] = &[
    "display:none",
    "visibility:hidden",
    "font-size:0",
    "opacity:0;",
    "opacity:0\"",
    "color:transparent",
    "[//]:#",
    "[comment]:#",
    "[comment]:<>",
    "<template>",
    "<spanhidden",
    "<divhidden",
    "<phidden",
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
/// Wider and higher than people look.
const WIDE: usize = 80;
const HIGH: usize = 12;
const LONGEST_SHOWN: usize = 40;
/// Texts of one tool that are looked at.
const MOST: usize = 50_000;
