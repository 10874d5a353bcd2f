//! Whether this host has room for a plan: descriptors and ports.
//!
//! Owns that arithmetic and its refusals, which state the number that fits. Reads the host's limits in one place and
//! changes only this process's soft limit of descriptors.

use std::net::SocketAddr;

use runtime::launch::Tables;

use super::LoadPlan;
use super::address::{LoadAddress, loopback_sources};
use crate::limits::{DESCRIPTORS_RESERVED, SOURCE_PORTS_DIVISOR, THREADS_MAX};

/// The resources of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRoom {
    /// Open descriptors of one table.
    pub descriptors: u64,
    /// Whether each thread has its own table.
    pub tables: Tables,
    /// Ports for connections without a given one.
    pub ports: PortRange,
}

/// The ports for outgoing connections (`net.ipv4.ip_local_port_range`), both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

/// Linux's default, if the setting cannot be read.
impl Default for PortRange {
    fn default() -> Self {
        Self { first: 32_768, last: 60_999 }
    }
}

impl PortRange {
    /// How many ports there are.
    pub fn count(self) -> u32 {
        u32::from(self.last.saturating_sub(self.first)) + 1
    }

    /// Two numbers separated by blanks, as written by the kernel.
    fn from_text(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(str::parse::<u16>);
        let (first, last) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        (first <= last).then_some(Self { first, last })
    }
}

/// Why a plan does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoomError {
    /// A table has too few descriptors.
    #[error(
        "{asked} connections do not fit: {fits} do, as a descriptor table holds {bound}; say -c \
         {fits}{}, or raise the hard limit (`ulimit -Hn`, LimitNOFILE=)",
        or_threads(.threads)
    )]
    Descriptors {
        /// Requested connections.
        asked: u32,
        /// Connections that fit.
        fits: u64,
        /// The limit of one table.
        bound: u64,
        /// Threads with one table each for which the connections would fit, if that is possible.
        threads: Option<u32>,
    },
    /// There are too few ports from the source addresses to a peer.
    #[error(
        "{asked} connections to {peer} do not fit: {fits} do, as each source address has {ports} \
         ports; name {sources} addresses with --source, or widen net.ipv4.ip_local_port_range"
    )]
    Ports {
        /// Connections to that peer.
        asked: u32,
        /// Connections that fit.
        fits: u64,
        /// The peer.
        peer: String,
        /// Ports for each source address.
        ports: u32,
        /// Source addresses that would be enough.
        sources: u32,
    },
}

fn or_threads(threads: &Option<u32>) -> String {
    threads.map_or(String::new(), |threads| format!(", or -t {threads} (each thread has a table)"))
}

impl HostRoom {
    /// Reads the resources of this host. Raises this process's soft limit of descriptors to the hard one.
    pub fn read() -> Self {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        let ports = range.ok().and_then(|text| PortRange::from_text(&text));
        // Tried on a thread that ends right after, together with its table.
        let parted = std::thread::spawn(|| sys::thread::part_descriptor_table().is_ok()).join();
        Self {
            descriptors: sys::descriptor::raise_descriptor_limit(),
            tables: if parted.unwrap_or(false) { Tables::Private } else { Tables::Shared },
            ports: ports.unwrap_or_default(),
        }
    }

    /// Refuses a plan that does not fit.
    ///
    /// # Errors
    /// The first resource that is short, with the number that fits.
    pub fn check(&self, plan: &LoadPlan) -> Result<(), RoomError> {
        self.check_descriptors(plan)?;
        self.check_ports(plan)
    }

    /// Spreads connections to this host over so many of its addresses that a free port is found quickly. It changes
    /// nothing if sources are named, if a peer is elsewhere, or over IPv6, which has one loopback address.
    pub fn spread_sources(&self, plan: &mut LoadPlan) {
        let mut tcp = plan.peers.iter().filter_map(|peer| peer.address.tcp());
        let is_loopback = |address: SocketAddr| address.is_ipv4() && address.ip().is_loopback();
        if !plan.sources.is_empty() || !tcp.all(is_loopback) {
            return;
        }
        let most = plan.connections_of_peers().into_iter().max().unwrap_or(0);
        let comfortable = most.div_ceil((self.ports.count() / SOURCE_PORTS_DIVISOR).max(1));
        if comfortable > 1 {
            plan.sources = loopback_sources(comfortable).collect();
        }
    }

    /// How many source addresses this many connections to one peer need.
    pub fn sources_needed(&self, connections: u32) -> u32 {
        connections.div_ceil(self.ports.count()).max(1)
    }

    /// Connections of one table that fit beside `threads` threads: each has a wake descriptor in every table.
    fn connections_of_table(&self, threads: u32) -> u64 {
        self.descriptors.saturating_sub(DESCRIPTORS_RESERVED + u64::from(threads))
    }

    fn check_descriptors(&self, plan: &LoadPlan) -> Result<(), RoomError> {
        let of_table = self.connections_of_table(plan.threads);
        let (fits, threads) = match self.tables {
            Tables::Private => {
                (of_table * u64::from(plan.threads), self.threads_needed(plan.connections))
            }
            Tables::Shared => (of_table, None),
        };
        if u64::from(plan.connections) <= fits {
            return Ok(());
        }
        Err(RoomError::Descriptors {
            asked: plan.connections,
            fits,
            bound: self.descriptors,
            threads,
        })
    }

