//! Every target over its stored inputs and over mutations of them, on stable Rust.
//!
//! `SWITCHBOARD_FUZZ_RUNS` says how many mutations; without it 20 000. A target that
//! takes longer has fewer.

use switchboard_fuzz::{Mutator, TARGETS, seeds};

#[test]
fn every_target_holds_for_its_stored_inputs_and_mutations_of_them() {
    let runs = std::env::var("SWITCHBOARD_FUZZ_RUNS");
    let runs: u64 = runs.map_or(20_000, |runs| runs.parse().expect("a number"));
    for target in TARGETS {
        let seeds = seeds(target).expect("every target has a corpus");
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        seeds.iter().for_each(|seed| (target.check)(seed));
        let mut mutator = Mutator::new(seeds, 0x5EED);
        for _ in 0..runs / target.weight {
            (target.check)(mutator.next_input());
        }
    }
}
