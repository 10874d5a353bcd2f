//! The PROXY protocol, versions 1 and 2: who the client of a proxy in front of us is.
//!
//! Owns the header that stands before the first byte of a connection. Never decides whose header is
//! to be believed: the caller asks only for connections from trusted networks, and closes those
//! without a valid header.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::limits::{PROXY_V1_BYTES_MAXIMUM, PROXY_V2_PAYLOAD_BYTES_MAXIMUM};

const V1_START: &[u8] = b"PROXY ";
pub(crate) const V2_SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const V2_FIXED_BYTES: usize = 16;

/// The result of parsing the first bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParsedProxyHeader {
    /// A valid beginning: parse again with more bytes, from the start.
    Partial,
    /// The first `length` bytes are the header; the rest belongs to the client.
    Complete {
        /// The size of the header in bytes.
        length: usize,
        /// Its content.
        source: ProxiedClient,
    },
}

/// The client behind the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxiedClient {
    /// The proxy itself, for example in a health check: the addresses of the connection apply.
    Local,
    /// A client without an internet address: a Unix socket, or one that the proxy cannot name. The
    /// addresses of the connection apply, but the client is not the proxy.
    Unknown,
    /// A client with internet addresses.
    Inet {
        /// The client's address.
        source: SocketAddr,
        /// The address to which the client connected.
        destination: SocketAddr,
    },
}

/// Why these bytes are not a header. The proxy is at fault, or the peer is not a proxy. The connection
/// must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// They do not begin like a header of either version.
    #[error("no PROXY protocol header")]
    Signature,
    /// A line of version 1 without an end within [`PROXY_V1_BYTES_MAXIMUM`], or a payload of
    /// version 2 longer than [`PROXY_V2_PAYLOAD_BYTES_MAXIMUM`].
    #[error("PROXY protocol header is too long")]
    TooLong,
    /// A line of version 1 that is not `PROXY`, protocol, two addresses and two ports, separated by single
    /// blanks.
    #[error("PROXY protocol line is malformed")]
    Line,
    /// An invalid address or port of version 1, or one of another protocol than the named one.
    #[error("PROXY protocol line has an invalid address or port")]
    Address,
    /// A version other than 2 in the binary header, or a command other than LOCAL and PROXY.
    #[error("PROXY protocol version or command is unknown")]
    Command,
    /// A family or transport that version 2 does not define.
    #[error("PROXY protocol address family is unknown")]
    Family,
    /// A payload of version 2 too short for the addresses of its family.
    #[error("PROXY protocol header is too short for its addresses")]
    Truncated,
}

/// Reads the header at the start of a connection.
///
/// More bytes never change a result other than [`ParsedProxyHeader::Partial`]. The extensions (TLVs) of version 2
/// are skipped: neither their form nor the CRC32c is checked, because TCP has a checksum.
///
/// # Errors
/// If the bytes are not a header, whatever follows.
pub fn parse(input: &[u8]) -> Result<ParsedProxyHeader, ProxyError> {
    match input.first() {
        None => Ok(ParsedProxyHeader::Partial),
        Some(b'P') => parse_v1(input),
        Some(_) => parse_v2(input),
    }
}

fn parse_v1(input: &[u8]) -> Result<ParsedProxyHeader, ProxyError> {
    if !starts_alike(input, V1_START) {
        return Err(ProxyError::Signature);
    }
    let window = &input[..input.len().min(PROXY_V1_BYTES_MAXIMUM)];
    let Some(line_feed) = memchr::memchr(b'\n', window) else {
        let is_full = window.len() == PROXY_V1_BYTES_MAXIMUM;
        return if is_full { Err(ProxyError::TooLong) } else { Ok(ParsedProxyHeader::Partial) };
    };
    let line = window[..line_feed].strip_suffix(b"\r").ok_or(ProxyError::Line)?;
    let fields = line.strip_prefix(V1_START).ok_or(ProxyError::Line)?;
    Ok(ParsedProxyHeader::Complete { length: line_feed + 1, source: parse_v1_fields(fields)? })
}

fn parse_v1_fields(fields: &[u8]) -> Result<ProxiedClient, ProxyError> {
    // Section 2.1: the rest of the line after UNKNOWN is ignored.
    if fields == b"UNKNOWN" || fields.starts_with(b"UNKNOWN ") {
        return Ok(ProxiedClient::Unknown);
    }
    let fields = std::str::from_utf8(fields).map_err(|_| ProxyError::Line)?;
    let mut fields = fields.split(' ');
    let mut field = || fields.next().ok_or(ProxyError::Line);
    let parse_address = match field()? {
        "TCP4" => parse_v4 as fn(&str) -> Option<IpAddr>,
        "TCP6" => parse_v6,
        _ => return Err(ProxyError::Line),
    };
    let (source, destination) = (field()?, field()?);
    let (source_port, destination_port) = (field()?, field()?);
    if fields.next().is_some() {
        return Err(ProxyError::Line);
    }
    let join = |address, port| {
        let address = parse_address(address).ok_or(ProxyError::Address)?;
        let port = parse_port(port).ok_or(ProxyError::Address)?;
        Ok(SocketAddr::new(address, port))
    };
    Ok(ProxiedClient::Inet {
        source: join(source, source_port)?,
        destination: join(destination, destination_port)?,
    })
}

