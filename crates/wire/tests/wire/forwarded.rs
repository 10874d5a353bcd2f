//! Goal: the client behind proxies is found as RFC 7239 and the usual `X-Forwarded-*` tell, and nobody else is ever
//! taken for it. Method: fields, and who is trusted, with the one right answer of each, and many
//! made-up values.

use std::net::IpAddr;

use wire::http::fields::FieldList;
use wire::http::forwarded::{self, Forwarded, ForwardingField, MalformedForwarded};
use wire::http::url::Scheme;
use wire::network::Network;

fn trusted(address: IpAddr) -> bool {
    let is_of =
        |network: &str| network.parse::<wire::network::Network>().unwrap().contains(address);
    is_of("10.0.0.0/8") || is_of("fd00::/8")
}

fn read_by(
    believed: &[ForwardingField],
    fields: &[(&str, &str)],
) -> Result<(String, Option<Scheme>, String), MalformedForwarded> {
    let list = FieldList::of(fields);
    let Forwarded { client, scheme, host } = forwarded::read(&list.fields(), believed, trusted)?;
    let client = client.map_or_else(
        || "peer".to_owned(),
        |client| match client.port() {
            0 => client.ip().to_string(),
            _ => client.to_string(),
        },
    );
    Ok((client, scheme, String::from_utf8(host.unwrap_or_default().to_vec()).unwrap()))
}

fn client_of(fields: &[(&str, &str)]) -> Result<String, MalformedForwarded> {
    read_by(&ForwardingField::ALL, fields).map(|(client, _, _)| client)
}

