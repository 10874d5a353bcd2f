//! Goal: the handshake of TLS decides whether exchanges share a connection (RFC 9113, 3.2), and those that wait for it
//! lose nothing. Method: servers that speak one version or the other.

use client::limits::UNSERVED_REPEATS;
use client::{HTTP1, HTTP2, OutgoingRequest};
use tls::ClientCertificates;
use wire::h2::{AfterFrame, write_settings};

use crate::authority::Authority;
use crate::caller::Calls;
use crate::exchanges::{OK, ok, quiet};
use crate::h2_origin::Origin;
use crate::tls_server::{NAMES, TlsServer, acceptor_of, connector_of, secure};

const PATHS: [&str; 3] = ["/0", "/1", "/2"];

/// A connector that offers both versions, and the next server that speaks this one.
fn sides(protocol: &str) -> (tls::Connector, tls::Acceptor) {
    let authority = Authority::new("Test");
    let identity = authority.identity(&NAMES);
    let acceptor = acceptor_of(identity, &ClientCertificates::Ignored, protocol);
    (connector_of(&authority, &[HTTP2, HTTP1]), acceptor)
}

/// The frames that have come through the transport.
fn heard(calls: &mut Calls, server: &mut TlsServer, origin: &mut Origin) -> Vec<String> {
    server.rest(calls);
    origin.take(&std::mem::take(&mut server.heard))
}

/// Says the settings of a server, and answers these streams with `ok`.
fn answer(calls: &mut Calls, server: &mut TlsServer, origin: &mut Origin, streams: &[u32]) {
    write_settings(&[], &mut origin.out);
    for stream in streams {
        let fields = [(":status", "200"), ("content-length", "2")];
        origin.head(*stream, &fields, AfterFrame::More);
        origin.data(*stream, b"ok", AfterFrame::Nothing);
    }
    server.answer(calls, &std::mem::take(&mut origin.out));
}

#[test]
fn exchanges_that_begin_at_once_share_the_first_connection() {
    let (connector, acceptor) = sides(HTTP2);
    let mut calls = quiet();
    let ids = PATHS.map(|path| calls.begin(secure(&connector, "GET", path)));
    let mut server = TlsServer::accept(&mut calls, &acceptor);
    assert_eq!(calls.accept(), None, "the others wait for its handshake");
    server.rest(&mut calls);
    assert_eq!(server.transport.agreed().unwrap().protocol.as_deref(), Some(&b"h2"[..]));
    let mut origin = Origin::at(server.socket);
    let requests = heard(&mut calls, &mut server, &mut origin);
    let expected = PATHS.map(|path| {
        let number = 1 + 2 * path[1..].parse::<u32>().unwrap();
        format!(
            "HEADERS {number} :method=GET :scheme=https :authority=10.0.0.9:80 :path={path} \
             te=trailers end"
        )
    });
    assert_eq!(requests, expected);
    answer(&mut calls, &mut server, &mut origin, &[5, 1, 3]);
    ids.into_iter().for_each(|id| assert_eq!(calls.news(id, 9), ok()));
    calls.pass_ms(31_000);
    server.rest(&mut calls);
    assert!(server.has_ended(), "an idle connection says its end");
}

#[test]
fn exchanges_that_begin_at_once_get_connections_of_their_own_from_a_server_of_http1() {
    let (connector, acceptor) = sides(HTTP1);
    let mut calls = quiet();
    let ids = PATHS.map(|path| calls.begin(secure(&connector, "GET", path)));
    let mut first = TlsServer::accept(&mut calls, &acceptor);
    assert_eq!(calls.accept(), None);
    assert!(first.heard(&mut calls).starts_with("GET /0 "));
    let mut others = [(); 2].map(|()| TlsServer::accept(&mut calls, &acceptor));
    // From now on it is known, and nobody waits for a handshake.
    let fourth = calls.begin(secure(&connector, "GET", "/3"));
    let mut last = TlsServer::accept(&mut calls, &acceptor);
    assert!(last.heard(&mut calls).starts_with("GET /3 "));
    for (server, path) in others.iter_mut().zip(["GET /1 ", "GET /2 "]) {
        assert!(server.heard(&mut calls).starts_with(path));
    }
    for server in others.iter_mut().chain([&mut first, &mut last]) {
        server.answer(&mut calls, OK);
    }
    ids.into_iter().chain([fourth]).for_each(|id| assert_eq!(calls.news(id, 9), ok()));
}

