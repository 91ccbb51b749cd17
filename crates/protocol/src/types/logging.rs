//! Log messages from a server.
//!
//! Which level is in force for whom is kept by the machines.
//!
//! Specification: server/utilities/logging.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::RawJson;
use crate::method::Method;
use crate::types::{EmptyResult, Extra, Meta, Notification, Request};

/// `logging/setLevel`
#[derive(Clone, Copy, Debug)]
pub struct SetLevel;

impl Request for SetLevel {
    const METHOD: Method = Method::LoggingSetLevel;
    type Params = SetLevelRequestParams;
    type Result = EmptyResult;
}

/// `notifications/message`
#[derive(Clone, Copy, Debug)]
pub struct LoggingMessageNotification;

impl Notification for LoggingMessageNotification {
    const METHOD: Method = Method::LogMessage;
    type Params = LoggingMessageNotificationParams;
}

/// From which level on to send log messages (until 2025-11-25).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SetLevelRequestParams {
    /// The lowest level to send.
    pub level: LoggingLevel,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SetLevelRequestParams {
    /// Sends this level and those above.
    pub fn new(level: LoggingLevel) -> Self {
        Self {
            level,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// One log message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoggingMessageNotificationParams {
    /// How severe it is.
    pub level: LoggingLevel,
    /// Who logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// What is logged: any JSON.
    pub data: RawJson,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl LoggingMessageNotificationParams {
    /// Logs this value.
    pub fn new(level: LoggingLevel, data: RawJson) -> Self {
        Self {
            level,
            logger: None,
            data,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// How severe a log message is, as in RFC 5424. The order is that of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// Details for debugging.
    Debug,
    /// Progress of ordinary work.
    Info,
    /// Ordinary but worth noting.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part does not work.
    Critical,
    /// Someone must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LoggingLevel {
    /// All levels, the least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl fmt::Display for LoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_by_severity() {
        assert!(LoggingLevel::ALL.is_sorted());
        assert!(LoggingLevel::Warning < LoggingLevel::Error);
    }

    #[test]
    fn the_word_of_a_level_is_the_one_that_is_written() {
        for level in LoggingLevel::ALL {
            let written = serde_json::to_string(&level).unwrap();
            assert_eq!(written, format!("\"{level}\""));
        }
    }

    #[test]
    fn an_unknown_level_is_refused() {
        let read = serde_json::from_str::<LoggingLevel>;
        assert_eq!(read("\"notice\"").unwrap(), LoggingLevel::Notice);
        for bad in ["\"trace\"", "\"Notice\"", "3", "null"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
