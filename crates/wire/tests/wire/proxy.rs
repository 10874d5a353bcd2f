//! The PROXY protocol by its specification: sections 2.1 (text) and 2.2 (binary).

use std::net::SocketAddr;

use proptest::prelude::*;
use wire::limits::{PROXY_V1_BYTES_MAXIMUM, PROXY_V2_PAYLOAD_BYTES_MAXIMUM};
use wire::proxy::{ParsedProxyHeader, ProxiedClient, ProxyError, parse};
use wire::proxy_header::{ProxyVersion, write};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

fn inet(source: &str, destination: &str) -> ProxiedClient {
    ProxiedClient::Inet {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
    }
}

fn complete(input: &[u8], source: ProxiedClient) -> Result<ParsedProxyHeader, ProxyError> {
    Ok(ParsedProxyHeader::Complete { length: input.len(), source })
}

fn v2(command: u8, family: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [SIGNATURE, &[command, family], &length, payload].concat()
}

fn v2_inet(source: SocketAddr, destination: SocketAddr, extensions: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    let family = match (source, destination) {
        (SocketAddr::V4(source), SocketAddr::V4(destination)) => {
            payload.extend(source.ip().octets());
            payload.extend(destination.ip().octets());
            0x11
        }
        (SocketAddr::V6(source), SocketAddr::V6(destination)) => {
            payload.extend(source.ip().octets());
            payload.extend(destination.ip().octets());
            0x21
        }
        _ => unreachable!("both ends of a connection have the same family"),
    };
    payload.extend(source.port().to_be_bytes());
    payload.extend(destination.port().to_be_bytes());
    payload.extend(extensions);
    v2(0x21, family, &payload)
}

#[test]
fn section_2_1_text_with_ipv4() {
    let header = b"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n";
    let source = inet("192.0.2.1:56324", "198.51.100.7:443");
    assert_eq!(parse(header), complete(header, source));
}

#[test]
fn section_2_1_text_with_ipv6_at_its_longest() {
    let longest = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let header = format!("PROXY TCP6 {longest} {longest} 65535 65535\r\n");
    let end = format!("[{longest}]:65535");
    assert_eq!(parse(header.as_bytes()), complete(header.as_bytes(), inet(&end, &end)));
}

#[test]
fn section_2_1_unknown_ignores_the_rest_of_the_line() {
    for header in [b"PROXY UNKNOWN\r\n".as_slice(), b"PROXY UNKNOWN a b \xff ::: 99999\r\n"] {
        assert_eq!(parse(header), complete(header, ProxiedClient::Unknown));
    }
    let mut longest = b"PROXY UNKNOWN ".to_vec();
    longest.resize(PROXY_V1_BYTES_MAXIMUM - 2, b'f');
    longest.extend(b"\r\n");
    assert_eq!(parse(&longest), complete(&longest, ProxiedClient::Unknown));
}

#[test]
fn section_2_1_what_follows_the_line_is_the_client_s() {
    let input = b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\n";
    let source = inet("1.2.3.4:1", "5.6.7.8:2");
    assert_eq!(parse(input), Ok(ParsedProxyHeader::Complete { length: 32, source }));
}

#[test]
fn section_2_1_line_without_end_is_refused_at_107_bytes() {
    let mut line = b"PROXY UNKNOWN ".to_vec();
    line.resize(PROXY_V1_BYTES_MAXIMUM - 1, b'f');
    assert_eq!(parse(&line), Ok(ParsedProxyHeader::Partial));
    line.push(b'f');
    assert_eq!(parse(&line), Err(ProxyError::TooLong));
    line.extend(b"\r\n");
    assert_eq!(parse(&line), Err(ProxyError::TooLong));
}

#[test]
fn section_2_1_malformed_lines() {
    for (line, error) in [
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n", ProxyError::Line),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", ProxyError::Line),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n", ProxyError::Line),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n", ProxyError::Line),
        ("PROXY tcp4 1.2.3.4 5.6.7.8 1 2\r\n", ProxyError::Line),
        ("PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", ProxyError::Line),
        ("PROXY UNKNOWNX\r\n", ProxyError::Line),
        ("PROXY \r\n", ProxyError::Line),
        ("PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n", ProxyError::Line),
        ("PROXY TCP4  1.2.3.4 5.6.7.8 1 2\r\n", ProxyError::Line),
        ("PROXY TCP4 ::1 ::1 1 2\r\n", ProxyError::Address),
        ("PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n", ProxyError::Address),
        ("PROXY TCP4 1.2.3.4 5.6.7.256 1 2\r\n", ProxyError::Address),
        ("PROXY TCP4 01.2.3.4 5.6.7.8 1 2\r\n", ProxyError::Address),
        ("PROXY TCP6 ::1%lo ::1 1 2\r\n", ProxyError::Address),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 65536 2\r\n", ProxyError::Address),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 +1 2\r\n", ProxyError::Address),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n", ProxyError::Address),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 -1 2\r\n", ProxyError::Address),
        ("PROXY TCP4 1.2.3.4 5.6.7.8 1 \u{661}\r\n", ProxyError::Address),
    ] {
        assert_eq!(parse(line.as_bytes()), Err(error), "{line:?}");
    }
}

