//! What is wanted at the cursor.

use clap::{Arg, Command};

use super::Candidate;

/// A command line up to the cursor.
#[derive(Debug)]
pub(super) struct Line {
    /// What is typed of the word, behind the prefix.
    pub(super) current: String,
    /// What stands before it in the same word: `--lang=`.
    pub(super) prefix: String,
    /// What was said with `--config`.
    pub(super) config: Option<String>,
    pub(super) wanted: Wanted,
}

/// What is wanted at the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing that we know: a file, a number, a command.
    Nothing,
    /// One of these.
    These(Vec<Candidate>),
    /// A name that has to be looked up, behind these words of the verb.
    Names { kind: Kind, before: Vec<String> },
}

/// Which names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of servers, and nothing behind.
    Server,
    /// Of a tool, then its arguments.
    Call,
    /// Of anything that can be shown.
    Show,
    /// Of a prompt, then its arguments.
    Prompt,
    /// Of a resource.
    Resource,
    /// Of a method.
    Method,
}

impl Line {
    /// Reads the words; the first is the program, the last is being typed.
    pub(super) fn read(command: &Command, words: &[String]) -> Self {
        let (current, before) = match words.split_last() {
            Some((last, before)) => (last.clone(), before.get(1..).unwrap_or_default()),
            None => (String::new(), Default::default()),
        };
        let mut line = Self {
            current,
            prefix: String::new(),
            config: None,
            wanted: Wanted::Nothing,
        };
        let mut verb = command;
        let mut positional = Vec::new();
        let mut pending: Option<&Arg> = None;
        for word in before {
            if let Some(option) = pending.take() {
                line.note(option, word);
                continue;
            }
            if word == "--" {
                // A command of the user's follows.
                return line;
            }
            if let Some((option, value)) = option(verb, word) {
                match value {
                    Some(value) => line.note(option, value),
                    None if takes_value(option) => pending = Some(option),
                    None => {}
                }
                continue;
            }
            match verb.find_subcommand(word).filter(|_| positional.is_empty()) {
                Some(inner) => verb = inner,
                None => positional.push(word.clone()),
            }
        }
        if let Some(option) = pending {
            line.wanted = values(option);
        } else if let Some((option, value)) = long_with_value(verb, &line.current) {
            let prefix = line.current.len() - value.len();
            line.wanted = values(option);
            line.prefix = line.current.get(..prefix).unwrap_or_default().to_owned();
            line.current = value.to_owned();
        } else if line.current.starts_with('-') {
            line.wanted = Wanted::These(options(verb));
        } else {
            line.wanted = words_of(command, verb, positional);
        }
        line
    }

    fn note(&mut self, option: &Arg, value: &str) {
        if option.get_id() == "config" {
            self.config = Some(value.to_owned());
        }
    }
}

/// What a word without a dash may be.
fn words_of(root: &Command, verb: &Command, before: Vec<String>) -> Wanted {
    if before.is_empty() && verb.has_subcommands() {
        let visible = verb.get_subcommands().filter(|inner| !inner.is_hide_set());
        let verbs = visible.map(|inner| Candidate::new(inner.get_name(), about(inner.get_about())));
        return Wanted::These(verbs.collect());
    }
    let kind = match verb.get_name() {
        "call" => Some(Kind::Call),
        "show" => Some(Kind::Show),
        "prompt" | "complete" => Some(Kind::Prompt),
        "read" => Some(Kind::Resource),
        "raw" => Some(Kind::Method),
        _ => None,
    };
    if let Some(kind) = kind {
        return Wanted::Names { kind, before };
    }
    let place = before.len();
    let mut positionals = verb.get_positionals().filter(|arg| !arg.is_last_set());
    let argument = positionals.find(|arg| {
        arg.get_index() == Some(place + 1) || arg.get_num_args().is_some_and(|n| n.max_values() > 1)
    });
    let Some(argument) = argument.filter(|_| verb.get_name() != root.get_name()) else {
        return Wanted::Nothing;
    };
    let names = argument.get_value_names().unwrap_or_default();
    let is_server = names
        .iter()
        .any(|name| name.contains("SERVER") || name.as_str() == "NAME");
    match values(argument) {
        // A name that is to be given is nobody's yet.
        Wanted::Nothing if is_server && !matches!(verb.get_name(), "add" | "add-json") => {
            Wanted::Names {
                kind: Kind::Server,
                before,
            }
        }
        values => values,
    }
}

fn options(verb: &Command) -> Vec<Candidate> {
    let visible = verb.get_arguments().filter(|arg| !arg.is_hide_set());
    let options = visible.filter_map(|arg| {
        let long = arg.get_long()?;
        Some(Candidate::new(format!("--{long}"), about(arg.get_help())))
    });
    options.collect()
}