    /// The minimum number of threads whose tables hold this many connections, if that is possible.
    pub fn threads_needed(&self, connections: u32) -> Option<u32> {
        let fits = |threads: &u32| {
            u64::from(connections) <= self.connections_of_table(*threads) * u64::from(*threads)
        };
        (1..=THREADS_MAX).find(fits)
    }

    fn check_ports(&self, plan: &LoadPlan) -> Result<(), RoomError> {
        let sources = plan.sources.len().max(1) as u64;
        let fits = sources * u64::from(self.ports.count());
        for (peer, asked) in plan.peers.iter().zip(plan.connections_of_peers()) {
            if matches!(peer.address, LoadAddress::Tcp(_)) && u64::from(asked) > fits {
                return Err(RoomError::Ports {
                    asked,
                    fits,
                    peer: peer.address.to_string(),
                    ports: self.ports.count(),
                    sources: self.sources_needed(asked),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sample::plan;

    const ROOM: HostRoom = HostRoom {
        descriptors: 20_000,
        tables: Tables::Private,
        ports: PortRange { first: 10_001, last: 20_000 },
    };

    fn plan_of(connections: u32, threads: u32, sources: u32) -> LoadPlan {
        let mut plan = plan(&["http://127.0.0.1:1/"]);
        (plan.connections, plan.threads) = (connections, threads);
        plan.sources = crate::plan::loopback_sources(sources).collect();
        plan
    }

    #[test]
    fn a_table_of_each_thread_holds_its_connections() {
        // 20,000 less 64 and a wake descriptor for each of ten threads.
        assert_eq!(ROOM.check(&plan_of(199_260, 10, 20)), Ok(()));
        let refused = ROOM.check(&plan_of(199_261, 10, 20)).unwrap_err();
        assert_eq!(
            refused,
            RoomError::Descriptors {
                asked: 199_261,
                fits: 199_260,
                bound: 20_000,
                threads: Some(11)
            }
        );
        assert!(refused.to_string().contains("say -c 199260, or -t 11"), "{refused}");
        assert_eq!(ROOM.check(&plan_of(199_261, 11, 20)), Ok(()));
    }

    #[test]
    fn one_table_holds_the_connections_of_all() {
        let shared = HostRoom { tables: Tables::Shared, ..ROOM };
        assert_eq!(shared.check(&plan_of(19_926, 10, 2)), Ok(()));
        let refused = shared.check(&plan_of(19_927, 10, 2)).unwrap_err();
        assert!(matches!(refused, RoomError::Descriptors { fits: 19_926, threads: None, .. }));
        assert!(!refused.to_string().contains("-t"), "{refused}");
        let tiny = HostRoom { descriptors: 60, ..ROOM };
        assert!(matches!(
            tiny.check(&plan_of(1, 1, 1)),
            Err(RoomError::Descriptors { fits: 0, .. })
        ));
    }

    #[test]
    fn each_source_has_its_ports_to_each_peer() {
        assert_eq!(ROOM.check(&plan_of(10_000, 1, 0)), Ok(()));
        let refused = ROOM.check(&plan_of(10_001, 1, 0)).unwrap_err();
        let expected = RoomError::Ports {
            asked: 10_001,
            fits: 10_000,
            peer: "127.0.0.1:1".to_owned(),
            ports: 10_000,
            sources: 2,
        };
        assert_eq!(refused, expected);
        assert!(refused.to_string().contains("10000 do"), "{refused}");
        assert_eq!(ROOM.check(&plan_of(10_001, 1, 2)), Ok(()));
        let mut unix = plan_of(15_000, 1, 0);
        unix.peers[0].address = LoadAddress::Unix("/run/a.sock".into());
        assert_eq!(ROOM.check(&unix), Ok(()));
        assert_eq!([0, 10_000, 10_001].map(|asked| ROOM.sources_needed(asked)), [1, 1, 2]);
    }

    #[test]
    fn connections_to_this_host_come_from_many_addresses() {
        let spread = |change: fn(&mut LoadPlan)| {
            // A quarter of 10,000 ports of each.
            let mut plan = plan_of(7_500, 2, 0);
            change(&mut plan);
            ROOM.spread_sources(&mut plan);
            plan.sources.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(spread(|_| {}), ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
        assert!(spread(|plan| plan.connections = 2_500).is_empty());
        assert_eq!(spread(|plan| plan.sources = loopback_sources(1).collect()), ["127.0.0.1"]);
        for elsewhere in ["[::1]:1", "10.0.0.1:1"] {
            let address = LoadAddress::Tcp(elsewhere.parse().unwrap());
            let mut plan = plan_of(25_000, 2, 0);
            plan.peers[0].address = address;
            ROOM.spread_sources(&mut plan);
            assert!(plan.sources.is_empty(), "{elsewhere}");
        }
    }

    #[test]
    fn the_host_says_what_it_has() {
        assert_eq!(
            PortRange::from_text("32768\t60999\n"),
            Some(PortRange { first: 32_768, last: 60_999 })
        );
        assert_eq!(PortRange::from_text("9 1"), None);
        assert_eq!(PortRange::default().count(), 28_232);
        let room = HostRoom::read();
        assert!(room.descriptors >= 256 && room.ports.count() > 1, "{room:?}");
    }
}
