//! Certificates in files: what is taken, and how what is not is named.

use rcgen::KeyPair;
use runtime::transport::{CertificateFault, Violation};
use tls::{Certificate, Flaw, Identity, IdentityError};

use super::pair::Pair;
use super::{NAME, acceptor, connector};
use crate::authority::Authority;

#[test]
fn files_that_do_not_fit_are_refused_with_their_names() {
    let authority = Authority::new("Test");
    let (certificate, key) = authority.issue(&["one.example"]);
    let (_, other) = authority.issue(&["two.example"]);
    let write = |name: &str, text: &str| {
        let path = authority.directory().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let empty = write("empty.pem", "");
    let half = write("half.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n");
    let no_der = write("no.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let locked =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let locked = write("locked.key", locked);
    let old = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n\
               AAAA\n-----END EC PRIVATE KEY-----\n";
    let locked_of_old = write("old.key", old);
    let missing = authority.directory().join("missing.pem");
    for (certificate, key, expected) in [
        (&missing, &key, "missing.pem`: No such file"),
        (&empty, &key, "empty.pem` has no certificate"),
        (&half, &key, "half.pem` is not a PEM file"),
        (&no_der, &key, "no.pem`: it is not an X.509 certificate"),
        (&key, &key, "has no certificate"),
        (&certificate, &missing, "missing.pem`: No such file"),
        (&certificate, &certificate, "has no private key"),
        (&certificate, &locked, "has a password"),
        (&certificate, &locked_of_old, "has a password"),
        (&certificate, &other, "does not belong to the certificate in"),
    ] {
        let error = Identity::read(certificate, key).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(matches!(Identity::read(&certificate, &other), Err(IdentityError::OtherKey { .. })));
}

#[test]
fn an_error_about_a_damaged_key_shows_nothing_of_it() {
    let authority = Authority::new("Test");
    let (certificate, key) = authority.issue(&[NAME]);
    let text = std::fs::read_to_string(&key).unwrap();
    let secret = text.lines().nth(1).unwrap();
    let in_one_line = text.replace('\n', "");
    let without_end = text.split("-----END").next().unwrap().to_owned();
    let marker_cut = text.replace("KEY-----\n", "KEY\n");
    for damaged in [in_one_line, without_end, marker_cut, text.replace(secret, "%")] {
        std::fs::write(&key, damaged).unwrap();
        let error = Identity::read(&certificate, &key).unwrap_err();
        let told = [error.to_string(), format!("{error:?}")].concat();
        let bytes = format!("{:?}", secret.as_bytes());
        let shown = told.contains(secret) || told.contains(bytes.trim_matches(['[', ']']));
        assert!(!shown && told.contains("is not a PEM file: "), "{told}");
    }
}

#[test]
fn a_byte_order_mark_before_the_first_section_is_passed_over() {
    let authority = Authority::new("Test");
    let (certificate, key) = authority.issue(&[NAME]);
    for file in [&certificate, &key] {
        let text = std::fs::read_to_string(file).unwrap();
        std::fs::write(file, format!("\u{feff}{text}")).unwrap();
    }
    assert_eq!(Identity::read(&certificate, &key).unwrap().certificate().names, [NAME]);
}

#[test]
fn an_issuer_that_does_not_follow_at_once_and_a_certificate_without_names_are_flaws() {
    let authority = Authority::new("Test");
    let (certificate, key) = authority.issue(&[NAME]);
    let foreign = Authority::new("Other");
    let (stranger, _) = foreign.issue(&["stranger.example"]);
    let chain = std::fs::read_to_string(&certificate).unwrap();
    let (own, issuers) = chain.split_at(chain.find("-----END").unwrap() + 26);
    let between = std::fs::read_to_string(&stranger).unwrap();
    std::fs::write(&certificate, [own, &between, issuers].concat()).unwrap();
    let identity = Identity::read(&certificate, &key).unwrap();
    let issuer = identity.certificate().issuer.clone();
    assert_eq!(identity.flaws(), [Flaw::ChainOrder { issuer }]);
    let (certificate, key) = authority.issue(&[]);
    assert_eq!(Identity::read(&certificate, &key).unwrap().flaws(), [Flaw::NoName]);
}

#[test]
fn a_chain_that_ends_too_early_is_a_flaw() {
    let authority = Authority::new("Test");
    let (certificate, key) = authority.issue(&[NAME]);
    assert_eq!(Identity::read(&certificate, &key).unwrap().flaws(), []);
    let chain = std::fs::read_to_string(&certificate).unwrap();
    let own_alone = chain.split_inclusive("-----END CERTIFICATE-----").next().unwrap();
    let path = authority.directory().join("alone.pem");
    std::fs::write(&path, own_alone).unwrap();
    let identity = Identity::read(&path, &key).unwrap();
    let issuer = identity.certificate().issuer.clone();
    assert!(issuer.contains("CN=Test"), "{issuer}");
    assert_eq!(identity.flaws(), [Flaw::IncompleteChain { issuer }]);
    assert_eq!(tls::self_signed(&[NAME]).unwrap().flaws(), []);
}

#[test]
fn a_certificate_tells_its_names_and_its_time() {
    let authority = Authority::new("Test");
    let key = KeyPair::generate().unwrap();
    let (certificate, key) =
        authority.issue_with(&["A.example", "*.b.example", "10.1.2.3", "::1"], key, |params| {
            params.not_before = rcgen::date_time_ymd(2026, 1, 1);
            params.not_after = rcgen::date_time_ymd(2026, 4, 1);
        });
    let identity = Identity::read(&certificate, &key).unwrap();
    let facts = identity.certificate();
    assert_eq!(facts.names, ["a.example", "*.b.example", "10.1.2.3", "::1"]);
    assert_eq!(facts.not_after - facts.not_before, 90 * 86_400);
    assert!(Certificate::read(b"nothing").is_err());
}

#[test]
fn a_certificate_tells_the_kind_of_its_key() {
    let authority = Authority::new("Test");
    let kind = |(certificate, key): (std::path::PathBuf, std::path::PathBuf)| {
        Identity::read(&certificate, &key).unwrap().certificate().key.clone()
    };
    assert_eq!(kind(authority.issue(&[NAME])), "ECDSA P-256");
    assert_eq!(kind(authority.issue_rsa(&[NAME])), "RSA 2048");
    for (algorithm, expected) in
        [(&rcgen::PKCS_ECDSA_P384_SHA384, "ECDSA P-384"), (&rcgen::PKCS_ED25519, "Ed25519")]
    {
        let key = KeyPair::generate_for(algorithm).unwrap();
        assert_eq!(kind(authority.issue_with(&[NAME], key, |_| {})), expected);
    }
}

#[test]
fn of_two_kinds_of_key_a_client_gets_the_one_that_it_can_check() {
    let authority = Authority::new("Test");
    let (rsa, rsa_key) = authority.issue_rsa(&[NAME]);
    let rsa = Identity::read(&rsa, &rsa_key).unwrap();
    let server = acceptor(&[rsa.clone(), authority.identity(&[NAME])]);
    let mut pair = Pair::new(connector(&authority).connect(NAME).unwrap(), server.accept());
    let shown = pair.agree().0.peer_certificate.clone().unwrap();
    let shown = Certificate::read(&shown).unwrap();
    assert_ne!(&shown, rsa.certificate(), "ECDSA, though RSA is first in the list");
    let server = acceptor(&[rsa]);
    let mut pair = Pair::new(connector(&authority).connect(NAME).unwrap(), server.accept());
    pair.agree();
    // A name of another server is refused by the client, whatever the key.
    let other = connector(&authority).connect("other.example").unwrap();
    let mut pair = Pair::new(other, server.accept());
    let fault = Violation::Certificate(CertificateFault::WrongName);
    assert_eq!(pair.run(usize::MAX), Err(("client", fault)));
}
