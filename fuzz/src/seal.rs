//! What clients carry for a server: the input is a line each of a caller, a name, arguments, a
//! content, and then what somebody brings back.

#[path = "../../crates/server/src/seal.rs"]
mod sealing;

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use switchboard_transport::http::Principal;

use sealing::{Binding, SealError, SealingKeys};

/// What was sealed is opened by who may, while it may; and nothing else is.
pub fn seal(data: &[u8]) {
    let mut lines = data.splitn(6, |byte| *byte == b'\n');
    let mut line = || String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let (caller, name, arguments) = (line(), line(), line());
    let (content, brought, change) = (line(), line(), line());
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let binding = |caller: &str, name: &str| {
        Binding::new("requestState")
            .caller(Some(&Principal::new(caller)))
            .method("tools/call")
            .name(name)
            .arguments(Some(&arguments))
    };
    let own = binding(&caller, &name);
    // Nobody has sealed it.
    assert!(KEYS.open(&own, now, &brought).is_err(), "{brought}");

    let expires = now + Duration::from_secs(60);
    let sealed = match KEYS.seal(&own, now, expires, content.as_bytes()) {
        Ok(sealed) => sealed,
        Err(error) => return assert!(matches!(error, SealError::TooLarge { .. })),
    };
    assert_eq!(
        KEYS.open(&own, now, &sealed).ok().as_deref(),
        Some(content.as_bytes())
    );
    assert!(matches!(
        KEYS.open(&own, expires, &sealed),
        Err(SealError::Expired)
    ));
    for other in [
        binding(&format!("{caller}x"), &name),
        binding(&caller, &format!("{name}x")),
        binding(&name, &caller).method("x"),
        own.clone().arguments(None),
    ] {
        assert!(KEYS.open(&other, now, &sealed).is_err());
    }
    // A change is noticed wherever it is made.
    let mut changed = sealed.clone().into_bytes();
    for (at, byte) in change.bytes().enumerate() {
        let place = (at * 31 + usize::from(byte)) % changed.len();
        changed[place] = byte;
    }
    if let Ok(changed) = String::from_utf8(changed)
        && changed != sealed
    {
        assert!(KEYS.open(&own, now, &changed).is_err(), "{changed}");
    }
}

static KEYS: LazyLock<SealingKeys> = LazyLock::new(|| {
    SealingKeys::from_secrets([[7_u8; 32]]).expect("a secret that is long enough")
});
