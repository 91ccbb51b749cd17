use super::*;

fn limits() -> SessionLimits {
    SessionLimits {
        total: 3,
        per_principal: 2,
        ..SessionLimits::default()
    }
}

fn caller(name: &str) -> Option<Arc<Principal>> {
    Some(Arc::new(Principal::new(name)))
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

#[test]
fn ids_are_long_and_differ() {
    let sessions = Sessions::new(limits());
    let now = Instant::now();
    let (one, _) = sessions.insert(now, 1, None).unwrap();
    let (two, _) = sessions.insert(now, 2, None).unwrap();
    assert_ne!(one, two);
    assert_eq!(one.as_str().len(), 32);
    assert_eq!(sessions.find(now, &one, None).as_deref(), Some(&1));
    assert_eq!(sessions.find(now, &two, None).as_deref(), Some(&2));
}

/// Each bit of an id is set in about half of them, whatever the one before was: of 4096 fair coins
/// more than 2368 fall alike less often than once in 10^23 times.
#[test]
fn many_ids_have_nothing_in_common() {
    const MANY: usize = 4096;
    let many = SessionLimits {
        total: MANY,
        per_principal: MANY,
        ..SessionLimits::default()
    };
    let sessions = Sessions::new(many);
    let now = Instant::now();
    let ids = (0..MANY).map(|_| {
        let (id, _) = sessions.insert(now, 0, None).unwrap();
        u128::from_str_radix(id.as_str(), 16).unwrap()
    });
    let ids: Vec<u128> = ids.collect();
    let differences: Vec<u128> = ids.windows(2).map(|pair| pair[0] ^ pair[1]).collect();
    for bit in 0..128 {
        for numbers in [&ids, &differences] {
            let set = numbers.iter().filter(|id| *id >> bit & 1 == 1).count();
            assert!((1728..=2368).contains(&set), "bit {bit}: {set} of {MANY}");
        }
    }
}

#[test]
fn too_many_sessions_are_refused_and_an_ended_one_makes_room() {
    let sessions = Sessions::new(limits());
    let now = Instant::now();
    let (first, _) = sessions.insert(now, 0, caller("ada")).unwrap();
    sessions.insert(now, 0, caller("ada")).unwrap();
    let refused = sessions.insert(now, 0, caller("ada")).unwrap_err();
    assert_eq!(refused, Full::Principal { limit: 2 });
    assert_eq!(refused.response().status(), 429);
    sessions.insert(now, 0, None).unwrap();
    let refused = sessions.insert(now, 0, None).unwrap_err();
    assert_eq!(refused, Full::Total { limit: 3 });
    assert_eq!(refused.response().status(), 503);
    assert!(refused.response().headers().contains_key("retry-after"));
    let ada = Principal::new("ada");
    assert!(sessions.remove(&first, Some(&ada)).is_some());
    assert!(sessions.remove(&first, Some(&ada)).is_none());
    assert_eq!(sessions.len(), 2);
    sessions.insert(now, 0, caller("ada")).unwrap();
}

#[test]
fn the_session_of_another_caller_is_unknown() {
    let sessions = Sessions::new(limits());
    let now = Instant::now();
    let (id, _) = sessions.insert(now, 0, caller("ada")).unwrap();
    let mut other = Principal::new("ada");
    other.issuer = Some("elsewhere".to_owned());
    for stranger in [None, Some(&Principal::new("bob")), Some(&other)] {
        assert!(sessions.find(now, &id, stranger).is_none());
        assert!(sessions.remove(&id, stranger).is_none());
    }
    assert!(
        sessions
            .find(now, &id, Some(&Principal::new("ada")))
            .is_some()
    );
    let (open, _) = sessions.insert(now, 0, None).unwrap();
    assert!(
        sessions
            .find(now, &open, Some(&Principal::new("ada")))
            .is_none()
    );
}

#[test]
fn an_unused_session_lapses_and_a_used_one_lives_on() {
    let sessions = Sessions::new(limits());
    let start = Instant::now();
    let (unused, _) = sessions.insert(start, 1, None).unwrap();
    let (used, _) = sessions.insert(start, 2, None).unwrap();
    let (_, held) = sessions.insert(start, 3, None).unwrap();
    assert_eq!(sessions.next_sweep(), Some(start + minutes(30)));
    assert!(sessions.find(start + minutes(20), &used, None).is_some());
    let now = start + minutes(30);
    assert!(sessions.find(now, &unused, None).is_none());
    let lapsed: Vec<i32> = sessions
        .sweep(now)
        .iter()
        .map(|session| **session)
        .collect();
    assert_eq!(lapsed, [1]);
    assert_eq!(sessions.next_sweep(), Some(start + minutes(50)));
    assert_eq!(sessions.sweep(start + minutes(50)).len(), 1);
    assert_eq!((*held, sessions.len()), (3, 1));
}

#[test]
fn no_session_lives_for_ever() {
    let sessions = Sessions::new(limits());
    let start = Instant::now();
    let (_, _held) = sessions.insert(start, 0, caller("ada")).unwrap();
    assert!(sessions.sweep(start + minutes(24 * 60 - 1)).is_empty());
    assert_eq!(sessions.sweep(start + minutes(24 * 60)).len(), 1);
    assert!(sessions.is_empty());
    assert_eq!(sessions.next_sweep(), None);
    assert!(lock(&sessions.callers).is_empty());
}

#[test]
fn a_limit_beyond_all_time_does_no_harm() {
    let limits = SessionLimits {
        idle: Duration::MAX,
        life: Duration::MAX,
        ..limits()
    };
    let sessions = Sessions::new(limits);
    let now = Instant::now();
    sessions.insert(now, 0, None).unwrap();
    assert!(sessions.sweep(now + minutes(1)).is_empty());
    assert_eq!(sessions.drain().len(), 1);
    assert!(sessions.is_empty());
}
