//! The server's UDP sockets, and how many datagrams each of them has dropped (`/proc/net/udp`).
//!
//! Owns the format of those lists, and which of the sockets are the server's. Judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::HostFiles;
use crate::tcp::inodes;

/// A socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatagramSocket {
    pub(crate) port: u16,
    /// Datagrams that it dropped since it was made, mostly because its receive buffer was full.
    pub(crate) dropped: u64,
}

/// The sockets of these programs, by inode; `None` if the lists cannot be read.
pub(crate) fn read(
    files: &HostFiles,
    members: &BTreeSet<u32>,
) -> Option<BTreeMap<u64, DatagramSocket>> {
    let first = files.text("/proc/net/udp")?;
    let second = files.text("/proc/net/udp6").unwrap_or_default();
    let mut all: BTreeMap<u64, DatagramSocket> =
        first.lines().chain(second.lines()).filter_map(socket).collect();
    if !all.is_empty() {
        let own = inodes(files, members);
        all.retain(|inode, _| own.contains(inode));
    }
    Some(all)
}

/// A line: number, local address, other address, state, queues, timers, retransmits, user, timeout, inode, references,
/// pointer, drops.
fn socket(line: &str) -> Option<(u64, DatagramSocket)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (_, port) = words.get(1)?.rsplit_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    Some((
        words.get(9)?.parse().ok()?,
        DatagramSocket { port, dropped: words.get(12)?.parse().ok()? },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout \
                    inode ref pointer drops";
        assert_eq!(socket(head), None);
        let line = "13867: 0100007F:5A72 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 \
                    25380433 2 00000000c7e3116e 20339  ";
        let expected = DatagramSocket { port: 23154, dropped: 20339 };
        assert_eq!(socket(line), Some((25_380_433, expected)));
        assert_eq!(socket("1: 0100007F:5A72 0 07 0 0 0 0 0 77 2"), None);
    }
}
