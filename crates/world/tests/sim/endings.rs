//! Connections that end: resets, faults, closed ends, and segments that arrive after the end.

use std::io::ErrorKind;

use sys::pollset::{Corking, Pollset, Received, Sent};
use world::{ALWAYS, ClientState, Faults};

use crate::pair::{FIRST, MILLISECOND_NS, Pair, address, events, pair};

#[test]
fn a_reset_is_told_once_however_often_the_client_answers_by_one() {
    let faults = Faults { latency_ns_maximum: MILLISECOND_NS, split: ALWAYS / 2, ..Faults::none() };
    for seed in 0..20 {
        let Pair { world, mut sim, socket, client, .. } = pair(seed, faults.clone());
        sim.send_bytes(&socket, b"a few segments on their way", Corking::Off);
        world.client_reset(client);
        while events(&mut sim).is_empty() {
            world.advance(1_000);
        }
        assert_eq!(sim.receive(&socket), Received::Failed(ErrorKind::ConnectionReset));
        world.advance(4 * MILLISECOND_NS);
        assert!(events(&mut sim).is_empty(), "seed {seed}");
        assert_eq!(sim.receive(&socket), Received::End);
    }
}

#[test]
fn a_cut_connection_is_gone_at_both_ends() {
    let faults = Faults { cut_connection: ALWAYS, ..Faults::none() };
    let Pair { world, mut sim, socket, client, .. } = pair(1, faults);
    world.client_send(client, b"lost");
    assert_eq!(world.client_state(client), ClientState::Cut);
    let event = events(&mut sim)[0];
    assert!(event.readable && event.writable && event.ended, "{event:?}");
    assert_eq!(sim.receive(&socket), Received::Failed(ErrorKind::ConnectionReset));
    world.client_send(client, b"nobody");
    assert_eq!(world.client_unsent(client), 0);
}

#[test]
fn a_reset_may_overtake_what_was_sent_before_it() {
    let mut lost = 0;
    for seed in 0..40 {
        let faults = Faults {
            reset_overtakes: ALWAYS / 2,
            latency_ns_maximum: MILLISECOND_NS,
            ..Faults::none()
        };
        let Pair { world, mut sim, socket, client, .. } = pair(seed, faults);
        world.client_send(client, b"unread");
        world.advance(MILLISECOND_NS);
        sim.send_bytes(&socket, b"400", Corking::Off);
        drop(socket);
        world.advance(2 * MILLISECOND_NS);
        assert_eq!(world.client_state(client), ClientState::Reset);
        let received = world.client_received(client);
        assert!(received.is_empty() || received == b"400");
        lost += usize::from(received.is_empty());
    }
    assert!((1..40).contains(&lost), "{lost}");
}

#[test]
fn bytes_to_a_closed_end_are_answered_by_a_reset() {
    let Pair { world, socket, client, .. } = pair(1, Faults::none());
    drop(socket);
    assert_eq!(world.client_state(client), ClientState::EndedByServer);
    world.client_send(client, b"too late");
    assert_eq!(world.client_state(client), ClientState::Reset);

    let Pair { world, mut sim, socket, client, .. } = pair(1, Faults::none());
    world.client_close(client);
    assert!(events(&mut sim)[0].ended);
    assert_eq!(sim.receive(&socket), Received::End);
    assert_eq!(sim.send_bytes(&socket, b"anybody?", Corking::Off), Sent::All);
    let event = events(&mut sim)[0];
    assert!(event.ended && event.writable, "the reset is told even to who only reads: {event:?}");
    let sent = sim.send_bytes(&socket, b"x", Corking::Off);
    assert_eq!(sent, Sent::Failed(ErrorKind::BrokenPipe));
}

#[test]
fn a_client_id_means_its_connection_for_ever() {
    let Pair { world, mut sim, listener, socket, client, .. } = pair(1, Faults::none());
    world.client_close(client);
    drop(socket);
    let next = world.connect(&address()).unwrap();
    assert_ne!(next, client);
    let (socket, _) = sim.accept(&listener).unwrap();
    world.client_send(client, b"ghost");
    world.client_reset(client);
    assert_eq!(sim.receive(&socket), Received::Blocked, "the new connection is untouched");
    assert_eq!(world.client_state(client), ClientState::Closed);
    assert_eq!(world.client_state(next), ClientState::Open);
}

#[test]
fn late_event_does_not_reach_next_connection_in_slot() {
    let faults = Faults { delay: ALWAYS, delay_ns_maximum: MILLISECOND_NS, ..Faults::none() };
    let Pair { world, mut sim, listener, socket, client } = pair(1, faults);
    world.client_send(client, b"late");
    sim.send_bytes(&socket, b"late too", Corking::Off);
    world.client_close(client);
    drop(socket);
    let next = world.connect(&address()).unwrap();
    let (socket, _) = sim.accept(&listener).unwrap();
    sim.watch(&socket, FIRST).unwrap();
    world.advance(10 * MILLISECOND_NS);
    assert!(events(&mut sim).is_empty());
    assert_eq!(sim.receive(&socket), Received::Blocked);
    assert!(world.client_received(next).is_empty());
    assert_eq!(world.client_state(next), ClientState::Open);
}
