//! The server's TCP sockets as the kernel counts them (sock_diag(7), `struct tcp_info`): accept queues, retransmits,
//! what each connection waited for.
//!
//! Owns the query, which sockets are the server's, and their text form, which is read as a file. Sends nothing to any
//! socket.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sys::netlink::{NetlinkFamily, attributes, some_of};

use crate::descriptors::OpenDescriptor;
use crate::files::HostFiles;
use crate::limits::{SOCKET_LIST, TCP_SOCKETS};

/// The path under which the sockets are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/tcp/{process}")
}

/// On which side of a connection the server is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Side {
    /// It waits for connections.
    #[default]
    Listens,
    /// Another program waits for connections at the same address and port (`SO_REUSEPORT`).
    Beside,
    /// It has accepted the connection.
    Accepted,
    /// It has opened the connection.
    Opened,
}

impl Side {
    /// Whether it is a connection, not a listener.
    pub(crate) fn is_connection(self) -> bool {
        matches!(self, Self::Accepted | Self::Opened)
    }
}

/// A socket; the numbers are those of `struct tcp_info`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpSocket {
    pub(crate) side: Side,
    /// `TCP_ESTABLISHED` is 1, `TCP_SYN_SENT` is 2 (include/net/tcp_states.h).
    pub(crate) state: u8,
    pub(crate) port: u16,
    /// The other end; of a listener its own address.
    pub(crate) peer: String,
    values: BTreeMap<String, u64>,
}

/// The numbers that are read: name, offset in `struct tcp_info`, bytes.
const NUMBERS: [(&str, usize, usize); 22] = [
    ("retransmits", 2, 1),
    ("backoff", 4, 1),
    ("mss", 16, 4),
    ("unacked", 24, 4),
    ("last_sent_ms", 44, 4),
    ("last_received_ms", 52, 4),
    ("last_ack_ms", 56, 4),
    ("pmtu", 60, 4),
    ("rtt_us", 68, 4),
    ("window", 80, 4),
    ("resent", 100, 4),
    ("pace", 112, 8),
    ("acked_bytes", 120, 8),
    ("received_bytes", 128, 8),
    ("segments_sent", 136, 4),
    ("segments", 140, 4),
    ("unsent", 144, 4),
    ("data_received", 152, 4),
    ("data_sent", 156, 4),
    ("busy_us", 168, 8),
    ("peer_full_us", 176, 8),
    ("buffer_full_us", 184, 8),
];

/// The same of its memory: `SK_MEMINFO_RCVBUF`, `SK_MEMINFO_SNDBUF`, `SK_MEMINFO_DROPS`.
const BUFFERS: [(&str, usize); 3] = [("receive_buffer", 1), ("send_buffer", 3), ("drops", 8)];

impl TcpSocket {
    /// A number by its name; 0 if the kernel does not report it.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.values.get(name).copied().unwrap_or(0)
    }

    /// By which a connection is found again in a later reading.
    pub(crate) fn key(&self) -> (u16, &str) {
        (self.port, &self.peer)
    }

    /// Whether the other end is on this machine.
    pub(crate) fn is_near(&self) -> bool {
        let address = self.peer.rsplit_once('/').map_or("", |(address, _)| address);
        address.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
    }

    /// Parses the sockets; broken lines are left out.
    pub(crate) fn read(text: &str) -> Vec<Self> {
        let line = |line: &str| {
            let mut words = line.split(' ');
            let side = match words.next()? {
                "listens" => Side::Listens,
                "beside" => Side::Beside,
                "accepted" => Side::Accepted,
                "opened" => Side::Opened,
                _ => return None,
            };
            let state = words.next()?.parse().ok()?;
            let (port, peer) = (words.next()?.parse().ok()?, words.next()?.to_owned());
            let value = |word: &str| {
                let (name, number) = word.split_once('=')?;
                Some((name.to_owned(), number.parse().ok()?))
            };
            Some(Self { side, state, port, peer, values: words.filter_map(value).collect() })
        };
        text.lines().filter_map(line).collect()
    }

    fn line(&self) -> String {
        let side = match self.side {
            Side::Listens => "listens",
            Side::Beside => "beside",
            Side::Accepted => "accepted",
            Side::Opened => "opened",
        };
        let mut line = format!("{side} {} {} {}", self.state, self.port, self.peer);
        for (name, number) in self.values.iter().filter(|(_, number)| **number > 0) {
            let _endless = write!(line, " {name}={number}");
        }
        line.push('\n');
        line
    }
}

/// The sockets of these programs of this host, in the network namespace of the calling thread.
///
/// # Errors
/// The kernel's; a container may not permit the query.
pub(crate) fn told(files: &HostFiles, members: &BTreeSet<u32>) -> io::Result<String> {
    let own = inodes(files, members);
    let mut all: Vec<(u64, TcpSocket)> = Vec::new();
    for family in [2, 10] {
        all.extend(sockets(family)?);
    }
    let places: BTreeSet<(u16, String)> = all
        .iter()
        .filter(|(inode, one)| one.side == Side::Listens && own.contains(inode))
        .map(|(_, one)| (one.port, one.peer.clone()))
        .collect();
    let ports: BTreeSet<u16> = places.iter().map(|(port, _)| *port).collect();
    let of_server = all.into_iter().filter_map(|(inode, mut one)| match one.side {
        Side::Listens if own.contains(&inode) => Some(one),
        Side::Listens if places.contains(&(one.port, one.peer.clone())) => {
            one.side = Side::Beside;
            one.values.insert("inode".to_owned(), inode);
            Some(one)
        }
        Side::Listens => None,
        // Not by its descriptor: a server may have very many.
        _ if ports.contains(&one.port) => {
            one.side = Side::Accepted;
            Some(one)
        }
        _ => own.contains(&inode).then_some(one),
    });
    Ok(of_server.take(TCP_SOCKETS).map(|one| one.line()).collect())
}

