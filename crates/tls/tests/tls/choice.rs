//! Which certificate a client is shown: by the name it asks for, and by what it asks for it.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tls::{
    Acceptor, Certificate, Certificates, Challenge, ClientCertificates, Connector, Identity,
    Tickets, TrustedServers,
};

use super::pair::Pair;
use super::{NAME, acceptor};
use crate::authority::Authority;

#[test]
fn a_name_chooses_its_certificate_and_another_one_the_first() {
    let authority = Authority::new("Test");
    let names: [&[&str]; 3] =
        [&["one.example"], &["*.two.example", "two.example"], &["three.example"]];
    let identities: Vec<Identity> = names.iter().map(|names| authority.identity(names)).collect();
    let server = acceptor(&identities);
    let anyone = Connector::new(&TrustedServers::Any, &[], None).unwrap();
    for (asked, expected) in [
        ("one.example", 0),
        ("ONE.example", 0),
        ("two.example", 1),
        ("a.two.example", 1),
        ("a.b.two.example", 0),
        ("three.example", 2),
        ("other.example", 0),
        ("127.0.0.1", 0),
    ] {
        let shown = shown_to(&anyone, &server, asked);
        assert_eq!(&shown, identities[expected].certificate(), "{asked}");
    }
}

#[test]
fn a_client_that_asks_for_no_name_gets_a_certificate_for_an_address() {
    let authority = Authority::new("Test");
    let names: [&[&str]; 3] = [&["one.example"], &["two.example", "127.0.0.1"], &["::1"]];
    let identities: Vec<Identity> = names.iter().map(|names| authority.identity(names)).collect();
    let server = acceptor(&identities);
    let anyone = Connector::new(&TrustedServers::Any, &[], None).unwrap();
    for (asked, expected) in [("127.0.0.1", 1), ("other.example", 0)] {
        let shown = shown_to(&anyone, &server, asked);
        assert_eq!(&shown, identities[expected].certificate(), "{asked}");
    }
}

/// The certificate that a client is shown that asks for this name.
fn shown_to(client: &Connector, server: &Acceptor, asked: &str) -> Certificate {
    let client = client.without_resumption().connect(asked).unwrap();
    let (client, _) = Pair::new(client, server.accept()).agree();
    Certificate::read(client.peer_certificate.as_deref().unwrap()).unwrap()
}

#[test]
fn an_authority_that_asks_for_a_proof_gets_it_and_nobody_else_does() {
    let authority = Authority::new("Test");
    let identity = authority.identity(&[NAME]);
    let (proof, key) = authority.issue(&[NAME]);
    let proof = CertificateDer::from_pem_file(proof).unwrap();
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let challenge = Challenge::new(NAME, proof.clone(), key).unwrap();
    let tickets = Tickets::new().unwrap();
    let server = |identities: &[Identity], challenges: &[Challenge]| {
        let certificates = Certificates::Ordered(identities, challenges);
        Acceptor::new(certificates, &["http/1.1"], &ClientCertificates::Ignored, &tickets).unwrap()
    };
    let with = |protocols: &[&str]| Connector::new(&TrustedServers::Any, protocols, None).unwrap();
    let identities = std::slice::from_ref(&identity);
    let asked = server(identities, std::slice::from_ref(&challenge));
    let (checks, browses) = (with(&["acme-tls/1"]), with(&["http/1.1"]));
    let proof = Certificate::read(&proof).unwrap();
    assert_eq!(shown_to(&checks, &asked, NAME), proof);
    for other in [&browses, &with(&[]), &with(&["acme-tls/1", "http/1.1"])] {
        assert_eq!(&shown_to(other, &asked, NAME), identity.certificate());
    }
    // Without a certificate so far, and for a name that is not asked for, the handshake is refused.
    let empty = server(&[], &[challenge]);
    assert_eq!(shown_to(&checks, &empty, NAME), proof);
    for (client, server, name) in [
        (&browses, &empty, NAME),
        (&checks, &asked, "other.example"),
        (&checks, &server(identities, &[]), NAME),
    ] {
        let client = client.connect(name).unwrap();
        assert!(Pair::new(client, server.accept()).run(usize::MAX).is_err(), "{name}");
    }
}
