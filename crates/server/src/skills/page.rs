//! Pages of a sorted map, and the cursors between them.
//!
//! A cursor is the key of the last item that was given, so a page after a reload
//! goes on where the last one ended and neither repeats nor skips what stayed.
//!
//! Specification: server/utilities/pagination.

use std::collections::BTreeMap;
use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use switchboard_protocol::jsonrpc::ErrorObject;

/// The items of one page, and the cursor of the next one if there is one.
///
/// Every item has a weight, and a page ends before it has more than `capacity`; it
/// has at least one item. `accepts` says whether a key could be one of this list.
pub(super) fn page<'a, T>(
    items: &'a BTreeMap<String, T>,
    cursor: Option<&str>,
    accepts: impl Fn(&str) -> bool,
    capacity: usize,
    weight: impl Fn(&T) -> usize,
) -> Result<(Vec<&'a T>, Option<String>), ErrorObject> {
    let after = cursor.map(|cursor| read(cursor, accepts)).transpose()?;
    let start = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut rest = items.range::<str, _>((start, Bound::Unbounded)).peekable();
    let mut given = Vec::new();
    let mut used: usize = 0;
    let mut last = None;
    while let Some((key, item)) = rest.peek().copied() {
        used = used.saturating_add(weight(item));
        if used > capacity && last.is_some() {
            break;
        }
        given.push(item);
        last = Some(key);
        rest.next();
    }
    let next = match (rest.peek(), last) {
        (Some(_), Some(last)) => Some(URL_SAFE_NO_PAD.encode(last)),
        _ => None,
    };
    Ok((given, next))
}

fn read(cursor: &str, accepts: impl Fn(&str) -> bool) -> Result<String, ErrorObject> {
    URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .filter(|key| accepts(key))
        .ok_or_else(|| ErrorObject::invalid_params("The cursor is not one that this list gave"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(keys: &[&str]) -> BTreeMap<String, String> {
        keys.iter()
            .map(|key| ((*key).to_owned(), (*key).to_owned()))
            .collect()
    }

    fn walk(items: &BTreeMap<String, String>, capacity: usize) -> Vec<Vec<String>> {
        let mut pages = Vec::new();
        let mut cursor = None;
        loop {
            let (given, next) =
                page(items, cursor.as_deref(), |_| true, capacity, String::len).unwrap();
            pages.push(given.into_iter().cloned().collect());
            match next {
                Some(next) => cursor = Some(next),
                None => return pages,
            }
        }
    }

    #[test]
    fn pages_hold_everything_once_and_end() {
        let all = items(&["a", "b", "c", "d", "e"]);
        assert_eq!(walk(&all, 2), [vec!["a", "b"], vec!["c", "d"], vec!["e"]]);
        assert_eq!(walk(&all, 5).len(), 1);
        assert_eq!(walk(&items(&[]), 5), [Vec::<String>::new()]);
    }

    #[test]
    fn an_item_that_is_too_heavy_has_a_page_of_its_own() {
        let all = items(&["a", "bbbbbbbb", "c"]);
        assert_eq!(walk(&all, 2), [["a"], ["bbbbbbbb"], ["c"]]);
        assert_eq!(walk(&all, 0).len(), 3);
    }

    #[test]
    fn a_page_goes_on_behind_an_item_that_is_gone() {
        let (_, cursor) = page(&items(&["a", "b", "c"]), None, |_| true, 2, |_| 1).unwrap();
        let left = items(&["a", "aa", "c", "d"]);
        let (given, next) = page(&left, cursor.as_deref(), |_| true, 2, |_| 1).unwrap();
        assert_eq!(given, ["c", "d"]);
        assert_eq!(next, None);
    }

    #[test]
    fn a_cursor_that_was_never_given_is_refused() {
        let all = items(&["a"]);
        for cursor in ["", "!", "_w", "eA"] {
            let refused = page(&all, Some(cursor), |key| key == "a", 2, |_| 1).unwrap_err();
            assert_eq!(refused.code.0, -32602, "{cursor}");
        }
    }
}
