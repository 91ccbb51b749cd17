//! What can stand in a form?
//!
//! The fields of a flat type: texts, numbers, yes and no, one choice or several. Defaults
//! are those of the type, titles of choices those of the variants.
//!
//! Specification: client/elicitation (requested schema); SEP-1034, SEP-1330.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_server::{AskError, Context, Elicited, Server, tool};

pub(crate) fn offer(server: Server) -> Server {
    server
        .tool(
            tool("test_elicitation_sep1034_defaults", defaults)
                .description("Shows the user a form that is filled in already."),
        )
        .tool(
            tool("test_elicitation_sep1330_enums", choices)
                .description("Shows the user a form with choices of every kind."),
        )
}

async fn defaults(context: Context) -> Result<String, AskError> {
    let answer = context
        .elicit::<Profile>("profile", "Please check your profile")
        .await?;
    Ok(completed(&answer))
}

async fn choices(context: Context) -> Result<String, AskError> {
    let answer = context
        .elicit::<Choices>("choices", "Please choose")
        .await?;
    Ok(completed(&answer))
}

fn completed<T: Serialize>(answer: &Elicited<T>) -> String {
    match answer {
        Elicited::Accepted(content) => {
            let content = serde_json::to_string(content).unwrap_or_default();
            format!("Elicitation completed: accepted {content}")
        }
        Elicited::Declined => "Elicitation completed: declined".to_owned(),
        Elicited::Cancelled => "Elicitation completed: cancelled".to_owned(),
    }
}

/// A form with a default for every field.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Profile {
    /// The user's name.
    name: String,
    /// The user's age.
    age: i64,
    /// What the user has scored.
    score: f64,
    /// How the account stands.
    status: Status,
    /// Has somebody checked this?
    verified: bool,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
    Pending,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "John Doe".to_owned(),
            age: 30,
            score: 95.5,
            status: Status::Active,
            verified: true,
        }
    }
}

/// A form with choices of every kind.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Choices {
    /// One, shown as it is.
    untitled_single: Plain,
    /// One, shown by its title.
    titled_single: Titled,
    /// One, shown by its title in the way of revisions before 2025-11-25.
    #[schemars(extend("enumNames" = ["Option One", "Option Two", "Option Three"]))]
    legacy_enum: Plain,
    /// Some, shown as they are.
    untitled_multi: Vec<Plain>,
    /// Some, shown by their titles.
    titled_multi: Vec<Titled>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plain {
    Option1,
    Option2,
    Option3,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Titled {
    #[schemars(title = "First Option")]
    Value1,
    #[schemars(title = "Second Option")]
    Value2,
    #[schemars(title = "Third Option")]
    Value3,
}
