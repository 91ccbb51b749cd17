//! That a run can be had again, and is none of the others.
//!
//! Many schedules are a step of `cargo xtask check`, and more of them `cargo xtask simulate`.

use switchboard_simulation::run;

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..50 {
        let (one, other) = (run(seed, 60, false), run(seed, 60, true));
        assert_eq!(one.digest, other.digest, "seed {seed}");
        assert_eq!(one.steps, other.steps, "seed {seed}");
        assert_eq!(one.violations, [""; 0], "seed {seed}");
    }
}

#[test]
fn other_seeds_are_other_runs() {
    let mut digests: Vec<u64> = (0..50).map(|seed| run(seed, 20, false).digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 50);
}

/// Runs in which a promise was broken once.
#[test]
fn what_was_found_once_holds() {
    let asked_about_the_call_of_another = [11_349_326, 20_107_573];
    let prompts_that_were_not_listed_yet = [10_061_186, 11_071_160, 11_340_541];
    let longer_than_allowed = [
        10_082_936, 10_142_725, 11_048_487, 11_137_240, 11_158_019, 50_075_631,
    ];
    let failed_for_our_waiting = [20_424_037];
    let seeds = asked_about_the_call_of_another
        .into_iter()
        .chain(prompts_that_were_not_listed_yet)
        .chain(longer_than_allowed)
        .chain(failed_for_our_waiting);
    for seed in seeds {
        assert_eq!(run(seed, 100, false).violations, [""; 0], "seed {seed}");
    }
}
