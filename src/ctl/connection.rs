//! A connection to a running server, as `velodrome ctl` makes one.
//!
//! Owns its end by Ctrl-C, and the message for a handshake that failed. Never sends anything.
#![expect(clippy::disallowed_types, reason = "a command has one descriptor table")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ::bench::run::{Continuation, Interrupts};
use runtime::transport::{CertificateFault, Violation};
use tls::StreamError;

/// Time between two looks for a signal, each of which ends when one comes.
const LOOK: Duration = Duration::from_secs(60);

/// How the lines of an answer came to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowEnd {
    /// The server has closed the connection.
    Closed,
    /// The user has pressed Ctrl-C.
    Interrupted,
}

/// A connection to a server: its stream, encrypted or plain, and the socket below it.
pub(super) struct Connection {
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) socket: Socket,
}

pub(super) trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// The socket below.
pub(super) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// Ctrl-C no longer ends this program, but the connection. Returns whether that has happened.
    pub(super) fn hang_up_when_interrupted(self) -> Arc<AtomicBool> {
        let interrupts = Interrupts::block();
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_interrupted);
        thread::spawn(move || {
            while let Ok(Continuation::GoOn) = interrupts.wait(LOOK) {}
            seen.store(true, Ordering::SeqCst);
            // It may have ended already.
            let _ended = match self {
                Self::Unix(socket) => socket.shutdown(Shutdown::Both),
                Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            };
        });
        is_interrupted
    }
}

/// Why a handshake failed, with its mend if that is known.
pub(super) fn told(error: &StreamError) -> String {
    let StreamError::Refused(Violation::Certificate(fault)) = error else {
        return error.to_string();
    };
    let why = match fault {
        CertificateFault::UnknownAuthority => {
            "no authority that is trusted here has signed the certificate; --cacert names a file with those \
             that are"
        }
        CertificateFault::WrongName => "the certificate is for another host name",
        CertificateFault::Expired => "the certificate has expired",
        // Usual: `openssl req -x509` makes certificates of authorities.
        CertificateFault::Invalid => {
            "the certificate is none of a server (one that has signed itself needs basicConstraints=CA:FALSE), \
             or its signature is wrong"
        }
        other => return format!("the handshake failed: {other:?}"),
    };
    format!("the handshake failed: {why}")
}
