//! Exchanges over TLS: handshakes, certificates, resumption and the pool.

use std::time::Duration;

use client::{
    Deadline, Deadlines, ExchangeFailure, ExchangeNews, HTTP1, HTTP2, OutgoingRequest, Requester,
    Url,
};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use runtime::transport::{CertificateFault, Resumption, Violation};
use sys::connect::RemoteAddress;
use tls::{ClientCertificates, Connector, Identity, TrustedServers};
use world::{ClientState, Faults};

use crate::authority::Authority;
use crate::caller::{Calls, request};
use crate::exchanges::{OK, ok, quiet};
use crate::tls_server::{NAMES, TlsServer, acceptor, acceptor_of, connector, secure};

pub(crate) const CLOSING: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

fn failed(failure: ExchangeFailure) -> Vec<ExchangeNews> {
    vec![ExchangeNews::Failed(failure)]
}

fn refused(why: Violation) -> Vec<ExchangeNews> {
    failed(ExchangeFailure::Tls(why))
}

/// RFC 8446, 5.1: records may be cut anywhere.
#[test]
fn a_request_over_tls_is_answered_however_it_is_cut_and_its_connection_is_kept() {
    let authority = Authority::new("Test");
    let (server, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    for piece in [1, 100, usize::MAX] {
        let mut calls = quiet();
        let id = calls.begin(secure(&client, "GET", "/one"));
        let mut server = TlsServer::accept(&mut calls, &server);
        while server.step_by(&mut calls, piece) {}
        assert_eq!(server.heard(&mut calls), "GET /one HTTP/1.1\r\nHost: 10.0.0.9:80\r\n\r\n");
        let agreed = server.transport.agreed().unwrap();
        assert_eq!(agreed.protocol.as_deref(), Some(&b"http/1.1"[..]));
        assert_eq!(agreed.server_name, None, "an address is not asked for by name");
        server.say(OK);
        while server.step_by(&mut calls, piece) {}
        assert_eq!(calls.news(id, 9), ok());
        let id = calls.begin(secure(&client, "GET", "/two"));
        assert!(server.heard(&mut calls).starts_with("GET /two "), "on the same connection");
        server.answer(&mut calls, OK);
        assert_eq!(calls.news(id, 9), ok());
        calls.pass_ms(31_000);
        server.rest(&mut calls);
        assert!(server.has_ended(), "an idle connection says its end");
        assert_eq!(calls.scheduler.processes(), 0);
    }
}

/// A request to a server by name, which leads to these addresses.
fn begin_by_name(
    calls: &mut Calls,
    connector: &Connector,
    addresses: &[[u8; 4]],
) -> client::ExchangeId {
    let url = Url::parse(b"https://Velodrome.Example.:80/").unwrap();
    let request = OutgoingRequest { url, ..secure(connector, "GET", "/") };
    let id = calls.begin(request);
    if let Some(question) = calls.client().questions().pop() {
        let found: Vec<_> = addresses.iter().map(|address| (*address).into()).collect();
        let now_ns = calls.world.now_ns();
        calls.client().learn(&question, Some(found.into()), now_ns);
    }
    calls.turn();
    id
}

#[test]
fn a_server_is_asked_for_by_its_name_and_another_address_is_tried_if_the_handshake_is_cut() {
    let authority = Authority::new("Test");
    let (server, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    let mut calls = quiet();
    let other = RemoteAddress::Tcp(([10, 0, 0, 8], 80).into());
    calls.world.listen_remote(&other);
    let id = begin_by_name(&mut calls, &client, &[[10, 0, 0, 8], [10, 0, 0, 9]]);
    let (first, _) = calls.world.accept_remote(&other).unwrap();
    assert!(!calls.world.client_received(first).is_empty(), "the hello");
    calls.world.client_reset(first);
    let mut server = TlsServer::accept(&mut calls, &server);
    server.rest(&mut calls);
    let agreed = server.transport.agreed().unwrap();
    assert_eq!(agreed.server_name.as_deref(), Some("velodrome.example"));
    server.answer(&mut calls, OK);
    assert_eq!(calls.news(id, 9), ok());
    // The one address that is left does not answer the hello.
    let id = begin_by_name(&mut calls, &connector(&authority), &[[10, 0, 0, 8], [10, 0, 0, 9]]);
    let (silent, _) = calls.world.accept_remote(&other).unwrap();
    calls.pass_ms(5_200);
    assert_ne!(calls.world.client_state(silent), ClientState::Open, "its part of the time is over");
    let second = calls.accept().unwrap();
    calls.pass_ms(4_700);
    assert_eq!(calls.news(id, 9), []);
    calls.pass_ms(200);
    assert_eq!(calls.news(id, 9), failed(ExchangeFailure::Timeout(Deadline::Connect)));
    assert_ne!(calls.world.client_state(second), ClientState::Open);
}

/// The outcome of a request to a server with this certificate.
fn outcome(connector: &Connector, identity: Identity) -> Vec<ExchangeNews> {
    let mut calls = quiet();
    let id = calls.begin(secure(connector, "GET", "/"));
    let mut server = TlsServer::accept(&mut calls, &acceptor(identity));
    server.rest(&mut calls);
    if server.failure.is_none() {
        server.answer(&mut calls, OK);
    } else {
        assert!(matches!(server.failure, Some(Violation::Alert(_))), "the server is told");
        assert_eq!(server.heard, b"", "nothing is said to it");
        assert_eq!(calls.scheduler.processes(), 0);
    }
    calls.news(id, 9)
}

#[test]
fn each_fault_of_a_certificate_is_named() {
    let (authority, other) = (Authority::new("Test"), Authority::new("Other"));
    let client = connector(&authority);
    assert_eq!(outcome(&client, authority.identity(&NAMES)), ok());
    let fault = |fault| refused(Violation::Certificate(fault));
    let with = |change: fn(&mut CertificateParams)| {
        let key = KeyPair::generate().unwrap();
        let (certificate, key) = authority.issue_with(&NAMES, key, change);
        Identity::read(&certificate, &key).unwrap()
    };
    let old = with(|params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    assert_eq!(outcome(&client, old), fault(CertificateFault::Expired));
    let early = with(|params| {
        params.not_before = date_time_ymd(2999, 1, 1);
        params.not_after = date_time_ymd(3000, 1, 1);
    });
    assert_eq!(outcome(&client, early), fault(CertificateFault::NotYetValid));
    let named = authority.identity(&["other.example"]);
    assert_eq!(outcome(&client, named), fault(CertificateFault::WrongName));
    let stranger = other.identity(&NAMES);
    assert_eq!(outcome(&client, stranger), fault(CertificateFault::UnknownAuthority));
    let own = outcome(&client, tls::self_signed(&NAMES).unwrap());
    assert!(
        matches!(own[..], [ExchangeNews::Failed(ExchangeFailure::Tls(Violation::Certificate(_)))]),
        "{own:?}"
    );
    let anyone = Connector::new(&TrustedServers::Any, &[], None).unwrap();
    assert_eq!(outcome(&anyone, other.identity(&NAMES)), ok());
}

#[test]
fn a_failure_says_which_server_and_why() {
    let told = |why| ExchangeFailure::Tls(why).at("a.test:444").to_string();
    let fault = |fault| told(Violation::Certificate(fault));
    assert_eq!(fault(CertificateFault::Expired), "the certificate of a.test:444 has expired");
    assert_eq!(
        fault(CertificateFault::WrongName),
        "the certificate of a.test:444 is for another name"
    );
    assert_eq!(
        told(Violation::Alert(40)),
        "a.test:444 refused the connection: alert 40 handshake_failure"
    );
    assert_eq!(told(Violation::OtherProtocol), "a.test:444 speaks no TLS");
    assert_eq!(
        ExchangeFailure::Tls(Violation::OtherProtocol).to_string(),
        "the server speaks no TLS"
    );
    assert_eq!(ExchangeFailure::Refused.at("a.test").to_string(), "connection refused");
}

#[test]
fn a_server_without_tls_and_one_that_refuses_are_told_apart() {
    let client = connector(&Authority::new("Test"));
    for (said, expected) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], Violation::OtherProtocol),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Violation::OtherProtocol),
        (&[21, 3, 3, 0, 2, 2, 40], Violation::Alert(40)),
        (&[21, 3, 3, 0, 2, 2, 70], Violation::Alert(70)),
        (&[22, 3, 3, 0, 4, 14, 0, 0, 0], Violation::Protocol),
    ] {
        let mut calls = quiet();
        let id = calls.begin(secure(&client, "POST", "/"));
        let server = calls.accept().unwrap();
        calls.answer(server, said);
        assert_eq!(calls.news(id, 9), refused(expected));
        assert_ne!(calls.world.client_state(server), ClientState::Open);
    }
}

