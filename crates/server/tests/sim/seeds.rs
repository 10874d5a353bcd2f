//! Which worlds are run.
//!
//! Owns the environment variables (`SIM_SEEDS=n` sets the number of worlds, `SIM_SEED=x` runs one) and the list of
//! seeds that failed once, which are always run.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seeds that failed once: the test's name and the seed, one pair per line.
const FAILED_SEEDS: &str = include_str!("failed_seeds.txt");

/// The number in an environment variable.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Seeds that failed in this test.
fn failed(name: &str) -> impl Iterator<Item = u64> {
    let lines = FAILED_SEEDS.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.filter(move |(test, _)| *test == name).map(|(_, seed)| seed.trim().parse().unwrap())
}

/// Runs a world for each seed; `count` of them unless the environment says otherwise.
pub(crate) fn run(name: &str, count: u64, world: impl Fn(u64)) {
    if let Some(seed) = number("SIM_SEED") {
        return world(seed);
    }
    let count = number("SIM_SEEDS").unwrap_or(count);
    let mut red = Vec::new();
    for seed in failed(name).chain(0..count) {
        if catch_unwind(AssertUnwindSafe(|| world(seed))).is_err() {
            red.push(seed);
        }
    }
    let first = red.first().copied().unwrap_or_default();
    let thread = std::thread::current();
    let test = thread.name().unwrap_or(name);
    assert!(
        red.is_empty(),
        "{} of {count} worlds failed: {red:?}\nreplay: SIM_SEED={first} cargo test -p velodrome-server \
         --test sim -- --exact {test}\nthen add `{name} {first}` to tests/sim/failed_seeds.txt",
        red.len()
    );
}
