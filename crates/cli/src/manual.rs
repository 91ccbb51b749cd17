//! The manual page, made of what `clap` knows: every verb with its options and examples.

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;

/// The manual page, as roff.
pub(crate) fn manual() -> String {
    let mut command = Cli::command();
    command.build();
    let mut page = Page::default();
    let version = command.get_version().unwrap_or_default().to_owned();
    page.request(&format!(
        ".TH SWITCHBOARD 1 \"\" \"switchboard {version}\" \"User Commands\""
    ));
    page.request(".SH NAME");
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    // Only the first letter: names within it keep theirs.
    let mut rest = about.trim_end_matches('.').chars();
    let first = rest.next().map(|first| first.to_ascii_lowercase());
    let about: String = first.into_iter().chain(rest).collect();
    page.text(&format!("switchboard - {about}"));
    page.request(".SH SYNOPSIS");
    page.text("switchboard [OPTIONS] VERB [ARGUMENTS]");
    page.request(".SH DESCRIPTION");
    let long = command.get_long_about().map(ToString::to_string);
    page.paragraphs(&long.unwrap_or_default());
    page.request(".SH OPTIONS");
    page.text("Understood by every verb.");
    let is_shown = |arg: &&Arg| !arg.is_hide_set();
    for argument in command.get_arguments().filter(is_shown) {
        page.argument(argument);
    }
    page.request(".SH VERBS");
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        page.verb(verb);
    }
    page.after(&command);
    page.request(".SH FILES");
    page.text("mcp.json, .mcp.json: the servers of a project, in its folder or one above.");
    page.request(".PP");
    page.text("$XDG_CONFIG_HOME/switchboard/mcp.json: your own servers.");
    page.request(".PP");
    page.text("mcp.lock: what was approved, beside the file with the servers.");
    page.request(".SH ENVIRONMENT");
    page.text("NO_COLOR: if it is set and not empty, there are no colours.");
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn request(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// A line that is no request, whatever it begins with.
    fn text(&mut self, line: &str) {
        let safe = line.replace('\\', "\\e").replace('-', "\\-");
        if safe.starts_with(['.', '\'']) {
            self.0.push_str("\\&");
        }
        self.request(&safe);
    }

    fn paragraphs(&mut self, text: &str) {
        for (index, paragraph) in text.split("\n\n").enumerate() {
            if index > 0 {
                self.request(".PP");
            }
            self.text(&paragraph.replace('\n', " "));
        }
    }

    fn verb(&mut self, verb: &Command) {
        self.request(&format!(".SS \"{}\"", verb.get_name()));
        let about = verb
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        self.text(&format!("{}.", about.trim_end_matches('.')));
        let mut own = verb.clone();
        let usage = own.render_usage().to_string();
        self.request(".PP");
        self.text(usage.trim_start_matches("Usage:").trim());
        // What every verb understands was said already.
        let is_own = |arg: &&Arg| !arg.is_hide_set() && !arg.is_global_set() && !is_common(arg);
        for argument in verb.get_arguments().filter(is_own) {
            self.argument(argument);
        }
        for inner in verb.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            self.request(".TP");
            self.text(inner.get_name());
            self.text(
                &inner
                    .get_about()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            );
        }
        self.examples(verb);
    }

    fn argument(&mut self, argument: &Arg) {
        let mut names = Vec::new();
        names.extend(argument.get_short().map(|short| format!("-{short}")));
        names.extend(argument.get_long().map(|long| format!("--{long}")));
        let mut shown = names.join(", ");
        let takes_value = argument.is_positional() || argument.get_action().takes_values();
        if let Some(values) = argument.get_value_names().filter(|_| takes_value) {
            let values: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
            shown = format!("{shown} {}", values.join(" "));
        }
        self.request(".TP");
        self.text(shown.trim());
        let help = argument
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        self.text(&format!(
            "{}.",
            help.replace('\n', " ").trim_end_matches('.')
        ));
        let values = argument.get_possible_values();
        let values = values.iter().filter(|value| !value.is_hide_set());
        let values: Vec<&str> = values.map(|value| value.get_name()).collect();
        if takes_value && !values.is_empty() {
            self.text(&format!("One of: {}.", values.join(", ")));
        }
    }

    /// What stands below the help of a verb, as it is.
    fn examples(&mut self, verb: &Command) {
        let text = verb
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        self.request(".PP");
        self.request(".nf");
        for line in text.lines() {
            self.text(line);
        }
        self.request(".fi");
    }

    /// Examples and exit codes of the program.
    fn after(&mut self, command: &Command) {
        let text = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let (examples, codes) = text.split_once("Exit codes:").unwrap_or((&text, ""));
        self.request(".SH EXAMPLES");
        self.request(".nf");
        for line in examples.lines().skip(1) {
            self.text(line.trim());
        }
        self.request(".fi");
        self.request(".SH \"EXIT STATUS\"");
        for code in codes
            .replace('\n', " ")
            .trim()
            .trim_end_matches('.')
            .split(", ")
        {
            let (number, meaning) = code.trim().split_once(' ').unwrap_or((code, ""));
            self.request(".TP");
            self.text(number);
            self.text(meaning);
        }
    }
}

fn is_common(argument: &Arg) -> bool {
    matches!(argument.get_id().as_str(), "help" | "version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_in_the_manual_with_an_example() {
        let page = manual();
        for verb in Cli::command().get_subcommands() {
            let name = verb.get_name();
            let heading = format!(".SS \"{name}\"");
            assert_eq!(page.contains(&heading), !verb.is_hide_set(), "{name}");
            let example = format!("switchboard {name}").replace('-', "\\-");
            assert!(verb.is_hide_set() || page.contains(&example), "{name}");
        }
        assert!(page.contains("\n130\ninterrupted\n"), "{page}");
        let name = "switchboard \\- every MCP server at your fingertips\n";
        assert!(page.contains(name), "{page}");
    }

    #[test]
    fn no_text_is_taken_for_a_request() {
        for line in manual().lines().filter(|line| line.starts_with('.')) {
            let request = line.split(' ').next().unwrap();
            let known = [".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"];
            assert!(known.contains(&request), "{line}");
        }
    }
}
