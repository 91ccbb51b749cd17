//! Seals that must open, and every way to tamper with one.

use switchboard_transport::http::Principal;

use super::*;

const HOUR: Duration = Duration::from_secs(60 * 60);

fn start() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn shared(first: u8) -> SealingKeys {
    SealingKeys::from_secrets([[first; 32]]).unwrap()
}

fn call() -> Binding {
    Binding::new("requestState")
        .caller(Some(&Principal::new("alice")))
        .method("tools/call")
        .name("book")
        .arguments(Some(r#"{"room":1,"days":[2,3]}"#))
}

fn sealed(keys: &SealingKeys) -> String {
    keys.seal(&call(), start(), start() + HOUR, b"round 1")
        .unwrap()
}

#[test]
fn what_was_sealed_opens_for_the_same_caller_and_request() {
    for keys in [SealingKeys::random(), shared(1)] {
        let text = sealed(&keys);
        assert_eq!(keys.open(&call(), start(), &text).unwrap(), b"round 1");
        assert_eq!(
            keys.clone().open(&call(), start(), &text).unwrap(),
            b"round 1"
        );
        let rewritten = call().arguments(Some("{ \"days\": [2.0, 3], \"room\": 1e0 }"));
        assert_eq!(keys.open(&rewritten, start(), &text).unwrap(), b"round 1");
    }
}

#[test]
fn a_seal_shows_nothing_and_is_never_the_same_twice() {
    let keys = shared(1);
    let text = sealed(&keys);
    assert_ne!(text, sealed(&keys));
    assert!(!text.contains(['=', '+', '/']));
    let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
    assert!(!bytes.windows(5).any(|window| window == b"round"));
}

#[test]
fn every_flipped_bit_is_refused() {
    let keys = shared(1);
    let bytes = URL_SAFE_NO_PAD.decode(sealed(&keys)).unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let expected = match at {
                0 => SealError::Malformed,
                // The name of the key.
                1..=4 => SealError::Foreign,
                _ => SealError::Forged,
            };
            let text = URL_SAFE_NO_PAD.encode(changed);
            assert_eq!(
                keys.open(&call(), start(), &text),
                Err(expected),
                "{at} {bit}"
            );
        }
    }
}

#[test]
fn every_changed_character_is_refused() {
    let keys = shared(1);
    let text = sealed(&keys);
    for at in 0..text.len() {
        for replacement in ["A", "B", "_", "=", "\n", "ü", ""] {
            let mut changed = text.clone();
            changed.replace_range(at..=at, replacement);
            if changed != text {
                assert!(keys.open(&call(), start(), &changed).is_err(), "{changed}");
            }
        }
    }
}

#[test]
fn every_truncation_and_extension_is_refused() {
    let keys = shared(1);
    let text = sealed(&keys);
    for length in 0..text.len() {
        assert!(keys.open(&call(), start(), &text[..length]).is_err());
        assert!(keys.open(&call(), start(), &text[length + 1..]).is_err());
    }
    let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
    for byte in 0..=u8::MAX {
        let longer = [bytes.as_slice(), &[byte]].concat();
        let longer = URL_SAFE_NO_PAD.encode(longer);
        assert_eq!(keys.open(&call(), start(), &longer), Err(SealError::Forged));
    }
    for end in ["=", "==", ".", " ", "A", "AA", "AAAA"] {
        assert!(keys.open(&call(), start(), &(text.clone() + end)).is_err());
    }
}

