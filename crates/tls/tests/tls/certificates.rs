//! Certificates read as data, compared with what another library was told to write into them.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue, IsCa, Issuer, KeyPair,
    SerialNumber, date_time_ymd,
};
use tls::{Certificate, MalformedCertificate};

/// A certificate with everything that is read.
fn certificate() -> Vec<u8> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name = DistinguishedName::new();
    authority.distinguished_name.push(DnType::OrganizationName, "Example Trust");
    authority.distinguished_name.push(DnType::CommonName, "R1\nforged");
    authority.key_identifier_method = rcgen::KeyIdMethod::PreSpecified(vec![0xc0, 0xff, 0xee]);
    let authority = Issuer::new(authority, KeyPair::generate().unwrap());
    let names = ["Example.org", "*.example.org", "192.0.2.7", "2001:db8::1"].map(str::to_owned);
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "example.org");
    params.serial_number = Some(SerialNumber::from_slice(&[0xca, 0xfe]));
    params.use_authority_key_identifier_extension = true;
    params.not_before = date_time_ymd(2026, 11, 27);
    params.not_after = date_time_ymd(2051, 2, 28);
    params.signed_by(&KeyPair::generate().unwrap(), &authority).unwrap().der().to_vec()
}

#[test]
fn the_fields_of_a_certificate_are_read() {
    let bytes = certificate();
    let read = Certificate::read(&bytes).unwrap();
    assert_eq!(read.names, ["example.org", "*.example.org", "192.0.2.7", "2001:db8::1"]);
    assert_eq!(read.subject, "CN=example.org");
    assert_eq!(read.issuer, r"CN=R1\0aforged,O=Example Trust");
    // The first is a UTCTime, the second, after 2049, a GeneralizedTime (RFC 5280 section 4.1.2.5).
    assert_eq!(read.not_before, 1_795_737_600, "2026-11-27");
    assert_eq!(read.not_after, 2_561_155_200, "2051-02-28");
    assert_eq!(read.serial, [0x00, 0xca, 0xfe]);
    assert_eq!(read.authority_key.as_deref(), Some(&[0xc0, 0xff, 0xee][..]));
    use sha2::Digest;
    assert_eq!(read.fingerprint[..], sha2::Sha256::digest(&bytes)[..]);
}

/// The subject of a certificate with these attributes.
fn subject(attributes: &[(DnType, DnValue)]) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in attributes {
        params.distinguished_name.push(kind.clone(), value.clone());
    }
    let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
    Certificate::read(certificate.der()).unwrap().subject
}

#[test]
fn the_end_of_a_certificate_is_told_in_days_before_and_after_it() {
    let day = 24 * 3600;
    assert_eq!(tls::time_left(10 * day, 0), "10 days left");
    assert_eq!(tls::time_left(10 * day, 10 * day), "0 days left");
    assert_eq!(tls::time_left(10 * day, 10 * day + 1), "ended 0 days ago");
    assert_eq!(tls::time_left(0, 10 * day + 1), "ended 10 days ago");
}

#[test]
fn names_are_written_as_rfc_4514_says_and_different_ones_differ() {
    let utf8 = |text: &str| DnValue::Utf8String(text.to_owned());
    let staff = [(DnType::CommonName, utf8("Ada")), (DnType::OrganizationName, utf8("Staff"))];
    assert_eq!(subject(&staff), "O=Staff,CN=Ada");
    for (value, written) in [
        ("Ada,O=Staff", r"CN=Ada\,O=Staff"),
        ("a+b;c<d>e\"f\\g", r#"CN=a\+b\;c\<d\>e\"f\\g"#),
        (" a ", r"CN=\ a\ "),
        ("#a#", r"CN=\#a#"),
        ("a b", "CN=a b"),
        ("\u{fc}\n", "CN=\u{fc}\\0a"),
    ] {
        assert_eq!(subject(&[(DnType::CommonName, utf8(value))]), written, "{value:?}");
    }
    // RFC 4514 section 2.4: what has no short name is there with its number and its bytes.
    let mail = DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]);
    let with_mail = [(DnType::CommonName, utf8("Ada")), (mail, utf8("a@b"))];
    assert_eq!(subject(&with_mail), "1.2.840.113549.1.9.1=#0c03614062,CN=Ada");
    let wide = DnValue::BmpString("Ada".try_into().unwrap());
    assert_eq!(subject(&[(DnType::CommonName, wide)]), "CN=#1e06004100640061");
}

#[test]
fn a_certificate_is_identified_as_rfc_9773_section_4_1_says() {
    let read = Certificate::read(&certificate()).unwrap();
    assert_eq!(read.renewal_identifier().as_deref(), Some("wP_u.AMr-"));
    let alone = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
    let alone = Certificate::read(alone.cert.der()).unwrap();
    assert_eq!((alone.names, alone.authority_key), (vec!["a.example".to_owned()], None));
}

#[test]
fn nothing_but_a_whole_certificate_is_one() {
    let bytes = certificate();
    for end in 0..bytes.len() {
        assert_eq!(Certificate::read(&bytes[..end]), Err(MalformedCertificate), "{end}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(Certificate::read(&longer), Err(MalformedCertificate));
}

#[test]
fn no_change_of_a_byte_panics_or_brings_an_invisible_name() {
    let bytes = certificate();
    let mut read = 0;
    for at in 0..bytes.len() {
        for value in [0x00, b'\n', 0x1f, 0x30, 0x7f, 0x80, 0x84, 0x88, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let Ok(certificate) = Certificate::read(&changed) else { continue };
            // No line end reaches a log.
            let visible = |name: &String| name.bytes().all(|byte| byte.is_ascii_graphic());
            assert!(certificate.names.iter().all(visible), "{:?}", certificate.names);
            read += 1;
        }
    }
    // Most bytes are keys and signatures, which are not looked at.
    assert!(read > bytes.len());
}
