//! The simulated world itself: its faults, its determinism, its clients.
//!
//! Its behaviour in common with the kernel is in `pollset_contract`; the servers of whole worlds are in `sim/echo.rs`.
//! This file tests its clock, its events, and how much it can hold; the rest is in the modules.
#![expect(clippy::unwrap_used, reason = "a test stops where its preparation fails")]

#[path = "sim/accepting.rs"]
mod accepting;
#[path = "sim/echo.rs"]
mod echo;
#[path = "sim/endings.rs"]
mod endings;
#[path = "sim/pair.rs"]
mod pair;
#[path = "sim/transfer.rs"]
mod transfer;
#[path = "sim/worlds.rs"]
mod worlds;

use sys::limits::DEFER_ACCEPT_NS;
use sys::pollset::{Pollset, Received, Rest, Speaks, Token};
use world::{ALWAYS, Faults, World};

use pair::{address, events, listen};

#[test]
fn wall_clock_and_monotonic_time_pass_together() {
    let world = World::new(1, Faults::none());
    let mut sim = world.pollset(0);
    let (monotonic_ns, unix_ns) = (sim.monotonic_ns(), sim.unix_ns());
    world.advance(1_234);
    assert_eq!(sim.monotonic_ns(), monotonic_ns + 1_234);
    assert_eq!(sim.unix_ns(), unix_ns + 1_234);
    assert_eq!(World::new(2, Faults::harsh()).now_ns(), monotonic_ns, "every world starts alike");
}

#[test]
fn events_are_shuffled_held_doubled_and_made_up_only_when_asked_for() {
    let world = World::new(11, Faults::none());
    let mut sim = world.pollset(0);
    let listener = listen(&mut sim, Speaks::Either);
    let mut pairs = Vec::new();
    for number in 0..20 {
        let client = world.connect(&address()).unwrap();
        let (socket, _) = sim.accept(&listener).unwrap();
        sim.watch(&socket, Token(100 + number)).unwrap();
        pairs.push((client, socket));
    }
    let mut tokens_with = |faults: Faults| -> Vec<u64> {
        world.set_faults(faults);
        for (client, socket) in &pairs {
            world.client_send(*client, b"x");
            assert!(matches!(sim.receive(socket), Received::Bytes(..) | Received::Blocked));
            world.client_send(*client, b"y");
        }
        let tokens = events(&mut sim).iter().map(|event| event.token.0).collect();
        world.set_faults(Faults::none());
        let _held_back = events(&mut sim);
        tokens
    };
    let in_order: Vec<u64> = (100..120).collect();
    assert_eq!(tokens_with(Faults::none()), in_order);
    let mut shuffled = tokens_with(Faults { shuffle: ALWAYS, ..Faults::none() });
    assert_ne!(shuffled, in_order);
    shuffled.sort_unstable();
    assert_eq!(shuffled, in_order);
    let held = tokens_with(Faults { hold: ALWAYS / 2, ..Faults::none() });
    assert!((1..20).contains(&held.len()), "{held:?}");
    let doubled = tokens_with(Faults { duplicate: ALWAYS, ..Faults::none() });
    assert_eq!(doubled.len(), 40);
    let made_up = tokens_with(Faults { spurious: ALWAYS, ..Faults::none() });
    assert_eq!(made_up.len(), 21);
}

#[test]
fn many_idle_connections_are_counted_and_have_no_appointments() {
    const MANY: usize = 100_000;
    let world = World::new(1, Faults::none());
    let mut sim = world.pollset(0);
    let listener = listen(&mut sim, Speaks::CLIENT);
    let mut sockets = Vec::new();
    for _ in 0..MANY {
        let client = world.connect(&address()).unwrap();
        world.client_send(client, b"hello");
        let (socket, _) = sim.accept(&listener).unwrap();
        assert_eq!(sim.receive(&socket), Received::Bytes(&mut b"hello".to_owned(), Rest::No));
        sim.watch(&socket, Token(1 + sockets.len() as u64)).unwrap();
        sockets.push(socket);
    }
    assert_eq!(world.open_descriptors(0), MANY + 1);
    assert!(events(&mut sim).is_empty());
    world.advance(10 * DEFER_ACCEPT_NS);
    assert_eq!(world.next_event_ns(), None, "what is idle has no appointments");
    drop(sockets);
    assert_eq!(world.open_descriptors(0), 1);
}
