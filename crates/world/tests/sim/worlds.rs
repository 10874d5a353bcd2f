//! Whole worlds of echo servers: the faults they survive, and that the seed determines everything.

use std::collections::BTreeSet;

use sys::pollset::{Corking, Pollset};
use world::{Faults, Random};

use crate::echo::{Care, echo_world};
use crate::pair::{address, pair};

#[test]
fn a_careful_server_answers_everybody_in_a_gentle_world() {
    let mut stale = 0;
    let mut refused = 0;
    for seed in 0..200 {
        let outcome = echo_world(&address(), seed, Faults::gentle(), Care::Careful);
        assert_eq!(outcome.echoed, outcome.clients, "seed {seed}");
        stale += outcome.stale;
        refused += outcome.refused;
    }
    assert!(stale > 0, "some events were stale");
    assert!(refused > 0, "sometimes there was no descriptor");
}

#[test]
fn a_forgetful_server_hangs_in_a_gentle_world() {
    let whole = |care| {
        let outcomes = (0..50).map(|seed| echo_world(&address(), seed, Faults::gentle(), care));
        outcomes.filter(|outcome| outcome.echoed == outcome.clients).count()
    };
    assert_eq!(whole(Care::Careful), 50);
    assert_eq!(whole(Care::Forgetful), 0, "edges are not repeated");
}

#[test]
fn a_harsh_world_loses_only_the_connections_it_cuts() {
    let (mut cut, mut unwatched, mut echoed) = (0, 0, 0);
    for seed in 0..200 {
        let outcome = echo_world(&address(), seed, Faults::harsh(), Care::Careful);
        let lost = outcome.clients - outcome.echoed;
        let refused = usize::try_from(outcome.unwatched).unwrap();
        assert!(lost <= outcome.cut + refused, "seed {seed}: {lost}, {}", outcome.cut);
        cut += outcome.cut;
        unwatched += refused;
        echoed += outcome.echoed;
    }
    assert!(cut > 0 && unwatched > 0, "{cut} cut, {unwatched} refused");
    assert!(echoed > 2_000, "half of them were not: {echoed}");
}

#[test]
fn the_same_seed_is_the_same_world_and_another_is_another() {
    let world = |seed| {
        let faults = Faults::drawn(&mut Random::new(seed));
        echo_world(&address(), seed, faults, Care::Careful).fingerprint
    };
    let first: Vec<u64> = (0..100).map(world).collect();
    let second: Vec<u64> = (0..100).map(world).collect();
    assert_eq!(first, second);
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 100, "no two are the same");
    let harsh = |seed| echo_world(&address(), seed, Faults::harsh(), Care::Careful).fingerprint;
    let same_faults: BTreeSet<u64> = (0..100).map(harsh).collect();
    assert_eq!(same_faults.len(), 100, "the seed alone makes the difference");
}

#[test]
fn the_fingerprint_sees_the_bytes() {
    let run = |bytes: &[u8]| {
        let mut pair = pair(1, Faults::none());
        pair.sim.send_bytes(&pair.socket, bytes, Corking::Off);
        pair.world.fingerprint()
    };
    assert_eq!(run(b"same"), run(b"same"));
    assert_ne!(run(b"same"), run(b"some"));
}
