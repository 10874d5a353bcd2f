//! TLS as a transport: both sides in memory, and a foreign server where it counts.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod authority;
mod certificates;
mod choice;
mod identities;
mod pair;
mod records;
mod streams;
mod trust;

use std::rc::Rc;

use runtime::transport::{Agreed, Resumption, Transport};
use tls::{
    Acceptor, Certificates, ClientCertificates, Connector, Identity, Tickets, TrustedServers,
};

use authority::Authority;
use pair::Pair;

const NAME: &str = "velodrome.example";

/// A server with these certificates, which speaks HTTP/1.1.
fn acceptor(identities: &[Identity]) -> Acceptor {
    let tickets = Tickets::new().unwrap();
    Acceptor::new(
        Certificates::Fixed(identities),
        &["http/1.1"],
        &ClientCertificates::Ignored,
        &tickets,
    )
    .unwrap()
}

/// A client that trusts an authority and offers two protocols.
fn connector(authority: &Authority) -> Connector {
    let peers = TrustedServers::Known(authority.trusted());
    Connector::new(&peers, &["h2", "http/1.1"], None).unwrap()
}

/// A client and a server that have agreed.
fn agreed_pair() -> Pair {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    let mut pair = Pair::new(connector(&authority).connect(NAME).unwrap(), server.accept());
    pair.agree();
    pair
}

#[test]
fn both_sides_agree_on_version_protocol_and_name_and_understand_each_other() {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    for piece in [1, 7, 1000, usize::MAX] {
        let client = connector(&authority).connect(NAME).unwrap();
        let mut pair = Pair::new(client, server.accept());
        assert!(pair.agreed().is_none());
        pair.run(piece).unwrap();
        let (client, server) = pair.agreed().unwrap();
        assert_eq!(server.server_name.as_deref(), Some(NAME));
        assert_eq!(client.server_name.as_deref(), Some(NAME));
        for side in [&client, &server] {
            assert_eq!(side.version, "TLSv1.3");
            assert_eq!(side.cipher, "TLS_AES_256_GCM_SHA384");
            assert_eq!(side.group, "X25519MLKEM768");
            assert_eq!(side.protocol.as_deref(), Some(&b"http/1.1"[..]));
            assert_eq!(side.resumption, Resumption::None);
        }
        pair.say_to_server(b"question");
        pair.say_to_client(&[7; 100_000]);
        pair.run(piece).unwrap();
        assert_eq!(pair.to_server, b"question");
        assert_eq!(pair.to_client, [7; 100_000]);
    }
}

#[test]
fn a_session_is_resumed_with_a_ticket_also_by_another_listener_with_the_same_keys() {
    let authority = Authority::new("Test");
    let identity = authority.identity(&[NAME]);
    let tickets = Tickets::new().unwrap();
    let server = |tickets: &Tickets| {
        let identities = std::slice::from_ref(&identity);
        Acceptor::new(
            Certificates::Fixed(identities),
            &["http/1.1"],
            &ClientCertificates::Ignored,
            tickets,
        )
        .unwrap()
    };
    let client = connector(&authority);
    let shake = |client: &Connector, server: &Acceptor| -> Rc<Agreed> {
        let mut pair = Pair::new(client.connect(NAME).unwrap(), server.accept());
        pair.agree().1
    };
    assert_eq!(shake(&client, &server(&tickets)).resumption, Resumption::None);
    // A reload makes another acceptor.
    let second = shake(&client, &server(&tickets));
    assert_eq!(second.resumption, Resumption::Resumed);
    assert_eq!(second.server_name.as_deref(), Some(NAME), "also without its certificate");
    let others = Tickets::new().unwrap();
    assert_eq!(shake(&client, &server(&others)).resumption, Resumption::None, "other keys");
    let plain = client.without_resumption();
    assert_eq!(shake(&plain, &server(&tickets)).resumption, Resumption::None);
    assert_eq!(shake(&plain, &server(&tickets)).resumption, Resumption::None);
}

#[test]
fn many_connections_that_open_at_once_are_resumed_from_sessions_of_their_own() {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    let client = connector(&authority).with_own_sessions(12);
    let resumed_at_once = |client: &Connector| {
        let mut pairs: Vec<Pair> =
            (0..14).map(|_| Pair::new(client.connect(NAME).unwrap(), server.accept())).collect();
        let ends = pairs.iter_mut().map(|pair| pair.agree().0.resumption);
        ends.filter(|resumption| *resumption == Resumption::Resumed).count()
    };
    assert_eq!(resumed_at_once(&client), 0);
    // Each of fourteen has brought two sessions, and twelve are kept.
    assert_eq!(resumed_at_once(&client), 12);
    assert_eq!(
        resumed_at_once(&client.with_own_sessions(3)),
        0,
        "those of the other are not its own"
    );
}

#[test]
fn the_size_of_an_idle_connection_is_bounded() {
    let mut pair = agreed_pair();
    pair.say_to_server(&[1; 50_000]);
    pair.run(usize::MAX).unwrap();
    let Pair { server, client, .. } = &pair;
    assert_eq!((server.held_bytes(), client.held_bytes()), (0, 0));
    let _: &dyn Transport = &**server;
}