/// A message that goes on for ever, and a server that says nothing.
#[test]
fn a_handshake_that_never_ends_is_given_up() {
    let client = connector(&Authority::new("Test"));
    let deadlines = Deadlines { connect: Some(Duration::from_secs(1)), ..Deadlines::default() };
    for text in [&b""[..], &[22, 3, 3, 64, 0]] {
        let mut calls = quiet();
        let id = calls.begin(OutgoingRequest { deadlines, ..secure(&client, "GET", "/") });
        let server = calls.accept().unwrap();
        calls.answer(server, text);
        calls.pass_ms(990);
        assert_eq!(calls.news(id, 9), []);
        calls.pass_ms(20);
        assert_eq!(calls.news(id, 9), failed(ExchangeFailure::Timeout(Deadline::Connect)));
        assert_ne!(calls.world.client_state(server), ClientState::Open);
        assert_eq!(calls.scheduler.processes(), 0);
    }
    let mut calls = quiet();
    let id = calls.begin(secure(&client, "GET", "/"));
    let server = calls.accept().unwrap();
    let mut record = vec![22, 3, 3, 64, 0, 2, 255, 255, 255];
    record.resize(5 + 16_384, 0);
    for _ in 0..10 {
        calls.answer(server, &record);
    }
    assert_eq!(calls.news(id, 9), refused(Violation::Protocol), "and holds no endless message");
}

