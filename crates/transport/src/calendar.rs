//! Days as dates. What time it is, and how it is written, is for those who ask.

/// The date so many days after 1970-01-01: year, month, day.
///
/// Counted from 0000-03-01, so that the leap day is the last of its year: the calendar
/// repeats after 400 years, and the months from March on have a pattern of 153 days in five.
pub const fn date(days: u64) -> (u64, u64, u64) {
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

/// The seconds of a day.
pub const DAY: u64 = 24 * 60 * 60;
