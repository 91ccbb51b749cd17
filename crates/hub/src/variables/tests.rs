//! What is written, what becomes of it, what is shown.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use switchboard_auth::Secret;

use super::*;
use crate::config::{Dialect, Grammar};

/// A small world in which everything is known.
#[derive(Debug, Default)]
struct World(BTreeMap<&'static str, String>);

impl Surroundings for World {
    fn variable(&self, name: &str) -> Option<Secret> {
        self.0.get(name).map(|value| Secret::new(value.clone()))
    }

    fn variable_names(&self) -> Vec<String> {
        self.0.keys().map(|name| (*name).to_owned()).collect()
    }

    fn file(&self, path: &Path) -> io::Result<Secret> {
        match path.to_str() {
            Some("/etc/key" | "/home/me/key") => Ok(Secret::new("\u{feff}from file\r\n\n")),
            Some("/etc/lines") => Ok(Secret::new("one\ntwo\n")),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn command(&self, words: &[String]) -> io::Result<Secret> {
        match words.first().map(String::as_str) {
            Some("say") => Ok(Secret::new(format!("{}\n", words[1..].join("|")))),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn keyring(&self, name: &str) -> io::Result<Option<Secret>> {
        Ok((name == "github").then(|| Secret::new("from keyring")))
    }

    fn home(&self) -> Option<PathBuf> {
        Some("/home/me".into())
    }
}

fn world() -> World {
    let variables = [
        ("A", "1"),
        ("EMPTY", ""),
        ("TRICK", "${A}$$"),
        ("P(x86)", "p"),
    ];
    World(
        variables
            .map(|(name, value)| (name, value.to_owned()))
            .into(),
    )
}

fn becomes(text: &str, expected: &str) {
    let template = Template::parse(text);
    let value = template.resolve(&world()).unwrap();
    assert_eq!(value.reveal(), expected, "{text}");
    assert_eq!(template.to_string(), text);
}

#[test]
fn variables_are_filled_in() {
    becomes("", "");
    becomes("plain", "plain");
    becomes("${A}", "1");
    becomes("x${A}y${env:A}z", "x1y1z");
    becomes("${env:P(x86)}", "p");
    becomes("${EMPTY}", "");
    becomes("${EMPTY:-d}", "d");
    becomes("${NONE:-d}", "d");
    becomes("${env:NONE:-d}", "d");
    becomes("${A:-d}", "1");
    becomes("${NONE:-}", "");
    becomes("${NONE:-${NONE2:-${A}}}", "1");
    becomes("${NONE:-a:-b}", "a:-b");
    becomes("${NONE:-{\"x\":1}}", "{\"x\":1}");
    becomes("é${A}é", "é1é");
}

#[test]
fn values_are_not_looked_through_again() {
    becomes("${TRICK}", "${A}$$");
}

#[test]
fn a_dollar_is_written_twice() {
    becomes("$$", "$");
    becomes("$${A}", "${A}");
    becomes("$$$${A}", "$${A}");
    becomes("$$${A}", "$1");
    becomes("${NONE:-$$}", "$");
    becomes("100$", "100$");
    becomes("$A", "$A");
}

#[test]
fn what_is_no_variable_is_left_alone() {
    for text in [
        "${x%y}",
        "${x#y}",
        "${x:+y}",
        "${x:?y}",
        "${x-y}",
        "${#x}",
        "${}",
        "${ A }",
        "${1}",
        "${a.b}",
        "${keychain:x}",
        "${env:}",
        "${file:}",
        "${cmd: }",
        "${keyring:}",
        "${a${A}}",
        "${workspaceFolder:name}",
    ] {
        becomes(text, text);
        let template = Template::parse(text);
        assert_eq!(template.left_alone().collect::<Vec<_>>(), [text]);
        assert_eq!(template.references().count(), 0);
    }
    for text in ["${A", "${A:-${", "{env:A}", "%A%", "$env:A", "}"] {
        becomes(text, text);
    }
    becomes("${A ${A}", "${A 1");
}

#[test]
fn files_are_read() {
    becomes("${file:/etc/key}", "from file");
    becomes("${file:~/key}", "from file");
    becomes("${file:${NONE:-/etc}/key}", "from file");
    becomes("a ${file:/etc/lines}.", "a one\ntwo.");
}

#[test]
fn programs_are_run_without_a_shell() {
    becomes("${cmd:say a b}", "a|b");
    becomes("${cmd: say  a\tb }", "a|b");
    becomes("${cmd:say 'a b' \"c'd\" e'f g'h ''}", "a b|c'd|ef gh|");
    becomes(r"${cmd:say C:\x\y $$HOME *}", r"C:\x\y|$HOME|*");
    becomes("${cmd:say ${NONE:-a b} x${A}'${A} y'}", "a b|x11 y");
    becomes("${cmd:say 'open}", "open");
}

#[test]
fn keyrings_and_folders_are_asked() {
    becomes("${keyring:github}", "from keyring");
    becomes("${userHome}/x", "/home/me/x");
    becomes(
        "a${pathSeparator}b${/}c",
        &format!("a{MAIN_SEPARATOR_STR}b{MAIN_SEPARATOR_STR}c"),
    );
    let grammar = Grammar::new(Dialect::Standard, Some("/srv/shop".into()));
    let text = "${workspaceFolder} ${CLAUDE_PROJECT_DIR} ${workspaceFolderBasename}";
    let template = Template::read(text, &grammar, Shows::All, Position::default());
    let value = template.resolve(&world()).unwrap();
    assert_eq!(value.reveal(), "/srv/shop /srv/shop shop");
}

#[test]
fn each_product_has_its_own_variables() {
    let check = |dialect, text: &str, expected: &str| {
        let grammar = Grammar::new(dialect, None);
        let template = Template::read(text, &grammar, Shows::All, Position::default());
        let value = template.resolve(&world()).unwrap();
        assert_eq!(value.reveal(), expected, "{dialect:?} {text}");
    };
    check(Dialect::Gemini, "$A-${A}-$$A-$1-$", "1-1-$A-$1-$");
    check(
        Dialect::OpenCode,
        "{env:A}{file:/etc/key}{x}{env:}${A}",
        "1from file{x}{env:}1",
    );
    check(Dialect::OpenCode, "{env:A {env:A}", "{env:A 1");
    check(Dialect::Mcporter, "$env:A $A ${A}", "1 $A 1");
    check(
        Dialect::Standard,
        "$A {env:A} $env:A %A%",
        "$A {env:A} $env:A %A%",
    );
}

#[test]
fn what_has_no_value_is_named() {
    let check = |text: &str, expected: &str| {
        let error = Template::parse(text).resolve(&world()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "${NONE}",
        "the environment variable \"NONE\" is not set, set it or write ${NONE:-default}",
    );
    check("${file:/none}", "the file \"/none\" cannot be read");
    check("${cmd:none s3cret}", "the program \"none\" gave no value");
    check(
        "${keyring:none}",
        "the keyring holds nothing called \"none\"",
    );
    check(
        "${input:tok}",
        "nobody can be asked for the input \"tok\" here, use a variable or the keyring instead",
    );
    check(
        "${workspaceFolder}",
        "\"${workspaceFolder}\" has a meaning only in a file, write the path in full",
    );
    let error = Template::parse("${file:/none}")
        .resolve(&world())
        .unwrap_err();
    assert!(error.source().is_some());
}

#[test]
fn a_value_has_no_zero_byte_and_an_end() {
    let mut world = world();
    world.0.insert("NUL", "a\0b".to_owned());
    world.0.insert("LONG", "x".repeat(600_000));
    let resolve = |text: &str| Template::parse(text).resolve(&world);
    assert!(matches!(resolve("${NUL}"), Err(VariableError::HasNul)));
    assert!(resolve("${LONG}").is_ok());
    assert!(matches!(
        resolve("${LONG}${LONG}"),
        Err(VariableError::TooLong { .. })
    ));
    assert!(matches!(
        resolve("${N:-${LONG}${LONG}}"),
        Err(VariableError::TooLong { .. })
    ));
}

#[test]
fn secrets_are_not_shown() {
    let check = |text: &str, shows, expected: &str| {
        let grammar = Grammar::default();
        let template = Template::read(text, &grammar, shows, Position::default());
        assert_eq!(template.to_string(), expected);
        assert_eq!(format!("{template:?}"), format!("{expected:?}"));
    };
    check("Bearer s3cret", Shows::References, "***");
    check("Bearer ${T}", Shows::References, "***${T}");
    check("${T:-s3cret}", Shows::References, "${T:-***}");
    check("${x%s3cret}", Shows::References, "***");
    check("https://h/p?key=s3cret", Shows::Address, "https://h/p?***");
    check("https://me:s3cret@h/p", Shows::Address, "https://***@h/p");
    check(
        "https://${H}/p?a=${K}&b=s3cret#f",
        Shows::Address,
        "https://${H}/p?***${K}***",
    );
    check("https://h/p", Shows::Address, "https://h/p");
    assert_eq!(Template::literal("s3cret").secret().to_string(), "***");
}

#[test]
fn nesting_has_an_end() {
    let nested = |levels: usize| format!("{}x{}", "${N:-".repeat(levels), "}".repeat(levels));
    becomes(&nested(8), "x");
    let deep = nested(9);
    assert_ne!(
        Template::parse(&deep).resolve(&world()).unwrap().reveal(),
        "x"
    );
    // None of them takes long.
    for text in [
        nested(50_000),
        "${N:-".repeat(50_000),
        "${cmd:'".repeat(50_000),
        "$".repeat(100_000),
    ] {
        let template = Template::parse(&text);
        let _ = template.resolve(&world());
    }
}

#[test]
fn the_system_reads_and_runs() {
    let system = System::new().patience(Duration::from_secs(20));
    let resolve = |text: &str| Template::parse(text).resolve(&system);
    let here = env!("CARGO_MANIFEST_DIR");
    let manifest = resolve(&format!("${{file:{here}/Cargo.toml}}")).unwrap();
    assert!(manifest.reveal().starts_with("[package]"));
    assert!(resolve(&format!("${{file:{here}}}")).is_err());
    assert!(resolve("${SURELY_NOBODY_HAS_THIS}").is_err());
    assert!(system.variable("a=b").is_none() && system.variable("").is_none());
    assert!(resolve("${keyring:x}").is_err());
    assert!(!system.variable_names().is_empty());
}

#[cfg(unix)]
#[test]
fn a_program_that_is_slow_or_fails_gives_no_value() {
    let system = System::new().patience(Duration::from_millis(200));
    let reason = |text: &str| {
        let error = Template::parse(text).resolve(&system).unwrap_err();
        error.source().unwrap().to_string()
    };
    let patient = System::new();
    let printed = Template::parse("${cmd:printf 'a b\\n'}")
        .resolve(&patient)
        .unwrap();
    assert_eq!(printed.reveal(), "a b");
    assert_eq!(reason("${cmd:sleep 60}"), "it did not end within 200ms");
    assert!(reason("${cmd:sh -c 'exec >&-; exec sleep 60'}").starts_with("it did not end"));
    let error = Template::parse("${cmd:sh -c 'echo s3cret; exit 3'}")
        .resolve(&patient)
        .unwrap_err();
    let text = format!("{error} {error:?} {}", error.source().unwrap());
    assert!(
        text.contains("exit status: 3") && !text.contains("s3cret"),
        "{text}"
    );
    let flood = Template::parse("${cmd:yes}").resolve(&patient).unwrap_err();
    assert_eq!(
        flood.source().unwrap().to_string(),
        "it is longer than 1 MiB"
    );
}

proptest! {
    #[test]
    fn text_without_signs_is_itself(text in "[^$\0]{0,60}") {
        let template = Template::parse(&text);
        prop_assert_eq!(template.as_literal(), Some(text.clone()));
        let value = template.resolve(&world()).unwrap();
        prop_assert_eq!(value.reveal(), text.as_str());
    }

    #[test]
    fn a_text_whose_dollars_are_doubled_comes_back(text in "[${}:A\\-a é'%]{0,60}") {
        let template = Template::parse(&text.replace('$', "$$"));
        prop_assert_eq!(template.as_literal(), Some(text));
    }

    #[test]
    fn any_text_can_be_read_in_any_dialect(text in "(\\$|\\$\\{|\\}|:-|env:|file:|cmd:|\\{env:|%|A|'|\"| |é|NONE){0,40}") {
        for dialect in [Dialect::Standard, Dialect::Gemini, Dialect::OpenCode, Dialect::Mcporter] {
            let grammar = Grammar::new(dialect, None);
            let template = Template::read(&text, &grammar, Shows::All, Position::default());
            prop_assert_eq!(template.to_string(), text.as_str());
            let _ = template.resolve(&world());
            let hidden = Template::read(&text, &grammar, Shows::References, Position::default());
            let _ = format!("{hidden:?}");
        }
    }

    #[test]
    fn hidden_text_stays_hidden(before in "[a-z $}]{0,9}", after in "[a-z $}]{0,9}") {
        let text = format!("{before}s3cret${{A}}${{NONE:-s3cret}}{after}");
        let template = Template::parse(&text).secret();
        let shown = format!("{template} {template:?}");
        prop_assert!(!shown.contains("s3cret"), "{}", shown);
    }

    #[test]
    fn a_default_is_what_is_left(name in "[A-Z]{1,9}_", default in "[a-z :/]{0,20}") {
        let template = Template::parse(&format!("<${{{name}:-{default}}}>"));
        let value = template.resolve(&World::default()).unwrap();
        prop_assert_eq!(value.reveal(), format!("<{default}>"));
    }
}