#[test]
fn a_session_is_resumed_only_with_the_same_settings() {
    let authority = Authority::new("Test");
    let (server, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    let mut calls = quiet();
    let mut get = |connector: &Connector| {
        let id = calls.begin(secure(connector, "GET", "/"));
        let mut server = TlsServer::accept(&mut calls, &server);
        server.rest(&mut calls);
        server.answer(&mut calls, CLOSING);
        assert_eq!(calls.news(id, 9).last(), Some(&ExchangeNews::End));
    };
    (0..3).for_each(|_| get(&client));
    get(&client.with_own_sessions(8));
    get(&client);
    let seen = &calls.scheduler.service().resumptions;
    let (full, resumed) = (Resumption::None, Resumption::Resumed);
    assert_eq!(*seen, [full, resumed, resumed, full, resumed]);
}

#[test]
fn a_server_at_another_port_of_the_host_spoils_no_session() {
    let authority = Authority::new("Test");
    let client = connector(&authority);
    let mut calls = quiet();
    let ports = [80, 81].map(|port| {
        let remote = RemoteAddress::Tcp(([10, 0, 0, 9], port).into());
        calls.world.listen_remote(&remote);
        (port, remote, acceptor(authority.identity(&NAMES)))
    });
    for _ in 0..2 {
        for (port, remote, acceptor) in &ports {
            let url = Url::parse(format!("https://10.0.0.9:{port}/").as_bytes()).unwrap();
            let id = calls.begin(OutgoingRequest { url, ..secure(&client, "GET", "/") });
            let (socket, _) = calls.world.accept_remote(remote).unwrap();
            let mut server = TlsServer::at(socket, acceptor);
            server.rest(&mut calls);
            server.answer(&mut calls, CLOSING);
            assert_eq!(calls.news(id, 9).last(), Some(&ExchangeNews::End));
        }
    }
    let seen = &calls.scheduler.service().resumptions;
    let (full, resumed) = (Resumption::None, Resumption::Resumed);
    assert_eq!(*seen, [full, full, resumed, resumed]);
}

/// A connection that has proved one thing must not be used for a request that wants another.
#[test]
fn connections_are_shared_only_with_the_same_scheme_and_certificates() {
    let authority = Authority::new("Test");
    let (server, client) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    let mut calls = quiet();
    let id = calls.begin(secure(&client, "GET", "/"));
    let mut first = TlsServer::accept(&mut calls, &server);
    assert!(first.heard(&mut calls).starts_with("GET / "));
    first.answer(&mut calls, OK);
    assert_eq!(calls.news(id, 9), ok());
    // Another authority, the same one once more, and none; then the one of the idle connection.
    let _other = calls.begin(secure(&connector(&Authority::new("Other")), "GET", "/"));
    assert!(calls.accept().is_some());
    let _same = calls.begin(secure(&connector(&authority), "GET", "/"));
    assert!(calls.accept().is_some());
    let _plain = calls.begin(request("GET", "/plain"));
    let plain = calls.accept().unwrap();
    assert!(calls.received(plain).starts_with("GET /plain "));
    let _again = calls.begin(secure(&client.clone(), "GET", "/again"));
    assert!(calls.accept().is_none());
    assert!(first.heard(&mut calls).starts_with("GET /again "));
}

/// With TLS 1.3 a server refuses a certificate after the client's handshake is over.
#[test]
fn certificates_of_clients_are_shown_and_a_refusal_is_named() {
    let (authority, clients) = (Authority::new("Test"), Authority::new("Clients"));
    let required = ClientCertificates::Required(clients.of_clients());
    let outcome = |own: Option<Identity>, protocol: &str| {
        let peers = TrustedServers::Known(authority.trusted());
        let connector = Connector::new(&peers, &[protocol], own.as_ref()).unwrap();
        let server = acceptor_of(authority.identity(&NAMES), &required, protocol);
        let mut calls = quiet();
        let id = calls.begin(secure(&connector, "GET", "/"));
        let mut server = TlsServer::accept(&mut calls, &server);
        server.rest(&mut calls);
        if server.failure.is_none() {
            server.answer(&mut calls, OK);
        }
        calls.news(id, 9)
    };
    assert_eq!(outcome(Some(clients.identity(&["ann"])), HTTP1), ok());
    for protocol in [HTTP1, HTTP2] {
        assert_eq!(outcome(None, protocol), refused(Violation::Alert(116)), "{protocol}");
        let stranger = Some(authority.identity(&["bob"]));
        assert_eq!(outcome(stranger, protocol), refused(Violation::Alert(48)), "{protocol}");
    }
}

#[test]
fn an_https_url_whose_host_cannot_be_in_a_certificate_is_refused() {
    let client = connector(&Authority::new("Test"));
    let mut calls = Calls::new(1, Faults::none());
    let url = Url::parse(b"https://-a/").unwrap();
    let reach = std::rc::Rc::new(client::Anywhere);
    let plain = OutgoingRequest::new("GET", url, reach, Requester::Service);
    let request = OutgoingRequest { connector: Some(client), ..plain };
    let failure = calls.client().begin(request, 0).unwrap_err();
    assert_eq!(failure, ExchangeFailure::Url(client::UrlError::Host));
}
