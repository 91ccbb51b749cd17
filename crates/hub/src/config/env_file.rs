//! Files with variables: a name, `=`, a value on each line.
//!
//! The form that most programs share: empty lines and lines that begin with `#` say nothing,
//! `export` in front is skipped, quotes around a value are taken off. In double quotes `\n`,
//! `\r`, `\t`, `\"` and `\\` mean what they usually do. Nothing is expanded.

/// The variables in a text. Otherwise the number of the first line that is not one.
pub(super) fn read(text: &str) -> Result<Vec<(String, String)>, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate();
    let mut variables = Vec::new();
    for (index, line) in lines {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        variables.push(variable(line).ok_or(index + 1)?);
    }
    Ok(variables)
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
        _ => line,
    };
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = !name.is_empty() && !name.contains([' ', '\t', '"', '\'', '\0']);
    is_name.then_some(())?;
    let value = value.trim_start();
    let value = match value.chars().next() {
        Some('"') => double_quoted(value.get(1..)?)?,
        Some('\'') => {
            let (inner, after) = value.get(1..)?.split_once('\'')?;
            is_comment(after).then(|| inner.to_owned())?
        }
        // A comment begins with a space, since colours and passwords have the sign too.
        _ => match value.split_once(" #") {
            Some((before, _)) => before.trim_end().to_owned(),
            None => value.to_owned(),
        },
    };
    (!value.contains('\0')).then(|| (name.to_owned(), value))
}

fn double_quoted(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return is_comment(characters.as_str()).then_some(value),
            '\\' => match characters.next()? {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                same @ ('"' | '\\' | '$' | '`') => value.push(same),
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
    None
}

fn is_comment(after: &str) -> bool {
    let after = after.trim_start();
    after.is_empty() || after.starts_with('#')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_variables() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let read = read(text).unwrap();
            let read: Vec<_> = read
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(read, expected, "{text}");
        };
        check("", &[]);
        check(
            "\u{feff}A=1\r\n# no\r\n\r\nB = two words # said\r\n",
            &[("A", "1"), ("B", "two words")],
        );
        check("export A='x y' # z", &[("A", "x y")]);
        check(r#"A="a\nb\"c" "#, &[("A", "a\nb\"c")]);
        check("A=\nB=#f00", &[("A", ""), ("B", "#f00")]);
        check("A=$B${C}", &[("A", "$B${C}")]);
        check("exported=1", &[("exported", "1")]);
    }

    #[test]
    fn what_is_none_is_named_by_its_line() {
        for (text, line) in [
            ("A=1\nnonsense", 2),
            ("=1", 1),
            ("A=\"open", 1),
            ("A='x'y", 1),
            ("A B=1", 1),
        ] {
            assert_eq!(read(text), Err(line), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_quoted_value_comes_back(value in "[^\0]{0,40}") {
            let mut quoted = String::new();
            for character in value.chars() {
                match character {
                    '\n' => quoted.push_str("\\n"),
                    '\r' => quoted.push_str("\\r"),
                    '"' | '\\' => quoted.extend(['\\', character]),
                    other => quoted.push(other),
                }
            }
            let read = read(&format!("NAME=\"{quoted}\""));
            prop_assert_eq!(read, Ok(vec![("NAME".to_owned(), value)]));
        }

        #[test]
        fn no_text_panics(text in "(?s).{0,80}") {
            let _ = read(&text);
        }
    }
}
