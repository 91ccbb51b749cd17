//! What models, clients and people will stumble over in the definitions of tools.
//!
//! Pure: definitions in, findings out. What is odd about one schema in general is said by
//! [`schema_faults`], which servers use for themselves; here are the rules of the model providers,
//! those over many tools, and those about words that are meant for a model and not for a person.
//! What is done about the findings, and how they are shown, is the verb's part.
//!
//! Specification: server/tools.
//!
//! [`schema_faults`]: switchboard_server::schema_faults

mod finding;
mod name;
mod names;
mod phrase;
mod provider;
mod reference;
mod rule;
mod schema;
mod shadow;
#[cfg(test)]
mod tests;
mod text;
mod walk;

use serde_json::Value;
use switchboard_hub::estimate_tool_tokens;
use switchboard_protocol::types::Tool;

pub(crate) use finding::{Finding, Severity};
pub(crate) use rule::{RULES, Rule};

/// A tool, and the server that it is from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The name of the server.
    pub(crate) server: &'a str,
    /// The definition, as the server gave it.
    pub(crate) tool: &'a Tool,
}

/// What is wrong with these tools: those of a server together, in the order of the servers.
pub(crate) fn lint(subjects: &[Subject<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in subjects {
        let mut desk = Desk {
            about: About::Tool(*subject),
            findings: &mut findings,
            most: MOST,
        };
        name::check(&mut desk, *subject);
        text::check(&mut desk, subject.tool);
        schema::check(&mut desk, subject.tool);
        let tokens = estimate_tool_tokens(&subject.tool.name, subject.tool);
        if tokens > TOKENS_OF_A_TOOL {
            desk.report(&rule::TOKENS_TOOL, "", format!("about {tokens} tokens"));
        }
    }
    names::check(subjects, &mut findings);
    names::check_servers(subjects, &mut findings);
    shadow::check(subjects, &mut findings);
    check_amounts(subjects, &mut findings);
    findings
}

/// What is wrong with the words of something else that a server says to models: its instructions, a
/// prompt, a resource.
pub(crate) fn lint_words(server: &str, place: &str, definition: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut desk = Desk {
        about: About::Other { server, place },
        findings: &mut findings,
        most: MOST,
    };
    text::check_all(&mut desk, definition);
    findings
}

/// Is somebody to be deceived?
pub(crate) fn is_about_safety(finding: &Finding) -> bool {
    finding.whose == rule::Whose::Safety.words()
}

/// Where the findings about one tool are put.
pub(crate) struct Desk<'a> {
    about: About<'a>,
    findings: &'a mut Vec<Finding>,
    most: usize,
}

/// What findings are about.
#[derive(Clone, Copy)]
enum About<'a> {
    Tool(Subject<'a>),
    /// Something else of a server, that is at this place of what it offers.
    Other {
        server: &'a str,
        place: &'a str,
    },
}

impl Desk<'_> {
    fn report(&mut self, rule: &'static Rule, place: impl Into<String>, detail: impl Into<String>) {
        // A hostile definition shall not make us write without end.
        let Some(left) = self.most.checked_sub(1) else {
            return;
        };
        self.most = left;
        let (place, detail) = (place.into(), detail.into());
        self.findings.push(match &self.about {
            About::Tool(subject) => Finding::new(rule, subject, place, detail),
            About::Other {
                server,
                place: outer,
            } => Finding {
                place: format!("{outer}{place}"),
                ..Finding::of_server(rule, server, detail)
            },
        });
    }
}

fn check_amounts(subjects: &[Subject<'_>], findings: &mut Vec<Finding>) {
    let mut rest = subjects;
    while let Some(first) = rest.first() {
        let end = rest.iter().position(|other| other.server != first.server);
        let (own, behind) = rest
            .split_at_checked(end.unwrap_or(rest.len()))
            .unwrap_or((rest, &[]));
        let tokens: u64 = own
            .iter()
            .map(|subject| u64::from(estimate_tool_tokens(&subject.tool.name, subject.tool)))
            .sum();
        let mut report = |rule, detail| {
            findings.push(Finding::of_server(rule, first.server, detail));
        };
        if tokens > TOKENS_OF_A_SERVER {
            report(&rule::TOKENS_SERVER, format!("about {tokens} tokens"));
        }
        if own.len() > TOOLS_OF_A_SERVER {
            report(&rule::TOOLS_TOO_MANY, format!("{} tools", own.len()));
        }
        rest = behind;
    }
}

/// Nobody reads more about one tool.
const MOST: usize = 200;
/// Nine of ten tools in the wild are below a third of it.
const TOKENS_OF_A_TOOL: u32 = 1_500;
/// A tenth of the smaller contexts in use, before anything was said.
const TOKENS_OF_A_SERVER: u64 = 20_000;
/// OpenAI takes no more tools in one request.
const TOOLS_OF_A_SERVER: usize = 128;
