//! Points in time as ISO 8601 text, in UTC with milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

use switchboard_transport::calendar::{DAY, date};

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
