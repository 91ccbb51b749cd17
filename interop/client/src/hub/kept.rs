//! Of two servers one is exchanged: the other keeps its process.

use switchboard_hub::{Event, Hub};

use crate::calls;
use crate::catalog::{self, Server};
use crate::members::{self, Members};
use crate::places::Places;
use crate::report::Report;

pub(crate) async fn check(places: &Places, page: &str, report: &mut Report) {
    if let Err(reason) = exchange(places, page, report).await {
        report.check("kept: {context7, playwright}", Err(reason));
    }
}

async fn exchange(places: &Places, page: &str, report: &mut Report) -> Result<(), String> {
    let servers = catalog::servers(places, page);
    let find = |name: &str| servers.iter().find(|server| server.name == name);
    let (context, github) = (find("context7-mcp"), find("server-github"));
    let (context, github) = context.zip(github).ok_or("they are not in the catalogue")?;
    let mut members = Members::default();
    members.add("context7", context)?;
    let playwright = places.npm("playwright-mcp").display().to_string();
    members.command("playwright", &[playwright], &[], &places.scratch);
    members.add("github", github)?;
    let all = members.servers()?;
    let only = |names: [&str; 2]| {
        let chosen = all
            .iter()
            .filter(|server| names.contains(&server.name.as_str()));
        chosen.cloned().collect::<Vec<_>>()
    };
    let before = only(["context7", "playwright"]).into_iter();
    let hub = before
        .fold(Hub::builder(), |hub, server| hub.server(server))
        .build();
    members::connect(&hub).await?;
    let first = members.pids()?;
    report.check(
        "kept: context7 and playwright run, github does not",
        running(&members, [true, true, false]),
    );
    let catalog = hub.catalog();
    let browser = catalog.find_on("playwright", "browser_navigate");
    report.check(
        "kept: playwright offers a browser",
        browser.map(drop).map_err(|error| error.to_string()),
    );
    let mut events = hub.events();
    let plan = hub.set_servers(only(["context7", "github"])).await;
    let came = [&plan.keep, &plan.start, &plan.stop].map(|names| names.join(", "));
    report.check(
        "kept: {context7, playwright} becomes {context7, github}",
        match came == ["context7", "github", "playwright"] {
            true => Ok(()),
            false => Err(format!("{plan:?}")),
        },
    );
    while let Some(event) = events.next().await {
        if matches!(&event, Event::State { server, state } if **server == *"github" && state.is_ready())
        {
            break;
        }
    }
    report.check(
        "kept: context7 and github run, playwright does not",
        running(&members, [true, false, true]),
    );
    let second = members.pids()?;
    report.check(
        "kept: context7 keeps its process",
        match first.get("context7") == second.get("context7") {
            true => Ok(()),
            false => Err(format!("{first:?} became {second:?}")),
        },
    );
    report.check("kept: both answer", answers(&hub, context, github).await);
    let before = members.count()?;
    hub.close().await;
    report.check(
        format!("kept: closes, 0 of {before} processes left"),
        running(&members, [false; 3]),
    );
    Ok(())
}

fn running(members: &Members, wanted: [bool; 3]) -> Result<(), String> {
    let pids = members.pids()?;
    let came = ["context7", "playwright", "github"]
        .map(|name| pids.get(name).is_some_and(|pids| !pids.is_empty()));
    match came == wanted {
        true => Ok(()),
        false => Err(format!("{pids:?}")),
    }
}

async fn answers(hub: &Hub, context: &Server, github: &Server) -> Result<(), String> {
    let ask = context.answer.as_ref().ok_or("it has no answer")?;
    calls::answers(hub, "context7", ask).await?;
    calls::refuses(hub, "github", &github.error).await
}
