//! The data on the wire: records, their sizes, the end, and what a peer may send.

use runtime::transport::Violation;

use super::pair::Pair;
use super::{NAME, acceptor, agreed_pair, connector};
use crate::authority::Authority;

/// The lengths of the records.
fn lengths(mut wire: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    while let [_, _, _, high, low, rest @ ..] = wire {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        lengths.push(length);
        wire = &rest[length..];
    }
    assert!(wire.is_empty());
    lengths
}

#[test]
fn a_small_answer_is_one_record_and_a_large_one_begins_with_small_ones() {
    let mut pair = agreed_pair();
    pair.say_to_client(&[1; 16 * 1024]);
    assert_eq!(lengths(&pair.down), [16 * 1024 + 17]);
    pair.run(usize::MAX).unwrap();
    // A request begins a new answer.
    pair.say_to_server(b"again");
    pair.run(usize::MAX).unwrap();
    pair.say_to_client(&[1; 200_000]);
    let records = lengths(&pair.down);
    assert!(records[..16].iter().all(|length| *length == 4096 + 17), "{records:?}");
    let (last, large) = records[16..].split_last().unwrap();
    assert!(large.iter().all(|length| *length == 16 * 1024 + 17), "{records:?}");
    assert!(*last <= 16 * 1024 + 17);
}

#[test]
fn an_end_is_announced_and_nothing_behind_it_counts() {
    let mut pair = agreed_pair();
    pair.say_to_server(b"last");
    pair.client.end(&mut pair.up);
    pair.up.extend_from_slice(b"what is this");
    assert!(!pair.server.has_ended());
    pair.run(usize::MAX).unwrap();
    assert!(pair.server.has_ended());
    assert_eq!(pair.to_server, b"last");
    // The other direction goes on.
    pair.say_to_client(b"answer");
    pair.run(usize::MAX).unwrap();
    assert_eq!(pair.to_client, b"answer");
    assert_eq!(pair.server.held_bytes(), 0);
}

#[test]
fn before_the_handshake_is_over_nothing_can_be_said() {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    let mut server = server.accept();
    let mut wire = Vec::new();
    server.end(&mut wire);
    assert_eq!(server.seal(b"early", &mut wire), Err(Violation::Protocol));
    assert!(wire.is_empty());
}

#[test]
fn an_end_may_be_wanted_while_a_message_has_come_in_part() {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    let mut pair = Pair::new(connector(&authority).connect(NAME).unwrap(), server.accept());
    let hello = pair.up.split_off(5);
    // A record with ten bytes of the hello, then one with the rest (RFC 8446 section 5.1).
    let record =
        |part: &[u8]| [&[22, 3, 1, (part.len() >> 8) as u8, part.len() as u8], part].concat();
    pair.up = record(&hello[..10]);
    pair.run(usize::MAX).unwrap();
    let mut wire = Vec::new();
    pair.server.end(&mut wire);
    assert_eq!(pair.server.seal(b"early", &mut wire), Err(Violation::Protocol));
    assert_eq!((wire.len(), pair.server.held_bytes() > 0), (0, true));
    pair.up = record(&hello[10..]);
    pair.agree();
    assert_eq!(pair.server.held_bytes(), 0);
}

#[test]
fn every_damaged_byte_of_a_record_is_noticed_with_an_alert() {
    let mut plain = agreed_pair();
    plain.say_to_server(b"question");
    let length = plain.up.len();
    // The lower byte of the version is ignored (RFC 8446 section 5.1).
    for place in (0..length).filter(|place| *place != 2) {
        let mut pair = agreed_pair();
        pair.say_to_server(b"question");
        pair.up[place] ^= 0x40;
        // A longer length makes the record incomplete.
        let ended = pair.run(usize::MAX);
        assert_eq!(pair.to_server, b"", "byte {place}");
        match ended {
            Ok(()) => assert!((3..5).contains(&place) && pair.server.held_bytes() > 0, "{place}"),
            Err((side, _)) => {
                assert_eq!(side, "server", "byte {place}");
                assert_eq!(lengths(&pair.down), [19], "an alert of two bytes, sealed");
            }
        }
    }
}

#[test]
fn other_protocols_and_endless_messages_are_refused() {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    let mut record = vec![22, 3, 1, 64, 0, 1, 0, 255, 255];
    record.resize(5 + 16_384, 0);
    let endless = record.repeat(4);
    for (text, violation) in [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice(), Violation::OtherProtocol),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Violation::OtherProtocol),
        (&[0; 100], Violation::OtherProtocol),
        (&[22, 3, 1, 255, 255, 1, 2, 3], Violation::Protocol),
        (&[23, 3, 3, 0, 5, 1, 2, 3, 4, 5], Violation::Protocol),
        (&endless, Violation::Protocol),
    ] {
        let mut server = server.accept();
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        let opened = text
            .to_vec()
            .chunks_mut(1000)
            .try_for_each(|part| server.open(part, &mut plain, &mut wire));
        assert_eq!(opened, Err(violation), "{:?}", &text[..5]);
        assert!(plain.is_empty());
        assert!(server.agreed().is_none());
    }
}

#[test]
fn a_peer_that_sends_an_alert_is_named_by_its_number() {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    let mut pair = Pair::new(connector(&authority).connect(NAME).unwrap(), server.accept());
    // handshake_failure (RFC 8446 section 6.2), not encrypted.
    pair.up = vec![21, 3, 3, 0, 2, 2, 40];
    assert_eq!(pair.run(usize::MAX), Err(("server", Violation::Alert(40))));
}

#[test]
fn no_early_data_and_no_compression_and_no_renegotiation_are_offered() {
    let pair = agreed_pair();
    let (client, server) = pair.agreed().unwrap();
    assert_eq!(client.version, server.version);
    // A hello in the middle of a connection of TLS 1.3 is unexpected.
    let mut pair = pair;
    let hello = vec![22, 3, 3, 0, 4, 1, 0, 0, 0];
    pair.up = hello;
    assert!(matches!(pair.run(usize::MAX), Err(("server", Violation::Protocol))));
}
