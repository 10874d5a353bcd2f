//! Bytes in flight: buffers that fill, segments that take time, cuts, corks and cold files.

use sys::file::{Directory, Symlinks};
use sys::pollset::{Corking, Interest, Pollset, Received, Rest, Sent};
use world::limits::{BUFFER, CORK_NS};
use world::{ALWAYS, ClientState, Faults, Stall};

use crate::pair::{FIRST, MILLISECOND_NS, Pair, events, pair};

#[test]
fn a_stalled_reader_fills_the_buffer_and_a_third_makes_room() {
    let Pair { world, mut sim, socket, client, .. } = pair(1, Faults::none());
    let capacity = BUFFER as usize;
    world.client_stall(client, Stall::Reading);
    let sent = sim.send_bytes(&socket, &vec![b'x'; capacity + 1], Corking::Off);
    assert_eq!(sent, Sent::Part(capacity));
    assert_eq!(sim.send_bytes(&socket, b"x", Corking::Off), Sent::Part(0));
    sim.set_interest(&socket, FIRST, Interest::ReadWrite).unwrap();
    assert!(events(&mut sim).is_empty());
    assert!(world.client_received(client).is_empty(), "it does not read");
    assert_eq!(world.client_read(client, capacity / 4).len(), capacity / 4, "it reads a little");
    assert!(events(&mut sim).is_empty(), "a quarter is not a third");
    assert_eq!(sim.send_bytes(&socket, b"x", Corking::Off), Sent::All, "though there is room");
    world.client_stall(client, Stall::Nothing);
    assert!(events(&mut sim)[0].writable);
    assert_eq!(world.client_received(client).len(), capacity - capacity / 4 + 1);
    assert!(events(&mut sim).is_empty());
}

#[test]
fn unread_bytes_wait_at_client() {
    let Pair { world, mut sim, socket, client, .. } = pair(1, Faults::none());
    let sent: Vec<u8> = (0..200_000_u32).map(|place| place.to_le_bytes()[0]).collect();
    world.client_send(client, &sent);
    world.client_end_output(client);
    assert_eq!(world.client_unsent(client), sent.len() - BUFFER as usize);
    let mut all = Vec::new();
    while let Received::Bytes(bytes, _) = sim.receive(&socket) {
        all.extend_from_slice(bytes);
    }
    assert!(all == sent);
    assert_eq!(world.client_unsent(client), 0);
    assert_eq!(sim.receive(&socket), Received::End);
}

#[test]
fn segments_take_their_time_and_the_world_says_when() {
    let delay_ns = 30 * MILLISECOND_NS;
    let faults = Faults { delay: ALWAYS, delay_ns_maximum: delay_ns, ..Faults::none() };
    let Pair { world, mut sim, socket, client, .. } = pair(3, faults);
    assert_eq!(world.next_event_ns(), None);
    let sent_ns = world.now_ns();
    world.client_send(client, b"slow");
    let arrives_ns = world.next_event_ns().unwrap();
    assert!(arrives_ns > sent_ns && arrives_ns <= sent_ns + delay_ns);
    world.advance(arrives_ns - sent_ns - 1);
    assert!(events(&mut sim).is_empty() && !world.is_ready(0));
    world.advance(1);
    assert!(world.is_ready(0));
    assert_eq!(world.next_event_ns(), Some(world.now_ns()), "there is something to tell now");
    assert!(events(&mut sim)[0].readable);
    assert_eq!(sim.receive(&socket), Received::Bytes(&mut b"slow".to_owned(), Rest::No));
    assert_eq!(world.next_event_ns(), None);

    sim.send_bytes(&socket, b"answer", Corking::Off);
    assert!(world.client_received(client).is_empty());
    world.advance(delay_ns);
    assert_eq!(world.client_received(client), b"answer");
}

