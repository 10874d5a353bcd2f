//! Which processes listen at an address of this host.
//!
//! Owns the mapping from an address through socket inodes to processes. Never sends anything, and never returns
//! this process, because its server and its generator could not be told apart.

use std::fs::{OpenOptions, read_dir, read_link};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

/// The state of a listening socket in /proc/net/tcp.
const LISTEN: &str = "0A";

/// Any port.
const DISCARD_PORT: u16 = 9;

/// The processes, ascending, with a socket that listens at the address. Empty if the address is not on this host,
/// if no process listens there, or if the listener belongs to a user whose processes we may not inspect.
pub fn listening_processes(address: SocketAddr) -> Vec<u32> {
    if !is_local(address.ip()) {
        return Vec::new();
    }
    let mut inodes = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // Without IPv6 there is no table for it.
        if let Ok(table) = OpenOptions::new().read(true).open(table) {
            inodes.extend(listening_inodes(BufReader::new(table), address));
        }
    }
    if inodes.is_empty() { Vec::new() } else { holders(&inodes) }
}

/// Whether packets to the address stay on this host: they come from the same address then.
pub fn is_local(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified() || source_to(address) == Some(address)
}

/// The address from which the kernel would send to another one. To connect a datagram socket sends nothing.
fn source_to(address: IpAddr) -> Option<IpAddr> {
    let any = match address {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((address, DISCARD_PORT)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Inodes of the sockets in a table of /proc/net that accept connections to the address. The kernel lists listening
/// sockets first: the others, of which there may be a million, are not read.
fn listening_inodes(table: impl BufRead, address: SocketAddr) -> Vec<u64> {
    let lines = table.lines().skip(1).map_while(Result::ok);
    lines
        .map_while(|line| listener(&line))
        .filter(|(local, _)| takes(*local, address))
        .map(|(_, inode)| inode)
        .collect()
}

/// Address and inode in a line of such a table, if the socket listens.
fn listener(line: &str) -> Option<(SocketAddr, u64)> {
    let mut words = line.split_ascii_whitespace();
    let local = words.nth(1).and_then(socket_address)?;
    let state = words.nth(1)?;
    let inode = words.nth(5)?.parse().ok()?;
    (state == LISTEN).then_some((local, inode))
}

/// Whether a socket bound to one address accepts connections to another.
fn takes(bound: SocketAddr, address: SocketAddr) -> bool {
    let here = bound.ip().to_canonical();
    let there = address.ip().to_canonical();
    // An unspecified IPv6 address accepts IPv4 too, unless an option says otherwise, which the table does not show.
    let unspecified = here.is_unspecified() && (here.is_ipv6() || there.is_ipv4());
    bound.port() == address.port() && (unspecified || there.is_unspecified() || here == there)
}

/// An address in the format of /proc/net: words of 32 bits in this machine's byte order, then the port.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words = (0..address.len() / 8)
        .map(|word| u32::from_str_radix(address.get(8 * word..8 * word + 8)?, 16).ok())
        .map(|word| word.map(u32::to_ne_bytes))
        .collect::<Option<Vec<[u8; 4]>>>()?;
    let ip = match *words.as_slice() {
        [word] => IpAddr::V4(Ipv4Addr::from(word)),
        [_, _, _, _] => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The processes that hold one of the sockets.
fn holders(inodes: &[u64]) -> Vec<u32> {
    let links: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let own = std::process::id();
    let mut found: Vec<u32> =
        numbers_in(Path::new("/proc")).filter(|pid| *pid != own && holds(*pid, &links)).collect();
    found.sort_unstable();
    found
}

/// Threads may have their own descriptor tables, so the table of the process alone is not enough.
fn holds(pid: u32, links: &[String]) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    table_holds(&process.join("fd"), links)
        || numbers_in(&process.join("task"))
            .filter(|thread| *thread != pid)
            .any(|thread| table_holds(&process.join(format!("task/{thread}/fd")), links))
}

fn table_holds(directory: &Path, links: &[String]) -> bool {
    read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| read_link(entry.path()).ok())
        .any(|target| target.to_str().is_some_and(|target| links.iter().any(|link| link == target)))
}

/// The entries of a directory of /proc whose names are numbers.
pub(super) fn numbers_in(directory: &Path) -> impl Iterator<Item = u32> + use<> {
    read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Addresses are in this machine's byte order, so these texts are for little-endian machines.
    #[cfg(target_endian = "little")]
    mod tables {
        use super::*;

        const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                           uid  timeout inode\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 \
                           00:00000000 00000000     0        0 1681 1 0 100 0 0 10 0\n   1: 00000000:0050 \
                           00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1700 1 0 \
                           100 0 0 10 0\n   2: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 \
                           00000000     0        0 1702 1 0 100 0 0 10 0\n   3: 0100007F:1F90 00000000:0000 \
                           0A 00000000:00000000 00:00000000 00000000     0        0 1703 1 0 100 0 0 10 \
                           0\n   4: 0100007F:1F90 0100007F:A3D2 01 00000000:00000000 00:00000000 \
                           00000000     0        0 1701 1 0 100 0 0 10 0\n   5: 0100007F:1F90 00000000:0000 \
                           0A 00000000:00000000 00:00000000 00000000     0        0 1704 1 0 100 0 0 10 \
                           0\n";

        const TCP6: &str = "header\n   0: 00000000000000000000000000000000:1F90 \
                            00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 41\n   1: \
                            00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A \
                            0:0 0:0 0 0 0 42\n   2: 0000000000000000FFFF00000100007F:1F90 \
                            00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 43\n";

        fn inodes(table: &str, address: &str) -> Vec<u64> {
            listening_inodes(table.as_bytes(), address.parse().unwrap())
        }

        #[test]
        fn sockets_that_listen_at_the_address_are_found() {
            assert_eq!(
                inodes(TCP, "127.0.0.1:8080"),
                [1681, 1703],
                "two may share it, and the first connection ends the search"
            );
            assert_eq!(inodes(TCP, "127.0.0.2:8080"), [1702]);
            assert_eq!(inodes(TCP, "10.1.2.3:80"), [1700], "bound to every address");
            assert!(inodes(TCP, "127.0.0.1:8081").is_empty());
            assert!(inodes("header\n   0: cut off\n", "127.0.0.1:80").is_empty());
            assert!(inodes(TCP, "[::1]:80").is_empty(), "IPv4 only");
        }

        #[test]
        fn ipv6_sockets_take_ipv4_too() {
            assert_eq!(inodes(TCP6, "[::1]:8080"), [41, 42]);
            assert_eq!(inodes(TCP6, "127.0.0.1:8080"), [41, 43]);
        }
    }

    #[test]
    fn text_without_address_gives_none() {
        for text in ["", "0100007F", "0100007F:", "0100007F:10000", "01:1F90", "zzzzzzzz:1F90"] {
            assert_eq!(socket_address(text), None, "{text}");
        }
    }

    #[test]
    fn local_addresses_are_told_from_others() {
        let outside = "192.0.2.1".parse().expect("an address");
        assert!(!is_local(outside), "reserved for documents");
        // Without a route there is no address of this host but those of loopback.
        assert!(source_to(outside).is_none_or(is_local));
        assert!(is_local("127.8.9.10".parse().unwrap()));
        assert!(is_local("::ffff:127.0.0.1".parse().unwrap()));
    }
}
