//! What changes in a text, line by line, as everybody writes it.

/// The lines that differ, with a few around them. Empty if nothing does.
pub(crate) fn unified(name: &str, before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(before), lines(after));
    let same_before = common(old.iter(), new.iter());
    let rest = old.len().min(new.len()) - same_before;
    let same_after = common(old.iter().rev(), new.iter().rev()).min(rest);
    let middle = |all: &[&str]| same_before..all.len() - same_after;
    let (gone, come) = (middle(&old), middle(&new));
    if gone.is_empty() && come.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {name}\n+++ {name}\n");
    let edits = edits(
        old.get(gone.clone()).unwrap_or_default(),
        new.get(come).unwrap_or_default(),
    );
    let context = |from: usize, to: usize| {
        let lines = old.get(from..to).unwrap_or_default();
        lines.iter().map(|line| (' ', *line))
    };
    let first = same_before.saturating_sub(AROUND);
    let last = (gone.end + AROUND).min(old.len());
    let all: Vec<(char, &str)> = context(first, same_before)
        .chain(edits)
        .chain(context(gone.end, last))
        .collect();
    for hunk in hunks(&all) {
        write(&all, hunk, first, &mut text);
    }
    text
}

fn write(all: &[(char, &str)], hunk: std::ops::Range<usize>, first: usize, text: &mut String) {
    let count = |range: &[(char, &str)], sign: char| {
        let is_there = |line: &&(char, &str)| line.0 == ' ' || line.0 == sign;
        range.iter().filter(is_there).count()
    };
    let before = all.get(..hunk.start).unwrap_or_default();
    let own = all.get(hunk).unwrap_or_default();
    let place = |sign: char| {
        let length = count(own, sign);
        let start = first + count(before, sign) + usize::from(length > 0);
        format!("{start},{length}")
    };
    text.push_str(&format!("@@ -{} +{} @@\n", place('-'), place('+')));
    for (sign, line) in own {
        text.push(*sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Stretches with changes, each with a few lines around it.
fn hunks(all: &[(char, &str)]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, (sign, _)) in all.iter().enumerate() {
        if *sign == ' ' {
            continue;
        }
        let (start, end) = (
            index.saturating_sub(AROUND),
            (index + AROUND + 1).min(all.len()),
        );
        match hunks.last_mut() {
            Some(last) if last.end >= start => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    hunks
}

/// What goes and what comes, with what stays between.
fn edits<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let gone = old.iter().map(|line| ('-', *line));
    let come = new.iter().map(|line| ('+', *line));
    if old.len().saturating_mul(new.len()) > LARGEST_TABLE {
        return gone.chain(come).collect();
    }
    // How many lines two ends have in common at most.
    let width = new.len() + 1;
    let mut table = vec![0u32; (old.len() + 1) * width];
    let at = |table: &[u32], row: usize, column: usize| {
        table.get(row * width + column).copied().unwrap_or_default()
    };
    for (row, left) in old.iter().enumerate().rev() {
        for (column, right) in new.iter().enumerate().rev() {
            let best = match left == right {
                true => at(&table, row + 1, column + 1) + 1,
                false => at(&table, row + 1, column).max(at(&table, row, column + 1)),
            };
            if let Some(cell) = table.get_mut(row * width + column) {
                *cell = best;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut edits = Vec::new();
    loop {
        match (old.get(row), new.get(column)) {
            (Some(left), Some(right)) if left == right => {
                edits.push((' ', *left));
                row += 1;
                column += 1;
            }
            (Some(left), right)
                if right.is_none()
                    || at(&table, row + 1, column) >= at(&table, row, column + 1) =>
            {
                edits.push(('-', *left));
                row += 1;
            }
            (_, Some(right)) => {
                edits.push(('+', *right));
                column += 1;
            }
            _ => return edits,
        }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn common<'a>(
    one: impl Iterator<Item = &'a &'a str>,
    other: impl Iterator<Item = &'a &'a str>,
) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

const AROUND: usize = 3;
// Nobody reads a change of thousands of lines.
const LARGEST_TABLE: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_shown_with_what_is_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n11b\n12\n";
        assert_eq!(
            unified("f", before, after),
            "--- f\n+++ f\n@@ -2,11 +2,12 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n 10\n 11\n+11b\n 12\n"
        );
        assert_eq!(
            unified("f", "a\nb\n", "a\nb"),
            "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"
        );
        assert_eq!(
            unified("f", "", "a\n"),
            "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"
        );
        assert_eq!(unified("f", "a\n", "a\n"), "");
    }

    #[test]
    fn of_large_texts_all_goes_and_all_comes() {
        let text =
            |count: usize| -> String { (0..count).map(|line| format!("{line}\n")).collect() };
        let signs = |old: &str, new: &str| {
            let edits = edits(&lines(old), &lines(new));
            edits.into_iter().map(|(sign, _)| sign).collect::<String>()
        };
        assert_eq!(signs(&text(10), &text(10)), " ".repeat(10));
        let most = text(1_000);
        assert!(!signs(&most, &text(1_000)).contains('-'));
        let expected = format!("{}{}", "-".repeat(1_001), "+".repeat(1_000));
        assert_eq!(signs(&text(1_001), &most), expected);
    }

    #[test]
    fn far_changes_stand_apart() {
        let before: String = (0..40).map(|line| format!("{line}\n")).collect();
        let after = before.replace("\n3\n", "\nx\n").replace("\n35\n", "\ny\n");
        assert_eq!(unified("f", &before, &after).matches("@@ -").count(), 2);
    }
}