#[test]
fn a_request_is_no_header() {
    for input in ["GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\n", "PUT", "\r\nGET", "PROXX", "proxy "]
    {
        assert_eq!(parse(input.as_bytes()), Err(ProxyError::Signature), "{input:?}");
    }
    assert_eq!(parse(b""), Ok(ParsedProxyHeader::Partial));
}

#[test]
fn section_2_2_binary_with_ipv4_and_ipv6() {
    for (source, destination) in
        [("192.0.2.1:56324", "198.51.100.7:443"), ("[2001:db8::1]:56324", "[2001:db8::2]:443")]
    {
        for extensions in [b"".as_slice(), b"\x03\x00\x04abcd", b"\x01"] {
            let (from, to) = (source.parse().unwrap(), destination.parse().unwrap());
            let header = v2_inet(from, to, extensions);
            assert_eq!(parse(&header), complete(&header, inet(source, destination)));
        }
    }
}

#[test]
fn section_2_2_datagrams_are_told_like_streams() {
    let header = v2(0x21, 0x12, &[1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 0, 10]);
    assert_eq!(parse(&header), complete(&header, inet("1.2.3.4:9", "5.6.7.8:10")));
}

#[test]
fn section_2_2_local_skips_its_payload_whatever_the_family() {
    for family in [0x00, 0x11, 0x21, 0x31] {
        let header = v2(0x20, family, b"abc");
        assert_eq!(parse(&header), complete(&header, ProxiedClient::Local));
    }
}

#[test]
fn section_2_2_no_internet_address_is_unknown() {
    for (family, payload) in [(0x00, 0), (0x00, 7), (0x31, 216), (0x32, 300), (0x10, 12)] {
        let header = v2(0x21, family, &vec![b'/'; payload]);
        assert_eq!(parse(&header), complete(&header, ProxiedClient::Unknown), "{family:#x}");
    }
}

#[test]
fn section_2_2_payload_shorter_than_its_addresses() {
    for (family, length) in [(0x11, 11), (0x11, 0), (0x21, 35), (0x31, 215)] {
        let header = v2(0x21, family, &vec![0; length]);
        assert_eq!(parse(&header), Err(ProxyError::Truncated), "{family:#x}");
    }
}

#[test]
fn section_2_2_unknown_commands_and_families_are_refused() {
    for command in (0..=0xFF).filter(|command| !matches!(command, 0x20 | 0x21)) {
        assert_eq!(parse(&v2(command, 0x11, &[0; 12])), Err(ProxyError::Command), "{command:#x}");
    }
    for family in [0x03, 0x0F, 0x13, 0x40, 0x41, 0xF1] {
        assert_eq!(parse(&v2(0x21, family, &[0; 12])), Err(ProxyError::Family), "{family:#x}");
    }
}

#[test]
fn section_2_2_payload_has_a_bound() {
    let mut payload = vec![0; PROXY_V2_PAYLOAD_BYTES_MAXIMUM];
    let header = v2(0x21, 0x11, &payload);
    assert_eq!(parse(&header), complete(&header, inet("0.0.0.0:0", "0.0.0.0:0")));
    payload.push(0);
    let header = v2(0x21, 0x11, &payload);
    // Refused because of the length alone, before the payload arrives.
    assert_eq!(parse(&header[..16]), Err(ProxyError::TooLong));
}

fn address() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = (any::<([u8; 4], u16)>(), any::<([u8; 4], u16)>())
        .prop_map(|(from, to)| (from.into(), to.into()));
    let v6 = (any::<([u8; 16], u16)>(), any::<([u8; 16], u16)>())
        .prop_map(|(from, to)| (from.into(), to.into()));
    prop_oneof![v4, v6]
}