fn parse_v4(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(IpAddr::V4)
}

fn parse_v6(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(IpAddr::V6)
}

/// Decimal digits without a sign and without leading zeros.
fn parse_port(text: &str) -> Option<u16> {
    let has_leading_zero = text.len() > 1 && text.starts_with('0');
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !has_leading_zero;
    is_number.then(|| text.parse().ok()).flatten()
}

fn parse_v2(input: &[u8]) -> Result<ParsedProxyHeader, ProxyError> {
    if !starts_alike(input, &V2_SIGNATURE) {
        return Err(ProxyError::Signature);
    }
    let Some((&[.., command, family, high, low], rest)) =
        input.split_first_chunk::<V2_FIXED_BYTES>()
    else {
        return Ok(ParsedProxyHeader::Partial);
    };
    let command = Command::from_byte(command)?;
    let family = Family::from_byte(family)?;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > PROXY_V2_PAYLOAD_BYTES_MAXIMUM {
        return Err(ProxyError::TooLong);
    }
    let Some(payload) = rest.get(..length) else { return Ok(ParsedProxyHeader::Partial) };
    let source = match command {
        Command::Local => ProxiedClient::Local,
        Command::Proxy => family.source(payload)?,
    };
    Ok(ParsedProxyHeader::Complete { length: V2_FIXED_BYTES + length, source })
}

/// Whether `input` may still become something that starts with `start`.
fn starts_alike(input: &[u8], start: &[u8]) -> bool {
    input.iter().zip(start).all(|(read, wanted)| read == wanted)
}

enum Command {
    Local,
    Proxy,
}

impl Command {
    /// Section 2.2, 13th byte: the version in the high bits, the command in the low bits.
    const fn from_byte(byte: u8) -> Result<Self, ProxyError> {
        match byte {
            0x20 => Ok(Self::Local),
            0x21 => Ok(Self::Proxy),
            _ => Err(ProxyError::Command),
        }
    }
}

enum Family {
    Unknown,
    V4,
    V6,
    Unix,
}

impl Family {
    /// Section 2.2, 14th byte: the family in the high bits, the transport in the low bits. Streams and datagrams are
    /// treated alike, because a proxy may carry the requests of one over the other.
    const fn from_byte(byte: u8) -> Result<Self, ProxyError> {
        match (byte >> 4, byte & 0x0F) {
            (0..=3, 0) | (0, 1 | 2) => Ok(Self::Unknown),
            (1, 1 | 2) => Ok(Self::V4),
            (2, 1 | 2) => Ok(Self::V6),
            (3, 1 | 2) => Ok(Self::Unix),
            _ => Err(ProxyError::Family),
        }
    }

    fn source(&self, payload: &[u8]) -> Result<ProxiedClient, ProxyError> {
        const UNIX_BYTES: usize = 216;
        match self {
            Self::Unknown => Ok(ProxiedClient::Unknown),
            Self::Unix if payload.len() < UNIX_BYTES => Err(ProxyError::Truncated),
            Self::Unix => Ok(ProxiedClient::Unknown),
            Self::V4 => read_addresses::<4>(payload, |octets| Ipv4Addr::from(octets).into()),
            Self::V6 => read_addresses::<16>(payload, |octets| Ipv6Addr::from(octets).into()),
        }
    }
}

/// Section 2.2: source address, destination address, source port, destination port, in network
/// order.
fn read_addresses<const OCTETS: usize>(
    payload: &[u8],
    to_address: fn([u8; OCTETS]) -> IpAddr,
) -> Result<ProxiedClient, ProxyError> {
    let (source, rest) = payload.split_first_chunk().ok_or(ProxyError::Truncated)?;
    let (destination, rest) = rest.split_first_chunk().ok_or(ProxyError::Truncated)?;
    let (source_port, rest) = rest.split_first_chunk().ok_or(ProxyError::Truncated)?;
    let (destination_port, _) = rest.split_first_chunk().ok_or(ProxyError::Truncated)?;
    let join = |octets: &[u8; OCTETS], port: &[u8; 2]| {
        SocketAddr::new(to_address(*octets), u16::from_be_bytes(*port))
    };
    Ok(ProxiedClient::Inet {
        source: join(source, source_port),
        destination: join(destination, destination_port),
    })
}