#[test]
fn the_first_address_from_the_end_that_is_not_trusted_is_the_client() {
    for (value, client) in [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1:4711"),
        ("1.1.1.1, 192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, 10.1.1.1", "192.0.2.1"),
        ("6.6.6.6, 192.0.2.1, 10.1.1.1,10.2.2.2", "192.0.2.1"),
        ("10.3.3.3, 10.1.1.1", "10.3.3.3"),
        ("nonsense, 192.0.2.1", "192.0.2.1"),
        ("\"for\", 192.0.2.1,", "192.0.2.1"),
        (" , ,192.0.2.1, ,", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:80", "[2001:db8::1]:80"),
        ("192.0.2.1, fd00::7", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, ::ffff:10.1.1.1", "192.0.2.1"),
        ("", "peer"),
        (" , ", "peer"),
    ] {
        assert_eq!(client_of(&[("X-Forwarded-For", value)]).as_deref(), Ok(client), "{value}");
    }
}

#[test]
fn an_address_that_cannot_be_one_tells_nothing() {
    for value in [
        "nonsense",
        "192.0.2.1, nonsense",
        "192.0.2.1, nonsense, 10.1.1.1",
        "192.0.2.1, unknown",
        "_hidden",
        "192.0.2.01",
        "192.0.2.1:",
        "192.0.2.1:x",
        "192.0.2.1:70000",
        "192.0.2.1:+80",
        "192.0.2.1 10.1.1.1",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "fe80::1%eth0",
        "fe80::1%251",
        "[2001:db8::1",
        "2001:db8::1]",
        "[2001:db8::1]80",
        "[192.0.2.1]",
        "[::1%lo]:80",
        "localhost",
        "\"192.0.2.1\"",
    ] {
        assert_eq!(client_of(&[("X-Forwarded-For", value)]), Err(MalformedForwarded), "{value}");
    }
    let many = ["10.1.1.1"; 33].join(",");
    assert_eq!(client_of(&[("X-Forwarded-For", &many)]), Err(MalformedForwarded));
    assert!(client_of(&[("X-Forwarded-For", &["10.1.1.1"; 32].join(","))]).is_ok());
    assert!(client_of(&[("X-Forwarded-For", &format!("{many}, 192.0.2.1"))]).is_ok());
}

#[test]
fn lines_of_one_name_are_one_list() {
    let fields = [
        ("X-Forwarded-For", "6.6.6.6"),
        ("x-forwarded-for", "192.0.2.1, 10.1.1.1"),
        ("X-Forwarded-For", "10.2.2.2"),
    ];
    assert_eq!(client_of(&fields).as_deref(), Ok("192.0.2.1"));
    let fields = [("Forwarded", "for=6.6.6.6"), ("Forwarded", "for=192.0.2.1,for=10.1.1.1")];
    assert_eq!(client_of(&fields).as_deref(), Ok("192.0.2.1"));
}

#[test]
fn forwarded_is_read_as_rfc_7239_has_it() {
    for (value, client) in [
        ("for=192.0.2.43", "192.0.2.43"),
        ("For=\"[2001:db8:cafe::17]:4711\"", "[2001:db8:cafe::17]:4711"),
        ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
        ("for=6.6.6.6, for=198.51.100.17", "198.51.100.17"),
        ("for=6.6.6.6,for=192.0.2.1;by=_a,for=10.1.1.1", "192.0.2.1"),
        ("for=\"192.0.2.1:_port\"", "192.0.2.1"),
        ("for=192.0.2.1:80", "192.0.2.1:80"),
        ("for=[2001:db8::1]", "2001:db8::1"),
        ("x=\"a,\\\" for=6.6.6.6\";for=192.0.2.1", "192.0.2.1"),
        ("for=unknown, for=192.0.2.1", "192.0.2.1"),
        // Hidden: the last known hop counts.
        ("for=unknown", "peer"),
        ("for=_hidden", "peer"),
        ("for=\"Unknown:47\"", "peer"),
        ("for=\"_a.b-c:_port\"", "peer"),
        ("for=192.0.2.1, for=_hidden", "peer"),
        ("for=unknown, for=10.1.1.1", "10.1.1.1"),
        ("for=192.0.2.1, for=_hidden, for=10.1.1.1, for=10.2.2.2", "10.1.1.1"),
        (",, for=192.0.2.1 ; proto=https ,", "192.0.2.1"),
        ("", "peer"),
    ] {
        assert_eq!(client_of(&[("Forwarded", value)]).as_deref(), Ok(client), "{value}");
    }
    for value in [
        "for",
        "for=",
        "=192.0.2.1",
        "192.0.2.1",
        "for=192.0.2.1;for=192.0.2.1",
        "for=\"192.0.2.1",
        "for=\"192.0.2.1\"x",
        "for=\"192.0.2.1\\",
        "for=192.0.2.1\"",
        "for =192.0.2.1",
        "for=192.0.2.1;",
        "for=192.0.2.1;;proto=http",
        "for=192.0.2.1 proto=http",
        "for=unknow",
        "for=_",
        "for=_hid%den",
        "for=\"unknown:\"",
        "for=\"unknown:123456\"",
        "for=\"unknown:x\"",
        "proto=https",
        "for=192.0.2.1, by=10.1.1.1",
        "for=192.0.2.1;proto=ftp",
        "for=192.0.2.1;host=\"a b\"",
        "for=192.0.2.1;host=\"\"",
        // A stranger opens a text that swallows what the proxy adds.
        "for=6.6.6.6;x=\", for=\"[2001:db8::1]\";proto=https",
        "for=6.6.6.6;x=\", for=192.0.2.1",
    ] {
        assert_eq!(client_of(&[("Forwarded", value)]), Err(MalformedForwarded), "{value}");
    }
    assert_eq!(
        client_of(&[("Forwarded", &["for=10.1.1.1"; 33].join(","))]),
        Err(MalformedForwarded)
    );
}

#[test]
fn client_hidden_by_a_proxy_is_named_by_no_other_field() {
    let both =
        |newer: &str, older: &str| client_of(&[("Forwarded", newer), ("X-Forwarded-For", older)]);
    assert_eq!(both("for=unknown", "6.6.6.6"), Err(MalformedForwarded));
    assert_eq!(both("for=_a, for=10.1.1.1", "6.6.6.6, 10.1.1.1"), Err(MalformedForwarded));
    assert_eq!(both("for=_a, for=10.1.1.1", "10.1.1.1").as_deref(), Ok("10.1.1.1"));
}

#[test]
fn scheme_and_host_are_those_of_the_same_proxy() {
    let read = |fields: &[_]| read_by(&ForwardingField::ALL, fields);
    let https = Some(Scheme::Https);
    let newer = "for=6.6.6.6;proto=http;host=evil, for=192.0.2.1;proto=https;host=\"a.example:81\", \
                 for=10.1.1.1;proto=http;host=inner";
    let found = Ok(("192.0.2.1".to_owned(), https, "a.example:81".to_owned()));
    assert_eq!(read(&[("Forwarded", newer)]), found);
    let older = |proto, host| {
        let list = ("X-Forwarded-For", "6.6.6.6, 192.0.2.1, 10.1.1.1");
        read(&[list, ("X-Forwarded-Proto", proto), ("X-Forwarded-Host", host)])
    };
    assert_eq!(older("https", "a.example:81"), found);
    assert_eq!(older("http, HTTPS, http", "evil, a.example:81, inner"), found);
    assert_eq!(older("wss,http", "a.example:81, inner"), found);
    for (proto, host) in [("ftp", "a"), ("https https", "a"), ("https", "a/b"), ("https", "a@b")] {
        assert_eq!(older(proto, host), Err(MalformedForwarded), "{proto} {host}");
    }
    assert_eq!(
        read(&[("X-Forwarded-Proto", "https")]),
        Ok(("peer".to_owned(), https, String::new()))
    );
}

#[test]
fn both_kinds_must_agree() {
    let read = |newer, older| client_of(&[("Forwarded", newer), ("X-Forwarded-For", older)]);
    assert_eq!(read("for=192.0.2.1", "192.0.2.1").as_deref(), Ok("192.0.2.1"));
    assert_eq!(read("for=\"192.0.2.1:80\"", "192.0.2.1").as_deref(), Ok("192.0.2.1:80"));
    assert_eq!(read("for=192.0.2.1", "192.0.2.2"), Err(MalformedForwarded));
    assert_eq!(read("for=192.0.2.1", "nonsense"), Err(MalformedForwarded));
    assert_eq!(read("nonsense", "192.0.2.1"), Err(MalformedForwarded));
    let fields = [("Forwarded", "for=192.0.2.1;proto=http"), ("X-Forwarded-Proto", "https")];
    assert_eq!(client_of(&fields), Err(MalformedForwarded));
    let fields = [("Forwarded", "for=192.0.2.1"), ("X-Forwarded-Proto", "https")];
    let found = read_by(&ForwardingField::ALL, &fields);
    assert_eq!(found.map(|(_, scheme, _)| scheme), Ok(Some(Scheme::Https)));
}

#[test]
fn only_believed_fields_count() {
    let fields = [
        ("Forwarded", "for=6.6.6.6"),
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Host", "evil"),
    ];
    let found = read_by(&[ForwardingField::For], &fields);
    assert_eq!(found, Ok(("192.0.2.1".to_owned(), None, String::new())));
    let found = read_by(&[ForwardingField::Forwarded], &fields);
    assert_eq!(found.map(|(client, _, _)| client).as_deref(), Ok("6.6.6.6"));
}

#[test]
fn names_that_other_programs_may_take_for_these_count_too() {
    for name in
        ["Forwarded", "X-Forwarded-For", "x_forwarded_for", "X-Forwarded_Anything", "X-REAL-IP"]
    {
        assert!(forwarded::is_one(name), "{name}");
    }
    for name in ["X-Forwarded", "Forwarded-For", "Host", "X-Request-Id", "X-Realip", ""] {
        assert!(!forwarded::is_one(name), "{name}");
    }
    let list = FieldList::of(&[("Host", "a"), ("Accept", "*/*"), ("User-Agent", "u")]);
    assert!(!forwarded::may_be_in(&list.fields()));
    assert!(forwarded::may_be_in(&FieldList::of(&[("X_Real_IP", "a")]).fields()));
}

#[test]
fn fields_that_are_left_out_seem_not_to_have_been_sent() {
    use wire::http::head::FieldSlots;
    let list = FieldList::of(&[("Host", "a"), ("X-Forwarded-For", "6.6.6.6"), ("Accept", "*/*")]);
    let mut room = FieldSlots::new();
    let fields = list.fields().without(forwarded::is_one, &mut room);
    assert_eq!(fields.iter().collect::<Vec<_>>(), [("Host", &b"a"[..]), ("Accept", b"*/*")]);
    assert_eq!((fields.len(), fields.first("x-forwarded-for")), (2, None));
    assert_eq!(
        (fields.first("host"), fields.first("accept")),
        (Some(&b"a"[..]), Some(&b"*/*"[..]))
    );
    assert!(!fields.has("X-Forwarded-For"));
}

/// Whatever bytes come: no panic, and an address that is found stands in the fields as text.
#[test]
fn no_bytes_make_up_a_client() {
    let parts = [
        "for=",
        "192.0.2.1",
        "10.1.1.1",
        "\"",
        "[",
        "]",
        ":",
        ",",
        ";",
        " ",
        "\\",
        "unknown",
        "x=",
        "80",
        "fd00::1",
        "%",
    ];
    let mut state = 7_u64;
    for _ in 0..200_000 {
        let mut value = String::new();
        for _ in 0..state % 9 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            value.push_str(parts[(state >> 33) as usize % parts.len()]);
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state = state.rotate_left(17);
        for name in ["Forwarded", "X-Forwarded-For"] {
            let list = FieldList::of(&[(name, value.trim())]);
            let read = forwarded::read(&list.fields(), &ForwardingField::ALL, trusted);
            if let Ok(Forwarded { client: Some(client), .. }) = read {
                let parts = (0..value.len())
                    .flat_map(|begin| (begin..=value.len()).map(move |end| begin..end));
                let mut addresses = parts.filter_map(|part| value[part].parse::<IpAddr>().ok());
                assert!(addresses.any(|known| known.to_canonical() == client.ip()), "{value}");
            }
        }
    }
}

#[test]
fn a_network_of_mapped_addresses_is_the_one_of_ipv4() {
    let parse = |text: &str| text.parse::<Network>();
    for (text, meant) in [
        ("::ffff:127.0.0.1", "127.0.0.1/32"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
    ] {
        let network = parse(text).unwrap();
        assert_eq!(network.to_string(), meant);
        assert!(network.contains(network.first()), "{text}");
    }
    assert!(parse("::ffff:10.0.0.1/104").is_err());
    // Fewer bits are a network of IPv6.
    assert_eq!(parse("::/0").unwrap().to_string(), "::/0");
}