fn header() -> impl Strategy<Value = (Vec<u8>, ProxiedClient)> {
    let text = address().prop_map(|(source, destination)| {
        let protocol = if source.is_ipv4() { "TCP4" } else { "TCP6" };
        let (from, to) = (source.ip(), destination.ip());
        let ports = format!("{} {}", source.port(), destination.port());
        let line = format!("PROXY {protocol} {from} {to} {ports}\r\n");
        (line.into_bytes(), ProxiedClient::Inet { source, destination })
    });
    let extensions = proptest::collection::vec(any::<u8>(), 0..40);
    let binary = (address(), extensions).prop_map(|((source, destination), extensions)| {
        (v2_inet(source, destination, &extensions), ProxiedClient::Inet { source, destination })
    });
    prop_oneof![text, binary]
}

proptest! {
    #[test]
    fn any_cut_is_partial_and_the_whole_is_complete(
        (header, source) in header(),
        after in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        for length in 0..header.len() {
            prop_assert_eq!(parse(&header[..length]), Ok(ParsedProxyHeader::Partial));
        }
        let input = [header.as_slice(), &after].concat();
        prop_assert_eq!(parse(&input), Ok(ParsedProxyHeader::Complete { length: header.len(), source }));
    }

    #[test]
    fn a_result_never_changes_with_more_bytes(
        mut input in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..40),
            "PROXY (TCP4|TCP6|UNKNOWN| )[ 0-9a-f:.\r\n]{0,100}".prop_map(String::into_bytes),
            (any::<u8>(), any::<u8>(), proptest::collection::vec(any::<u8>(), 0..60))
                .prop_map(|(command, family, rest)| v2(command & 0x23, family & 0x33, &rest)),
        ],
        cut in any::<proptest::sample::Index>(),
        damage in any::<Option<(proptest::sample::Index, u8)>>(),
    ) {
        if let Some((place, byte)) = damage && !input.is_empty() {
            let place = place.index(input.len());
            input[place] = byte;
        }
        let early = parse(&input[..cut.index(input.len() + 1)]);
        if early != Ok(ParsedProxyHeader::Partial) {
            prop_assert_eq!(early, parse(&input));
        }
        if let Ok(ParsedProxyHeader::Complete { length, .. }) = parse(&input) {
            prop_assert!(length <= input.len());
            prop_assert_eq!(parse(&input[..length]), parse(&input));
        }
    }
}

#[test]
fn proxy_header_has_both_addresses_of_one_family() {
    let v1 = |source, destination| {
        String::from_utf8(write(ProxyVersion::V1, &inet(source, destination))).unwrap()
    };
    assert_eq!(
        v1("192.0.2.1:56324", "198.51.100.7:443"),
        "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n"
    );
    assert_eq!(v1("[2001:db8::1]:1", "[::1]:443"), "PROXY TCP6 2001:db8::1 ::1 1 443\r\n");
    assert_eq!(v1("192.0.2.1:0", "[::1]:443"), "PROXY TCP6 ::ffff:192.0.2.1 ::1 0 443\r\n");
    assert_eq!(v1("192.0.2.1:1", "[::]:443"), "PROXY TCP4 192.0.2.1 0.0.0.0 1 443\r\n");
    assert_eq!(v1("[2001:db8::1]:1", "0.0.0.0:80"), "PROXY TCP6 2001:db8::1 :: 1 80\r\n");
    for (client, v2_command) in [(ProxiedClient::Local, 0x20), (ProxiedClient::Unknown, 0x21)] {
        assert_eq!(write(ProxyVersion::V1, &client), b"PROXY UNKNOWN\r\n");
        assert_eq!(write(ProxyVersion::V2, &client), v2(v2_command, 0, b""));
    }
}

proptest! {
    /// Whatever the addresses, the reader of this crate understands what is sent.
    #[test]
    fn proxy_header_round_trips(
        source: SocketAddr,
        destination: SocketAddr,
        version in prop_oneof![Just(ProxyVersion::V1), Just(ProxyVersion::V2)],
    ) {
        let header = write(version, &ProxiedClient::Inet { source, destination });
        let Ok(ParsedProxyHeader::Complete { length, source: ProxiedClient::Inet { source: from, destination: to } }) = parse(&header) else {
            panic!("{header:?}");
        };
        prop_assert_eq!(length, header.len());
        prop_assert!(length <= PROXY_V1_BYTES_MAXIMUM);
        prop_assert_eq!((from.port(), to.port()), (source.port(), destination.port()));
        prop_assert_eq!(from.ip().to_canonical(), source.ip().to_canonical());
    }
}
