//! How people log in: with a browser, on another device, for more, not at all.

use std::time::{Duration, Instant};

use switchboard_auth::{Browser, ClientOrigin, Nobody};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

use crate::browser::{self, Manner};
use crate::caller::{ask, call, connect, tells, wants_login};
use crate::course::Course;
use crate::person::{NAME, Person};
use crate::stage::{HINT, Stage, same, tokens, words};

/// Makes all of these checks.
pub(crate) async fn check(stage: &Stage, course: &mut Course) {
    let name = stage.name;
    course
        .check(
            name,
            "a browser comes back to the loopback",
            loopback(stage),
        )
        .await;
    course
        .check(name, "a page without a way back ends in time", stuck(stage))
        .await;
    course
        .check(name, "more scopes for one call", step_up(stage))
        .await;
    course
        .check(
            name,
            "nobody more is asked when a person refuses",
            no(stage),
        )
        .await;
    course
        .check(name, "nobody is there: it fails at once", nobody(stage))
        .await;
    course
        .check(name, "a code for another device", device(stage))
        .await;
    course
        .check(
            name,
            "a document instead of a registration",
            document(stage),
        )
        .await;
    course
        .check(name, "no token goes to another server", audience(stage))
        .await;
}

/// The browser of the library, whose opener is a program that really comes back.
fn real(manner: Manner) -> (Browser, Receiver<Result<String, String>>) {
    let (sender, receiver) = channel(MOST_VISITS);
    let handle = Handle::current();
    // Each has a thread of its own, where waiting holds up nobody.
    let browser = Browser::new().opener(move |page| {
        let last = handle.block_on(browser::visit(page.as_str(), None, manner, NAME));
        // Whoever no longer looks has seen enough.
        let _ = sender.try_send(last);
        Ok(())
    });
    (browser, receiver)
}

async fn loopback(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("browser").await?;
    let server = round.server()?;
    let (browser, mut pages) = real(Manner::Agrees);
    let login = round.login(server, browser)?;
    tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    let last = timeout(Duration::from_secs(10), pages.recv()).await;
    let last = last.map_err(|_| "the browser is still under way")?;
    let last = last.ok_or("there was no browser")??;
    if !last.contains("close") {
        return Err(format!("the last page is {last}"));
    }
    round.counts().await?.check(&[(METADATA, 1)])?;
    // A second login comes back to the same place, for which the client is registered.
    login.login().await.map_err(words)?;
    round
        .counts()
        .await?
        .check(&[(round.words.register, 0), (round.words.authorize, 1)])?;
    // And one that was refused comes back too.
    let (browser, _) = real(Manner::Refuses);
    let refused = round.login(server, browser)?.login().await;
    match refused.map_err(words) {
        Err(text) if text.contains("given up") => Ok(()),
        other => Err(format!("nobody refused: {other:?}")),
    }
}

/// A client that was forgotten: only a page says so, and the browser stays there.
async fn stuck(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("stuck").await?;
    let server = round.server()?;
    round.logged_in(server).await?;
    // With tokens that can be renewed, the answer to that would say it.
    let mut entry = round.stored(server).await?;
    for record in &mut entry.records {
        record.tokens = None;
    }
    round.save(&entry).await?;
    round.administer("/forget").await?;
    let (browser, mut pages) = real(Manner::Agrees);
    let login = round.login(server, browser.timeout(Duration::from_secs(2)))?;
    match login.login().await.map_err(words) {
        Err(text) if text.contains("within 2 s") => {}
        other => return Err(format!("the time is not over: {other:?}")),
    }
    match pages.try_recv() {
        Ok(Err(page)) if page.contains("400") => {}
        other => return Err(format!("the page is {other:?}")),
    }
    // The next one is another client.
    login.login().await.map_err(words)?;
    tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    round
        .counts()
        .await?
        .check(&[(round.words.register, 1), (round.words.authorize, 2)])
}

async fn step_up(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("step-up").await?;
    let server = round.server()?;
    let (login, person) = round.logged_in(server).await?;
    let client = connect(&login, server).await?;
    let answer = ask(&client, "administer").await?;
    same(person.visits(), 1, "visits")?;
    tells(&answer, "scopes", "mcp:use mcp:administer")?;
    round.counts().await?.check(&[
        ("server POST /mcp 403", 1),
        (round.words.authorize, 1),
        // The first client may only ask for what it registered for.
        (round.words.register, 1),
    ])?;
    // It is good for both from now on.
    for tool in ["whoami", "administer"] {
        ask(&client, tool).await?;
    }
    client.close().await;
    let login = round.login(server, Nobody)?;
    call(&login, server, "administer").await?;
    let status = login.status().await.map_err(words)?;
    let status = status.ok_or("there is no status")?;
    same(
        (status.scopes.to_string().as_str(), status.is_renewable),
        ("mcp:use mcp:administer", true),
        "scopes, and whether they last",
    )?;
    round.counts().await?.check(&[
        ("server POST /mcp 403", 0),
        (round.words.authorize, 0),
        ("token refresh_token", 0),
    ])
}

