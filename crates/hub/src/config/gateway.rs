//! What stands under `x-switchboard` about serving the servers as one: profiles, keys, limits.
//!
//! It is read here, because here is where places in a file are known; what is done with it is the
//! gateway's.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use jsonc_parser::ast::Value;

use super::error::ConfigError;
use super::field::{Field, kind};
use super::members::Members;
use super::origin::{Dialect, Grammar};
use super::page::Page;
use super::problem::Problem;
use super::sheet::Sheet;
use crate::policy::ToolFilter;
use crate::profile::Profile;
use crate::variables::{Shows, Template};

/// What is said about serving the servers as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewaySettings {
    /// Who may call.
    pub keys: Vec<KeyConfig>,
    /// How much of what is taken on, by the names that the gateway has for its limits.
    pub limits: Vec<LimitConfig>,
}

/// A key of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyConfig {
    /// What the caller is called, in logs.
    pub name: String,
    /// What the caller sends.
    pub secret: KeySecret,
    /// What the caller sees. None: everything.
    pub profile: Option<String>,
    /// Limits of this caller alone.
    pub limits: Vec<LimitConfig>,
}

/// What a key is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySecret {
    /// This text, or rather what its variables refer to.
    Value(Template),
    /// A text of which this is the SHA-256.
    Sha256([u8; 32]),
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value(_) => "Value(***)",
            Self::Sha256(_) => "Sha256(***)",
        })
    }
}

/// A limit: what it is of, and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitConfig {
    /// What it is of.
    pub name: String,
    /// How much: a number, or bytes.
    pub value: usize,
}

impl GatewaySettings {
    /// Reads a file of its own, in which they are at the top. All that is wrong with it comes
    /// too.
    ///
    /// # Errors
    /// When there is none, or it is no JSON, or no object.
    pub fn from_file(path: impl AsRef<Path>) -> Result<(Self, Vec<Problem>), ConfigError> {
        let (text, origin) = super::text_of(path.as_ref())?;
        let page = Page::new(text.strip_prefix('\u{feff}').unwrap_or(&text));
        let file = || Arc::clone(&origin.name);
        let parsed = page.parse();
        let value = parsed.map_err(|(position, fault)| ConfigError::Syntax {
            file: file(),
            position,
            fault,
        })?;
        let Some(Value::Object(root)) = &value else {
            let found = value.as_ref().map_or("nothing", kind);
            return Err(ConfigError::NotAnObject {
                file: file(),
                position: page.position(0),
                found,
            });
        };
        let grammar = Grammar::new(Dialect::Standard, origin.folder.clone());
        let sheet = Sheet::new(page, file(), grammar);
        let settings = Self::read(Members::new(&sheet, String::new(), root));
        Ok((settings, sheet.into_problems()))
    }

    /// Reads the members of an object.
    pub(super) fn read(mut members: Members<'_, '_>) -> Self {
        let keys = members.take(&["keys"]);
        let keys = keys.as_ref().and_then(Field::items).unwrap_or_default();
        let mut settings = Self {
            keys: Vec::new(),
            limits: limits(members.take(&["limits"]).as_ref()),
        };
        for field in &keys {
            let Some(key) = field.object().and_then(|members| read_key(field, members)) else {
                continue;
            };
            if settings.keys.iter().any(|known| known.name == key.name) {
                field.wrong_value("a key with a name of its own");
                continue;
            }
            settings.keys.push(key);
        }
        members.keep_rest();
        settings
    }
}

fn read_key(field: &Field<'_, '_>, mut members: Members<'_, '_>) -> Option<KeyConfig> {
    let text =
        |field: Option<Field<'_, '_>>| field.as_ref().and_then(Field::text).map(str::to_owned);
    let name = text(members.take(&["name"])).filter(|name| !name.is_empty());
    let value = members.take(&["value"]);
    let digest = members.take(&["sha256"]);
    let profile = text(members.take(&["profile"]));
    let limits = limits(members.take(&["limits"]).as_ref());
    members.keep_rest();
    let secret = match (value, digest) {
        (Some(value), None) => value.some_template(Shows::References).map(KeySecret::Value),
        (None, Some(digest)) => {
            let bytes = digest.text().and_then(read_digest);
            if bytes.is_none() {
                digest.wrong_value("64 hexadecimal digits");
            }
            bytes.map(KeySecret::Sha256)
        }
        _ => {
            field.wrong_value("a key with either \"value\" or \"sha256\"");
            None
        }
    };
    let Some(name) = name else {
        field.wrong_value("a key with a \"name\"");
        return None;
    };
    Some(KeyConfig {
        name,
        secret: secret?,
        profile,
        limits,
    })
}

fn read_digest(text: &str) -> Option<[u8; 32]> {
    if !text.is_ascii() || text.len() != 64 {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, digits) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    // `from_str_radix` takes a sign.
    (!text.contains('+')).then_some(digest)
}

