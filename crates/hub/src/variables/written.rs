//! A template in the grammar of our own files, whatever file it comes from.

use super::parse::is_name;
use super::{Piece, Reference};

/// Reading it again gives the same, wherever it is read.
pub(super) fn written(pieces: &[Piece], keeps_folder: bool) -> String {
    let mut text = String::new();
    let mut pieces = pieces.iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            // What follows begins with a dollar, and two of them are one.
            Piece::Text(plain) => escape(plain, pieces.peek().is_some(), &mut text),
            Piece::LeftAlone(left) => text.push_str(left),
            Piece::Reference { written, reference } => {
                refer(written, reference, keeps_folder, &mut text);
            }
        }
    }
    text
}

fn refer(as_it_was: &str, reference: &Reference, keeps_folder: bool, text: &mut String) {
    match reference {
        Reference::Variable { name, default } => {
            // Not every host knows the longer form, and it says no more.
            let is_plain = is_name(name) && !FOLDERS.contains(&name.as_str());
            let scheme = if is_plain { "" } else { "env:" };
            text.push_str(&format!("${{{scheme}{name}"));
            if let Some(default) = default {
                text.push_str(":-");
                text.push_str(&written(default, keeps_folder));
            }
            text.push('}');
        }
        Reference::File(path) => {
            let path = written(path, keeps_folder);
            text.push_str(&format!("${{file:{path}}}"));
        }
        Reference::Folder(Some(folder)) if !keeps_folder => escape(folder, false, text),
        // These are written the same in every file.
        Reference::Command(_)
        | Reference::Keyring(_)
        | Reference::Input(_)
        | Reference::Home
        | Reference::Folder(_)
        | Reference::Separator => text.push_str(as_it_was),
    }
}

/// A dollar that could be taken for the beginning of something becomes two.
fn escape(plain: &str, goes_on: bool, text: &mut String) {
    let mut characters = plain.chars().peekable();
    while let Some(character) = characters.next() {
        text.push(character);
        let next = characters.peek();
        let is_sign = match next {
            Some(next) => matches!(next, '$' | '{'),
            None => goes_on,
        };
        if character == '$' && is_sign {
            text.push('$');
        }
    }
}

/// Names that mean something else than a variable.
const FOLDERS: [&str; 5] = [
    "CLAUDE_PROJECT_DIR",
    "pathSeparator",
    "userHome",
    "workspaceFolder",
    "workspaceFolderBasename",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::config::{Dialect, Grammar, Position};
    use crate::variables::{Shows, Template};

    fn read(text: &str, dialect: Dialect) -> Template {
        let grammar = Grammar::new(dialect, Some("/a b".into()));
        Template::read(text, &grammar, Shows::All, Position::default())
    }

    #[test]
    fn words_of_others_become_ours() {
        let check = |dialect, text: &str, ours: &str| {
            let theirs = read(text, dialect);
            assert_eq!(theirs.written(true), ours, "{text}");
            assert!(theirs == read(ours, Dialect::Standard), "{text}");
        };
        check(Dialect::Gemini, "Bearer $TOKEN", "Bearer ${TOKEN}");
        check(Dialect::Gemini, "${A:-$B}", "${A:-${B}}");
        check(Dialect::OpenCode, "{env:A}{file:b}", "${A}${file:b}");
        check(Dialect::Mcporter, "$env:A", "${A}");
        check(Dialect::Goose, "$A ${B}", "${A} ${B}");
        check(Dialect::Codex, "${A} $B $$", "$${A} $B $$$");
        check(
            Dialect::Standard,
            "$${A} $B ${env:C} ${env:userHome} ${env:C(x)} ${x%y}",
            "$${A} $B ${C} ${env:userHome} ${env:C(x)} ${x%y}",
        );
        check(Dialect::Standard, "$$${A}", "$$${A}");
        check(
            Dialect::Standard,
            "${workspaceFolder}/x",
            "${workspaceFolder}/x",
        );
    }

    #[test]
    fn a_folder_of_another_file_is_written_out() {
        let template = read("${workspaceFolder}/x", Dialect::Standard);
        assert_eq!(template.written(false), "/a b/x");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same(text in r"[$%{}a-c:\-A/ ]{0,24}", dialect in 0..4usize) {
            let dialect = [Dialect::Standard, Dialect::Gemini, Dialect::OpenCode, Dialect::Codex][dialect];
            let before = read(&text, dialect);
            let ours = before.written(true);
            let again = read(&ours, Dialect::Standard);
            prop_assert_eq!(again.as_literal(), before.as_literal());
            prop_assert_eq!(again.written(true), ours);
        }
    }
}
