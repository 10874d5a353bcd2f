//! Whether the numbers of a plan fit together.
//!
//! Owns the range of each and the rules between them; [`super::room`] checks whether the host can execute it.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::{LoadPlan, LoadProtocol, RequestPace, ThreadPinning};
use crate::limits::{CONNECTIONS_MAX, PIPELINE_MAX, THREADS_MAX};

/// Why a plan cannot be executed anywhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A number is out of its range.
    #[error("{is} {what} cannot be; say {} to {}", .may_be.start(), .may_be.end())]
    Number {
        /// Its name.
        what: &'static str,
        /// Its value.
        is: u32,
        /// Its range.
        may_be: RangeInclusive<u32>,
    },
    /// A thread would have no connection to one of the peers.
    #[error(fmt = too_few_connections)]
    TooFewConnections {
        /// Connections.
        connections: u32,
        /// Threads.
        threads: u32,
        /// Servers.
        peers: usize,
    },
    /// Nothing is measured.
    #[error("nothing is measured in no time; say -d 10s")]
    NoDuration,
    /// Nothing is asked in an open loop.
    #[error("nothing is asked at a rate of 0; give requests per second, as in --rate 10k")]
    NoRate,
    /// Every request would be too late.
    #[error("nothing is answered in no time; say --timeout 5s")]
    NoTimeout,
    /// Not one CPU for each thread.
    #[error("{cpus} CPUs for {threads} threads; name one for each thread, as in -t 2 --pin=2,3")]
    PinCount {
        /// CPUs.
        cpus: usize,
        /// Threads.
        threads: u32,
    },
    /// Two threads on one CPU.
    #[error("CPU {0} is named twice; name a different one for each thread")]
    PinTwice(usize),
    /// An address to connect from which cannot reach a peer.
    #[error(
        "{from} cannot reach {peer}: one is IPv4 and the other IPv6; name a source of the same kind"
    )]
    SourceFamily {
        /// The address.
        from: IpAddr,
        /// The peer.
        peer: String,
    },
}

fn too_few_connections(
    connections: &u32,
    threads: &u32,
    peers: &usize,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let needed = u64::from(*threads) * *peers as u64;
    write!(
        formatter,
        "{connections} connections are too few: each of {threads} threads needs one to each of \
                     {peers} servers; say -c {needed}"
    )?;
    match connections.checked_div(*peers as u32) {
        Some(fits @ 1..) => write!(formatter, ", or -t {fits}"),
        _ => Ok(()),
    }
}

impl LoadPlan {
    /// Refuses numbers that do not fit together.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_consistency(&self) -> Result<(), PlanError> {
        let in_flight = match self.protocol {
            LoadProtocol::Http1 => "requests in a pipeline",
            LoadProtocol::Http2 => "streams of a connection",
        };
        let numbers = [
            ("connections", self.connections, CONNECTIONS_MAX),
            ("threads", self.threads, THREADS_MAX),
            (in_flight, self.pipeline, PIPELINE_MAX),
            ("runs", self.runs, u32::MAX),
        ];
        for (what, is, most) in numbers {
            let may_be = 1..=most;
            if !may_be.contains(&is) {
                return Err(PlanError::Number { what, is, may_be });
            }
        }
        let peers = self.peers.len();
        if u64::from(self.connections) < u64::from(self.threads) * peers as u64 {
            let (connections, threads) = (self.connections, self.threads);
            return Err(PlanError::TooFewConnections { connections, threads, peers });
        }
        if self.duration.is_zero() {
            return Err(PlanError::NoDuration);
        }
        if matches!(&self.pace, RequestPace::Open(rate) if !rate.asks()) {
            return Err(PlanError::NoRate);
        }
        if self.timeout.is_zero() {
            return Err(PlanError::NoTimeout);
        }
        self.check_pinning()?;
        self.check_source_families()
    }

    fn check_pinning(&self) -> Result<(), PlanError> {
        let ThreadPinning::Cpus(cpus) = &self.pinning else { return Ok(()) };
        if cpus.len() != self.threads as usize {
            return Err(PlanError::PinCount { cpus: cpus.len(), threads: self.threads });
        }
        let mut sorted = cpus.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(PlanError::PinTwice(pair[0])),
            None => Ok(()),
        }
    }

    fn check_source_families(&self) -> Result<(), PlanError> {
        for address in self.peers.iter().filter_map(|peer| peer.address.tcp()) {
            let is_other = |source: &&IpAddr| source.is_ipv4() != address.is_ipv4();
            if let Some(source) = self.sources.iter().find(is_other) {
                return Err(PlanError::SourceFamily { from: *source, peer: address.to_string() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::sample::plan;
    use crate::plan::{Arrivals, RequestRate};

    fn refusal(change: impl FnOnce(&mut LoadPlan)) -> String {
        let mut plan = plan(&["http://127.0.0.1:1/", "http://127.0.0.1:2/"]);
        plan.check_consistency().expect("the sample is right");
        change(&mut plan);
        plan.check_consistency().expect_err("the change makes it wrong").to_string()
    }

    #[test]
    fn each_wrong_number_is_named_with_its_mend() {
        assert!(refusal(|plan| plan.connections = 0).starts_with("0 connections cannot be; say 1"));
        assert!(refusal(|plan| plan.threads = 257).contains("257 threads cannot be; say 1 to 256"));
        assert!(refusal(|plan| plan.pipeline = 0).contains("0 requests in a pipeline"));
        assert!(refusal(|plan| plan.runs = 0).contains("0 runs"));
        assert!(refusal(|plan| plan.duration = Duration::ZERO).contains("-d 10s"));
        let nothing = RequestRate::steady(0.0, Duration::from_secs(1), Arrivals::Constant);
        assert!(refusal(|plan| plan.pace = RequestPace::Open(nothing)).contains("--rate 10k"));
        assert!(refusal(|plan| plan.timeout = Duration::ZERO).contains("--timeout 5s"));
    }

    #[test]
    fn each_thread_reaches_each_server() {
        let text = refusal(|plan| (plan.threads, plan.connections) = (4, 7));
        assert!(text.contains("say -c 8, or -t 3"), "{text}");
        let text = refusal(|plan| (plan.threads, plan.connections) = (1, 1));
        assert!(text.ends_with("say -c 2"), "{text}");
    }

    #[test]
    fn cpus_are_one_for_each_thread() {
        let pin = |cpus: &[usize]| {
            let cpus = cpus.to_vec();
            refusal(move |plan| (plan.threads, plan.pinning) = (2, ThreadPinning::Cpus(cpus)))
        };
        assert!(pin(&[1]).starts_with("1 CPUs for 2 threads"));
        assert!(pin(&[3, 3]).starts_with("CPU 3 is named twice"));
    }

    #[test]
    fn sources_are_of_the_peers_family() {
        let text = refusal(|plan| {
            plan.sources = vec!["127.0.0.2".parse().unwrap(), "::1".parse().unwrap()]
        });
        assert!(text.starts_with("::1 cannot reach 127.0.0.1:1"), "{text}");
    }
}