#[test]
fn a_seal_is_of_no_use_with_another_request() {
    let mut bob = Principal::new("alice");
    bob.issuer = Some("https://other.example".to_owned());
    let others = [
        Binding::new("cursor"),
        Binding::new("requestState"),
        call().caller(None),
        call().caller(Some(&Principal::new("bob"))),
        call().caller(Some(&bob)),
        call().method("prompts/get"),
        call().name("cancel"),
        call().arguments(None),
        call().arguments(Some("{}")),
        call().arguments(Some(r#"{"room":2,"days":[2,3]}"#)),
        call().arguments(Some(r#"{"room":1,"days":[3,2]}"#)),
    ];
    let keys = shared(1);
    let text = sealed(&keys);
    for other in others {
        assert_eq!(keys.open(&other, start(), &text), Err(SealError::Forged));
    }
}

#[test]
fn a_seal_expires() {
    let keys = shared(1);
    let text = sealed(&keys);
    let last = start() + HOUR - Duration::from_millis(1);
    assert!(keys.open(&call(), last, &text).is_ok());
    assert_eq!(
        keys.open(&call(), start() + HOUR, &text),
        Err(SealError::Expired)
    );
    // That it has expired is told to nobody but its owner.
    let late = start() + 2 * HOUR;
    assert_eq!(
        keys.open(&Binding::new("cursor"), late, &text),
        Err(SealError::Forged)
    );
}

#[test]
fn no_seal_lives_for_more_than_a_day() {
    let keys = shared(1);
    let text = keys
        .seal(&call(), start(), start() + 1000 * HOUR, b"")
        .unwrap();
    assert!(keys.open(&call(), start() + 23 * HOUR, &text).is_ok());
    assert_eq!(
        keys.open(&call(), start() + 24 * HOUR, &text),
        Err(SealError::Expired)
    );
}

#[test]
fn a_rotated_key_opens_until_its_last_seal_has_expired() {
    let keys = SealingKeys::random();
    let seal = |at| keys.seal(&call(), at, at + 20 * HOUR, b"x").unwrap();
    let first = seal(start());
    let second = seal(start() + 13 * HOUR);
    let key_id = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap()[1..5].to_vec();
    assert_ne!(key_id(&first), key_id(&second));
    assert!(keys.open(&call(), start() + 13 * HOUR, &first).is_ok());
    // The third key comes when nothing of the first is valid any more: it is gone.
    seal(start() + 26 * HOUR);
    assert_eq!(keys.open(&call(), start(), &first), Err(SealError::Foreign));
    assert!(keys.open(&call(), start() + 26 * HOUR, &second).is_ok());
}

#[test]
fn few_random_keys_are_ever_kept() {
    let keys = SealingKeys::random();
    for hours in 0..1000 {
        let now = start() + hours * HOUR;
        keys.seal(&call(), now, now + 100 * HOUR, b"").unwrap();
        let Keys::Rotating(kept) = &*keys.0 else {
            unreachable!("random keys rotate")
        };
        assert!(kept.lock().unwrap().len() <= 4);
    }
}

#[test]
fn a_clock_set_back_does_not_stop_the_rotation() {
    let keys = SealingKeys::random();
    let future = start() + 10_000 * HOUR;
    let first = keys.seal(&call(), future, future + HOUR, b"").unwrap();
    let second = sealed(&keys);
    assert_ne!(first[..6], second[..6]);
    assert!(keys.open(&call(), start(), &second).is_ok());
}

#[test]
fn shared_secrets_open_each_others_seals_and_rotate() {
    let old = sealed(&shared(1));
    let both = SealingKeys::from_secrets([[2; 32], [1; 32]]).unwrap();
    assert!(both.open(&call(), start(), &old).is_ok());
    let new = sealed(&both);
    assert!(shared(2).open(&call(), start(), &new).is_ok());
    assert_eq!(
        shared(1).open(&call(), start(), &new),
        Err(SealError::Foreign)
    );
    assert_eq!(
        shared(2).open(&call(), start(), &old),
        Err(SealError::Foreign)
    );
}

#[test]
fn a_short_or_missing_secret_is_refused() {
    let short = SealingKeys::from_secrets([vec![1; 32], vec![1; 31]]).unwrap_err();
    assert_eq!(
        short.to_string(),
        "sealing secret 1 has 31 bytes, use at least 32 random ones"
    );
    assert_eq!(
        SealingKeys::from_secrets(Vec::<String>::new()).unwrap_err(),
        SecretError::None
    );
}

#[test]
fn what_a_client_has_to_carry_is_limited() {
    let keys = shared(1);
    let until = start() + HOUR;
    let largest = keys
        .seal(&call(), start(), until, &vec![0; MAX_CONTENT])
        .unwrap();
    assert_eq!(largest.len(), MAX_SEALED);
    assert!(keys.open(&call(), start(), &largest).is_ok());
    let refused = keys.seal(&call(), start(), until, &vec![0; MAX_CONTENT + 1]);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "larger than the limit of 65536 bytes"
    );
    let refused = keys.open(&call(), start(), &"A".repeat(MAX_SEALED + 1));
    assert_eq!(refused, Err(SealError::TooLarge { limit: MAX_SEALED }));
}

#[test]
fn keys_are_not_printed() {
    assert_eq!(format!("{:?}", shared(65)), "SealingKeys(shared, ***)");
    assert_eq!(
        format!("{:?}", SealingKeys::random()),
        "SealingKeys(random, ***)"
    );
}
