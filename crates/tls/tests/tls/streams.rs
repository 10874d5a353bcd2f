//! Blocking streams: both sides over a pair of sockets.
#![expect(clippy::disallowed_types, reason = "a test holds sockets of its own")]

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use runtime::transport::{CertificateFault, Violation};
use tls::{Acceptor, Connector, StreamError, TlsStream, TrustedServers};

use super::{NAME, acceptor, connector};
use crate::authority::Authority;

/// A server that has agreed does this; the client's side.
fn with_server(
    client: &Connector,
    server: Acceptor,
    work: impl FnOnce(Result<TlsStream<UnixStream>, StreamError>) + Send + 'static,
) -> Result<TlsStream<UnixStream>, StreamError> {
    let (near, far) = UnixStream::pair().unwrap();
    thread::spawn(move || work(TlsStream::accept(&server, far)));
    TlsStream::connect(client, NAME, near)
}

#[test]
fn tls_stream_delivers_all_bytes_and_end() {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    let mut stream = with_server(&connector(&authority), server, |stream| {
        let mut stream = stream.unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        stream.write_all(&heard).unwrap();
        stream.end().unwrap();
    })
    .unwrap();
    assert_eq!(stream.agreed().unwrap().version, "TLSv1.3");
    let text: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
    stream.write_all(&text).unwrap();
    stream.end().unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).unwrap();
    assert!(heard == text);
}

#[test]
fn an_end_that_is_not_announced_is_an_error() {
    let authority = Authority::new("Test");
    let server = acceptor(&[authority.identity(&[NAME])]);
    let mut stream = with_server(&connector(&authority), server, |stream| {
        stream.unwrap().write_all(b"half").unwrap();
    })
    .unwrap();
    let mut heard = Vec::new();
    let error = stream.read_to_end(&mut heard).unwrap_err();
    assert_eq!((error.kind(), &*heard), (ErrorKind::UnexpectedEof, &b"half"[..]));
}

#[test]
fn a_handshake_that_fails_says_why_on_both_sides() {
    let (authority, other) = (Authority::new("Test"), Authority::new("Other"));
    let server = acceptor(&[authority.identity(&[NAME])]);
    let trusts_other = Connector::new(&TrustedServers::Known(other.trusted()), &[], None).unwrap();
    let (told, tells) = std::sync::mpsc::channel();
    let client = with_server(&trusts_other, server, move |stream| {
        let violation = match stream {
            Err(StreamError::Refused(violation)) => Some(violation),
            _ => None,
        };
        told.send(violation).unwrap();
    });
    let fault = Violation::Certificate(CertificateFault::UnknownAuthority);
    assert!(matches!(client, Err(StreamError::Refused(violation)) if violation == fault));
    assert_eq!(tells.recv().unwrap(), Some(Violation::Alert(48)));
}
