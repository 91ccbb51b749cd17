//! What `switchboard codegen` writes for real servers, before the compilers of the languages.
//!
//! Everything at once, as a user would: one file of declarations for all servers under
//! `tsc --strict` with a program that uses them, one file of types in a crate with tests. Then the
//! same with schemas that nobody wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::interop::script::{answer_of, record};
use crate::process::{self, Show};
use crate::report::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    let place = match Place::prepare(workspace) {
        Ok(place) => place,
        Err(reason) => return Outcome::failed(reason),
    };
    let mut outcome = Outcome::default();
    record(
        &mut outcome,
        "codegen writes the same twice",
        place.same_twice(),
    );
    record(
        &mut outcome,
        "tsc --strict takes the declarations",
        place.typescript(),
    );
    record(
        &mut outcome,
        "rustc takes the types without a warning",
        place.rust(workspace),
    );
    record(
        &mut outcome,
        "both take types of random schemas",
        place.random(workspace),
    );
    record(&mut outcome, "lint judges every tool", place.lint());
    outcome
}

struct Place {
    program: PathBuf,
    node: PathBuf,
    scratch: PathBuf,
    sources: PathBuf,
}

impl Place {
    fn prepare(workspace: &Workspace) -> Result<Self, String> {
        let mut command = workspace.cargo();
        command.args(["build", "--package", "switchboard-cli"]);
        process::run(&mut command, Show::All)?.check("cargo build")?;
        let place = Self {
            program: workspace.binary("switchboard"),
            node: tools::codegen(workspace)?,
            scratch: workspace.target.join("interop").join("codegen"),
            sources: workspace.root.join("interop").join("codegen"),
        };
        // It is not there the first time.
        let _ = fs::remove_dir_all(&place.scratch);
        make(&place.scratch.join("src"))?;
        make(&place.scratch.join("tests"))?;
        let modules = place.node.join("node_modules");
        let server = |script: &str, env: Value| {
            let script = modules.join(script);
            json!({"command": "node", "args": [script], "env": env})
        };
        let servers = json!({"mcpServers": {
            "everything": server("@modelcontextprotocol/server-everything/dist/index.js", json!({})),
            "github": server("@modelcontextprotocol/server-github/dist/index.js",
                json!({"GITHUB_PERSONAL_ACCESS_TOKEN": "none"})),
            "hostinger": server("hostinger-api-mcp/src/servers/all.js", json!({"API_TOKEN": "none"})),
        }});
        write(&place.scratch.join("mcp.json"), &servers.to_string())?;
        Ok(place)
    }

    fn switchboard(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--trust").args(words);
        command.current_dir(&self.scratch);
        command
    }

    fn same_twice(&self) -> Result<(), String> {
        for language in ["typescript", "rust"] {
            let mut texts = Vec::new();
            for _ in 0..2 {
                let mut command = self.switchboard(&["codegen", "--json", "--lang", language]);
                let said = answer_of(&mut command)?;
                let count = said.get("tools").and_then(Value::as_u64).unwrap_or(0);
                if count < TOOLS {
                    return Err(format!("{count} tools, expected at least {TOOLS}"));
                }
                texts.push(said.get("text").cloned());
            }
            if texts.first() != texts.last() {
                return Err(format!("{language} differs"));
            }
        }
        Ok(())
    }

    fn typescript(&self) -> Result<(), String> {
        let mut command = self.switchboard(&["codegen", "--out", "tools.d.ts"]);
        process::run_bounded(&mut command, Show::All, LIMIT)?.check("switchboard codegen")?;
        copy(&self.sources.join("use.ts"), &self.scratch.join("use.ts"))?;
        self.tsc(&["tools.d.ts", "use.ts"])
    }

    fn tsc(&self, files: &[&str]) -> Result<(), String> {
        let mut command = Command::new("node");
        let compiler = self.node.join("node_modules").join("typescript");
        command.arg(compiler.join("bin").join("tsc"));
        command.args(["--strict", "--noEmit", "--exactOptionalPropertyTypes"]);
        // With everything that a browser declares: a server may be called like one of them.
        command.args(["--target", "es2022", "--lib", "es2022,dom"]);
        command.args(files).current_dir(&self.scratch);
        process::run_bounded(&mut command, Show::All, LIMIT)?.check("tsc")
    }

    fn rust(&self, workspace: &Workspace) -> Result<(), String> {
        let mut command = self.switchboard(&["codegen", "--lang", "rust", "--out", "src/lib.rs"]);
        process::run_bounded(&mut command, Show::All, LIMIT)?.check("switchboard codegen")?;
        write(&self.scratch.join("Cargo.toml"), MANIFEST)?;
        copy(
            &workspace.root.join("Cargo.lock"),
            &self.scratch.join("Cargo.lock"),
        )?;
        let uses = self.scratch.join("tests").join("use.rs");
        copy(&self.sources.join("use.rs"), &uses)?;
        self.cargo(workspace, "test")
    }

    fn cargo(&self, workspace: &Workspace, verb: &str) -> Result<(), String> {
        let mut command = workspace.cargo();
        command.args([verb, "--quiet"]).current_dir(&self.scratch);
        command.arg("--target-dir").arg(tools::codegen_target()?);
        command.env("RUSTFLAGS", "-Dwarnings");
        process::run(&mut command, Show::All)?.check("cargo with the types")
    }

    /// Schemas that nobody wrote, the same every time. After the others: it takes their place.
    fn random(&self, workspace: &Workspace) -> Result<(), String> {
        let mut command = Command::new("python3");
        command.arg(self.sources.join("random_tools.py"));
        command.args([SEED, RANDOM]);
        let made = answer_of(&mut command)?;
        write(&self.scratch.join("random.json"), &made.to_string())?;
        for (language, file) in [("typescript", "random.d.ts"), ("rust", "src/lib.rs")] {
            let words = [
                "codegen",
                "--file",
                "random.json",
                "--lang",
                language,
                "--out",
                file,
            ];
            let mut command = self.switchboard(&words);
            process::run_bounded(&mut command, Show::All, LIMIT)?.check("switchboard codegen")?;
        }
        self.tsc(&["random.d.ts"])?;
        self.cargo(workspace, "check")
    }

    fn lint(&self) -> Result<(), String> {
        // It ends with 6 if it finds errors, which others' servers have.
        let mut command = self.switchboard(&["lint", "--json"]);
        let finished = process::run_bounded(&mut command, Show::Nothing, LIMIT)?;
        let said: Value = serde_json::from_str(&finished.stdout.concat())
            .map_err(|error| format!("no JSON: {error}"))?;
        let count = said.get("tools").and_then(Value::as_u64).unwrap_or(0);
        match count >= TOOLS {
            true => Ok(()),
            false => Err(format!("{count} tools, expected at least {TOOLS}")),
        }
    }
}

fn make(folder: &Path) -> Result<(), String> {
    let made = fs::create_dir_all(folder);
    made.map_err(|error| format!("{} cannot be made: {error}", folder.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let written = fs::write(path, text);
    written.map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = fs::copy(from, to);
    copied
        .map(drop)
        .map_err(|error| format!("{} cannot be copied: {error}", from.display()))
}

/// The pinned servers have 440.
const TOOLS: u64 = 430;
/// Any would do; this one gives every kind of schema.
const SEED: &str = "1";
const RANDOM: &str = "400";
const LIMIT: Duration = Duration::from_secs(120);
const MANIFEST: &str = r#"
[package]
name = "generated"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = "1"
"#;
