//! Times and sizes, as people write them.

use std::time::Duration;

/// `30s`, `500ms`, `1.5m`, `2h`, `1d`. A number alone counts the unit.
pub(super) fn time(text: &str, unit: Duration) -> Option<Duration> {
    let (number, suffix) = split(text)?;
    let seconds = match suffix.to_ascii_lowercase().as_str() {
        "" => unit.as_secs_f64(),
        "ms" => 0.001,
        "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    let time = Duration::try_from_secs_f64(number * seconds).ok()?;
    // Numbers such as 0.3 have no exact form; whole milliseconds are what was meant.
    let milliseconds = u64::try_from(time.as_micros().checked_add(500)? / 1000).ok()?;
    let time = Duration::from_millis(milliseconds);
    (!time.is_zero() && time <= LONGEST).then_some(time)
}

/// `4096`, `64KiB`, `10MB`. A number alone counts bytes.
pub(super) fn size(text: &str) -> Option<usize> {
    let (number, suffix) = split(text)?;
    let bytes = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let bytes = (number * bytes).round();
    // Everything up to here is exact in both types.
    (1.0..=LARGEST).contains(&bytes).then_some(bytes as usize)
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let is_digit = |character: char| character.is_ascii_digit() || character == '.';
    let end = text
        .find(|character| !is_digit(character))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end)?;
    let number: f64 = number.parse().ok()?;
    Some((number, suffix.trim_start()))
}

// A year is as good as for ever, and nothing overflows.
const LONGEST: Duration = Duration::from_secs(365 * 86400);
// 2 GiB less one: also where addresses have 32 bits.
const LARGEST: f64 = 2_147_483_647.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let check = |text: &str, milliseconds: Option<u64>| {
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(time(text, Duration::from_millis(1)), expected, "{text}");
        };
        check("30s", Some(30_000));
        check("500ms", Some(500));
        check(" 1.5 m ", Some(90_000));
        check("2h", Some(7_200_000));
        check("1d", Some(86_400_000));
        check("30000", Some(30_000));
        check("0.3s", Some(300));
        for bad in [
            "",
            "0",
            "0s",
            "s",
            "-5",
            "-5s",
            "5 parsecs",
            "1.2.3",
            "1e3",
            "NaN",
            "inf",
            "400d",
        ] {
            check(bad, None);
        }
        check(&"9".repeat(400), None);
        assert_eq!(
            time("60", Duration::from_secs(1)),
            Some(Duration::from_secs(60))
        );
    }

    #[test]
    fn sizes_have_units() {
        let check = |text: &str, bytes| assert_eq!(size(text), bytes, "{text}");
        check("4096", Some(4096));
        check("64KiB", Some(65_536));
        check("10MB", Some(10_000_000));
        check("1.5k", Some(1536));
        for bad in ["", "0", "-1", "9GiB", "10 bananas", "∞"] {
            check(bad, None);
        }
    }
}
