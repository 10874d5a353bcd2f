//! `Forwarded` and `X-Forwarded-*`: whatever comes, a client that is found stands in the fields, and is no trusted
//! proxy if another address is there.

use std::net::IpAddr;

use wire::http::fields::FieldList;
use wire::http::forwarded::{self, ForwardingField};

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/forwarded"];

/// Values of both kinds; the first byte chooses the field.
pub const SEEDS: &[&[u8]] = &[
    b"0for=192.0.2.1;proto=https, for=\"[2001:db8::1]:80\";host=a.example",
    b"1203.0.113.7, 10.0.0.1, 10.0.0.2",
    b"2https, http",
    b"3a.example:80",
];

/// Pieces of values.
pub const WORDS: &[&[u8]] = &[
    b"for=",
    b"proto=",
    b"host=",
    b"by=",
    b"\"",
    b"\\",
    b"[",
    b"]",
    b":",
    b";",
    b",",
    b" ",
    b"192.0.2.1",
    b"10.0.0.1",
    b"2001:db8::1",
    b"fe80::1%eth0",
    b"unknown",
    b"_a",
    b"https",
    b"80",
];

fn is_trusted(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if address.octets()[0] == 10)
}

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let Some((choice, value)) = data.split_first() else { return };
    let field = ForwardingField::ALL[usize::from(*choice) % ForwardingField::ALL.len()];
    let mut list = FieldList::new();
    // The parser of heads refuses these bytes before.
    if list.add_as_spelt(field.name(), value).is_err() {
        return;
    }
    let Ok(told) = forwarded::read(&list.fields(), &ForwardingField::ALL, is_trusted) else {
        return;
    };
    if let Some(client) = told.client {
        assert!(matches!(field, ForwardingField::Forwarded | ForwardingField::For));
        assert!(!client.ip().is_unspecified(), "it would pass for a local peer");
        // Another element behind the one that is found can only be one of a trusted proxy.
        let with_proxy = match field {
            ForwardingField::Forwarded => [value, b", for=10.9.9.9"].concat(),
            _ => [value, b", 10.9.9.9"].concat(),
        };
        let mut longer = FieldList::new();
        if longer.add_as_spelt(field.name(), &with_proxy).is_ok() {
            let again = forwarded::read(&longer.fields(), &ForwardingField::ALL, is_trusted);
            // One proxy more may be too many.
            assert!(again.is_err() || again.is_ok_and(|again| again.client == told.client));
        }
    }
    if let Some(host) = told.host {
        assert!(!host.is_empty() && value.windows(host.len()).any(|part| part == host));
    }
}
