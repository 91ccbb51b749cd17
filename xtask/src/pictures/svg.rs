//! What a terminal showed, with its escape sequences, as a picture.
//!
//! Only what the command line uses is known: bold, faint, eight colours.

use std::fmt::Write as _;

/// A picture of these lines, in a terminal of so many columns.
pub(crate) fn draw(lines: &[String], columns: usize) -> String {
    let width = columns as f64 * STEP + 2.0 * MARGIN;
    let height = lines.len() as f64 * LINE + 2.0 * MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>\
         text{{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;\
         fill:#d4d8dd;white-space:pre}}\
         .bold{{font-weight:700;fill:#fff}}.faint{{fill:#8b949e}}\
         .red{{fill:#ff7b72}}.green{{fill:#7ee787}}.yellow{{fill:#e3b341}}.blue{{fill:#79c0ff}}\
         </style>\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#15191f\"/>\n"
    );
    // It is one for all lines: a sequence counts until another ends it.
    let mut look = Look::default();
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + (row as f64 + 0.78) * LINE;
        let mut column = 0;
        for (part, style) in parts(line, &mut look) {
            let x = MARGIN + column as f64 * STEP;
            column += part.chars().count();
            // Blanks show nothing.
            if part.trim().is_empty() {
                continue;
            }
            // As long as it would be in the terminal, whatever font there is.
            let length = part.chars().count() as f64 * STEP;
            let (class, part) = (style.class(), escape(&part));
            let _ = writeln!(
                text,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\"{class}>{part}</text>"
            );
        }
    }
    text + "</svg>\n"
}

/// How characters look from here on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    is_bold: bool,
    is_faint: bool,
    colour: Option<&'static str>,
}

impl Look {
    fn apply(&mut self, code: &str) {
        match code {
            "" | "0" => *self = Self::default(),
            "1" => self.is_bold = true,
            "2" => self.is_faint = true,
            "22" => (self.is_bold, self.is_faint) = (false, false),
            "31" => self.colour = Some("red"),
            "32" => self.colour = Some("green"),
            "33" => self.colour = Some("yellow"),
            "34" | "36" => self.colour = Some("blue"),
            "39" => self.colour = None,
            _ => {}
        }
    }

    fn class(self) -> String {
        let words = [
            self.is_bold.then_some("bold"),
            self.is_faint.then_some("faint"),
            self.colour,
        ];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        match words.is_empty() {
            true => String::new(),
            false => format!(" class=\"{}\"", words.join(" ")),
        }
    }
}

/// A line in parts that look the same each.
fn parts(line: &str, look: &mut Look) -> Vec<(String, Look)> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("\x1b[") {
        parts.push((before.to_owned(), *look));
        let (codes, behind) = behind.split_once('m').unwrap_or((behind, ""));
        codes.split(';').for_each(|code| look.apply(code));
        rest = behind;
    }
    parts.push((rest.trim_end().to_owned(), *look));
    parts.retain(|(text, _)| !text.is_empty());
    parts
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The width of a character and the height of a line, at 13 pixels.
const STEP: f64 = 7.83;
const LINE: f64 = 18.0;
const MARGIN: f64 = 14.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_counts_until_another_ends_it() {
        let mut look = Look::default();
        let shown: Vec<(String, String)> = parts("a \x1b[1;32mb\x1b[0m\x1b[39m c  ", &mut look)
            .into_iter()
            .map(|(text, look)| (text, look.class()))
            .collect();
        let expected = [("a ", ""), ("b", " class=\"bold green\""), (" c", "")];
        let expected = expected.map(|(text, class)| (text.to_owned(), class.to_owned()));
        assert_eq!(shown, expected);
        parts("\x1b[2mfaint", &mut look);
        assert!(look.is_faint);
    }

    #[test]
    fn text_stays_text() {
        let picture = draw(&["<a> & \x1b[31mb".to_owned()], 80);
        assert!(picture.contains(">&lt;a&gt; &amp; </text>"), "{picture}");
        assert!(picture.contains("class=\"red\">b</text>"), "{picture}");
    }
}
