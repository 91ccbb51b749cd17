//! Many short schedules, and that each can be had again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use switchboard_simulation::run;

/// Seeds of this check; long runs begin elsewhere: `cargo xtask simulate`.
const SEEDS: u64 = 2_000;
const STEPS: u64 = 25;

#[test]
fn nothing_that_must_not_happen_happens() {
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= SEEDS {
                        return;
                    }
                    check(seed);
                }
            });
        }
    });
}

fn check(seed: u64) {
    let first = run(seed, STEPS, false);
    if first.violations.is_empty() {
        return;
    }
    // Once more, to say what happened.
    let again = run(seed, STEPS, true);
    let last = again.lines.len().saturating_sub(LINES);
    panic!(
        "{}\n{}\nreplay it with: cargo xtask simulate --seed {seed} --steps {STEPS}",
        again.lines[last..].join("\n"),
        again.violations.join("\n"),
    );
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..50 {
        let (one, other) = (run(seed, 60, false), run(seed, 60, true));
        assert_eq!(one.digest, other.digest, "seed {seed}");
        assert_eq!(one.steps, other.steps, "seed {seed}");
    }
}

#[test]
fn other_seeds_are_other_runs() {
    let mut digests: Vec<u64> = (0..50).map(|seed| run(seed, 20, false).digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 50);
}

/// So much of what happened is shown.
const LINES: usize = 100;
