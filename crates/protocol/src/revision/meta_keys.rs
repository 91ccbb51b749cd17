//! Taking reserved keys out of `_meta`.

use crate::types::Meta;
use crate::types::meta_key as key;

/// Takes these keys out; `_meta` goes with the last of them.
pub(super) fn remove(meta: &mut Option<Meta>, keys: &[&str]) {
    let Some(members) = meta else { return };
    let removed = keys.iter().filter(|key| members.remove(key).is_some());
    if removed.count() > 0 && members.is_empty() {
        *meta = None;
    }
}

/// What a request and its answers carry in the stateless era.
pub(super) const ENVELOPE_KEYS: &[&str] = &[
    key::PROTOCOL_VERSION,
    key::CLIENT_INFO,
    key::CLIENT_CAPABILITIES,
    key::LOG_LEVEL,
    key::SERVER_INFO,
    key::SUBSCRIPTION_ID,
];

/// What the tasks of 2025-11-25 need.
pub(super) const TASK_KEYS: &[&str] = &[key::RELATED_TASK, key::MODEL_IMMEDIATE_RESPONSE];
