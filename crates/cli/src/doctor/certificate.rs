//! What a certificate says about its time: the little of X.509 that people are told.
//!
//! Whether it is to be trusted was decided before, by others.

/// What is shown of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Certificate {
    /// In seconds since 1970.
    pub(super) not_after: i64,
}

impl Certificate {
    /// Reads what is needed. None for what has another form.
    pub(super) fn read(der: &[u8]) -> Option<Self> {
        let (certificate, _) = element(der, SEQUENCE)?;
        let (mut body, _) = element(certificate, SEQUENCE)?;
        // The version is not always there.
        if let Some((_, rest)) = element(body, VERSION) {
            body = rest;
        }
        let (_, rest) = element(body, INTEGER)?;
        let (_, rest) = element(rest, SEQUENCE)?;
        let (_, rest) = element(rest, SEQUENCE)?;
        let (validity, _) = element(rest, SEQUENCE)?;
        let (_, rest) = time(validity)?;
        let (not_after, _) = time(rest)?;
        Some(Self { not_after })
    }

    /// The day.
    pub(super) fn until(&self) -> String {
        let (year, month, day) = date(self.not_after.div_euclid(86_400));
        format!("{year:04}-{month:02}-{day:02}")
    }
}

/// The content of an element of this kind, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.split_first()?;
    if *first != tag {
        return None;
    }
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            let length = bytes
                .iter()
                .fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Seconds since 1970, and what follows.
fn time(der: &[u8]) -> Option<(i64, &[u8])> {
    let (text, rest, year_digits) = match element(der, UTC_TIME) {
        Some((text, rest)) => (text, rest, 2),
        None => {
            let (text, rest) = element(der, GENERALIZED_TIME)?;
            (text, rest, 4)
        }
    };
    let text = std::str::from_utf8(text).ok()?;
    let (year, text) = text.split_at_checked(year_digits)?;
    let year: i64 = year.parse().ok()?;
    let year = match (year_digits, year) {
        (2, 50..) => year + 1900,
        (2, _) => year + 2000,
        _ => year,
    };
    let part = |place: usize| text.get(place..place + 2)?.parse::<i64>().ok();
    let (month, day) = (part(0)?, part(2)?);
    let (hour, minute, second) = (part(4)?, part(6)?, part(8)?);
    let seconds = days(year, month, day)? * 86_400 + hour * 3_600 + minute * 60 + second;
    Some((seconds, rest))
}

/// Days since 1970-01-01, by counting from March on, when leap days come last.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// The other way round.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[0]`, in which the version stands.
const VERSION: u8 = 0xa0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        let check = |date_of: (i64, i64, i64), expected: i64| {
            assert_eq!(days(date_of.0, date_of.1, date_of.2), Some(expected));
            assert_eq!(date(expected), date_of);
        };
        check((1970, 1, 1), 0);
        check((2000, 2, 29), 11_016);
        check((2026, 11, 15), 20_772);
        check((2100, 3, 1), 47_541);
        assert_eq!(days(2026, 13, 1), None);
    }

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let validity = [
            &[0x17, 13][..],
            b"260101000000Z",
            &[0x18, 15],
            b"20501231235959Z",
        ]
        .concat();
        let wrap = |tag: u8, content: &[u8]| {
            [&[tag, u8::try_from(content.len()).unwrap()][..], content].concat()
        };
        let body = [
            wrap(VERSION, &[2, 1, 2]),
            wrap(INTEGER, &[1]),
            wrap(SEQUENCE, &[]),
            wrap(SEQUENCE, &[]),
            wrap(SEQUENCE, &validity),
        ];
        let whole = wrap(SEQUENCE, &wrap(SEQUENCE, &body.concat()));
        let read = Certificate::read(&whole).unwrap();
        assert_eq!(read.until(), "2050-12-31");
        assert_eq!(read.not_after, 2_556_143_999);
        for end in 0..whole.len() {
            assert_eq!(Certificate::read(&whole[..end]), None);
        }
    }
}
