//! A flood of handshakes beside a measurement: clients that begin one, wait for the server's part of it, which costs
//! the server a key exchange and a signature, and go away.
//!
//! Owns the message with which they begin. Ends no handshake, so it costs this side next to nothing.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::net::RecvFlags;

use crate::client;
use crate::failure::Failure;

/// Handshakes that are begun at a time.
const AT_ONCE: usize = 64;

/// How far the thread of the flood gives way to the client that is measured, on the same core.
const GIVES_WAY: i32 = 19;

/// Floods a server while something else runs; returns what that returned, and how many handshakes the server answered.
pub(crate) fn beside<T>(address: SocketAddr, run: impl FnOnce() -> T) -> Result<(T, u64), Failure> {
    let is_over = AtomicBool::new(false);
    let hello = client_hello();
    has_begun(address, &hello)?;
    std::thread::scope(|scope| {
        let flood = scope.spawn(|| flood_until(address, &hello, &is_over));
        let done = run();
        is_over.store(true, Ordering::Relaxed);
        let begun = flood.join().map_err(|_| Failure::Work("the flood failed".to_owned()))??;
        Ok((done, begun))
    })
}

/// Ensures that the server answers with its part of the handshake (RFC 8446 section 4), not with an alert.
fn has_begun(address: SocketAddr, hello: &[u8]) -> Result<(), Failure> {
    let answer = answer_to(&begin(address, hello)?)?;
    if answer.first() == Some(&0x16) {
        return Ok(());
    }
    Err(Failure::Work(format!("a handshake was answered with {answer:x?}")))
}

fn flood_until(address: SocketAddr, hello: &[u8], is_over: &AtomicBool) -> Result<u64, Failure> {
    // Of this thread only, as Linux has it (setpriority(2)).
    rustix::process::setpriority_process(None, GIVES_WAY).map_err(std::io::Error::from)?;
    let mut begun = 0;
    while !is_over.load(Ordering::Relaxed) {
        let sockets = (0..AT_ONCE).map(|_| begin(address, hello)).collect::<Result<Vec<_>, _>>()?;
        for socket in sockets {
            // A server that closes some of them has less to do.
            begun += u64::from(answer_to(&socket).is_ok_and(|answer| !answer.is_empty()));
        }
    }
    Ok(begun)
}

fn begin(address: SocketAddr, hello: &[u8]) -> Result<OwnedFd, Failure> {
    let socket = client::connect(address).map_err(std::io::Error::from)?;
    client::send(&socket, hello)?;
    Ok(socket)
}

/// The first bytes of an answer.
fn answer_to(socket: &OwnedFd) -> Result<Vec<u8>, Failure> {
    let mut buffer = [0; 16];
    let received = rustix::net::recv(socket, &mut buffer[..], RecvFlags::empty());
    let (_, received) = received.map_err(std::io::Error::from)?;
    Ok(buffer[..received].to_vec())
}

/// The first message of a client of TLS 1.3 with X25519 (RFC 8446 section 4.1.2). Its key is the base point, which
/// every server takes.
fn client_hello() -> Vec<u8> {
    let mut key = [0; 32];
    key[0] = 9;
    let extension = |kind: u16, content: &[u8]| [&kind.to_be_bytes()[..], &long(content)].concat();
    let share = [&[0, 0x1d][..], &long(&key)].concat();
    let extensions = [
        // supported_groups: x25519
        extension(10, &long(&[0, 0x1d])),
        // signature_algorithms: ECDSA with P-256, RSA-PSS
        extension(13, &long(&[4, 3, 8, 4])),
        // supported_versions: TLS 1.3
        extension(43, &[2, 3, 4]),
        // key_share
        extension(51, &long(&share)),
    ];
    let parts: [&[u8]; 5] = [
        &[3, 3],
        // The random bytes, and no session: a flood needs no others each time.
        &[7; 32],
        &[0],
        // AES-256-GCM, AES-128-GCM; no compression
        &[0, 4, 0x13, 2, 0x13, 1, 1, 0],
        &long(&extensions.concat()),
    ];
    let body = parts.concat();
    let length = u32::try_from(body.len()).expect("it is short").to_be_bytes();
    let message = [&[1][..], &length[1..], &body].concat();
    [&[0x16, 3, 1][..], &long(&message)].concat()
}

/// Bytes behind their length.
fn long(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("it is short");
    [&length.to_be_bytes()[..], bytes].concat()
}
