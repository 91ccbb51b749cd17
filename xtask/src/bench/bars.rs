//! What we promise of a server, held against what was measured.

use super::figures::{Bar, Bound, Role, Spread, Table};
use super::plan::{Era, LIMIT_MULTI, LIMIT_ONE, Measurement, Route};

/// Every bar, in the order of the tables.
pub(crate) fn bars(measured: &[Measurement]) -> Vec<Bar> {
    let found = Found(measured);
    let mut bars = vec![
        Bar {
            claim: "start to the list of tools, ms".to_owned(),
            found: found.figure(Route::Start),
            bound: Bound::AtMost(5.0),
        },
        Bar {
            claim: "one after the other: p50, times the raw pipe".to_owned(),
            found: found.ratio(Route::Sequential, Role::RawPipe),
            bound: Bound::AtMost(1.5),
        },
    ];
    for era in [Era::Handshake, Era::Stateless] {
        let (route, revision) = (Route::Flight(era), era.revision());
        bars.push(Bar {
            claim: format!("64 in flight, {revision}: CPU, times less than rmcp"),
            found: found.ratio(route, Role::Peer).map(Spread::inverse),
            bound: Bound::AtLeast(10.0),
        });
        bars.push(Bar {
            claim: format!("64 in flight, {revision}: CPU, times the limit"),
            found: found.ratio(route, Role::Limit),
            bound: Bound::AtMost(3.0),
        });
    }
    bars.push(Bar {
        claim: "texts of 1 MiB: CPU, times less than rmcp".to_owned(),
        found: found.ratio(Route::Large, Role::Peer).map(Spread::inverse),
        bound: Bound::AtLeast(3.0),
    });
    for era in [Era::Handshake, Era::Stateless] {
        let (route, revision) = (Route::Http(era, 64), era.revision());
        bars.push(Bar {
            claim: format!("64 connections, {revision}: CPU, times less than rmcp"),
            found: found.ratio(route, Role::Peer).map(Spread::inverse),
            bound: Bound::AtLeast(2.5),
        });
        for limit in [LIMIT_ONE, LIMIT_MULTI] {
            bars.push(Bar {
                claim: format!("64 connections, {revision}: CPU, times the {limit}"),
                found: found.ratio_to(route, limit),
                bound: Bound::AtMost(1.3),
            });
        }
    }
    bars.push(Bar {
        claim: "idle session, bytes".to_owned(),
        found: found.figure(Route::Sessions),
        bound: Bound::AtMost(2048.0),
    });
    bars
}

/// Our own figures among all.
struct Found<'a>(&'a [Measurement]);

impl Found<'_> {
    fn table(&self, route: Route) -> Option<&Table> {
        let mut measured = self.0.iter();
        measured.find(|it| it.route == route).map(|it| &it.table)
    }

    fn figure(&self, route: Route) -> Option<Spread> {
        let table = self.table(route)?;
        table.best(Role::Ours)?.spread(table.judged)
    }

    fn ratio(&self, route: Route, to: Role) -> Option<Spread> {
        let table = self.table(route)?;
        table.ratio(table.best(Role::Ours)?, table.best(to)?)
    }

    fn ratio_to(&self, route: Route, name: &str) -> Option<Spread> {
        let table = self.table(route)?;
        let other = table.rows.iter().find(|row| row.name == name)?;
        table.ratio(table.best(Role::Ours)?, other)
    }
}
