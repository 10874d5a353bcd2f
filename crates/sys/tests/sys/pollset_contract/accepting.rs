//! Clause 7: accepting from a queue, pausing, waiting for the client's bytes, running out of descriptors.

use sys::pollset::{AcceptError, ListenOptions, Pollset, Received, Rest, Silence, Speaks};

use crate::pollset_contract::harness::{Harness, Seen, listening};
use crate::pollset_contract::steps::{
    LISTENER, ListenerOf, SECOND, connected, quiet, receive_exactly,
};

pub(crate) fn accepting_from_an_empty_queue_is_blocked<H: Harness>(mut harness: H) {
    let (listener, _socket, _client) = connected(&mut harness);
    assert!(matches!(harness.pollset().accept(&listener), Err(AcceptError::Blocked)));
    quiet(&mut harness);
    harness.expect_no_event("no connection waits");
}

pub(crate) fn a_listener_is_reported_while_a_connection_waits<H: Harness>(mut harness: H) {
    let options = listening(harness.free_address());
    let listener = harness.pollset().listen(&options, LISTENER).unwrap();
    let _clients = [harness.connect(&listener), harness.connect(&listener)];
    for _ in 0..3 {
        let event = harness.event_of(LISTENER);
        assert!(event.readable && !event.writable, "{event:?}");
    }
    let first = harness.pollset().accept(&listener).unwrap();
    assert!(harness.event_of(LISTENER).readable, "the second still waits");
    let second = harness.pollset().accept(&listener).unwrap();
    assert_ne!(first.1, second.1, "two peers");
    assert!(first.1.address.is_ipv4() && first.1.port != 0);
    harness.expect_no_event("the queue is empty");
}

pub(crate) fn a_paused_listener_is_not_reported<H: Harness>(mut harness: H) {
    let options = listening(harness.free_address());
    let listener = harness.pollset().listen(&options, LISTENER).unwrap();
    harness.pollset().pause(&listener, LISTENER).unwrap();
    let _client = harness.connect(&listener);
    harness.expect_no_event("it is paused");
    harness.pollset().resume(&listener, SECOND).unwrap();
    assert!(harness.event_of(SECOND).readable, "what came meanwhile waits, under the new token");
    assert!(harness.pollset().accept(&listener).is_ok());
}

pub(crate) fn a_dropped_listener_refuses_what_waits<H: Harness>(mut harness: H) {
    let options = listening(harness.free_address());
    let listener = harness.pollset().listen(&options, LISTENER).unwrap();
    let client = harness.connect(&listener);
    harness.event_of(LISTENER);
    drop(listener);
    assert_eq!(harness.client_sees_end(&client), Seen::Reset);
    harness.expect_no_event("the listener is closed");
}

/// A listener for clients that speak first, and one that does not.
fn silent<H: Harness>(harness: &mut H) -> (ListenerOf<H>, H::Client) {
    let address = harness.free_address();
    let options =
        ListenOptions { address, backlog: 64, first: Speaks::CLIENT, silent: Silence::Trusted };
    let listener = harness.pollset().listen(&options, LISTENER).unwrap();
    let client = harness.connect(&listener);
    (listener, client)
}

pub(crate) fn a_silent_client_is_not_accepted_before_it_speaks<H: Harness>(mut harness: H) {
    let (listener, client) = silent(&mut harness);
    harness.expect_no_event("the client is silent");
    assert!(matches!(harness.pollset().accept(&listener), Err(AcceptError::Blocked)));
    harness.client_send(&client, b"GET");
    assert!(harness.event_of(LISTENER).readable);
    let (socket, _peer) = harness.pollset().accept(&listener).unwrap();
    let received = harness.pollset().receive(&socket);
    assert!(matches!(received, Received::Bytes(_, Rest::No)), "the bytes are there: {received:?}");
}

pub(crate) fn a_silent_client_is_accepted_in_the_end<H: Harness>(mut harness: H) {
    let (listener, _client) = silent(&mut harness);
    let before_ns = harness.pollset().monotonic_ns();
    assert!(harness.event_of(LISTENER).readable);
    let waited_ns = harness.pollset().monotonic_ns() - before_ns;
    assert!(waited_ns >= 500_000_000, "after about a second, not after {waited_ns} ns");
    let (socket, _peer) = harness.pollset().accept(&listener).unwrap();
    assert_eq!(harness.pollset().receive(&socket), Received::Blocked);
}

pub(crate) fn no_descriptor_leaves_the_connection_waiting<H: Harness>(mut harness: H) {
    let (listener, socket, _client) = connected(&mut harness);
    let client = harness.connect(&listener);
    harness.event_of(LISTENER);
    harness.leave_descriptors(0);
    for _ in 0..2 {
        let refused = harness.pollset().accept(&listener);
        assert!(matches!(refused, Err(AcceptError::NoDescriptor)));
    }
    drop(socket);
    let (socket, _peer) = harness.pollset().accept(&listener).expect("it is still there");
    harness.client_send(&client, b"x");
    assert_eq!(receive_exactly(&mut harness, &socket, 1), b"x");
    let nobody = harness.pollset().accept(&listener);
    assert!(matches!(nobody, Err(AcceptError::Blocked)), "nobody waits: that needs no descriptor");
}
