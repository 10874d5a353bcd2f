//! Clause 9: connections begin without waiting, and their result is reported.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr};

use sys::connect::RemoteAddress;
use sys::pollset::{ConnectOptions, Connecting, Corking, Interest, Pollset, Received, Sent};

use crate::pollset_contract::harness::Harness;
use crate::pollset_contract::steps::{
    FIRST, SECOND, SocketOf, fill, pattern, quiet, receive_exactly, send,
};

fn options(to: &RemoteAddress) -> ConnectOptions {
    ConnectOptions { to: to.clone(), from: None }
}

/// An established connection, however long it took, watched as by a scheduler.
fn stands<H: Harness>(harness: &mut H, options: &ConnectOptions) -> SocketOf<H> {
    let (socket, connecting) = harness.pollset().connect(options, FIRST).unwrap();
    match connecting {
        Connecting::Done => harness.pollset().watch(&socket, FIRST).unwrap(),
        Connecting::Pending => {
            let event = harness.event_of(FIRST);
            assert!(event.writable && !event.ended, "{event:?}");
            assert_eq!(harness.pollset().outcome(&socket), Ok(Connecting::Done));
        }
    }
    socket
}

/// A connection to a slow remote.
fn pending<H: Harness>(harness: &mut H, remote: &RemoteAddress) -> SocketOf<H> {
    let (socket, connecting) = harness.pollset().connect(&options(remote), FIRST).unwrap();
    assert_eq!(connecting, Connecting::Pending);
    socket
}

fn accepted<H: Harness>(harness: &mut H, remote: &RemoteAddress) -> (H::Client, IpAddr) {
    harness.await_that("the connection at its remote", |harness| harness.accept_remote(remote))
}

fn talk<H: Harness>(harness: &mut H, socket: &SocketOf<H>, client: &H::Client) {
    send(harness, socket, b"question");
    assert_eq!(harness.client_receives(client, 8), b"question");
    quiet(harness);
    harness.client_send(client, b"answer");
    assert!(harness.event_of(FIRST).readable);
    assert_eq!(receive_exactly(harness, socket, 6), b"answer");
    harness.client_end_output(client);
    while !harness.event_of(FIRST).ended {}
    assert_eq!(harness.pollset().receive(socket), Received::End);
}

pub(crate) fn a_connection_that_stands_is_like_an_accepted_one<H: Harness>(mut harness: H) {
    let remote = harness.remote();
    let socket = stands(&mut harness, &options(&remote));
    let (client, _address) = accepted(&mut harness, &remote);
    talk(&mut harness, &socket, &client);
}

pub(crate) fn the_local_address_is_the_one_asked_for<H: Harness>(mut harness: H) {
    let remote = harness.remote();
    for last in [1, 2, 77] {
        let from = IpAddr::from([127, 0, 0, last]);
        let options = ConnectOptions { to: remote.clone(), from: Some(from) };
        let _socket = stands(&mut harness, &options);
        assert_eq!(accepted(&mut harness, &remote).1, from);
    }
}

pub(crate) fn the_sixth_version_connects_too<H: Harness>(mut harness: H) {
    let remote = harness.remote_v6();
    for from in [None, Some(IpAddr::V6(Ipv6Addr::LOCALHOST))] {
        let socket = stands(&mut harness, &ConnectOptions { to: remote.clone(), from });
        let (client, address) = accepted(&mut harness, &remote);
        assert_eq!(address, IpAddr::V6(Ipv6Addr::LOCALHOST));
        talk(&mut harness, &socket, &client);
    }
}

pub(crate) fn a_unix_socket_stands_at_once_or_not_at_all<H: Harness>(mut harness: H) {
    let remote = harness.remote_unix();
    let (socket, connecting) = harness.pollset().connect(&options(&remote), FIRST).unwrap();
    assert_eq!(connecting, Connecting::Done);
    harness.pollset().watch(&socket, FIRST).unwrap();
    let (client, _address) = accepted(&mut harness, &remote);
    talk(&mut harness, &socket, &client);
    let nowhere = RemoteAddress::Unix(std::path::Path::new("/nonexistent/socket").into());
    let refused = harness.pollset().connect(&options(&nowhere), SECOND);
    assert_eq!(refused.map(drop), Err(ErrorKind::NotFound));
}

pub(crate) fn a_refused_connection_says_so<H: Harness>(mut harness: H) {
    let nobody = harness.deaf_remote();
    match harness.pollset().connect(&options(&nobody), FIRST) {
        Err(kind) => assert_eq!(kind, ErrorKind::ConnectionRefused),
        Ok((socket, connecting)) => {
            assert_eq!(connecting, Connecting::Pending);
            let event = harness.event_of(FIRST);
            assert!(event.writable && event.readable && event.ended, "{event:?}");
            let outcome = harness.pollset().outcome(&socket);
            assert_eq!(outcome, Err(ErrorKind::ConnectionRefused));
        }
    }
    harness.expect_no_event("nothing is left of it");
}

