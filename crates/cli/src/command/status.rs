//! `switchboard status`: the gateways that run, and how their servers stand.

use crate::app::App;
use crate::args::serve::Status;
use crate::control::{Request, find_all};
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Column, Line, Outcome, Page, Table};

pub(crate) async fn run(args: &Status, app: &App) -> Result<Outcome, Failure> {
    let config = app.global.config.as_deref();
    let mut gateways = Vec::new();
    for visit in find_all(args.of.socket.as_deref(), config).await? {
        let mut gateway = visit.ask(&Request::Status).await?;
        if let Json::Object(members) = &mut gateway {
            members.insert(0, ("socket".to_owned(), visit.socket().as_str().into()));
        }
        gateways.push(gateway);
    }
    Ok(Outcome::of(
        app,
        || {
            let mut page = Page::new();
            for (number, gateway) in gateways.iter().enumerate() {
                if number > 0 {
                    page = page.line("");
                }
                page = shown(page, gateway, gateways.len() > 1);
            }
            page
        },
        || Json::object([("gateways", Json::List(gateways.clone()))]),
    )
    .lines(&["gateways"]))
}

fn shown(page: Page, gateway: &Json, is_of_several: bool) -> Page {
    let text = |json: &Json, name: &str| match json.get(name) {
        Some(Json::Text(text)) => text.clone(),
        Some(Json::Number(number)) => number.to_string(),
        _ => "-".to_owned(),
    };
    let uptime = match gateway.get("uptime") {
        Some(Json::Number(seconds)) => span(seconds.as_u64().unwrap_or_default()),
        _ => "-".to_owned(),
    };
    let title = Line::new().strong(text(gateway, "address")).plain(format!(
        "  {}  process {}, for {uptime}",
        text(gateway, "config"),
        text(gateway, "pid")
    ));
    let mut table = Table::new([
        Column::left("SERVER"),
        Column::left("STATE"),
        Column::left("REVISION").or_none(),
        Column::right("TOOLS").or_none(),
        Column::right("CALLS"),
        Column::right("ERRORS"),
        Column::right("NOW"),
        Column::right("RESTARTS").or_none(),
        Column::rest("WHAT"),
    ]);
    for server in gateway.get("servers").map(Json::items).unwrap_or_default() {
        let state = text(server, "state");
        let state = match state.as_str() {
            "ready" => Line::new().good(state),
            "needs login" | "not listed" => Line::new().notable(state),
            "failed" => Line::new().bad(state),
            _ => Line::new().faint(state),
        };
        let what = match text(server, "reason").as_str() {
            "-" => text(server, "server"),
            reason => reason.to_owned(),
        };
        table.row([
            Line::new().strong(text(server, "name")),
            state,
            text(server, "revision").into(),
            text(server, "tools").into(),
            text(server, "calls").into(),
            text(server, "errors").into(),
            text(server, "inFlight").into(),
            text(server, "restarts").into(),
            what.into(),
        ]);
    }
    let page = page.line(title);
    let page = match is_of_several {
        true => page.line(format!("--socket {}", text(gateway, "socket"))),
        false => page,
    };
    page.table(table)
}

/// A time in the two largest units that it has.
fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_at_most_two_units() {
        let check = |seconds, expected: &str| assert_eq!(span(seconds), expected);
        check(0, "0 s");
        check(61, "1 min 1 s");
        check(7_260, "2 h 1 min");
        check(90_000, "1 d 1 h");
    }
}
