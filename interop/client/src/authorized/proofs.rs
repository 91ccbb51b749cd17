//! Tokens that are bound to a key.

use serde_json::json;
use switchboard_auth::{Nobody, TokenKind};

use crate::caller::{ask, call, connect, tells};
use crate::course::Course;
use crate::person::{NAME, Person};
use crate::stage::{Stage, same, tokens};

/// Makes all of these checks.
pub(crate) async fn check(stage: &Stage, course: &mut Course) {
    let name = stage.name;
    course
        .check(name, "a server that wants proofs", wanted(stage))
        .await;
    course
        .check(name, "nonces of both, and a restart", nonces(stage))
        .await;
}

async fn wanted(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("proof").await?;
    let server = round.authority.said("/proof")?;
    let login = round.login(server, Person::willing())?;
    let answer = call(&login, server, "whoami").await?;
    tells(&answer, "subject", NAME)?;
    tells(&answer, "isBound", true)?;
    let mut entry = round.stored(server).await?;
    same(tokens(&mut entry)?.kind, TokenKind::Dpop, "the kind")
}

async fn nonces(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("nonces").await?;
    let server = round.authority.said("/proof")?;
    round
        .set(json!({"nonce": true, "serverNonce": "first"}))
        .await?;
    let person = Person::willing();
    let login = round.login(server, person.clone())?;
    let client = connect(&login, server).await?;
    tells(&ask(&client, "whoami").await?, "isBound", true)?;
    round.set(json!({"serverNonce": "second"})).await?;
    tells(&ask(&client, "whoami").await?, "isBound", true)?;
    client.close().await;
    same(person.visits(), 1, "visits")?;
    round.counts().await?.check(&[
        // Refused once, to learn the new one.
        ("server POST /proof 401", 1),
        ("token refresh_token", 0),
        (round.words.authorize, 0),
    ])?;
    // The key is stored with the tokens, and good for those that follow.
    let login = round.login(server, Nobody)?;
    tells(&call(&login, server, "whoami").await?, "isBound", true)?;
    round.expire(server).await?;
    round.counts().await?;
    let login = round.login(server, Nobody)?;
    tells(&call(&login, server, "whoami").await?, "isBound", true)?;
    round.counts().await?.check(&[
        ("token refresh_token", 1),
        ("token refresh_token use_dpop_nonce", 1),
        (round.words.authorize, 0),
    ])
}
