//! The processes that hold most of a scheduler's memory.
//!
//! Owns the order in which the processes that hold much are ended: what one client holds through many connections
//! counts together. Computed when memory is short, never for a request. Ends nothing itself.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::slots::ProcessId;

/// A process that holds much. Plain data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub(crate) id: ProcessId,
    pub(crate) bytes: usize,
    /// The address of its client, as its service says.
    pub(crate) client: Option<IpAddr>,
}

/// The owner of a process, to which its memory is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Owner {
    /// A client with this address, or in this /64 network.
    Client(IpAddr),
    /// The process itself.
    Itself(ProcessId),
}

impl Owner {
    fn of(holder: &Holder) -> Self {
        match holder.client.map(|address| address.to_canonical()) {
            // All clients behind a proxy of this machine have such an address.
            Some(address) if address.is_loopback() || address.is_unspecified() => {
                Self::Itself(holder.id)
            }
            Some(IpAddr::V6(address)) => {
                let network = address.to_bits() >> 64 << 64;
                Self::Client(IpAddr::V6(network.into()))
            }
            Some(address) => Self::Client(address),
            None => Self::Itself(holder.id),
        }
    }
}

/// The processes in the order in which they are ended: those of the owner that holds most first, and of these the
/// largest first.
pub(super) fn by_size(holders: Vec<Holder>) -> impl Iterator<Item = ProcessId> {
    let mut sums: BTreeMap<Owner, usize> = BTreeMap::new();
    for holder in &holders {
        *sums.entry(Owner::of(holder)).or_default() += holder.bytes;
    }
    let place = |holder: &Holder| {
        let owner = Owner::of(holder);
        (sums.get(&owner).copied(), owner, holder.bytes, holder.id)
    };
    let mut sorted = holders;
    sorted.sort_unstable_by_key(|holder| std::cmp::Reverse(place(holder)));
    sorted.into_iter().map(|holder| holder.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(holders: &[(usize, Option<&str>)]) -> Vec<usize> {
        let holders = holders.iter().enumerate().map(|(index, (bytes, client))| Holder {
            id: ProcessId::from_bits(index as u64),
            bytes: *bytes,
            client: client.map(|address| address.parse().expect("an address")),
        });
        by_size(holders.collect()).map(|id| id.to_bits() as usize).collect()
    }

    #[test]
    fn connections_of_one_client_count_together_when_memory_is_short() {
        let many = [(10, Some("192.0.2.1")), (25, Some("192.0.2.2")), (11, Some("192.0.2.1"))];
        assert_eq!(order(&many), [1, 2, 0], "21 are less than 25");
        let more = [&many[..], &[(12, Some("::ffff:192.0.2.1"))]].concat();
        assert_eq!(order(&more), [3, 2, 0, 1], "33 are more, however the address is written");
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let one =
            [(10, Some("2001:db8::1")), (15, Some("192.0.2.2")), (9, Some("2001:db8::2:0:0:1"))];
        assert_eq!(order(&one), [0, 2, 1]);
        let two =
            [(10, Some("2001:db8::1")), (15, Some("192.0.2.2")), (9, Some("2001:db8:0:1::1"))];
        assert_eq!(order(&two), [1, 0, 2]);
    }

    #[test]
    fn those_behind_a_proxy_of_this_machine_count_one_by_one() {
        for address in [None, Some("127.0.0.1"), Some("::1"), Some("0.0.0.0")] {
            assert_eq!(order(&[(10, address), (15, Some("192.0.2.2")), (9, address)]), [1, 0, 2]);
        }
    }
}
