//! How long something shall take, as it is written on a command line.

use std::time::Duration;

/// Reads `90s`, `10m` or `1h`.
///
/// # Errors
/// When it is none of these, or no time at all.
pub fn read(text: &str) -> Result<Duration, String> {
    written(text).ok_or_else(|| format!("{text:?} is no time; write 90s, 10m or 1h"))
}

fn written(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    let seconds = number.parse::<u64>().ok()?.checked_mul(factor)?;
    (seconds > 0).then_some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(read("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(read("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(read("1h"), Ok(Duration::from_secs(3600)));
        for wrong in ["", "10", "m", "0s", "-1s", "1d", "1é"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
