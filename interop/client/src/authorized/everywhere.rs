//! What is checked at every authorization server: a login from its beginning to each of its ends.

use std::time::Duration;

use switchboard_auth::{Nobody, Store as _};

use crate::caller::{ask, call, connect, tells, wants_login};
use crate::course::Course;
use crate::many;
use crate::person::{NAME, Person};
use crate::stage::{HINT, LONG, SHORT, Stage, refresh, same, tokens, words};

/// Makes all of these checks.
pub(crate) async fn check(stage: &Stage, course: &mut Course) {
    let name = stage.name;
    course
        .check(name, "finds, registers, logs in, calls", login(stage))
        .await;
    course
        .check(
            name,
            "goes on after a restart, nobody asked",
            restart(stage),
        )
        .await;
    course
        .check(name, "renews a token that has ended", expiry(stage))
        .await;
    course
        .check(name, "renews a token that is refused", refused(stage))
        .await;
    course
        .check(name, "a refresh token counts once", rotation(stage))
        .await;
    course
        .check(name, "ten calls at once renew once", many::calls(stage))
        .await;
    course
        .check(name, "ten processes renew once", many::processes(stage))
        .await;
    course
        .check(name, "logs out, and nothing counts any more", logout(stage))
        .await;
    course
        .check(name, "a revoked login wants a person", revoked(stage))
        .await;
    course
        .check(name, "a forgotten client registers again", forgotten(stage))
        .await;
}

async fn login(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("login").await?;
    let server = round.server()?;
    let person = Person::willing();
    let login = round.login(server, person.clone())?;
    let answer = call(&login, server, "whoami").await?;
    tells(&answer, "subject", NAME)?;
    same(person.visits(), 1, "visits")?;
    round.counts().await?.check(&[
        (round.words.register, 1),
        (round.words.authorize, 1),
        ("token authorization_code", 1),
        ("token refresh_token", 0),
    ])?;
    let status = login.status().await.map_err(words)?;
    let status = status.ok_or("there is no status")?;
    tells(&answer, "client", &*status.client_id)?;
    // They are not equal: Python's are URLs, which it ends with a slash.
    same(
        status.issuer.trim_end_matches('/'),
        round.authority.said("/issuer")?,
        "the issuer",
    )?;
    same(status.is_renewable, true, "it is renewable")
}

async fn restart(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("restart").await?;
    let server = round.server()?;
    round.logged_in(server).await?;
    let login = round.login(server, Nobody)?;
    tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    round.counts().await?.check(&[
        (round.words.register, 0),
        (round.words.authorize, 0),
        ("token refresh_token", 0),
    ])
}

async fn expiry(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("expiry").await?;
    let server = round.server()?;
    round
        .set(serde_json::json!({ "accessSeconds": SHORT }))
        .await?;
    let login = round.login(server, Person::willing())?;
    login.login().await.map_err(words)?;
    round
        .set(serde_json::json!({ "accessSeconds": LONG }))
        .await?;
    tokio::time::sleep(Duration::from_secs(SHORT)).await;
    for _ in 0..2 {
        tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    }
    round.counts().await?.check(&[
        ("token refresh_token", 1),
        (round.words.authorize, 0),
        // It did not have to be refused first.
        ("server POST /mcp 401", 0),
    ])
}

async fn refused(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("refused").await?;
    let server = round.server()?;
    round.logged_in(server).await?;
    let login = round.login(server, Nobody)?;
    let client = connect(&login, server).await?;
    round.administer("/refuse").await?;
    tells(&ask(&client, "whoami").await?, "subject", NAME)?;
    client.close().await;
    round.counts().await?.check(&[
        ("server POST /mcp 401", 1),
        ("token refresh_token", 1),
        (round.words.authorize, 0),
    ])
}

async fn rotation(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("rotation").await?;
    let server = round.server()?;
    round.logged_in(server).await?;
    let mut first = round.stored(server).await?;
    let login = round.login(server, Nobody)?;
    let mut seen = vec![refresh(first.clone())?];
    for _ in 0..TURNS {
        round.administer("/refuse").await?;
        tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
        round.counts().await?.check(&[("token refresh_token", 1)])?;
        let newest = refresh(round.stored(server).await?)?;
        if seen.contains(&newest) {
            return Err("the refresh token is an old one".to_owned());
        }
        seen.push(newest);
    }
    // Whoever comes back with the first one is turned away.
    tokens(&mut first)?.expires_at = Some(1);
    round.save(&first).await?;
    let login = round.login(server, Nobody)?;
    wants_login(call(&login, server, "whoami").await, HINT)?;
    round.counts().await?.check(&[
        ("token refresh_token", 0),
        ("token refresh_token invalid_grant", 1),
    ])
}

async fn logout(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("logout").await?;
    let server = round.authority.said("/opaque")?;
    let (login, _) = round.logged_in(server).await?;
    let before = round.stored(server).await?;
    same(login.logout().await.map_err(words)?, true, "logged out")?;
    if round.counts().await?.of(round.words.revoke) == 0 {
        return Err("nothing was revoked".to_owned());
    }
    let left = round.store().servers().await;
    let left = left.map_err(|error| error.to_string())?;
    same(left, Vec::new(), "servers with something stored")?;
    same(
        login.logout().await.map_err(words)?,
        false,
        "logged out again",
    )?;
    wants_login(
        call(&round.login(server, Nobody)?, server, "whoami").await,
        HINT,
    )?;
    round.counts().await?;
    // A copy of what was stored is worth nothing: neither of its tokens counts.
    round.save(&before).await?;
    let login = round.login(server, Nobody)?;
    wants_login(call(&login, server, "whoami").await, HINT)?;
    round.counts().await?.check(&[
        ("token refresh_token", 0),
        ("token refresh_token invalid_grant", 1),
    ])
}

async fn revoked(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("revoked").await?;
    let server = round.authority.said("/opaque")?;
    round.logged_in(server).await?;
    round.administer("/revoke").await?;
    let login = round.login(server, Nobody)?;
    wants_login(call(&login, server, "whoami").await, HINT)?;
    round.counts().await?.check(&[
        ("token refresh_token invalid_grant", 1),
        (round.words.authorize, 0),
    ])?;
    // The client is still the same one.
    let person = Person::willing();
    let login = round.login(server, person.clone())?;
    tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    same(person.visits(), 1, "visits")?;
    round.counts().await?.check(&[
        (round.words.authorize, 1),
        (round.words.register, 0),
        ("token refresh_token invalid_grant", 0),
    ])
}

async fn forgotten(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("forgotten").await?;
    let server = round.server()?;
    let (login, person) = round.logged_in(server).await?;
    let before = login.status().await.map_err(words)?;
    round.administer("/forget").await?;
    round.administer("/refuse").await?;
    let answer = call(&login, server, "whoami").await?;
    tells(&answer, "subject", NAME)?;
    same(person.visits(), 1, "visits")?;
    round
        .counts()
        .await?
        .check(&[(round.words.register, 1), (round.words.authorize, 1)])?;
    match before {
        Some(before) if answer["client"] != *before.client_id => Ok(()),
        _ => Err(format!("it is the same client: {answer}")),
    }
}

// Of refresh tokens.
const TURNS: usize = 3;
