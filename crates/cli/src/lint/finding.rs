//! One thing that is wrong with a tool.

use serde::Serialize;

use super::Subject;
use super::rule::Rule;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Some providers take less of it than is meant; often there is nothing to be done.
    Note,
    /// Models and clients will do worse with it, or refuse it in their strict modes.
    Warning,
    /// A provider refuses the whole request, the protocol forbids it, or somebody is deceived.
    Error,
}

/// One thing that is wrong with a tool, or with the tools of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The rule: `array-items`.
    pub(crate) rule: &'static str,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// The server.
    pub(crate) server: String,
    /// The tool, unless it is about all of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// Where in the tool's definition, as a JSON pointer: `/inputSchema/properties/a`.
    pub(crate) place: String,
    /// What is wrong. It may quote the server.
    pub(crate) message: String,
    /// The same without what is special about this place.
    #[serde(skip)]
    pub(crate) summary: &'static str,
    /// What is special about it.
    #[serde(skip)]
    pub(crate) detail: String,
    /// What to do about it.
    pub(crate) cure: &'static str,
    /// Whose rule it is.
    pub(crate) whose: &'static str,
}

impl Finding {
    pub(crate) fn new(
        rule: &'static Rule,
        subject: &Subject<'_>,
        place: String,
        detail: String,
    ) -> Self {
        Self {
            tool: Some(subject.tool.name.clone()),
            place,
            ..Self::of_server(rule, subject.server, detail)
        }
    }

    pub(crate) fn of_server(rule: &'static Rule, server: &str, detail: String) -> Self {
        let message = match detail.is_empty() {
            true => rule.summary.to_owned(),
            false => format!("{}: {detail}", rule.summary),
        };
        Self {
            rule: rule.id,
            severity: rule.severity,
            server: server.to_owned(),
            tool: None,
            place: String::new(),
            message,
            summary: rule.summary,
            detail,
            cure: rule.cure,
            whose: rule.whose.words(),
        }
    }
}
