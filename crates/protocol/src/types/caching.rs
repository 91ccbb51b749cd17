//! How long a result stays fresh and who may share it.
//!
//! When a cached result may be used is the client's and the hub's affair.
//!
//! Specification: 2026-07-28 server/utilities/caching.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

/// A result with caching hints: the lists, `resources/read`, `server/discover`.
pub trait Cacheable {
    /// `ttlMs` as it was sent.
    fn ttl_ms(&self) -> Option<&Number>;

    /// `cacheScope` as it was read.
    fn cache_scope(&self) -> Option<CacheScope>;

    /// Writes both hints, which 2026-07-28 requires.
    fn set_cache(&mut self, time_to_live: Duration, scope: CacheScope);

    /// How long the result stays fresh; missing and negative mean not at all.
    fn time_to_live(&self) -> Duration {
        self.ttl_ms().map_or(Duration::ZERO, milliseconds)
    }

    /// Who may share the result; missing means nobody else.
    fn scope(&self) -> CacheScope {
        self.cache_scope().unwrap_or(CacheScope::Private)
    }

    /// Both hints, as they are meant.
    fn cache_hint(&self) -> CacheHint {
        CacheHint::new(self.time_to_live(), self.scope())
    }
}

/// How long a result stays fresh, and who may share it. Whoever says nothing means this one's default:
/// not at all, and nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheHint {
    /// How long it stays fresh.
    pub time_to_live: Duration,
    /// Who may share it.
    pub scope: CacheScope,
}

impl CacheHint {
    /// So long, and shared by these.
    pub const fn new(time_to_live: Duration, scope: CacheScope) -> Self {
        Self {
            time_to_live,
            scope,
        }
    }

    /// What holds for a result that is made of both: as long as the shorter-lived of them, and for no
    /// more than either may be shared with.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            time_to_live: self.time_to_live.min(other.time_to_live),
            scope: match (self.scope, other.scope) {
                (CacheScope::Public, CacheScope::Public) => CacheScope::Public,
                _ => CacheScope::Private,
            },
        }
    }
}

impl Default for CacheHint {
    fn default() -> Self {
        Self::new(Duration::ZERO, CacheScope::Private)
    }
}

/// Who may share a cached result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Any caller.
    Public,
    /// Only the authorization context that asked.
    Private,
}

impl<'de> Deserialize<'de> for CacheScope {
    /// A word that is not known is read as the careful one.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(match text.as_str() {
            "public" => Self::Public,
            _ => Self::Private,
        })
    }
}

/// A number of milliseconds from the wire; what is not a duration is zero.
pub(crate) fn milliseconds(number: &Number) -> Duration {
    match (number.as_u64(), number.as_f64()) {
        (Some(whole), _) => Duration::from_millis(whole),
        (None, Some(fraction)) => {
            Duration::try_from_secs_f64(fraction / 1000.0).unwrap_or(Duration::ZERO)
        }
        (None, None) => Duration::ZERO,
    }
}

/// A duration as a number of milliseconds for the wire.
pub(crate) fn to_milliseconds(duration: Duration) -> Number {
    Number::from(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{
        DiscoverResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, ReadResourceResult, ServerCapabilities,
    };

    #[test]
    fn what_is_no_duration_is_zero() {
        let read = |text: &str| milliseconds(&serde_json::from_str(text).unwrap());
        assert_eq!(read("1500"), Duration::from_millis(1500));
        assert_eq!(read("1500.0"), Duration::from_millis(1500));
        assert_eq!(read("-5"), Duration::ZERO);
        assert_eq!(read("-0.5"), Duration::ZERO);
        assert_eq!(read("1e300"), Duration::ZERO);
    }

    #[test]
    fn what_is_made_of_two_is_as_short_lived_and_as_private_as_either() {
        let check = |one: (u64, CacheScope), other: (u64, CacheScope), both: (u64, CacheScope)| {
            let hint = |(seconds, scope)| CacheHint::new(Duration::from_secs(seconds), scope);
            assert_eq!(hint(one).and(hint(other)), hint(both));
            assert_eq!(hint(other).and(hint(one)), hint(both));
        };
        let (public, private) = (CacheScope::Public, CacheScope::Private);
        check((5, public), (9, public), (5, public));
        check((5, public), (9, private), (5, private));
        check((0, private), (9, private), (0, private));
    }

    #[test]
    fn an_unknown_scope_is_private() {
        let read = |text| serde_json::from_str::<CacheScope>(text).unwrap();
        assert_eq!(read("\"public\""), CacheScope::Public);
        assert_eq!(read("\"private\""), CacheScope::Private);
        assert_eq!(read("\"Public\""), CacheScope::Private);
    }

    #[test]
    fn every_result_with_hints_gives_back_those_it_was_given() {
        fn check(mut result: impl Cacheable) {
            assert_eq!(result.cache_hint(), CacheHint::default());
            let hint = CacheHint::new(Duration::from_millis(1500), CacheScope::Public);
            result.set_cache(hint.time_to_live, hint.scope);
            assert_eq!(result.cache_hint(), hint);
        }
        check(DiscoverResult::new(
            Vec::new(),
            ServerCapabilities::default(),
        ));
        check(ListPromptsResult::new(Vec::new()));
        check(ListResourcesResult::new(Vec::new()));
        check(ListResourceTemplatesResult::new(Vec::new()));
        check(ListToolsResult::new(Vec::new()));
        check(ReadResourceResult::new(Vec::new()));
    }
}
