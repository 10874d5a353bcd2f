//! What one thread does of a plan.
//!
//! Owns how connections are dealt out: over threads and peers evenly, over source addresses in turn. Arithmetic only;
//! a share of a million connections keeps a few numbers.

use std::net::IpAddr;

use super::Plan;
use super::address::Address;

/// One thread's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The thread's number, from 0.
    pub thread: u32,
    /// How many threads there are.
    pub threads: u32,
    /// Connections of this thread.
    pub connections: u32,
    /// For each peer: the number, among all threads' connections, of its first; ascending, beginning with 0.
    firsts: Vec<u32>,
    /// For each peer: the addresses to connect from, in turn. Empty: the kernel chooses.
    sources: Vec<Vec<IpAddr>>,
}

/// Where a connection goes, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Index into [`Plan::peers`].
    pub peer: usize,
    /// The address to connect from, where the kernel does not choose.
    pub source: Option<IpAddr>,
}

impl Plan {
    /// The part of thread `thread`, which is below [`Plan::threads`].
    pub fn share(&self, thread: u32) -> Share {
        let quotas = self.connections_of_peers();
        let mut firsts = Vec::with_capacity(quotas.len());
        let mut first = 0;
        for quota in quotas {
            firsts.push(first);
            first += quota;
        }
        let sources = self.peers.iter().map(|peer| match peer.address {
            Address::Tcp(_) => self.sources.clone(),
            Address::Unix(_) => Vec::new(),
        });
        Share {
            thread,
            threads: self.threads,
            connections: self.connections_of_thread(thread),
            firsts,
            sources: sources.collect(),
        }
    }

    /// How many connections a thread has: the first ones have one more where they do not come out even.
    pub(super) fn connections_of_thread(&self, thread: u32) -> u32 {
        let threads = self.threads.max(1);
        self.connections / threads + u32::from(thread < self.connections % threads)
    }

    /// How many connections each peer has: one for each thread, and of the rest what its weight says (largest
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

impl Share {
    /// A share of a rate alone, without connections.
    #[cfg(test)]
    pub(super) fn of_rate(thread: u32, threads: u32) -> Self {
        Self { thread, threads, connections: 0, firsts: vec![0], sources: vec![Vec::new()] }
    }

    /// The way of this thread's connection `number`, which counts from 0. A number from [`Share::connections`] on is
    /// that of a connection which replaces one.
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
