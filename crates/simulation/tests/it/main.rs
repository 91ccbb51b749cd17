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