fn values(argument: &Arg) -> Wanted {
    let values = argument.get_possible_values();
    // A flag has the values `true` and `false`, which nobody writes.
    if values.is_empty() || !takes_value(argument) {
        return Wanted::Nothing;
    }
    let visible = values.iter().filter(|value| !value.is_hide_set());
    let values = visible.map(|value| Candidate::new(value.get_name(), about(value.get_help())));
    Wanted::These(values.collect())
}

/// The option that a word is, with its value if that stands behind `=`.
fn option<'a, 'b>(verb: &'a Command, word: &'b str) -> Option<(&'a Arg, Option<&'b str>)> {
    if let Some(found) = long_with_value(verb, word) {
        return Some((found.0, Some(found.1)));
    }
    let mut all = verb.get_arguments();
    if let Some(long) = word.strip_prefix("--") {
        return all
            .find(|arg| arg.get_long() == Some(long))
            .map(|arg| (arg, None));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    let value = Some(letters.as_str()).filter(|value| !value.is_empty());
    let found = all.find(|arg| arg.get_short() == Some(letter))?;
    Some((found, value.filter(|_| takes_value(found))))
}

fn long_with_value<'a, 'b>(verb: &'a Command, word: &'b str) -> Option<(&'a Arg, &'b str)> {
    let (long, value) = word.strip_prefix("--")?.split_once('=')?;
    let found = verb
        .get_arguments()
        .find(|arg| arg.get_long() == Some(long))?;
    Some((found, value))
}

fn takes_value(argument: &Arg) -> bool {
    argument.is_positional() || argument.get_action().takes_values()
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn read(words: &[&str]) -> Line {
        let mut command = Cli::command();
        command.build();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Line::read(&command, &words)
    }

    #[track_caller]
    fn has(words: &[&str], expected: &[&str], not: &[&str]) {
        let line = read(words);
        let Wanted::These(found) = &line.wanted else {
            panic!("{line:?}");
        };
        let found: Vec<&str> = found.iter().map(|one| one.value.as_str()).collect();
        for value in expected {
            assert!(found.contains(value), "{value} in {found:?}");
        }
        for value in not {
            assert!(!found.contains(value), "{value} in {found:?}");
        }
    }

    #[track_caller]
    fn wants(words: &[&str], kind: Kind, before: &[&str]) {
        let line = read(words);
        let before = before.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(line.wanted, Wanted::Names { kind, before });
    }

    #[test]
    fn verbs_options_and_values_are_known_from_the_program_itself() {
        has(
            &["switchboard", ""],
            &["call", "lint", "completion"],
            &["__complete"],
        );
        has(&["switchboard", "--json", "c"], &["call"], &[]);
        has(&["switchboard", "-c", "file", ""], &["call"], &[]);
        has(
            &["switchboard", "lint", "--"],
            &["--strict", "--json", "--config"],
            &[],
        );
        has(
            &["switchboard", "completion", ""],
            &["bash", "zsh", "fish"],
            &["ts"],
        );
        has(
            &["switchboard", "codegen", "--lang", ""],
            &["typescript", "rust"],
            &["ts"],
        );
        has(&["switchboard", "codegen", "--lang=r"], &["rust"], &[]);
        has(&["switchboard", "demo", ""], &["serve"], &[]);
        assert_eq!(
            read(&["switchboard", "codegen", "--lang=r"]).prefix,
            "--lang="
        );
        assert_eq!(
            read(&["switchboard", "codegen", "--out", ""]).wanted,
            Wanted::Nothing
        );
        assert_eq!(
            read(&["switchboard", "tools", "--", "n"]).wanted,
            Wanted::Nothing
        );
        assert_eq!(read(&[]).wanted, read(&["switchboard", ""]).wanted);
    }

    #[test]
    fn names_are_looked_up_where_verbs_take_them() {
        wants(&["switchboard", "tools", "g"], Kind::Server, &[]);
        wants(&["switchboard", "remove", ""], Kind::Server, &[]);
        wants(&["switchboard", "login", ""], Kind::Server, &[]);
        wants(
            &["switchboard", "call", "--dry-run", "git"],
            Kind::Call,
            &[],
        );
        wants(
            &["switchboard", "call", "github", "x", "a=1", "b"],
            Kind::Call,
            &["github", "x", "a=1"],
        );
        assert_eq!(read(&["switchboard", "add", "x"]).wanted, Wanted::Nothing);
        let line = read(&["switchboard", "--config", "a.json", "call", ""]);
        assert_eq!(line.config.as_deref(), Some("a.json"));
        let line = read(&["switchboard", "call", "--config=b.json", ""]);
        assert_eq!(line.config.as_deref(), Some("b.json"));
    }
}