/// The inodes of the sockets of these programs.
pub(crate) fn inodes(files: &HostFiles, members: &BTreeSet<u32>) -> BTreeSet<u64> {
    let mut all = BTreeSet::new();
    for process in members {
        let open = OpenDescriptor::all(files, *process);
        all.extend(open.iter().filter_map(|one| one.socket(files)));
    }
    all
}

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;

/// All states but `TCP_TIME_WAIT` (6) and `TCP_CLOSE` (7).
const STATES: u32 = 0xfff & !(1 << 6 | 1 << 7);

/// `INET_DIAG_INFO` and `INET_DIAG_SKMEMINFO`, and the bits that ask for them.
const INFO: u16 = 2;
const MEMORY: u16 = 7;

/// TCP sockets of an address family, with their inodes.
fn sockets(family: u8) -> io::Result<Vec<(u64, TcpSocket)>> {
    // `struct inet_diag_req_v2`: family, protocol, extensions, padding, states, address.
    let extensions = 1 << (INFO - 1) | 1 << (MEMORY - 1);
    let mut request = vec![family, 6, extensions, 0];
    request.extend_from_slice(&STATES.to_ne_bytes());
    request.resize(56, 0);
    let messages = some_of(NetlinkFamily::Sockets, BY_FAMILY, &request, SOCKET_LIST)?;
    Ok(messages.iter().filter_map(|message| socket(message)).collect())
}

/// Parses `struct inet_diag_msg` and its attributes.
fn socket(message: &[u8]) -> Option<(u64, TcpSocket)> {
    const LISTEN: u8 = 10;
    let word = |at: usize| message.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let port = |at: usize| message.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
    let (family, state) = (*message.first()?, *message.get(1)?);
    // Its own address, then that of the other end.
    let at = if state == LISTEN { 8 } else { 24 };
    let address: IpAddr = match family {
        2 => Ipv4Addr::from(*message.get(at..)?.first_chunk::<4>()?).into(),
        _ => Ipv6Addr::from(*message.get(at..)?.first_chunk::<16>()?).into(),
    };
    let mut values = BTreeMap::new();
    values.insert("received_queue".to_owned(), u64::from(word(56)?));
    values.insert("send_queue".to_owned(), u64::from(word(60)?));
    for (kind, content) in attributes(message.get(72..)?) {
        match kind {
            INFO => NUMBERS.iter().for_each(|(name, at, bytes)| {
                let number = content.get(*at..at + bytes).map_or(0, number);
                // A pace without a bound is all ones.
                values.insert((*name).to_owned(), if number == u64::MAX { 0 } else { number });
            }),
            MEMORY => BUFFERS.iter().for_each(|(name, at)| {
                let number = content.get(at * 4..at * 4 + 4).map_or(0, number);
                values.insert((*name).to_owned(), number);
            }),
            _ => {}
        }
    }
    let side = if state == LISTEN { Side::Listens } else { Side::Opened };
    let peer = format!("{address}/{}", port(6)?);
    let inode = u64::from(word(68)?);
    Some((inode, TcpSocket { side, state, port: port(4)?, peer, values }))
}

fn number(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "a test has sockets of its own")]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;

    use super::*;

    #[test]
    fn sockets_are_written_and_read() {
        let text = "listens 10 80 0.0.0.0/0 send_queue=511\naccepted 1 80 10.0.0.2/4000 resent=3\n";
        let all = TcpSocket::read(&format!("{text}nonsense\nopened x\n"));
        assert_eq!(all.iter().map(TcpSocket::line).collect::<String>(), text);
        assert_eq!((all[0].number("send_queue"), all[1].number("resent")), (511, 3));
        assert!(!all[1].is_near());
    }

    #[test]
    fn the_kernel_tells_own_sockets() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("bound").port();
        let near = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        let files = HostFiles::below(Path::new("/"));
        let text = match told(&files, &BTreeSet::from([std::process::id()])) {
            Ok(text) => text,
            Err(error) => {
                println!("SKIPPED the_kernel_tells_own_sockets: {error}");
                return;
            }
        };
        let all = TcpSocket::read(&text);
        let listens = all.iter().find(|one| one.side == Side::Listens && one.port == port);
        assert_eq!(listens.map(|one| one.number("received_queue")), Some(1), "{text}");
        let own = near.local_addr().expect("connected").port();
        let opened = all.iter().find(|one| one.side == Side::Opened && one.port == own);
        assert!(opened.is_some_and(|one| one.is_near() && one.number("mss") > 0), "{text}");
        // Nobody has accepted it yet, but it is a connection of the server.
        assert!(all.iter().any(|one| one.side == Side::Accepted && one.port == port), "{text}");
    }
}
