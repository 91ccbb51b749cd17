//! Clients that are known by themselves, with nobody behind them.

use switchboard_auth::{AuthError, ClientMethod, Grant, Nobody, OAuthBuilder, Secret, SigningKey};

use crate::authority::Authority;
use crate::caller::{call, tells};
use crate::course::Course;
use crate::stage::{Stage, words};

/// Makes all of these checks.
pub(crate) async fn check(stage: &Stage, course: &mut Course) {
    for (name, what) in [
        ("basic", "client credentials in the header"),
        ("post", "client credentials in the form"),
        ("key", "client credentials with a signature"),
    ] {
        course.check(stage.name, what, works(stage, name)).await;
    }
    let wrong = "client credentials that are wrong";
    course.check(stage.name, wrong, refused(stage)).await;
}

async fn works(stage: &Stage, name: &str) -> Result<(), String> {
    let round = stage.begin(name).await?;
    let server = round.server()?;
    let login = round.describe(server, Nobody)?;
    let login = configure(login, round.authority, name)?;
    let login = login.build().map_err(words)?;
    tells(&call(&login, server, "whoami").await?, "client", name)?;
    // There is nothing to renew it with: another one is got, and again nobody asked.
    round.administer("/refuse").await?;
    tells(&call(&login, server, "whoami").await?, "client", name)?;
    round.counts().await?.check(&[
        ("token client_credentials", 1),
        ("token refresh_token", 0),
        (round.words.register, 0),
        (round.words.authorize, 0),
    ])
}

async fn refused(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("wrong").await?;
    let server = round.server()?;
    let login = round.describe(server, Nobody)?;
    let login = login
        .client("basic", Some(Secret::from("wrong")))
        .grant(Grant::ClientCredentials)
        .build()
        .map_err(words)?;
    match call(&login, server, "whoami").await {
        Err(failure) if failure.text.contains("invalid_client") => {}
        other => return Err(format!("it is not refused: {other:?}")),
    }
    // Asking once more would lock out some.
    round
        .counts()
        .await?
        .check(&[("token client_credentials invalid_client", 1)])
}

fn configure(
    login: OAuthBuilder,
    authority: &Authority,
    name: &str,
) -> Result<OAuthBuilder, String> {
    let secret = |kind: &str| {
        let said = authority.said(&format!("/clients/{name}/{kind}"))?;
        Ok::<_, String>(Secret::from(said))
    };
    let login = login.grant(Grant::ClientCredentials);
    match name {
        "key" => {
            let key = SigningKey::from_pem(&secret("pem")?, None, None);
            let key = key.map_err(|error: AuthError| words(error))?;
            Ok(login.client(name, None).signing_key(key))
        }
        "post" => Ok(login
            .client(name, Some(secret("secret")?))
            .client_method(ClientMethod::ClientSecretPost)),
        _ => Ok(login.client(name, Some(secret("secret")?))),
    }
}
