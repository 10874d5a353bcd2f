//! The certificates that a client and a server trust, and how a refusal is named.

use rcgen::{KeyPair, date_time_ymd};
use runtime::transport::{CertificateFault, Violation};
use tls::{
    Acceptor, Certificates, ClientCertificates, Connector, Identity, Tickets, TrustedServers,
};

use super::pair::Pair;
use super::{NAME, acceptor, connector};
use crate::authority::Authority;

/// The failure of a client that connects to this name.
fn failure(connector: &Connector, server: &Acceptor, name: &str) -> Violation {
    let mut pair = Pair::new(connector.connect(name).unwrap(), server.accept());
    let (side, violation) = pair.run(usize::MAX).unwrap_err();
    assert_eq!(side, "client");
    // The alert tells the other side.
    let told = pair.run(usize::MAX);
    assert!(matches!(told, Err(("server", Violation::Alert(_)))), "{told:?}");
    violation
}

#[test]
fn a_client_names_what_is_wrong_with_a_certificate() {
    let (authority, other) = (Authority::new("Test"), Authority::new("Other"));
    let client = connector(&authority);
    let old = authority.issue_with(&[NAME], KeyPair::generate().unwrap(), |params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let old = acceptor(&[Identity::read(&old.0, &old.1).unwrap()]);
    let fault = CertificateFault::Expired;
    assert_eq!(failure(&client, &old, NAME), Violation::Certificate(fault));
    let early = authority.issue_with(&[NAME], KeyPair::generate().unwrap(), |params| {
        params.not_before = date_time_ymd(2999, 1, 1);
        params.not_after = date_time_ymd(3000, 1, 1);
    });
    let early = acceptor(&[Identity::read(&early.0, &early.1).unwrap()]);
    let fault = CertificateFault::NotYetValid;
    assert_eq!(failure(&client, &early, NAME), Violation::Certificate(fault));
    let good = acceptor(&[authority.identity(&[NAME])]);
    let fault = CertificateFault::WrongName;
    assert_eq!(failure(&client, &good, "other.example"), Violation::Certificate(fault));
    let stranger = acceptor(&[other.identity(&[NAME])]);
    let fault = CertificateFault::UnknownAuthority;
    assert_eq!(failure(&client, &stranger, NAME), Violation::Certificate(fault));
    let own = acceptor(&[tls::self_signed(&[NAME]).unwrap()]);
    assert!(matches!(failure(&client, &own, NAME), Violation::Certificate(_)));
    for server in [old, early, good, stranger, own] {
        let anyone = Connector::new(&TrustedServers::Any, &[], None).unwrap();
        let mut pair = Pair::new(anyone.connect("x.example").unwrap(), server.accept());
        pair.agree();
    }
}

#[test]
fn clients_show_certificates_where_they_are_asked_for() {
    let (authority, clients) = (Authority::new("Test"), Authority::new("Clients"));
    let server = |wanted| {
        let identities = [authority.identity(&[NAME])];
        Acceptor::new(Certificates::Fixed(&identities), &[], &wanted, &Tickets::new().unwrap())
            .unwrap()
    };
    let peers = TrustedServers::Known(authority.trusted());
    let known = clients.identity(&["ann"]);
    let stranger = authority.identity(&["bob"]);
    let shake = |server: &Acceptor, own: Option<&Identity>| {
        let client = Connector::new(&peers, &[], own).unwrap();
        let mut pair = Pair::new(client.connect(NAME).unwrap(), server.accept());
        pair.run(usize::MAX)?;
        let (_, agreed) = pair.agreed().unwrap();
        let shown = agreed.peer_certificate.as_deref();
        Ok(shown.map(|shown| tls::Certificate::read(shown).unwrap().names))
    };
    let asked = server(ClientCertificates::Asked(clients.of_clients()));
    assert_eq!(shake(&asked, None), Ok(None));
    assert_eq!(shake(&asked, Some(&known)), Ok(Some(vec!["ann".to_owned()])));
    let fault = Violation::Certificate(CertificateFault::UnknownAuthority);
    assert_eq!(shake(&asked, Some(&stranger)), Err(("server", fault)));
    let required = server(ClientCertificates::Required(clients.of_clients()));
    assert_eq!(shake(&required, Some(&known)), Ok(Some(vec!["ann".to_owned()])));
    let fault = Violation::Certificate(CertificateFault::Missing);
    assert_eq!(shake(&required, None), Err(("server", fault)));
    let ignored = server(ClientCertificates::Ignored);
    assert_eq!(shake(&ignored, Some(&known)), Ok(None));
}