#[test]
fn the_next_in_line_connects_if_the_first_one_fails() {
    let (connector, acceptor) = sides(HTTP2);
    let mut calls = quiet();
    let ids = PATHS.map(|path| calls.begin(secure(&connector, "GET", path)));
    let first = calls.accept().unwrap();
    calls.client().cancel(ids[0]);
    calls.turn();
    let second = calls.accept().unwrap();
    calls.world.client_reset(first);
    calls.world.client_reset(second);
    let mut server = TlsServer::accept(&mut calls, &acceptor);
    let mut origin = Origin::at(server.socket);
    let requests = heard(&mut calls, &mut server, &mut origin);
    assert!(requests.len() == 1 && requests[0].contains(":path=/2 "), "{requests:?}");
    assert_eq!(calls.news(ids[1], 9).len(), 1, "it has failed");
}

#[test]
fn a_request_for_another_protocol_does_not_offer_http2() {
    let (connector, acceptor) = sides(HTTP1);
    let mut calls = quiet();
    let asked = secure(&connector, "GET", "/socket");
    calls.begin(OutgoingRequest { upgrade: Some("websocket".into()), ..asked });
    let mut server = TlsServer::accept(&mut calls, &acceptor);
    assert!(server.heard(&mut calls).starts_with("GET /socket HTTP/1.1"));
    // It would have been agreed on.
    let (connector, acceptor) = sides(HTTP2);
    let asked = secure(&connector, "GET", "/socket");
    calls.begin(OutgoingRequest { upgrade: Some("websocket".into()), ..asked });
    let mut server = TlsServer::accept(&mut calls, &acceptor);
    server.rest(&mut calls);
    assert!(server.failure.is_some(), "they have nothing in common");
}

/// Its connection is closed at the end of the turn in which the handshake is over.
#[test]
fn an_exchange_that_is_given_up_in_its_handshake_takes_no_other_one_with_it() {
    let (connector, acceptor) = sides(HTTP2);
    let mut calls = quiet();
    let ids = PATHS.map(|path| calls.begin(secure(&connector, "POST", path)));
    let mut first = TlsServer::accept(&mut calls, &acceptor);
    first.take(&mut calls.world.client_received(first.socket));
    calls.world.client_send(first.socket, &first.take_wire());
    calls.client().cancel(ids[0]);
    let mut server = TlsServer::accept(&mut calls, &acceptor);
    let mut origin = Origin::at(server.socket);
    assert_eq!(heard(&mut calls, &mut server, &mut origin).len(), 2);
    answer(&mut calls, &mut server, &mut origin, &[1, 3]);
    ids[1..].iter().for_each(|id| assert_eq!(calls.news(*id, 9), ok()));
}

/// Its exchanges begin again before it is closed: none of them begins on it, which would cost a repetition.
#[test]
fn a_connection_whose_transport_fails_gets_no_more_exchanges() {
    let (connector, acceptor) = sides(HTTP2);
    let mut calls = quiet();
    let lasting = calls.begin(secure(&connector, "GET", "/lasting"));
    for _ in 0..UNSERVED_REPEATS {
        let mut server = TlsServer::accept(&mut calls, &acceptor);
        let mut origin = Origin::at(server.socket);
        assert_eq!(heard(&mut calls, &mut server, &mut origin).len(), 1);
        let quick = calls.begin(secure(&connector, "GET", "/quick"));
        answer(&mut calls, &mut server, &mut origin, &[3]);
        assert_eq!(calls.news(quick, 9), ok());
        calls.world.client_send(server.socket, b"no record of TLS");
        calls.turn();
    }
    let mut server = TlsServer::accept(&mut calls, &acceptor);
    let mut origin = Origin::at(server.socket);
    assert_eq!(heard(&mut calls, &mut server, &mut origin).len(), 1);
    answer(&mut calls, &mut server, &mut origin, &[1]);
    assert_eq!(calls.news(lasting, 9), ok());
}
