//! Sockets of another program: a copy of a descriptor is queried and closed (`pidfd_getfd(2)`).
//!
//! Owns the copies, which live for a few queries. Sends nothing and sets nothing; needs the same right as ptrace(2).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{getpeername, getsockname, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// The thread itself, with its own descriptor table, instead of its program (`PIDFD_THREAD`, Linux 6.9).
const THREAD: PidfdFlags = PidfdFlags::from_bits_retain(0o200);

/// The descriptor table of a thread in another program.
#[derive(Debug)]
pub struct ForeignTable {
    thread: OwnedFd,
}

/// The facts about a socket of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// A listener.
    Listener {
        /// Connections that may wait to be accepted.
        backlog: u32,
    },
    /// A TCP connection.
    Connection {
        /// Whether the other end is on this machine.
        is_near: bool,
        /// The CPU that handled its last packet.
        cpu: u32,
        /// Whether small pieces wait for the acknowledgement of earlier ones (no `TCP_NODELAY`).
        waits_to_send: bool,
    },
    /// Not a TCP connection.
    Other,
}

impl ForeignTable {
    /// The table of a thread of a program; before Linux 6.9 that of its first thread.
    ///
    /// # Errors
    /// If there is no such thread.
    pub fn of(program: u32, thread: u32) -> io::Result<Self> {
        let number = |number: u32| {
            let known = i32::try_from(number).ok().and_then(Pid::from_raw);
            known.ok_or(io::ErrorKind::NotFound)
        };
        let own = pidfd_open(number(thread)?, THREAD);
        let thread = match own {
            Ok(thread) => thread,
            Err(_) => pidfd_open(number(program)?, PidfdFlags::empty())?,
        };
        Ok(Self { thread })
    }

    fn copy(&self, number: i32) -> io::Result<OwnedFd> {
        Ok(pidfd_getfd(&self.thread, number, PidfdGetfdFlags::empty())?)
    }

    /// The facts about the socket with this number.
    ///
    /// # Errors
    /// If it is not a network socket, was closed meanwhile, or may not be queried (`PermissionDenied`).
    pub fn socket(&self, number: i32) -> io::Result<Foreign> {
        let copy = self.copy(number)?;
        if sockopt::socket_acceptconn(&copy)? {
            return match SocketAddr::try_from(getsockname(&copy)?) {
                Ok(_) => {
                    Ok(Foreign::Listener { backlog: crate::descriptor::backlog(copy.as_fd())? })
                }
                Err(_) => Ok(Foreign::Other),
            };
        }
        match getpeername(&copy)?.map(SocketAddr::try_from) {
            Some(Ok(peer)) => Ok(Foreign::Connection {
                is_near: is_loopback(peer.ip()),
                cpu: sockopt::socket_incoming_cpu(&copy)?,
                waits_to_send: !sockopt::tcp_nodelay(&copy)?,
            }),
            _ => Ok(Foreign::Other),
        }
    }

    /// Microseconds for which an epoll polls devices before it sleeps (`EPIOCGPARAMS`, Linux 6.9).
    ///
    /// # Errors
    /// As [`socket`](Self::socket), or the kernel does not support the query.
    pub fn polling_us(&self, epoll: i32) -> io::Result<u32> {
        crate::pollset::polling::busy_polling_us(&self.copy(epoll)?)
    }
}

/// Including an IPv4 address in IPv6 form.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "a test has sockets and files of its own")]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    /// Whether the kernel gives this program copies at all; a container may forbid it.
    fn own() -> Option<ForeignTable> {
        let program = std::process::id();
        let own = ForeignTable::of(program, program).ok()?;
        let probe = TcpListener::bind("127.0.0.1:0").ok()?;
        match own.socket(probe.as_raw_fd()) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            _ => Some(own),
        }
    }

    #[test]
    fn sockets_are_told_apart() {
        let Some(own) = own() else {
            println!("SKIPPED sockets_are_told_apart: descriptors cannot be copied here");
            return;
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        assert_eq!(own.socket(listener.as_raw_fd()).ok(), Some(Foreign::Listener { backlog: 128 }));
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let waits = |near: &TcpStream| match own.socket(near.as_raw_fd()) {
            Ok(Foreign::Connection { is_near: true, waits_to_send, .. }) => Some(waits_to_send),
            _ => None,
        };
        assert_eq!(waits(&near), Some(true));
        near.set_nodelay(true).expect("it is open");
        assert_eq!(waits(&near), Some(false));
        let file = std::fs::File::open("/dev/null").expect("it is there");
        assert!(own.socket(file.as_raw_fd()).is_err());
        assert!(own.socket(1 << 20).is_err());
        assert!(ForeignTable::of(u32::MAX, u32::MAX).is_err());
        assert!(own.polling_us(listener.as_raw_fd()).is_err());
    }

    #[test]
    fn local_addresses_are_recognised_in_both_families() {
        for (address, is_within) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.9", true),
            ("::ffff:10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(address.parse().expect("an address")), is_within, "{address}");
        }
    }
}
