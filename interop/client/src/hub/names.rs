//! A server of four hundred tools with long names: every name is good, and stays what it is.

use std::collections::BTreeSet;

use switchboard_hub::Hub;

use crate::calls;
use crate::catalog::{self, Ask};
use crate::members::{self, Members};
use crate::page;
use crate::places::Places;
use crate::report::{self, Report};

/// A tool: its name, its server, the server's name for it.
type Named = (String, String, String);

pub(crate) async fn check(places: &Places, page: &str, report: &mut Report) {
    let both = match members(places, page, &[HOSTINGER, EVERYTHING]) {
        Ok(members) => members,
        Err(reason) => return report.check("names", Err(reason)),
    };
    let (names, before) = match first(&both, report).await {
        Ok(first) => first,
        Err(reason) => return report.check("names: the hub is ready", Err(reason)),
    };
    report.check(
        format!("names: closes, 0 of {before} processes left"),
        both.check_none(before),
    );
    for restart in 1..=RESTARTS {
        let again = named(&both).await;
        report.check(
            format!("names: the same after restart {restart} of {RESTARTS}"),
            again.and_then(|again| same(&names, &again)),
        );
    }
    let alone = match members(places, page, &[HOSTINGER]) {
        Ok(alone) => named(&alone).await,
        Err(reason) => Err(reason),
    };
    let of_one: Vec<Named> = names
        .into_iter()
        .filter(|name| name.1 == HOSTINGER)
        .collect();
    report.check(
        "names: the same without the other server",
        alone.and_then(|alone| same(&of_one, &alone)),
    );
}

/// The first hub: what it is called, and that it leads back.
async fn first(both: &Members, report: &mut Report) -> Result<(Vec<Named>, usize), String> {
    let hub = both.hub()?;
    members::connect(&hub).await?;
    let names = all(&hub);
    let own = hub.catalog().tools_of(HOSTINGER).len();
    let longest = names.iter().map(|name| name.2.len()).max().unwrap_or(0);
    report.check(
        format!("names: {own} tools of hostinger-api-mcp, names of up to {longest} characters"),
        match (own, longest) {
            (OWN, LONGEST) => Ok(()),
            other => Err(format!("wanted {:?}, came {other:?}", (OWN, LONGEST))),
        },
    );
    report.check(
        format!(
            "names: all {} are of 1 to 64 of A-Z a-z 0-9 _ -",
            names.len()
        ),
        well_formed(&names),
    );
    report.check("names: no two are the same", unique(&names));
    report.check(
        "names: each leads back to its tool",
        lead_back(&hub, &names),
    );
    report.check("names: one that was cut is called", cut(&hub, &names).await);
    let before = both.count()?;
    hub.close().await;
    Ok((names, before))
}

fn members(places: &Places, page: &str, wanted: &[&str]) -> Result<Members, String> {
    let mut members = Members::default();
    if wanted.contains(&HOSTINGER) {
        let program = places.npm("hostinger-api-mcp").display().to_string();
        let variables = [("HOSTINGER_API_TOKEN", "none"), ("API_BASE_URL", page)];
        members.command(HOSTINGER, &[program], &variables, &places.scratch);
    }
    if wanted.contains(&EVERYTHING) {
        let servers = catalog::servers(places, page);
        let server = servers.iter().find(|server| server.name == EVERYTHING);
        members.add(EVERYTHING, server.ok_or("no server-everything")?)?;
    }
    Ok(members)
}

/// What tools are called in a hub that is made for it.
async fn named(members: &Members) -> Result<Vec<Named>, String> {
    let hub = members.hub()?;
    members::connect(&hub).await?;
    let names = all(&hub);
    let before = members.count()?;
    hub.close().await;
    members.check_none(before)?;
    Ok(names)
}

fn all(hub: &Hub) -> Vec<Named> {
    let catalog = hub.catalog();
    let tools = catalog.tools();
    let names = tools.map(|entry| {
        let (name, own) = (entry.name.to_string(), entry.tool.name.clone());
        (name, entry.server.to_string(), own)
    });
    names.collect()
}

fn well_formed(names: &[Named]) -> Result<(), String> {
    let is_good = |name: &str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        (1..=64).contains(&name.len()) && name.bytes().all(good)
    };
    match names.iter().find(|name| !is_good(&name.0)) {
        None => Ok(()),
        Some(bad) => Err(format!("{bad:?}")),
    }
}

fn unique(names: &[Named]) -> Result<(), String> {
    let different: BTreeSet<&str> = names.iter().map(|name| name.0.as_str()).collect();
    match different.len() == names.len() {
        true => Ok(()),
        false => Err(format!("{} of {} differ", different.len(), names.len())),
    }
}

fn lead_back(hub: &Hub, names: &[Named]) -> Result<(), String> {
    let catalog = hub.catalog();
    for (name, server, own) in names {
        let found = catalog.find_tool(name).map_err(|error| error.to_string())?;
        if *found.server != **server || found.tool.name != *own {
            return Err(format!(
                "{name} leads to {} of {}",
                found.tool.name, found.server
            ));
        }
    }
    Ok(())
}

/// Its server reads the page instead of its own API.
async fn cut(hub: &Hub, names: &[Named]) -> Result<(), String> {
    let cut: Vec<&Named> = names
        .iter()
        .filter(|name| !name.0.ends_with(&name.2))
        .collect();
    report::line(&format!(
        "names: {} of {} had to be cut",
        cut.len(),
        names.len()
    ));
    if !cut.iter().any(|name| name.2 == LONG) {
        return Err(format!("{LONG} is not among {}", cut.len()));
    }
    let ask = Ask {
        tool: LONG,
        arguments: serde_json::json!({"order_id": 1}),
        contains: page::TEXT,
    };
    calls::answers(hub, HOSTINGER, &ask).await
}

fn same(wanted: &[Named], came: &[Named]) -> Result<(), String> {
    match wanted.iter().zip(came).find(|(one, other)| one != other) {
        None if wanted.len() == came.len() => Ok(()),
        None => Err(format!("{} names, not {}", came.len(), wanted.len())),
        Some((one, other)) => Err(format!("{one:?} became {other:?}")),
    }
}

const HOSTINGER: &str = "hostinger";
const EVERYTHING: &str = "server-everything";
/// As the pinned version has them.
const OWN: usize = 401;
const LONGEST: usize = 52;
const LONG: &str = "agency-hosting_listAgencyPlanOrderDiskUsageMetricsV1";
const RESTARTS: usize = 3;
