//! Connections of the tool itself: to see whether a server answers, and to hold many idle ones.
//!
//! Owns blocking and non-blocking client sockets. Parses nothing of an answer but its status line.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::failure::Failure;

/// The beginning of every good answer.
pub(crate) const GOOD_START: &[u8] = b"HTTP/1.1 200";

/// Bytes taken by one receive.
pub(crate) const RECEIVE_BYTES: usize = 64 * 1024;

/// An answer that takes longer than this counts as missing.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A blocking socket connected to the server, with a receive timeout.
pub(crate) fn connect(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_LIMIT))?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}

/// Sends a request on a kept connection and returns the bytes of its answer.
pub(crate) fn exchange(socket: &OwnedFd, opening: &Opening) -> Result<Vec<u8>, Failure> {
    send(socket, &opening.request)?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; RECEIVE_BYTES];
    while !(opening.is_whole)(&answer) {
        let (_, received) = rustix::net::recv(socket, &mut buffer[..], RecvFlags::empty())
            .map_err(|error| Failure::Work(format!("no answer: {error}")))?;
        if received == 0 {
            break;
        }
        answer.extend_from_slice(&buffer[..received]);
    }
    if answer.starts_with(opening.good_start) && (opening.is_whole)(&answer) {
        return Ok(answer);
    }
    let start = &answer[..answer.len().min(60)];
    Err(Failure::Work(format!("a wrong answer: {:?}", String::from_utf8_lossy(start))))
}

/// Whether a header and as many bytes as it announces have been received.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_none_or(|length| body.len() >= length)
}

/// Sends one request on a connection of its own, which must be answered with 200.
pub(crate) fn ask(address: SocketAddr, request: &[u8]) -> Result<(), Failure> {
    let socket = connect(address).map_err(std::io::Error::from)?;
    exchange(&socket, &Opening::of(request.to_vec())).map(|_| ())
}

/// Sends all bytes; the socket's buffer is larger than any request here.
pub(crate) fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<(), Failure> {
    match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
        Ok(sent) if sent == bytes.len() => Ok(()),
        Ok(_) => Err(Failure::Work("a request was sent in part".to_owned())),
        Err(error) => Err(Failure::Work(format!("sending a request: {error}"))),
    }
}

/// A first request, and how its answer begins and ends.
pub(crate) struct Opening {
    request: Vec<u8>,
    good_start: &'static [u8],
    is_whole: fn(&[u8]) -> bool,
}

impl Opening {
    /// A request of HTTP/1.1.
    pub(crate) fn of(request: Vec<u8>) -> Self {
        Self { request, good_start: GOOD_START, is_whole }
    }

    pub(crate) fn http1(address: SocketAddr, path: &str) -> Self {
        Self::of(request(address, path).into_bytes())
    }

    /// With prior knowledge (RFC 9113 section 3.3); the path has fewer than 127 bytes, as a string of HPACK must here.
    pub(crate) fn http2(address: SocketAddr, path: &str) -> Self {
        const NO_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
        let authority = address.to_string();
        // GET and http from the static table; a path and an authority that are kept in no table (RFC 7541, 6.2.2).
        let mut fields = vec![0x82, 0x86, 0x04, path.len() as u8];
        fields.extend_from_slice(path.as_bytes());
        fields.extend_from_slice(&[0x01, authority.len() as u8]);
        fields.extend_from_slice(authority.as_bytes());
        // END_STREAM and END_HEADERS on stream 1.
        let head = [0, 0, fields.len() as u8, 1, 5, 0, 0, 0, 1];
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let request = [&preface[..], NO_SETTINGS, &head, &fields].concat();
        // The server's settings come first.
        Self { request, good_start: &[0, 0], is_whole: has_ended_stream }
    }
}

/// Whether a frame with END_STREAM has been received of stream 1.
fn has_ended_stream(answer: &[u8]) -> bool {
    let mut rest = answer;
    while let [high, middle, low, kind, flags, _, _, _, stream, content @ ..] = rest {
        let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
        let Some(behind) = content.get(length..) else { return false };
        if *stream == 1 && matches!(kind, 0 | 1) && flags & 1 == 1 {
            return true;
        }
        rest = behind;
    }
    false
}

/// Opens connections one after the other, each with one request answered.
pub(crate) fn hold(
    address: SocketAddr,
    opening: &Opening,
    count: u64,
) -> Result<Vec<OwnedFd>, Failure> {
    let mut held = Vec::new();
    for number in 0..count {
        let socket = connect(address)
            .map_err(|error| Failure::Work(format!("connection {number}: {error}")))?;
        exchange(&socket, opening)?;
        held.push(socket);
    }
    Ok(held)
}

/// The number of held connections that the server has closed.
pub(crate) fn closed_count(held: &[OwnedFd]) -> usize {
    let mut byte = [0; 1];
    let open = |socket: &&OwnedFd| {
        rustix::net::recv(socket, &mut byte[..], RecvFlags::DONTWAIT) == Err(Errno::AGAIN)
    };
    held.len() - held.iter().filter(open).count()
}

/// Whether nothing listens at an address.
pub(crate) fn is_free(address: SocketAddr) -> bool {
    let flags = SocketFlags::CLOEXEC;
    let bound = || -> Result<(), Errno> {
        let socket =
            rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, 1)
    };
    bound().is_ok()
}

/// The request of every load, byte for byte the one of wrk.
pub(crate) fn request(address: SocketAddr, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_body() {
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab"));
        assert!(is_whole(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"));
        assert!(is_whole(b"HTTP/1.1 204 No Content\r\n\r\n"));
    }
}
