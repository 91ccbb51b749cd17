//! Finds out why a server does not work: checks in order, each with a cure when it fails.
//!
//! What one check needs the next may stand on, so after a failure there is no more to check. Here
//! is what a check is and how a server goes through all; `process` and `network` are the first
//! steps of the two kinds of server, `talk` is what they share, `cure` what to do.

mod certificate;
mod cure;
mod network;
mod process;
mod talk;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use switchboard_hub::{Problem, ServerConfig, Severity, TransportConfig, resolve};

use crate::exit::{Exit, with_causes};
use crate::source::reached;
use crate::surroundings::Around;

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Ok,
    /// It works, and is not as it should be.
    Warn,
    Fail,
    /// There was nothing to check.
    Skip,
}

/// One check of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// What was checked, in a word.
    pub(crate) check: &'static str,
    pub(crate) verdict: Verdict,
    /// What was found. It may quote the server.
    pub(crate) detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cure: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(rename = "ms", skip_serializing_if = "Option::is_none")]
    pub(crate) milliseconds: Option<u64>,
}

/// What was found about one server.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Examined {
    pub(crate) server: String,
    /// What is run, or the URL, as the configuration says it.
    pub(crate) target: String,
    pub(crate) checks: Vec<Check>,
    /// How the program would end for this server alone.
    #[serde(rename = "code", serialize_with = "as_number")]
    pub(crate) exit: Exit,
}

fn as_number<S: serde::Serializer>(exit: &Exit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(exit.number())
}

/// What was found so far.
#[derive(Debug)]
pub(crate) struct Chart {
    checks: Vec<Check>,
    exit: Option<Exit>,
    /// The words that stand for the server on a command line: before what is asked of it, and
    /// behind.
    words: (String, String),
}

impl Chart {
    fn new(patient: &Patient) -> Self {
        let reached = reached(&patient.config);
        let words = match (&patient.file, &patient.config.transport) {
            (Some(_), _) => (format!("{} ", patient.config.name), String::new()),
            (None, TransportConfig::Stdio(_)) => (String::new(), format!(" -- {reached}")),
            (None, _) => (format!("{reached} "), String::new()),
        };
        Self {
            checks: Vec::new(),
            exit: None,
            words,
        }
    }

    /// How somebody logs in to it.
    fn login(&self) -> String {
        format!("`switchboard login {}`", self.words.0.trim_end())
    }

    /// How a request is made of it by hand.
    fn raw(&self, method: &str) -> String {
        let (before, behind) = &self.words;
        format!("`switchboard raw {before}{method}{behind}`")
    }

    fn add(
        &mut self,
        check: &'static str,
        verdict: Verdict,
        detail: impl Into<String>,
    ) -> &mut Check {
        let place = self.checks.len();
        self.checks.push(Check {
            check,
            verdict,
            detail: detail.into(),
            cure: None,
            milliseconds: None,
        });
        // It was put there just now.
        &mut self.checks[place]
    }

    fn ok(&mut self, check: &'static str, detail: impl Into<String>) -> &mut Check {
        self.add(check, Verdict::Ok, detail)
    }

    fn warn(&mut self, check: &'static str, detail: impl Into<String>, cure: impl Into<String>) {
        self.add(check, Verdict::Warn, detail).cure = Some(cure.into());
    }

    /// The check that ends it all.
    fn fail(
        &mut self,
        exit: Exit,
        check: &'static str,
        detail: impl Into<String>,
        cure: impl Into<String>,
    ) {
        self.add(check, Verdict::Fail, detail).cure = Some(cure.into());
        self.exit.get_or_insert(exit);
    }
}

impl Check {
    fn took(&mut self, time: Duration) {
        self.milliseconds = u64::try_from(time.as_millis()).ok();
    }
}

/// A server and where it was found.
#[derive(Clone, Debug)]
pub(crate) struct Patient {
    pub(crate) config: ServerConfig,
    /// The file, unless it was given on the spot.
    pub(crate) file: Option<String>,
    /// What is wrong there.
    pub(crate) problems: Vec<Problem>,
    /// How long it may take to start.
    pub(crate) timeout: Option<Duration>,
    /// Where the values of its variables come from.
    pub(crate) surroundings: Arc<Around>,
    /// Is it meant, and not only one of all? Then it is looked at even if it is switched off.
    pub(crate) is_meant: bool,
}

/// Checks a server.
pub(crate) async fn examine(patient: Patient) -> Examined {
    let mut chart = Chart::new(&patient);
    check_all(&patient, &mut chart).await;
    Examined {
        server: patient.config.name.clone(),
        target: reached(&patient.config),
        exit: chart.exit.unwrap_or(Exit::Done),
        checks: chart.checks,
    }
}

async fn check_all(patient: &Patient, chart: &mut Chart) {
    check_config(patient, chart);
    if !patient.config.is_enabled && !patient.is_meant {
        return;
    }
    let mut config = patient.config.clone();
    config.timeouts.start = patient.timeout.or(config.timeouts.start);
    let config = Arc::new(config);
    // It may read files and run programs.
    let resolving = {
        let (config, around) = (Arc::clone(&config), Arc::clone(&patient.surroundings));
        tokio::task::spawn_blocking(move || resolve(&config, &*around))
    };
    let resolved = match resolving.await {
        Ok(Ok(resolved)) => resolved,
        Ok(Err(error)) => {
            let cure = cure::of_variable(&error);
            let exit = patient.surroundings.exit_without_value(&config);
            return chart.fail(exit, "variables", with_causes(&error), cure);
        }
        Err(error) => {
            return chart.fail(Exit::Unexpected, "variables", error.to_string(), cure::OURS);
        }
    };
    chart.ok("variables", references(&config));
    match &config.transport {
        TransportConfig::Stdio(_) => process::check(&config, resolved, chart).await,
        _ => network::check(&config, resolved, &patient.surroundings, chart).await,
    }
}

fn check_config(patient: &Patient, chart: &mut Chart) {
    let Some(file) = &patient.file else {
        chart.ok("config", "given on the spot");
        return;
    };
    for problem in &patient.problems {
        let verdict = match problem.severity {
            Severity::Error | Severity::Warning => Verdict::Warn,
            _ => continue,
        };
        let cure = "`switchboard validate` says more".to_owned();
        chart.add("config", verdict, problem.to_string()).cure = Some(cure);
    }
    if chart.checks.is_empty() {
        chart.ok("config", file);
    }
    if !patient.config.is_enabled {
        let verdict = match patient.is_meant {
            true => Verdict::Warn,
            false => Verdict::Skip,
        };
        let cure = format!("`switchboard enable {}`", patient.config.name);
        chart.add("config", verdict, "it is switched off").cure = Some(cure);
    }
}

/// The names of the variables that it refers to; their values are nobody's business.
fn references(config: &ServerConfig) -> String {
    let mut names: Vec<&str> = Vec::new();
    for template in config.templates() {
        for name in template.references() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    match names.is_empty() {
        true => "none are needed".to_owned(),
        false => format!("all have values: {}", names.join(", ")),
    }
}
