//! The curves of a run, as a picture.

use std::fmt::Write as _;

use crate::proc::Sample;

/// One below the other: memory, descriptors, processes, calls per second.
pub(crate) fn draw(samples: &[Sample], title: &str) -> String {
    let panels = [
        ("memory, MiB", curve(samples, |sample| sample.memory)),
        (
            "descriptors",
            curve(samples, |sample| sample.descriptors as f64),
        ),
        (
            "processes",
            curve(samples, |sample| sample.processes as f64),
        ),
        ("calls per second", rates(samples)),
    ];
    let height = TOP + panels.len() as f64 * (PANEL + GAP);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n<style>\
         text{{font:12px system-ui,sans-serif;fill:#57606a}}.title{{font-size:14px;fill:#24292f}}\
         path{{fill:none;stroke:#0969da;stroke-width:1.2}}line{{stroke:#d0d7de}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text class=\"title\" x=\"{LEFT}\" y=\"22\">{}</text>\n",
        escape(title)
    );
    let end = samples.last().map_or(1.0, |sample| sample.seconds).max(1.0);
    for (number, (name, points)) in panels.iter().enumerate() {
        let top = TOP + number as f64 * (PANEL + GAP);
        panel(&mut text, name, points, top, end);
    }
    text + "</svg>\n"
}

fn panel(text: &mut String, name: &str, points: &[(f64, f64)], top: f64, end: f64) {
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let most = round_up(most);
    let (bottom, right) = (top + PANEL, WIDTH - RIGHT);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"{:.0}\">{name}</text>",
        top - 6.0
    );
    for (y, label) in [(top, most), (bottom, 0.0)] {
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{right}\" y2=\"{y}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{label}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{right}\" y=\"{:.0}\" text-anchor=\"end\">{end:.0} s</text>",
        bottom + 14.0
    );
    let mut path = String::new();
    for (seconds, value) in points {
        let x = LEFT + seconds / end * (right - LEFT);
        let y = bottom - value / most * PANEL;
        let letter = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{x:.1} {y:.1}");
    }
    let _ = writeln!(text, "<path d=\"{path}\"/>");
}

fn curve(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    let points = samples.iter().map(|sample| (sample.seconds, value(sample)));
    points.collect()
}

fn rates(samples: &[Sample]) -> Vec<(f64, f64)> {
    let pairs = samples.windows(2).filter_map(|pair| {
        let [one, two] = pair else { return None };
        let time = two.seconds - one.seconds;
        (time > 0.0).then(|| {
            (
                two.seconds,
                two.calls.saturating_sub(one.calls) as f64 / time,
            )
        })
    });
    pairs.collect()
}

/// The next round number: 1, 2 or 5 with zeros.
fn round_up(value: f64) -> f64 {
    let mut step = 1.0;
    while step * 10.0 < value {
        step *= 10.0;
    }
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * step);
    steps
        .into_iter()
        .find(|most| *most >= value)
        .unwrap_or(step)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 52.0;
const PANEL: f64 = 90.0;
const GAP: f64 = 38.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, most) in [
            (0.0, 1.0),
            (1.5, 2.0),
            (31.0, 50.0),
            (99.0, 100.0),
            (780.0, 1000.0),
        ] {
            assert_eq!(round_up(value), most, "{value}");
        }
    }

    #[test]
    fn there_is_a_curve_for_each_value_and_it_stays_within_its_panel() {
        let samples: Vec<Sample> = (0..10)
            .map(|second| Sample {
                seconds: f64::from(second),
                memory: 10.0,
                calls: 100 * u64::from(second as u32),
                ..Sample::default()
            })
            .collect();
        let picture = draw(&samples, "20 clients & 10 servers");
        assert_eq!(picture.matches("<path").count(), 4);
        assert!(picture.contains("20 clients &amp; 10 servers"));
        assert!(picture.contains("L704.0"), "{picture}");
        assert_eq!(rates(&samples).len(), 9);
        assert!(rates(&samples).iter().all(|(_, rate)| *rate == 100.0));
    }
}
