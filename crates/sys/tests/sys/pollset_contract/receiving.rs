//! Clause 3: bytes are lent, and a short receive emptied the socket.

use sys::pollset::epoll::RECEIVE_BUFFER;
use sys::pollset::{Pollset, Received, Rest};

use crate::pollset_contract::harness::Harness;
use crate::pollset_contract::steps::{FIRST, connected, pattern};

pub(crate) fn a_short_receive_emptied_the_socket<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    for round in 0..3_u8 {
        harness.client_send(&client, &[round]);
        assert!(harness.event_of(FIRST).readable, "after a short receive an event comes");
        let received = harness.pollset().receive(&socket);
        assert_eq!(received, Received::Bytes(&mut [round], Rest::No));
    }
    assert_eq!(harness.pollset().receive(&socket), Received::Blocked);
}

pub(crate) fn a_full_buffer_says_that_more_may_come<H: Harness>(mut harness: H) {
    let (_listener, socket, client) = connected(&mut harness);
    let sent = pattern(RECEIVE_BUFFER);
    harness.pollset().watch(&socket, FIRST).unwrap();
    harness.client_send(&client, &sent);
    let mut all = Vec::new();
    while all.len() < sent.len() {
        assert!(harness.event_of(FIRST).readable);
        // As the contract says: until blocked or short.
        loop {
            match harness.pollset().receive(&socket) {
                Received::Bytes(bytes, rest) => {
                    all.extend_from_slice(bytes);
                    assert_eq!(rest == Rest::Perhaps, bytes.len() == RECEIVE_BUFFER);
                    if rest == Rest::No {
                        break;
                    }
                }
                Received::Blocked => break,
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(all, sent);
}
