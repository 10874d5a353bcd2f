//! Clauses 5 and 6: an end is distinguished from a reset, and dropping a socket closes it.

use std::io::ErrorKind;

use sys::pollset::{Corking, Pollset, Received, Sent};

use crate::pollset_contract::harness::{Harness, Seen};
use crate::pollset_contract::steps::{FIRST, connected, pattern, receive_exactly, send};

// Clause 5: the end is distinguished.

pub(crate) fn an_end_comes_after_all_bytes<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    let sent = pattern(5_000);
    harness.client_send(&client, &sent);
    harness.client_end_output(&client);
    while !harness.event_of(FIRST).ended {}
    let mut all = Vec::new();
    loop {
        match harness.pollset().receive(&socket) {
            Received::Bytes(bytes, _) => all.extend_from_slice(bytes),
            Received::End => break,
            other => panic!("after an end was reported nothing blocks or fails: {other:?}"),
        }
    }
    assert_eq!(all, sent);
    assert_eq!(harness.pollset().receive(&socket), Received::End, "for ever");
}

pub(crate) fn an_ended_peer_can_still_be_sent_to<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    harness.client_end_output(&client);
    let event = harness.event_of(FIRST);
    assert!(event.readable && event.ended && !event.over, "{event:?}");
    assert_eq!(harness.pollset().receive(&socket), Received::End);
    send(&mut harness, &socket, b"answer");
    assert_eq!(harness.client_receives(&client, 6), b"answer");
}

pub(crate) fn a_reset_fails_and_is_no_end<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    harness.client_reset(client);
    let event = harness.event_of(FIRST);
    assert!(event.readable && event.ended && event.over, "{event:?}");
    assert_eq!(harness.pollset().receive(&socket), Received::Failed(ErrorKind::ConnectionReset));
    let sent = harness.pollset().send_bytes(&socket, b"x", Corking::Off);
    assert_eq!(sent, Sent::Failed(ErrorKind::BrokenPipe));
}

// Clause 6: dropping closes.

pub(crate) fn dropping_a_socket_ends_the_connection<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    send(&mut harness, &socket, b"last words");
    drop(socket);
    assert_eq!(harness.client_receives(&client, 10), b"last words");
    assert_eq!(harness.client_sees_end(&client), Seen::End);
    harness.expect_no_event("it is not in the pollset any more");
}

pub(crate) fn dropping_a_socket_with_unread_bytes_resets<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    harness.client_send(&client, b"never read");
    harness.event_of(FIRST);
    drop(socket);
    assert_eq!(harness.client_sees_end(&client), Seen::Reset);
}

pub(crate) fn reset_on_close_resets<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().reset_on_close(&socket);
    drop(socket);
    assert_eq!(harness.client_sees_end(&client), Seen::Reset);
}

pub(crate) fn ending_our_output_leaves_the_input<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    send(&mut harness, &socket, b"bye");
    harness.pollset().end_output(&socket);
    assert_eq!(harness.client_receives(&client, 3), b"bye");
    assert_eq!(harness.client_sees_end(&client), Seen::End);
    let sent = harness.pollset().send_bytes(&socket, b"x", Corking::Off);
    assert_eq!(sent, Sent::Failed(ErrorKind::BrokenPipe));
    harness.client_send(&client, b"still here");
    assert_eq!(receive_exactly(&mut harness, &socket, 10), b"still here");
}

pub(crate) fn what_is_held_back_goes_with_the_end<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    harness.client_send(&client, b"never read");
    harness.event_of(FIRST);
    assert_eq!(harness.pollset().send_bytes(&socket, b"answer", Corking::On), Sent::All);
    harness.pollset().end_output(&socket);
    // The reset for unread input follows.
    drop(socket);
    assert_eq!(harness.client_receives(&client, 6), b"answer");
}
