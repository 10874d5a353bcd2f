//! Clauses 1 and 2: an event carries its socket's token, and readiness is reported on change.

use sys::pollset::{Pollset, Received};

use crate::pollset_contract::harness::Harness;
use crate::pollset_contract::steps::{
    FIRST, SECOND, connected, connection, quiet, receive_exactly,
};

// Clause 1: tokens.

pub(crate) fn an_event_carries_the_token_of_its_socket<H: Harness>(mut harness: H) {
    let (listener, first, first_client) = connected(&mut harness);
    let (second, second_client) = connection(&mut harness, &listener);
    harness.pollset().watch(&first, FIRST).unwrap();
    harness.pollset().watch(&second, SECOND).unwrap();
    harness.client_send(&second_client, b"2");
    let event = harness.event_of(SECOND);
    assert!(event.readable && !event.writable && !event.ended, "{event:?}");
    harness.client_send(&first_client, b"1");
    assert!(harness.event_of(FIRST).readable);
}

pub(crate) fn a_dropped_socket_is_stale_in_its_batch_and_never_after<H: Harness>(mut harness: H) {
    let (listener, first, first_client) = connected(&mut harness);
    let (second, second_client) = connection(&mut harness, &listener);
    harness.pollset().watch(&first, FIRST).unwrap();
    harness.pollset().watch(&second, SECOND).unwrap();
    let mut sockets = [(FIRST, Some(first)), (SECOND, Some(second))];
    // Whether both come in one batch is a matter of luck: try until they do.
    let batch = harness.await_that("both in one batch", |harness| {
        harness.client_send(&first_client, b"x");
        harness.client_send(&second_client, b"x");
        let events = harness.events();
        let tokens: Vec<_> = events.iter().map(|event| event.token).collect();
        (tokens.contains(&FIRST) && tokens.contains(&SECOND)).then_some(tokens)
    });
    let last = *batch.last().unwrap();
    let dropped = sockets.iter_mut().find(|(token, _)| *token == last).unwrap();
    drop(dropped.1.take());
    let stale = harness.pollset().event(batch.len() - 1).token;
    assert_eq!(stale, last, "the batch is as it was");
    let [ended, kept] =
        if last == FIRST { [first_client, second_client] } else { [second_client, first_client] };
    harness.client_reset(ended);
    quiet(&mut harness);
    harness.client_send(&kept, b"x");
    assert_ne!(harness.event_of(if last == FIRST { SECOND } else { FIRST }).token, last);
    harness.expect_no_event("a dropped socket is not in the pollset");
}

pub(crate) fn a_socket_dropped_before_the_wait_is_not_reported<H: Harness>(mut harness: H) {
    let (listener, first, first_client) = connected(&mut harness);
    let (second, second_client) = connection(&mut harness, &listener);
    harness.pollset().watch(&first, FIRST).unwrap();
    harness.pollset().watch(&second, SECOND).unwrap();
    harness.client_send(&first_client, b"x");
    harness.client_end_output(&second_client);
    harness.pass(5_000_000);
    drop((first, second));
    harness.expect_no_event("both were taken out before they were reported");
}

// Clause 2: readiness is reported on change.

pub(crate) fn bytes_are_reported_once_and_new_ones_again<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    harness.client_send(&client, b"a");
    assert!(harness.event_of(FIRST).readable);
    harness.expect_no_event("what was reported is not reported again");
    harness.client_send(&client, b"b");
    assert!(harness.event_of(FIRST).readable);
    assert_eq!(receive_exactly(&mut harness, &socket, 2), b"ab");
    assert_eq!(harness.pollset().receive(&socket), Received::Blocked);
    harness.expect_no_event("nothing came");
}

pub(crate) fn bytes_before_the_watch_are_reported_after_it<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.client_send(&client, b"early");
    harness.await_that("the bytes", |harness| {
        let received = harness.pollset().receive(&socket);
        (!matches!(received, Received::Blocked)).then_some(())
    });
    harness.client_send(&client, b"then");
    harness.expect_no_event("not watched");
    harness.pollset().watch(&socket, FIRST).unwrap();
    assert!(harness.event_of(FIRST).readable);
    assert!(matches!(harness.pollset().receive(&socket), Received::Bytes(..)));
}

pub(crate) fn a_watch_without_bytes_reports_nothing<H: Harness>(mut harness: H) {
    let (_listener, socket, _client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    harness.expect_no_event("there is nothing to read, and room is not asked for");
    assert_eq!(harness.pollset().receive(&socket), Received::Blocked);
}
