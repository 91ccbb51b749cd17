//! Our login at an authorization server that others wrote, for servers that others wrote.
//!
//! ```text
//! authorized --node <folder> --scratch <folder>
//! ```
//!
//! Prints one line per check, as `interop/report.mjs` describes.
//!
//! 1. `authority.rs`: starts the authorization server and the servers, and administers them
//! 2. `person.rs`: who logs in; `browser.rs`, `page.rs`: with what

mod authority;
mod browser;
mod page;
mod person;
#[path = "../report.rs"]
mod report;

use std::path::Path;
use std::process::ExitCode;

use switchboard_auth::{Interaction as _, LoginPage, Place, Scopes};

use crate::authority::Authority;
use crate::person::Person;
use crate::report::Report;

#[tokio::main]
async fn main() -> ExitCode {
    let mut report = Report::default();
    report.check("forms", forms().await);
    match report.has_failed() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

async fn forms() -> Result<(), String> {
    let node = std::env::args().nth(2).ok_or("no folder")?;
    let authority = Authority::start(Path::new(&node), "")?;
    for (person, wanted) in [
        (Person::willing(), "code="),
        (Person::unwilling(), "error=access_denied"),
    ] {
        let mut visit = person
            .prepare(&[])
            .await
            .map_err(|error| error.to_string())?;
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", authority.said("/clients/document/id")?)
            .append_pair("redirect_uri", visit.redirect_uri())
            .append_pair("state", "x")
            .append_pair("scope", "mcp:use offline_access")
            .append_pair("prompt", "consent")
            .append_pair(
                "code_challenge",
                "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            )
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", authority.said("/jwt")?);
        let url = format!("{}/auth?{}", authority.said("/issuer")?, query.finish());
        let place = |text: &str| Place::parse(text).map_err(|error| error.to_string());
        let page = LoginPage::new(
            place(&url)?,
            place(authority.said("/jwt")?)?,
            authority.said("/issuer")?,
            Scopes::default(),
        );
        let came_back = visit.go(&page).await.map_err(|error| error.to_string())?;
        if !came_back.reveal().contains(wanted) {
            return Err(came_back.reveal().to_owned());
        }
        authority
            .administer("/settings", &serde_json::json!({}))
            .await?
            .check("GET /auth", 1)?;
    }
    Ok(())
}
