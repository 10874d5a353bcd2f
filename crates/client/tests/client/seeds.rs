//! Which worlds are run.
//!
//! Owns the environment variables: `SIM_SEEDS=n` sets the number of worlds, `SIM_SEED=x` runs one.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The number in an environment variable.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Runs a world for each seed; `count` of them unless the environment says otherwise.
pub(crate) fn run(count: u64, world: impl Fn(u64)) {
    if let Some(seed) = number("SIM_SEED") {
        return world(seed);
    }
    let count = number("SIM_SEEDS").unwrap_or(count);
    let is_red = |seed: &u64| catch_unwind(AssertUnwindSafe(|| world(*seed))).is_err();
    let red: Vec<u64> = (0..count).filter(is_red).collect();
    assert!(red.is_empty(), "{} of {count} worlds failed; SIM_SEED= one of {red:?}", red.len());
}
