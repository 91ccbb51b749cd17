//! A day of the calendar, as people and SQLite write it: `2026-07-28`.

use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A day, such as 2026-07-28. Days compare as their texts do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(with = "String", extend("format" = "date"))]
pub(crate) struct Date(String);

impl TryFrom<String> for Date {
    type Error = DateError;

    fn try_from(text: String) -> Result<Self, DateError> {
        let Some((year, month, day)) = parts(&text) else {
            return Err(DateError::Form { text });
        };
        let days = match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return Err(DateError::Month { text }),
        };
        if (1..=days).contains(&day) {
            Ok(Self(text))
        } else {
            Err(DateError::Day { text, days })
        }
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not by `try_from`: an error that comes after the string was read cannot say which
        // member it was.
        deserializer.deserialize_str(DateVisitor)
    }
}

struct DateVisitor;

impl Visitor<'_> for DateVisitor {
    type Value = Date;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a date, as YYYY-MM-DD")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Date, E> {
        Date::try_from(text.to_owned()).map_err(E::custom)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ToSql for Date {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

impl FromSql for Date {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = String::column_result(value)?;
        Self::try_from(text).map_err(FromSqlError::other)
    }
}

/// Why a text is no day.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DateError {
    /// It does not look like one.
    Form { text: String },
    /// There is no such month.
    Month { text: String },
    /// The month is shorter.
    Day { text: String, days: u8 },
}

impl fmt::Display for DateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { text } => {
                write!(
                    f,
                    "{text:?} is not a date: write YYYY-MM-DD, as in 2026-07-28"
                )
            }
            Self::Month { text } => {
                write!(f, "{text:?} is not a date: months are 01 to 12")
            }
            Self::Day { text, days } => {
                write!(
                    f,
                    "{text:?} is not a date: days of that month are 01 to {days}"
                )
            }
        }
    }
}

impl std::error::Error for DateError {}

fn parts(text: &str) -> Option<(u16, u8, u8)> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    let mut parts = text.split('-').filter(|_| is_plain);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none() && (year.len(), month.len(), day.len()) == (4, 2, 2);
    is_whole.then_some((year.parse().ok()?, month.parse().ok()?, day.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar_are_dates() {
        for day in ["2026-07-28", "2024-02-29", "2000-02-29", "0001-01-01"] {
            assert_eq!(Date::try_from(day.to_owned()).unwrap().to_string(), day);
        }
    }

    #[test]
    fn what_is_wrong_with_a_date_is_said() {
        let check = |text: &str, expected: &str| {
            let error = Date::try_from(text.to_owned()).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(text), "{error}");
        };
        for text in [
            "",
            "tomorrow",
            "28.7.2026",
            "2026-7-28",
            "+026-07-28",
            "2026-07-28-",
        ] {
            check(text, "write YYYY-MM-DD");
        }
        check("2026-13-01", "months are 01 to 12");
        check("2026-02-29", "days of that month are 01 to 28");
        check("1900-02-29", "01 to 28");
        check("2026-04-31", "01 to 30");
        check("2026-01-00", "01 to 31");
    }
}
