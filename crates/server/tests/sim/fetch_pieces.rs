//! Answers that are read piece by piece: when each piece arrives, and what is held in the meantime.

use client::Deadline;
use client::limits::ANSWER_HELD_BYTES;
use world::{ClientId, Faults};

use crate::fetcher::{Stage, get, get_pieces};
use crate::small::pattern;
use crate::world::SECOND_NS;
use pages::fetch::{ExchangeFailure, FetchRequest, FetchedAnswer, Got};

fn head(fields: &str) -> Result<Got, ExchangeFailure> {
    Ok(Got::Head(FetchedAnswer { status: 200, fields: fields.into(), body: Vec::new() }))
}

fn piece(bytes: &[u8]) -> Result<Got, ExchangeFailure> {
    Ok(Got::Piece(bytes.into()))
}

/// A fetch whose head has arrived, and the other end of its connection.
fn begun(fields: &str) -> (Stage, ClientId) {
    let mut stage = Stage::new(1, Faults::none());
    stage.begin(1, &get_pieces("/"));
    let client = stage.accept();
    stage.answer(client, format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes());
    (stage, client)
}

#[test]
fn pieces_come_when_they_are_asked_for_and_the_connection_is_used_again() {
    let (mut stage, client) = begun("Transfer-Encoding: chunked\r\n");
    assert_eq!(stage.gots(), [(1, head("transfer-encoding\nchunked\n"))]);
    stage.answer(client, b"2\r\nab\r\n");
    stage.turn_for(60 * SECOND_NS);
    assert_eq!(stage.gots(), [], "nobody asked, and nobody waits");
    stage.read_on_in(1);
    stage.turn();
    assert_eq!(stage.gots(), [(1, piece(b"ab"))]);
    stage.read_on_in(1);
    stage.turn();
    assert_eq!(stage.gots(), []);
    stage.answer(client, b"1\r\nc\r\n0\r\n\r\n");
    assert_eq!(stage.gots(), [(1, piece(b"c"))]);
    stage.read_on_in(1);
    stage.turn();
    assert_eq!((stage.gots(), stage.under_way()), (vec![(1, Ok(Got::End))], 0));
    stage.begin(2, &get("/"));
    assert_eq!(stage.accepted(), None, "no other connection is made");
}

#[test]
fn unread_body_stays_in_connection() {
    let length = 40 * ANSWER_HELD_BYTES;
    let (mut stage, client) = begun(&format!("Content-Length: {length}\r\n"));
    stage.answer(client, &pattern(length));
    stage.turn_for(SECOND_NS);
    assert_eq!(stage.gots().len(), 1, "the head");
    let mut body = Vec::new();
    loop {
        stage.read_on_in(1);
        stage.turn_for(SECOND_NS);
        match stage.gots().pop() {
            Some((1, Ok(Got::Piece(piece)))) => {
                assert!(piece.len() < 2 * ANSWER_HELD_BYTES, "{} bytes at once", piece.len());
                body.extend(piece);
            }
            Some((1, Ok(Got::End))) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(body == pattern(length));
    assert_eq!(stage.under_way(), 0);
}

#[test]
fn parts_before_broken_answer_are_delivered_before_its_error() {
    let (mut stage, client) = begun("Content-Length: 10\r\n");
    stage.answer(client, b"abc");
    stage.world.client_close(client);
    stage.turn();
    assert_eq!(stage.gots().len(), 1, "the head");
    for expected in [piece(b"abc"), Err(ExchangeFailure::Closed)] {
        stage.read_on_in(1);
        stage.turn();
        assert_eq!(stage.gots(), [(1, expected)]);
    }
    stage.read_on_in(1);
    stage.turn();
    assert_eq!((stage.gots(), stage.under_way(), stage.outbound()), (Vec::new(), 0, 0));
}

#[test]
fn a_piece_has_its_time_and_what_is_given_up_is_gone() {
    let (mut stage, _) = begun("Content-Length: 10\r\n");
    assert_eq!(stage.gots().len(), 1);
    stage.turn_for(60 * SECOND_NS);
    stage.read_on_in(1);
    stage.turn_for(9 * SECOND_NS);
    assert_eq!(stage.gots(), []);
    stage.turn_for(2 * SECOND_NS);
    assert_eq!(stage.gots(), [(1, Err(ExchangeFailure::Timeout(Deadline::Whole)))]);
    assert_eq!((stage.under_way(), stage.outbound()), (0, 0));

    let (mut stage, _) = begun("Content-Length: 10\r\n");
    stage.give_up(1);
    stage.turn();
    assert_eq!((stage.under_way(), stage.outbound()), (0, 0));
}

#[test]
fn before_the_head_it_fails_as_others_do() {
    let mut stage = Stage::new(1, Faults::none());
    stage.begin(1, &get_pieces("/"));
    let client = stage.accept();
    stage.answer(client, b"SSH-2.0-OpenSSH\r\n");
    let got = stage.gots();
    assert!(matches!(got[..], [(1, Err(ExchangeFailure::NotAnAnswer(_)))]), "{got:?}");
    stage.begin(2, &FetchRequest { timeout: std::time::Duration::from_secs(1), ..get_pieces("/") });
    stage.turn_for(2 * SECOND_NS);
    assert_eq!(stage.gots(), [(2, Err(ExchangeFailure::Timeout(Deadline::Whole)))]);
    assert_eq!(stage.under_way(), 0);
}