#[test]
fn a_cut_receive_leaves_the_rest_in_place_or_for_later() {
    let faults = Faults { cut_receive: ALWAYS, delay_ns_maximum: MILLISECOND_NS, ..Faults::none() };
    let (mut in_place, mut later) = (0, 0);
    for seed in 0..40 {
        let Pair { world, mut sim, socket, client, .. } = pair(seed, faults.clone());
        world.client_send(client, b"a few bytes");
        assert_eq!(events(&mut sim).len(), 1);
        match sim.receive(&socket) {
            Received::Bytes(bytes, Rest::Perhaps) => {
                in_place += 1;
                assert!(bytes.len() < 11);
                assert!(events(&mut sim).is_empty(), "no new event for the rest");
                assert!(matches!(sim.receive(&socket), Received::Bytes(..)));
            }
            Received::Bytes(bytes, Rest::No) => {
                later += 1;
                assert!(bytes.len() < 11);
                assert_eq!(sim.receive(&socket), Received::Blocked);
                assert!(events(&mut sim).is_empty());
                world.advance(MILLISECOND_NS);
                assert!(events(&mut sim)[0].readable, "a new event for the rest");
                assert!(matches!(sim.receive(&socket), Received::Bytes(..)));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(in_place > 5 && later > 5, "{in_place} and {later}");
}

#[test]
fn a_cut_send_has_room_again_later() {
    let faults = Faults { cut_send: ALWAYS, delay_ns_maximum: MILLISECOND_NS, ..Faults::none() };
    let Pair { world, mut sim, socket, client, .. } = pair(1, faults);
    let Sent::Part(count) = sim.send_bytes(&socket, b"0123456789", Corking::Off) else {
        panic!("a cut send is partial");
    };
    assert!(count < 10);
    assert_eq!(sim.send_bytes(&socket, b"x", Corking::Off), Sent::Part(0), "for a span");
    sim.set_interest(&socket, FIRST, Interest::ReadWrite).unwrap();
    assert!(events(&mut sim).is_empty());
    world.advance(MILLISECOND_NS);
    assert!(events(&mut sim)[0].writable);
    assert_eq!(world.client_received(client).len(), count);
}

#[test]
fn more_that_does_not_follow_costs_time() {
    let Pair { world, mut sim, socket, client, .. } = pair(1, Faults::none());
    assert_eq!(sim.send_bytes(&socket, b"alone", Corking::On), Sent::All);
    world.advance(CORK_NS - 1);
    assert!(world.client_received(client).is_empty());
    world.advance(1);
    assert_eq!(world.client_received(client), b"alone");
    sim.send_bytes(&socket, b"head ", Corking::On);
    sim.send_bytes(&socket, b"body", Corking::Off);
    assert_eq!(world.client_received(client), b"head body");
    sim.send_bytes(&socket, &[b'x'; 2_000], Corking::On);
    assert_eq!(world.client_received(client).len(), 2_000, "what fills a segment does not wait");
    sim.send_bytes(&socket, b"end", Corking::On);
    drop(socket);
    assert_eq!(world.client_received(client), b"end", "a close transmits");
    assert_eq!(world.client_state(client), ClientState::EndedByServer);
}

#[test]
fn a_cold_file_is_ready_after_a_span_or_once_warmed() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(path.join("cold"), b"content").unwrap();
    let root = Directory::open(path).unwrap();
    let file = root.open_beneath(std::path::Path::new("cold"), Symlinks::Refuse).unwrap();
    let faults = Faults { cold: ALWAYS, cold_ns_maximum: 1_000 * MILLISECOND_NS, ..Faults::none() };
    let Pair { world, mut sim, socket, client, .. } = pair(1, faults);
    assert_eq!(sim.send_file(&socket, &file, 0, 3), Sent::Cold);
    assert_eq!(sim.send_file(&socket, &file, 0, 3), Sent::Cold, "it stays cold");
    world.advance(1_000 * MILLISECOND_NS);
    assert_eq!(sim.send_file(&socket, &file, 0, 3), Sent::All);
    assert_eq!(sim.send_file(&socket, &file, 3, 4), Sent::Cold);
    world.warm();
    assert_eq!(sim.send_file(&socket, &file, 3, 4), Sent::All);
    assert_eq!(world.client_received(client), b"content");
}