async fn no(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("no").await?;
    let server = round.server()?;
    let person = Person::unwilling();
    let login = round.login(server, person.clone())?;
    match call(&login, server, "whoami").await {
        Err(failure) if failure.text.contains("given up") => {}
        other => return Err(format!("nobody refused: {other:?}")),
    }
    same(person.visits(), 1, "visits")?;
    round
        .counts()
        .await?
        .check(&[(round.words.authorize, 1), ("token authorization_code", 0)])
}

async fn nobody(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("nobody").await?;
    let server = round.server()?;
    let login = round.login(server, Nobody)?;
    let begun = Instant::now();
    wants_login(call(&login, server, "whoami").await, HINT)?;
    if begun.elapsed() > Duration::from_secs(2) {
        return Err(format!("it took {:?}", begun.elapsed()));
    }
    // Nothing was looked up for it either.
    round.counts().await?.check(&[
        (METADATA, 0),
        (round.words.register, 0),
        (round.words.authorize, 0),
    ])
}

async fn device(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("device").await?;
    let server = round.server()?;
    let person = Person::elsewhere();
    let login = round.login(server, person.clone())?;
    tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    same(person.visits(), 1, "visits")?;
    round.counts().await?.check(&[
        ("POST /device/auth", 1),
        (round.words.authorize, 0),
        ("token urn:ietf:params:oauth:grant-type:device_code", 1),
    ])?;
    // It can be renewed like any other.
    round.administer("/refuse").await?;
    let login = round.login(server, Nobody)?;
    tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    round.counts().await?.check(&[("token refresh_token", 1)])
}

async fn document(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("document").await?;
    let server = round.server()?;
    let id = round.authority.said("/clients/document/id")?;
    let login = round.describe(server, Person::willing())?;
    let login = login.client_document(id).and_then(|login| login.build());
    let login = login.map_err(words)?;
    let answer = call(&login, server, "whoami").await?;
    tells(&answer, "subject", NAME)?;
    tells(&answer, "client", id)?;
    let entry = round.stored(server).await?;
    let origin = entry.current().map(|record| record.client.origin);
    same(origin, Some(ClientOrigin::Document), "the client's origin")?;
    // Nor does it register to renew.
    round.administer("/refuse").await?;
    tells(&call(&login, server, "whoami").await?, "client", id)?;
    round
        .counts()
        .await?
        .check(&[(round.words.register, 0), ("token refresh_token", 1)])
}

/// One folder, two servers on one origin: each gets its own token or none.
async fn audience(stage: &Stage) -> Result<(), String> {
    let round = stage.begin("audience").await?;
    let (one, other) = (round.server()?, round.authority.said("/opaque")?);
    round.logged_in(one).await?;
    let login = round.login(other, Nobody)?;
    wants_login(call(&login, other, "whoami").await, HINT)?;
    round
        .counts()
        .await?
        .check(&[(WITH_TOKEN, 0), ("server POST /opaque 401", 1)])?;
    round.logged_in(other).await?;
    let access = |mut entry| Ok::<_, String>(tokens(&mut entry)?.access.reveal().to_owned());
    if access(round.stored(one).await?)? == access(round.stored(other).await?)? {
        return Err("both have the same token".to_owned());
    }
    for server in [one, other] {
        let login = round.login(server, Nobody)?;
        tells(&call(&login, server, "whoami").await?, "subject", NAME)?;
    }
    let counts = round.counts().await?;
    if counts.of(WITH_TOKEN) == 0 {
        return Err("no token came to the other server".to_owned());
    }
    counts.check(&[("server POST /mcp 401", 0), ("server POST /opaque 401", 0)])
}

/// What a server says about who gives out its tokens.
const METADATA: &str = "server GET /.well-known/oauth-protected-resource/mcp 200";
/// Requests of any kind.
const WITH_TOKEN: &str = "server with a token /opaque";
/// No check opens a browser more often.
const MOST_VISITS: usize = 4;
