//! The part of one thread in a plan.
//!
//! Owns how connections are distributed: evenly over threads and peers, in turn over source addresses. Arithmetic only;
//! a share of a million connections keeps a few numbers.

use std::net::IpAddr;

use super::LoadPlan;
use super::address::LoadAddress;

/// One thread's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadShare {
    /// The thread's number, from 0.
    pub thread: u32,
    /// How many threads there are.
    pub threads: u32,
    /// Connections of this thread.
    pub connections: u32,
    /// For each peer: the number of its first connection among all threads' connections; ascending, beginning with 0.
    firsts: Vec<u32>,
    /// For each peer: the source addresses, used in turn. Empty: the kernel chooses.
    sources: Vec<Vec<IpAddr>>,
}

/// The destination and source of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Index into [`LoadPlan::peers`].
    pub peer: usize,
    /// The source address, unless the kernel chooses.
    pub source: Option<IpAddr>,
}

impl LoadPlan {
    /// The share of thread `thread`, which is below [`LoadPlan::threads`].
    pub fn share(&self, thread: u32) -> ThreadShare {
        let quotas = self.connections_of_peers();
        let mut firsts = Vec::with_capacity(quotas.len());
        let mut first = 0;
        for quota in quotas {
            firsts.push(first);
            first += quota;
        }
        let sources = self.peers.iter().map(|peer| match peer.address {
            LoadAddress::Tcp(_) => self.sources.clone(),
            LoadAddress::Unix(_) => Vec::new(),
        });
        ThreadShare {
            thread,
            threads: self.threads,
            connections: self.connections_of_thread(thread),
            firsts,
            sources: sources.collect(),
        }
    }

    /// How many connections a thread has: the first ones have one more if the number is not divisible.
    pub(super) fn connections_of_thread(&self, thread: u32) -> u32 {
        let threads = self.threads.max(1);
        self.connections / threads + u32::from(thread < self.connections % threads)
    }

    /// How many connections each peer has: one for each thread, and the rest by weight (largest
    /// remainders).
    pub(super) fn connections_of_peers(&self) -> Vec<u32> {
        let weights: Vec<u64> = self.peers.iter().map(|peer| peer.weight).collect();
        let total = weights.iter().sum::<u64>().max(1);
        let sure = self.threads.min(self.connections / (weights.len().max(1) as u32));
        let rest = u64::from(self.connections) - u64::from(sure) * weights.len() as u64;
        let mut quotas: Vec<u32> = Vec::with_capacity(weights.len());
        let mut remainders: Vec<(u64, usize)> = Vec::with_capacity(weights.len());
        for (index, weight) in weights.iter().enumerate() {
            // Connections are below 2^32 and weights below 2^30: the product fits.
            quotas.push(sure + (rest * weight / total) as u32);
            remainders.push((rest * weight % total, index));
        }
        let mut left = self.connections - quotas.iter().sum::<u32>();
        remainders.sort_unstable_by_key(|(remainder, index)| (u64::MAX - remainder, *index));
        for (_, index) in remainders {
            if left == 0 {
                break;
            }
            quotas[index] += 1;
            left -= 1;
        }
        quotas
    }
}

impl ThreadShare {
    /// A share for a rate alone, without connections.
    #[cfg(test)]
    pub(crate) fn of_rate(thread: u32, threads: u32) -> Self {
        Self { thread, threads, connections: 0, firsts: vec![0], sources: vec![Vec::new()] }
    }

    /// The destination and source of this thread's connection `number`, which counts from 0. A number from
    /// [`ThreadShare::connections`] on is that of a replacement.
    pub fn way(&self, number: u32) -> Way {
        let number = number.checked_rem(self.connections).unwrap_or(0);
        // Threads take connections in turn, so each has its part of every peer.
        let number = self.thread + number * self.threads;
        let peer = self.firsts.partition_point(|first| *first <= number).saturating_sub(1);
        let of_peer = (number - self.firsts.get(peer).copied().unwrap_or(0)) as usize;
        let sources = self.sources.get(peer).map_or(&[][..], Vec::as_slice);
        let source = of_peer.checked_rem(sources.len()).and_then(|index| sources.get(index));
        Way { peer, source: source.copied() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::sample::plan;

    proptest! {
        #[test]
        fn every_connection_is_dealt_out_once(
            threads in 1_u32..9,
            more in 0_u32..500,
            weights in proptest::collection::vec(1_u64..1000, 1..6),
            sources in 0_usize..7,
        ) {
            let mut plan = plan(&["http://127.0.0.1:1/"]);
            let peer = plan.peers[0].clone();
            plan.peers = weights
                .iter()
                .map(|weight| crate::plan::TargetServer { weight: *weight, ..peer.clone() })
                .collect();
            plan.sources = crate::plan::loopback_sources(sources as u32).collect();
            plan.threads = threads;
            plan.connections = threads * weights.len() as u32 + more;
            let shares: Vec<ThreadShare> = (0..threads).map(|thread| plan.share(thread)).collect();
            let counts: Vec<u32> = shares.iter().map(|share| share.connections).collect();
            prop_assert_eq!(counts.iter().sum::<u32>(), plan.connections);
            prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
            let mut of_peers = vec![0_u32; weights.len()];
            let mut of_sources = vec![vec![0_u32; sources]; weights.len()];
            for share in &shares {
                let mut reached = vec![false; weights.len()];
                for number in 0..share.connections {
                    let way = share.way(number);
                    prop_assert_eq!(way, share.way(number + share.connections));
                    reached[way.peer] = true;
                    of_peers[way.peer] += 1;
                    prop_assert_eq!(way.source.is_some(), sources > 0);
                    if let Some(source) = way.source {
                        let index = plan.sources.iter().position(|one| *one == source).unwrap();
                        of_sources[way.peer][index] += 1;
                    }
                }
                prop_assert!(reached.iter().all(|reached| *reached), "{:?}", of_peers);
            }
            prop_assert_eq!(&of_peers, &plan.connections_of_peers());
            let total: u64 = weights.iter().sum();
            for (count, weight) in of_peers.iter().zip(&weights) {
                let exact = f64::from(more) * *weight as f64 / total as f64;
                prop_assert!((f64::from(*count - threads) - exact).abs() < 1.0 + 1e-9);
            }
            for of_peer in of_sources.iter().filter(|counts| !counts.is_empty()) {
                prop_assert!(of_peer.iter().max().unwrap() - of_peer.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn a_unix_socket_has_no_source() {
        let mut plan = plan(&["http://127.0.0.1:1/"]);
        plan.sources = crate::plan::loopback_sources(2).collect();
        plan.peers[0].address = LoadAddress::Unix("/run/a.sock".into());
        assert_eq!(plan.share(0).way(0), Way { peer: 0, source: None });
    }
}
