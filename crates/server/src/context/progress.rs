//! How far a call has come.

use serde::Serialize;

/// How far a call has come: so much, of so much if that is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Progress {
    /// So much, of nobody knows how much.
    pub const fn new(progress: f64) -> Self {
        Self {
            progress,
            total: None,
            message: None,
        }
    }

    /// So much of so much.
    pub const fn of(progress: f64, total: f64) -> Self {
        Self {
            progress,
            total: Some(total),
            message: None,
        }
    }

    /// What is being done, for people.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}

impl From<f64> for Progress {
    fn from(progress: f64) -> Self {
        Self::new(progress)
    }
}

impl From<(f64, f64)> for Progress {
    fn from((progress, total): (f64, f64)) -> Self {
        Self::of(progress, total)
    }
}
