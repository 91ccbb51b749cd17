//! Our login at authorization servers that others wrote, for servers that others wrote.
//!
//! ```text
//! authorized --node <folder> --python <folder> --python-v1 <folder> --scripts <folder> --scratch <folder> [name …]
//! authorized --call <server> --scratch <folder>
//! ```
//!
//! Prints one line per check, as `interop/report.mjs` describes. Names choose the checks whose
//! names contain them. With `--call` it is one of many processes that share a folder of logins.
//!
//! 1. `stage.rs`: an authorization server, and what each check has of its own; `caller.rs`: our
//!    client; `course.rs`: one check after the other
//! 2. `everywhere.rs`: what is checked at each; `many.rs`: many at once
//! 3. `people.rs`, `machines.rs`, `proofs.rs`: what only one of them can do
//! 4. `authority.rs`: starts the authorization server and the servers, and administers them
//! 5. `person.rs`: who logs in; `browser.rs`, `page.rs`: with what

mod arguments;
mod authority;
mod browser;
mod caller;
mod course;
mod everywhere;
mod machines;
mod many;
mod page;
mod people;
mod person;
mod proofs;
#[path = "../redirects.rs"]
mod redirects;
#[path = "../report.rs"]
mod report;
mod stage;

use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::authority::Authority;
use crate::course::Course;
use crate::stage::{Stage, Words};

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse() {
        Ok(arguments) => run(arguments).await,
        Err(reason) => Err(reason),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            report::line(&format!("FAILED authorized: {reason}"));
            ExitCode::FAILURE
        }
    }
}

/// Has everything succeeded?
async fn run(arguments: Arguments) -> Result<bool, String> {
    if let Some(server) = &arguments.call {
        return many::be_called(server, &arguments.scratch)
            .await
            .map(|()| true);
    }
    let scratch = &arguments.scratch;
    let mut course = Course::new(arguments.names);

    let stage = Stage::new("oidc-provider", PROVIDER, scratch, async |log| {
        Authority::start_node(&arguments.node, "", &log).await
    });
    let stage = stage.await;
    everywhere::check(&stage, &mut course).await;
    people::check(&stage, &mut course).await;
    machines::check(&stage, &mut course).await;
    proofs::check(&stage, &mut course).await;
    drop(stage);

    let stage = Stage::new(
        "oidc-provider below a path",
        PROVIDER,
        scratch,
        async |log| Authority::start_node(&arguments.node, "/tenant/one", &log).await,
    );
    let stage = stage.await;
    everywhere::check(&stage, &mut course).await;
    drop(stage);

    for (name, python) in [
        ("Python SDK 2.x", &arguments.python),
        ("Python SDK 1.x", &arguments.python_v1),
    ] {
        let stage = Stage::new(name, PYTHON, scratch, async |log| {
            Authority::start_python(python, &arguments.scripts, &log).await
        });
        let stage = stage.await;
        everywhere::check(&stage, &mut course).await;
    }
    Ok(!course.has_failed())
}

const PROVIDER: Words = Words {
    server: "/jwt",
    authorize: "GET /auth",
    register: "POST /reg",
    revoke: "POST /token/revocation",
};
const PYTHON: Words = Words {
    server: "/opaque",
    authorize: "GET /authorize",
    register: "POST /register",
    revoke: "POST /revoke",
};
