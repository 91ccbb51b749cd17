//! The numbers at one moment, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::histogram::Durations;
use crate::trace::Endpoint;

/// The numbers at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MetricsSnapshot {
    /// Since when is counted.
    pub began: SystemTime,
    /// The moment.
    pub taken: SystemTime,
    /// The version of the catalogue.
    pub catalog_version: u64,
    /// How many events whoever listens was too slow to hear of.
    pub missed_events: u64,
    /// The servers, by name.
    pub servers: Vec<ServerMetrics>,
}

/// The numbers of one server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerMetrics {
    /// Its name.
    pub server: Arc<str>,
    /// Since when is counted.
    pub began: SystemTime,
    /// How it is reached.
    pub endpoint: Arc<Endpoint>,
    /// How often it was started again after it had ended.
    pub restarts: u64,
    /// How often what it offers has changed.
    pub catalog_changes: u64,
    /// How many of its definitions turned out not to be what was approved.
    pub refused: u64,
    /// How often it has reached limits other than those that end a call, by their names.
    pub limits: BTreeMap<&'static str, u64>,
    /// Its calls, by method and name.
    pub operations: Vec<OperationMetrics>,
}

/// The numbers of one tool, of one prompt, or of all calls of another method.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OperationMetrics {
    /// The method; `_OTHER` for those beyond the bound.
    pub method: Arc<str>,
    /// The tool or the prompt; `other` for those beyond the bound.
    pub name: Option<Arc<str>>,
    /// How many are under way.
    pub in_flight: u64,
    /// Those that are over, by how they ended.
    pub outcomes: Vec<OutcomeMetrics>,
}

/// The calls that ended alike.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OutcomeMetrics {
    /// In which error, by the word of [`Outcome`](crate::Outcome).
    pub error: Option<Arc<str>>,
    /// How many, and how long they took.
    pub durations: Durations,
}

impl ServerMetrics {
    /// How many calls are over.
    pub fn calls(&self) -> u64 {
        self.operations.iter().map(OperationMetrics::calls).sum()
    }

    /// How many of them ended in an error.
    pub fn errors(&self) -> u64 {
        self.operations.iter().map(OperationMetrics::errors).sum()
    }

    /// How many calls are under way.
    pub fn in_flight(&self) -> u64 {
        self.operations.iter().map(|row| row.in_flight).sum()
    }
}

impl OperationMetrics {
    /// How many calls are over.
    pub fn calls(&self) -> u64 {
        let counts = self.outcomes.iter();
        counts.map(|outcome| outcome.durations.count()).sum()
    }

    /// How many of them ended in an error.
    pub fn errors(&self) -> u64 {
        let failed = self.outcomes.iter().filter(|found| found.error.is_some());
        failed.map(|outcome| outcome.durations.count()).sum()
    }

    /// The attribute that the conventions have for the name of what this method is about.
    pub fn name_attribute(&self) -> Option<(&'static str, &str)> {
        let name = self.name.as_deref()?;
        let attribute = match &*self.method {
            "prompts/get" => "gen_ai.prompt.name",
            _ => "gen_ai.tool.name",
        };
        Some((attribute, name))
    }

    /// Is it a tool that is called?
    pub fn is_tool(&self) -> bool {
        &*self.method == "tools/call"
    }
}

impl OutcomeMetrics {
    /// The code that the server answered with, if the error is one.
    pub fn code(&self) -> Option<&str> {
        let error = self.error.as_deref()?;
        error.parse::<i64>().is_ok().then_some(error)
    }
}
