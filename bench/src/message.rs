//! The messages that are sent without a client, and the check of what comes back.

use std::io::Write as _;

use memchr::memmem::Finder;

/// How a client talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25: initialize first.
    Handshake,
    /// 2026-07-28: every request says who asks.
    Stateless,
    /// No greeting; the peer sends back what it gets.
    Raw,
}

impl Era {
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "2025-11-25" => Ok(Self::Handshake),
            "2026-07-28" => Ok(Self::Stateless),
            "raw" => Ok(Self::Raw),
            _ => Err(format!("unknown era: {name:?}")),
        }
    }

    pub fn revision(self) -> &'static str {
        match self {
            Self::Handshake | Self::Raw => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// What goes into the params of a request.
    pub fn meta(self) -> &'static str {
        match self {
            Self::Handshake | Self::Raw => "",
            Self::Stateless => META,
        }
    }
}

/// Calls of `echo`, each with a text of its own, and the check of their answers.
pub struct Calls {
    before_text: &'static str,
    /// What follows the number in a text, as it stands between the quotes in JSON.
    rest: Vec<u8>,
    after_text: String,
    id: Finder<'static>,
    text: Finder<'static>,
}

impl Calls {
    /// Calls with texts of 32 bytes.
    pub fn small(era: Era) -> Self {
        Self::new(era, b" is the number of the ca".to_vec())
    }

    /// Calls with texts of `bytes`, or of the number alone.
    pub fn of_length(era: Era, bytes: usize) -> Self {
        Self::new(era, vec![b'x'; bytes.saturating_sub(DIGITS)])
    }

    /// Calls with texts of about `bytes`, which look like source code.
    pub fn large(era: Era, bytes: usize) -> Self {
        let mut rest = Vec::with_capacity(bytes + SOURCE.len());
        while rest.len() < bytes {
            rest.extend_from_slice(SOURCE);
        }
        Self::new(era, rest)
    }

    fn new(era: Era, rest: Vec<u8>) -> Self {
        let meta = era.meta();
        let comma = if meta.is_empty() { "" } else { "," };
        Self {
            before_text: r#","method":"tools/call","params":{"name":"echo","arguments":{"text":""#,
            rest,
            after_text: format!("\"}}{comma}{meta}}}}}"),
            id: Finder::new(b"\"id\":"),
            text: Finder::new(b"\"text\":\""),
        }
    }

    /// How long the text of a call is in JSON.
    pub fn text_len(&self) -> usize {
        DIGITS + self.rest.len()
    }

    /// Appends the call with this id.
    pub fn write(&self, id: u64, to: &mut Vec<u8>) {
        // Writing to a vector does not fail.
        let _ = write!(
            to,
            "{{\"jsonrpc\":\"2.0\",\"id\":{id}{}{id:08}",
            self.before_text
        );
        to.extend_from_slice(&self.rest);
        to.extend_from_slice(self.after_text.as_bytes());
    }

    /// The id of the call that `answer` answers with the text of that call.
    pub fn check(&self, answer: &[u8]) -> Result<u64, String> {
        let id = after(&self.id, answer)
            .map(number)
            .ok_or_else(|| refusal(answer))?;
        let text = after(&self.text, answer).ok_or_else(|| refusal(answer))?;
        let is_echo = text.split_at_checked(DIGITS).is_some_and(|(digits, rest)| {
            number(digits) == id
                && rest.starts_with(&self.rest)
                && rest.get(self.rest.len()) == Some(&b'"')
        });
        if is_echo {
            Ok(id)
        } else {
            Err(refusal(answer))
        }
    }
}

/// A request to open with, and to list the tools with.
pub fn request(era: Era, id: u64, method: &str) -> String {
    let params = match (method, era) {
        ("initialize", _) => INITIALIZE.to_owned(),
        (_, era) => era.meta().to_owned(),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

fn after<'a>(finder: &Finder<'_>, bytes: &'a [u8]) -> Option<&'a [u8]> {
    bytes.get(finder.find(bytes)? + finder.needle().len()..)
}

fn number(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| 10 * number + u64::from(digit - b'0'))
}

fn refusal(answer: &[u8]) -> String {
    let start = &answer[..answer.len().min(300)];
    format!(
        "not the answer to a call: {}",
        String::from_utf8_lossy(start)
    )
}

pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const INITIALIZE: &str = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"}}"#;
/// About one byte in twenty-five needs an escape.
const SOURCE: &[u8] = br#"    let name = \"switchboard\";\n    for (index, member) in members.iter().enumerate() {\n        members_by_name.insert(member.name.clone(), index);\n    }\n"#;
const DIGITS: usize = 8;
