//! Clause 4, sends accept what fits; and sending in pieces, with more to follow, or from a file.

use std::io::{ErrorKind, IoSlice};

use sys::limits::UNSENT_BYTES;
use sys::pollset::{Corking, Interest, Pollset, Sent};

use crate::pollset_contract::harness::Harness;
use crate::pollset_contract::steps::{FIRST, connected, file, fill, pattern, send};

pub(crate) fn a_send_without_room_is_partial_and_room_is_reported<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    let taken = fill(&mut harness, &socket, &client);
    harness.pollset().set_interest(&socket, FIRST, Interest::ReadWrite).unwrap();
    let received = harness.client_receives(&client, taken.len());
    assert!(received == taken, "the bytes that were taken, in order");
    let event = harness.event_of(FIRST);
    assert!(event.writable && !event.readable && !event.ended, "{event:?}");
    send(&mut harness, &socket, b"rest");
    assert_eq!(harness.client_receives(&client, 4), b"rest");
}

pub(crate) fn what_the_peer_has_not_taken_is_outstanding<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    assert_eq!(harness.pollset().outstanding(&socket), 0);
    let taken = fill(&mut harness, &socket, &client);
    let outstanding = harness.pollset().outstanding(&socket);
    assert!((1..=taken.len() as u64).contains(&outstanding), "{outstanding}");
    harness.client_receives(&client, taken.len());
    harness.await_that("nothing to be outstanding", |harness| {
        (harness.pollset().outstanding(&socket) == 0).then_some(())
    });
}

pub(crate) fn a_peer_that_does_not_read_is_sent_little<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    let taken = fill(&mut harness, &socket, &client);
    // Half of it for bytes on the way, and for what the peer's kernel holds.
    let most = 4 * UNSENT_BYTES as usize;
    assert!(taken.len() < most, "{} of {most}", taken.len());
}

pub(crate) fn room_is_not_reported_to_who_only_reads<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    let taken = fill(&mut harness, &socket, &client);
    harness.client_send(&client, b"x");
    assert!(!harness.event_of(FIRST).writable);
    harness.client_receives(&client, taken.len());
    harness.expect_no_event("interest is in reading alone, and what is unread was reported");
    harness.client_send(&client, b"y");
    assert!(!harness.event_of(FIRST).writable);
}

pub(crate) fn asking_for_room_that_is_there_reports_it<H: Harness>(mut harness: H) {
    let (_listener, socket, _client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    harness.pollset().set_interest(&socket, FIRST, Interest::ReadWrite).unwrap();
    assert!(harness.event_of(FIRST).writable);
    harness.expect_no_event("room is reported once");
    harness.pollset().set_interest(&socket, FIRST, Interest::Read).unwrap();
    harness.expect_no_event("and not to who only reads");
}

// Other operations of a scheduler.

pub(crate) fn pieces_are_sent_in_order<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    let parts = [IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"two")];
    assert_eq!(harness.pollset().send(&socket, &parts, Corking::Off), Sent::All);
    assert_eq!(harness.client_receives(&client, 7), b"one two");
}

pub(crate) fn more_is_sent_with_what_follows<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    assert_eq!(harness.pollset().send_bytes(&socket, b"head ", Corking::On), Sent::All);
    send(&mut harness, &socket, b"body");
    assert_eq!(harness.client_receives(&client, 9), b"head body");
    // A promise that is not kept costs time, not bytes.
    assert_eq!(harness.pollset().send_bytes(&socket, b"alone", Corking::On), Sent::All);
    assert_eq!(harness.client_receives(&client, 5), b"alone");
}

pub(crate) fn a_region_of_a_file_is_sent<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    let bytes = pattern(40_000);
    let file = file::<H>("region", &bytes);
    let mut offset = 1_000;
    let end = 31_000;
    while offset < end {
        let left = usize::try_from(end - offset).unwrap();
        offset += match harness.pollset().send_file(&socket, &file, offset, left) {
            Sent::All => left as u64,
            Sent::Part(count) => count as u64,
            other => panic!("{other:?}"),
        };
    }
    assert!(harness.client_receives(&client, 30_000) == bytes[1_000..31_000]);
}

pub(crate) fn a_file_that_became_shorter_fails<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    let file = file::<H>("shorter", b"0123456789");
    assert_eq!(harness.pollset().send_file(&socket, &file, 5, 100), Sent::Part(5));
    let sent = harness.pollset().send_file(&socket, &file, 10, 95);
    assert_eq!(sent, Sent::Failed(ErrorKind::UnexpectedEof));
    assert_eq!(harness.client_receives(&client, 5), b"56789");
}