pub(crate) fn a_pending_connection_is_told_of_when_it_stands<H: Harness>(mut harness: H) {
    let remote = harness.slow_remote();
    let socket = pending(&mut harness, &remote);
    assert_eq!(harness.pollset().receive(&socket), Received::Blocked);
    let sent = harness.pollset().send_bytes(&socket, b"early", Corking::Off);
    assert_eq!(sent, Sent::Part(0));
    harness.let_remote_answer();
    let event = harness.event_of(FIRST);
    assert!(event.writable && !event.readable && !event.ended, "{event:?}");
    assert_eq!(harness.pollset().outcome(&socket), Ok(Connecting::Done));
    harness.expect_no_event("it is told once");
    let (client, _address) = accepted(&mut harness, &remote);
    talk(&mut harness, &socket, &client);
}

pub(crate) fn who_was_pending_is_told_of_room<H: Harness>(mut harness: H) {
    let remote = harness.slow_remote();
    let socket = pending(&mut harness, &remote);
    harness.let_remote_answer();
    harness.event_of(FIRST);
    assert_eq!(harness.pollset().outcome(&socket), Ok(Connecting::Done));
    let (client, _address) = accepted(&mut harness, &remote);
    let mut all = fill(&mut harness, &socket, &client);
    quiet(&mut harness);
    let mut received = harness.client_receives(&client, all.len());
    assert!(harness.event_of(FIRST).writable, "without having been asked for");
    send(&mut harness, &socket, b"more");
    all.extend_from_slice(b"more");
    received.extend(harness.client_receives(&client, 4));
    assert!(received == all, "{} bytes of {}", received.len(), all.len());
    harness.pollset().set_interest(&socket, FIRST, Interest::Read).unwrap();
    quiet(&mut harness);
    harness.client_send(&client, b"x");
    let event = harness.event_of(FIRST);
    assert!(event.readable && !event.writable, "it can be changed: {event:?}");
}

pub(crate) fn a_pending_connection_is_told_of_when_it_fails<H: Harness>(mut harness: H) {
    let remote = harness.slow_remote();
    let socket = pending(&mut harness, &remote);
    harness.close_remote(&remote);
    let event = harness.event_of(FIRST);
    assert!(event.writable && event.readable && event.ended, "{event:?}");
    assert_eq!(harness.pollset().outcome(&socket), Err(ErrorKind::ConnectionRefused));
    assert_eq!(harness.pollset().outcome(&socket), Ok(Connecting::Done), "an error is told once");
    let sent = harness.pollset().send_bytes(&socket, b"x", Corking::Off);
    assert_eq!(sent, Sent::Failed(ErrorKind::BrokenPipe));
}

pub(crate) fn a_pending_connection_that_is_dropped_is_given_up<H: Harness>(mut harness: H) {
    let remote = harness.slow_remote();
    let socket = pending(&mut harness, &remote);
    drop(socket);
    harness.let_remote_answer();
    // Its token may be reused at once.
    let other = harness.remote();
    let socket = stands(&mut harness, &options(&other));
    let (client, _address) = accepted(&mut harness, &other);
    talk(&mut harness, &socket, &client);
    let unheard = harness.accept_remote(&remote);
    assert!(unheard.is_none(), "the remote never hears of it");
}

pub(crate) fn many_are_begun_at_once<H: Harness>(mut harness: H) {
    let remote = harness.remote();
    let sockets: Vec<_> = (0..50).map(|_| stands(&mut harness, &options(&remote))).collect();
    let clients: Vec<_> = sockets.iter().map(|_| accepted(&mut harness, &remote).0).collect();
    for (number, socket) in sockets.iter().enumerate() {
        send(&mut harness, socket, &pattern(number + 1));
    }
    for (number, client) in clients.iter().enumerate() {
        let bytes = harness.client_receives(client, number + 1);
        assert_eq!(bytes, pattern(number + 1), "they are accepted in the order they were begun");
    }
}

pub(crate) fn without_a_descriptor_none_is_begun<H: Harness>(mut harness: H) {
    let remote = harness.remote();
    let first = stands(&mut harness, &options(&remote));
    let (_client, _address) = accepted(&mut harness, &remote);
    harness.leave_descriptors(0);
    for _ in 0..2 {
        let refused = harness.pollset().connect(&options(&remote), SECOND);
        assert_eq!(refused.map(drop), Err(ErrorKind::QuotaExceeded));
    }
    drop(first);
    assert!(harness.pollset().connect(&options(&remote), SECOND).is_ok());
}