/// Limits by name; which names there are is known to whoever uses them.
fn limits(field: Option<&Field<'_, '_>>) -> Vec<LimitConfig> {
    let Some(members) = field.and_then(Field::object) else {
        return Vec::new();
    };
    let all = members.all().filter_map(|field| {
        Some(LimitConfig {
            name: field.name.to_owned(),
            value: field.size()?,
        })
    });
    all.collect()
}

/// Profiles, by name.
pub(super) fn profiles(members: &Members<'_, '_>) -> Vec<Profile> {
    let all = members.all().filter_map(|field| {
        let is_name = |name: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            !name.is_empty() && name.len() <= 64 && name.bytes().all(is_plain)
        };
        if !is_name(field.name) {
            field.wrong_key("a name of letters, digits, - and _: it is a part of a path");
            return None;
        }
        let mut members = field.object()?;
        let mut profile = Profile::new(field.name);
        profile.servers = filter(members.take(&["servers"]));
        profile.tools = filter(members.take(&["tools"]));
        members.keep_rest();
        Some(profile)
    });
    all.collect()
}

/// A list of what is allowed, or an object of `allow` and `deny`.
fn filter(field: Option<Field<'_, '_>>) -> ToolFilter {
    let mut filter = ToolFilter::default();
    let Some(field) = field else {
        return filter;
    };
    if matches!(field.value, Value::Array(_)) {
        filter.allow = field.patterns();
        return filter;
    }
    let Some(mut members) = field.object() else {
        // What was meant to be less is not everything.
        filter.allow = Some(Vec::new());
        return filter;
    };
    filter.allow = members
        .take(&["allow"])
        .map(|allow| allow.patterns().unwrap_or_default());
    let deny = members.take(&["deny"]);
    filter.deny = deny.as_ref().and_then(Field::patterns).unwrap_or_default();
    members.keep_rest();
    filter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Origin};

    fn read(text: &str) -> Config {
        let text = format!(r#"{{"mcpServers":{{}},"x-switchboard":{text}}}"#);
        Config::read(&text, &Origin::text("mcp.json")).unwrap()
    }

    #[test]
    fn profiles_are_lists_or_objects_of_patterns() {
        let config = read(
            r#"{"profiles":{
                "work":{"servers":["git*"],"tools":{"allow":["*"],"deny":["*delete*"]}},
                "all":{}}}"#,
        );
        assert_eq!(config.problems, []);
        let [work, all] = &config.settings.profiles[..] else {
            panic!("{:?}", config.settings.profiles);
        };
        assert!(work.has_server("github") && !work.has_server("mail"));
        assert!(!work.has_tool("github", "delete_all", "x"));
        assert!(all.has_server("mail") && all.has_tool("mail", "delete", "x"));
    }

    #[test]
    fn keys_have_a_name_and_a_value_or_a_digest() {
        let digest = "ab".repeat(32);
        let config = read(&format!(
            r#"{{"gateway":{{"keys":[
                {{"name":"ci","value":"${{CI_KEY}}","profile":"work","limits":{{"callsPerMinute":60}}}},
                {{"name":"ada","sha256":"{digest}"}}],"limits":{{"sessions":10,"message":"1MiB"}}}}}}"#
        ));
        assert_eq!(config.problems, []);
        let gateway = &config.settings.gateway;
        assert_eq!(gateway.keys[0].limits[0].value, 60);
        assert_eq!(gateway.keys[0].profile.as_deref(), Some("work"));
        assert_eq!(gateway.keys[1].secret, KeySecret::Sha256([0xab; 32]));
        assert_eq!(gateway.limits[1].value, 1 << 20);
        assert!(!format!("{gateway:?}").contains("CI_KEY"));
    }

    #[test]
    fn what_is_wrong_is_said_and_allows_nothing() {
        let check = |text: &str, expected: &str| {
            let config = read(text);
            let said: Vec<String> = config.errors().map(ToString::to_string).collect();
            assert!(said.iter().any(|said| said.contains(expected)), "{said:?}");
        };
        check(
            r#"{"gateway":{"keys":[{"name":"a"}]}}"#,
            "\"value\" or \"sha256\"",
        );
        check(r#"{"gateway":{"keys":[{"value":"x"}]}}"#, "name");
        check(
            r#"{"gateway":{"keys":[{"name":"a","sha256":"zz"}]}}"#,
            "64 hexadecimal",
        );
        check(
            r#"{"gateway":{"keys":[{"name":"a","value":"x"},{"name":"a","value":"y"}]}}"#,
            "a name of its own",
        );
        check(r#"{"profiles":{"a/b":{}}}"#, "part of a path");
        let config = read(r#"{"profiles":{"a":{"servers":"git"}}}"#);
        assert!(!config.settings.profiles[0].has_server("git"));
    }
}
