//! What of a server may be used: denied, read-only, switched off and on again.

use serde_json::json;
use switchboard_hub::{Hub, HubBuilder, ToolFilter};

use crate::calls::{self, has};
use crate::catalog::{self, Ask};
use crate::members::{self, Members};
use crate::places::Places;
use crate::report::Report;

pub(crate) async fn check(places: &Places, page: &str, report: &mut Report) {
    if let Err(reason) = both(places, page, report).await {
        report.check("allowed: two servers", Err(reason));
    }
}

async fn both(places: &Places, page: &str, report: &mut Report) -> Result<(), String> {
    let servers = catalog::servers(places, page);
    let server = servers.iter().find(|server| server.name == FILES);
    let server = server.ok_or("no server-filesystem")?;
    let mut members = Members::default();
    members.add("open", server)?;
    members.add("careful", server)?;
    let mut configs = members.servers()?;
    for config in &mut configs {
        config.is_read_only = config.name == "careful";
    }
    let hub = configs
        .into_iter()
        .fold(Hub::builder(), HubBuilder::server)
        .build();
    members::connect(&hub).await?;
    let write = Ask {
        tool: "write_file",
        arguments: json!({"path": places.in_scratch("allowed.txt"), "content": "hello"}),
        contains: "allowed.txt",
    };
    let read = Ask {
        tool: "read_text_file",
        arguments: json!({"path": places.in_scratch("allowed.txt")}),
        contains: "hello",
    };
    let pids = members.pids()?;
    report.check(
        "allowed: what is written at one is read at the other",
        match calls::answers(&hub, "open", &write).await {
            Ok(()) => calls::answers(&hub, "careful", &read).await,
            Err(reason) => Err(reason),
        },
    );
    report.check(
        "allowed: one that is read-only offers and writes nothing that changes",
        read_only(&hub, &write).await,
    );
    report.check(
        "allowed: what is denied is neither offered nor called, and the rest is",
        denied(&hub, &write, &read).await,
    );
    report.check(
        "allowed: one that is switched off offers nothing, and then everything again",
        switched(&hub, &read).await,
    );
    report.check(
        "allowed: nothing of it was of other processes",
        match pids == members.pids()? {
            true => Ok(()),
            false => Err(format!("{pids:?} became {:?}", members.pids()?)),
        },
    );
    let before = members.count()?;
    hub.close().await;
    report.check(
        format!("allowed: closes, 0 of {before} processes left"),
        members.check_none(before),
    );
    Ok(())
}

async fn read_only(hub: &Hub, write: &Ask) -> Result<(), String> {
    let catalog = hub.catalog();
    let offered = catalog.tools_of("careful");
    if let Some(bad) = offered
        .iter()
        .find(|tool| !tool.tool.hints().is_read_only())
    {
        return Err(format!("{} is offered", bad.name));
    }
    // Else nothing was left out.
    if offered.is_empty() || offered.len() >= catalog.tools_of("open").len() {
        return Err(format!("{} tools are offered", offered.len()));
    }
    refused(hub, "careful", write, "read-only").await
}

async fn denied(hub: &Hub, write: &Ask, read: &Ask) -> Result<(), String> {
    let deny = |filter| {
        hub.set_tools("open", filter)
            .map_err(|error| calls::text(&error))
    };
    deny(ToolFilter::deny(["write_*"]))?;
    if hub
        .search("write a file", 50)
        .iter()
        .any(|hit| hit.tool.tool.name == write.tool)
    {
        return Err("it is found".to_owned());
    }
    refused(hub, "open", write, "denied by \"write_*\"").await?;
    calls::answers(hub, "open", read).await?;
    deny(ToolFilter::default())?;
    calls::answers(hub, "open", write).await
}

async fn switched(hub: &Hub, read: &Ask) -> Result<(), String> {
    let before = hub.catalog().tools_of("open").len();
    let toggle = |is_on| {
        hub.toggle("open", is_on)
            .map_err(|error| calls::text(&error))
    };
    toggle(false)?;
    let during = hub.catalog().tools_of("open").len();
    refused(hub, "open", read, "switched off").await?;
    toggle(true)?;
    let after = hub.catalog().tools_of("open").len();
    match (before == after, during) {
        (true, 0) => calls::answers(hub, "open", read).await,
        _ => Err(format!("tools: {before}, {during}, {after}")),
    }
}

/// The hub refuses it, with these words.
async fn refused(hub: &Hub, server: &str, ask: &Ask, why: &str) -> Result<(), String> {
    match hub.call_on(server, ask.tool).args(&ask.arguments).await {
        Ok(result) => Err(format!("it answered {:?}", result.joined_text())),
        Err(error) => has(&calls::text(&error), why),
    }
}

const FILES: &str = "server-filesystem";
