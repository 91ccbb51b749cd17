//! `switchboard validate`: what is wrong with a configuration, and where.
//!
//! Nothing is started, and no program is run for the sake of a variable.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard_auth::Secret;
use switchboard_hub::{
    Config, InputConfig, InputKind, Position, ServerConfig, Severity, Surroundings, System,
    VariableError,
};

use crate::app::App;
use crate::args::edit::Validate;
use crate::edit;
use crate::exit::{Failure, with_causes};
use crate::host;
use crate::import::{ReadError, read_any};
use crate::output::{Line, Outcome, Page};

pub(crate) async fn run(args: &Validate, app: &App) -> Result<Outcome, Failure> {
    let file = match &args.file {
        Some(file) => file.clone(),
        None => edit::file_in_use(&app.global)?,
    };
    let (findings, servers) = match read_any(&file) {
        Ok(config) => (of_config(&config), config.servers.len()),
        Err(error @ ReadError::File { .. }) => return Err(error.into()),
        Err(error) => (vec![of_error(&file, &error)], 0),
    };
    let count = |severity| {
        let of_it = |finding: &&Finding| finding.severity == severity;
        findings.iter().filter(of_it).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let name = file.display();
    let page = || {
        let mut page = Page::new();
        for finding in &findings {
            page = page.line(finding.line());
        }
        page.line(format!(
            "{name}: {}, {}, {}",
            number(servers, "server"),
            number(errors, "error"),
            number(warnings, "warning"),
        ))
    };
    let document = || {
        json!({
            "file": file.to_string_lossy(),
            "servers": servers,
            "errors": errors,
            "warnings": warnings,
            "problems": findings.iter().map(Finding::json).collect::<Vec<_>>(),
        })
    };
    let failure = match (errors, warnings) {
        (0, 0) => None,
        (0, _) if !args.strict => None,
        (0, _) => Some(number(warnings, "warning")),
        (_, _) => Some(number(errors, "error")),
    };
    let failure = failure.map(|count| Failure::usage(format!("{name}: {count}")).told());
    Ok(Outcome::of(app, page, document)
        .lines(&["problems"])
        .but(failure))
}

/// Something that is wrong or odd.
struct Finding {
    severity: Severity,
    file: String,
    position: Option<Position>,
    server: Option<String>,
    message: String,
    /// The variable that has no value.
    variable: Option<String>,
}

impl Finding {
    fn word(&self) -> &'static str {
        match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            _ => "note",
        }
    }

    /// `file:line:column: error: server "name": what is wrong`.
    fn line(&self) -> Line {
        let place = match self.position {
            Some(position) => format!("{}:{position}: ", self.file),
            None => format!("{}: ", self.file),
        };
        let word = format!("{}:", self.word());
        let line = Line::new().plain(place);
        let line = match self.severity {
            Severity::Error => line.bad(word),
            Severity::Warning => line.notable(word),
            _ => line.faint(word),
        };
        let server = self.server.as_ref();
        let server = server.map(|server| format!("server {server:?}: "));
        line.plain(format!(" {}{}", server.unwrap_or_default(), self.message))
    }

    fn json(&self) -> Value {
        json!({
            "severity": self.word(),
            "file": self.file,
            "line": self.position.map(|position| position.line),
            "column": self.position.map(|position| position.column),
            "server": self.server,
            "message": self.message,
            "variable": self.variable,
        })
    }
}

fn of_error(file: &Path, error: &ReadError) -> Finding {
    Finding {
        severity: Severity::Error,
        file: file.to_string_lossy().into_owned(),
        position: error.position(),
        server: None,
        message: error.reason(),
        variable: None,
    }
}

fn of_config(config: &Config) -> Vec<Finding> {
    let problems = config.problems.iter().map(|problem| Finding {
        severity: problem.severity,
        file: problem.file.to_string(),
        position: Some(problem.position),
        server: problem.server.clone(),
        message: problem.kind.to_string(),
        variable: None,
    });
    let mut findings: Vec<Finding> = problems.collect();
    let used = config.servers.iter().filter(|server| server.is_enabled);
    findings.extend(used.flat_map(|server| without_value(server, config)));
    findings.sort_by_key(|finding| finding.position);
    findings
}

/// What cannot be filled in, each variable once.
fn without_value(server: &ServerConfig, config: &Config) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    let standing = Standing {
        system: System::new(),
        inputs: config.inputs.clone(),
    };
    for template in server.templates() {
        let Err(error) = template.resolve(&standing) else {
            continue;
        };
        let variable = match &error {
            VariableError::Missing { name } => Some(name.clone()),
            VariableError::NotAsked { id } | VariableError::Input { id, .. } => {
                Some(format!("input:{id}"))
            }
            _ => None,
        };
        let message = with_causes(&error);
        if !seen.insert(message.clone()) {
            continue;
        }
        findings.push(Finding {
            severity: Severity::Warning,
            file: server
                .location
                .file
                .as_deref()
                .unwrap_or_default()
                .to_owned(),
            position: Some(template.position()),
            server: Some(server.name.clone()),
            message,
            variable,
        });
    }
    findings
}

/// What is there without anything being run or opened.
#[derive(Debug)]
struct Standing {
    system: System,
    inputs: Vec<InputConfig>,
}

impl Surroundings for Standing {
    fn variable(&self, name: &str) -> Option<Secret> {
        self.system.variable(name)
    }

    fn variable_names(&self) -> Vec<String> {
        self.system.variable_names()
    }

    fn file(&self, path: &Path) -> io::Result<Secret> {
        self.system.file(path)
    }

    fn command(&self, _words: &[String]) -> io::Result<Secret> {
        Ok(Secret::new(String::new()))
    }

    fn keyring(&self, _name: &str) -> io::Result<Option<Secret>> {
        Ok(Some(Secret::new(String::new())))
    }

    /// Somebody is asked when it is needed, unless it is for one editor alone.
    fn input(&self, id: &str) -> io::Result<Option<Secret>> {
        let input = self.inputs.iter().find(|input| input.id == id);
        match input.map(|input| &input.kind) {
            Some(InputKind::Command(command)) => Err(host::of_command(id, command)),
            _ => Ok(Some(Secret::new(String::new()))),
        }
    }

    fn home(&self) -> Option<PathBuf> {
        self.system.home()
    }
}

/// `1 error`, `2 errors`.
fn number(count: usize, what: &str) -> impl fmt::Display {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
