//! Points in time as ISO 8601 text, in UTC with milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time as the protocol writes it, such as `2026-07-28T09:05:00.250Z`. What was before
/// 1970 is 1970.
pub fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (year, month, day) = date(seconds / DAY);
    let rest = seconds % DAY;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60,
        since.subsec_millis()
    )
}

/// The date so many days after 1970-01-01: year, month, day.
///
/// Counted from 0000-03-01, so that the leap day is the last of its year: the calendar
/// repeats after 400 years, and the months from March on have a pattern of 153 days in five.
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let (month, next_year) = match from_march {
        0..=9 => (from_march + 3, 0),
        _ => (from_march - 9, 1),
    };
    (era * 400 + year_of_era + next_year, month, day)
}

const DAY: u64 = 24 * 60 * 60;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn check(milliseconds: u64, text: &str) {
        let time = UNIX_EPOCH + Duration::from_millis(milliseconds);
        assert_eq!(timestamp(time), text);
    }

    #[test]
    fn times_are_written_in_utc() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_709_164_800_001, "2024-02-29T00:00:00.001Z");
        check(1_785_229_500_250, "2026-07-28T09:05:00.250Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
    }
}
