//! All pages of a list, within bounds.
//!
//! Specification: server/utilities/pagination.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::IgnoredAny;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::MethodName;
use switchboard_protocol::types::PaginatedRequestParams;

use crate::call::{Call, decode};
use crate::client::Client;
use crate::error::{Error, ErrorKind};

/// Asks for page after page and hands each to `take`, which says how many items it has.
pub(crate) async fn read_all(
    client: &Client,
    method: impl Into<MethodName>,
    mut take: impl FnMut(&Payload) -> Result<usize, ErrorKind>,
) -> Result<(), Error> {
    let shared = client.shared();
    let method = method.into();
    let fail = |kind: ErrorKind| Error::new(&shared.name, method.as_str(), kind);
    let limit = shared.timeouts.list;
    let all = async {
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        let (mut pages, mut items, mut bytes) = (0, 0, 0);
        loop {
            let params = cursor.take().map(|cursor| {
                let mut params = PaginatedRequestParams::default();
                params.cursor = Some(cursor);
                params
            });
            let call = Call::<IgnoredAny>::plain(client.clone(), method.clone(), params.as_ref());
            let page = call.raw().await?;
            pages += 1;
            bytes += page.length();
            items += take(&page).map_err(fail)?;
            let limits = &shared.limits;
            let checks = [
                (bytes > limits.list_bytes, "bytes", limits.list_bytes),
                (items > limits.items, "items", limits.items),
            ];
            for (is_over, what, limit) in checks {
                if is_over {
                    return Err(fail(ErrorKind::ListTooLong { what, limit }));
                }
            }
            let Some(next) = next_cursor(&page).map_err(fail)? else {
                return Ok(());
            };
            if pages >= limits.pages {
                return Err(fail(ErrorKind::ListTooLong {
                    what: "pages",
                    limit: limits.pages,
                }));
            }
            if !seen.insert(next.clone()) {
                return Err(fail(ErrorKind::RepeatedCursor(next)));
            }
            cursor = Some(next);
        }
    };
    match tokio::time::timeout(limit, all).await {
        Ok(outcome) => outcome,
        Err(_) => Err(fail(ErrorKind::from(limit))),
    }
}

fn next_cursor(page: &Payload) -> Result<Option<String>, ErrorKind> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Next {
        next_cursor: Option<String>,
    }
    Ok(decode::<Next>(page)?.next_cursor)
}
