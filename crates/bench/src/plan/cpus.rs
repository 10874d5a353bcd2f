//! The CPUs a run may use, and its default number of threads.
//!
//! Owns these defaults. Never pins a thread: a thread pins itself.

use std::io;

use sys::cpu::{CpuFacts, scheduler_count_default};

use super::TargetServer;
use super::room::HostRoom;
use crate::limits::THREADS_MAX;

/// The CPUs of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// The numbers that affinity allows, ascending.
    pub allowed: Vec<usize>,
    /// For how many threads there is CPU time: at most the allowed CPUs, fewer if a control group limits it.
    pub threads: u32,
}

/// Why threads cannot be pinned as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuError {
    /// A CPU that this process may not use.
    #[error("CPU {cpu} is not one this process may use; choose among {}", list(.allowed))]
    NotAllowed {
        /// Which.
        cpu: usize,
        /// Which it may.
        allowed: Vec<usize>,
    },
    /// Fewer CPUs than threads.
    #[error(
        "{threads} threads cannot have a CPU each: there are {cpus}; say -t {cpus}, or leave out \
         --pin"
    )]
    TooFew {
        /// Threads.
        threads: u32,
        /// CPUs.
        cpus: usize,
    },
}

fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

impl Cpus {
    /// Asks the kernel.
    ///
    /// # Errors
    /// If it does not say.
    pub fn read() -> io::Result<Self> {
        let facts = CpuFacts::read()?;
        let threads = scheduler_count_default(&facts).get();
        let threads = u32::try_from(threads).unwrap_or(THREADS_MAX).min(THREADS_MAX);
        Ok(Self { allowed: facts.allowed.iter().collect(), threads })
    }

    /// The default number of threads: one for each CPU, or for half of them if the server is on this
    /// host and needs the others; more if descriptor tables require it, but never more than every peer has connections.
    pub fn threads_by_default(
        &self,
        peers: &[TargetServer],
        connections: u32,
        room: &HostRoom,
    ) -> u32 {
        let is_shared = peers.iter().any(|peer| peer.address.is_local());
        let by_cpus = if is_shared { self.threads / 2 } else { self.threads };
        let by_tables = room.threads_needed(connections).unwrap_or(1);
        let by_connections = connections / u32::try_from(peers.len()).unwrap_or(u32::MAX).max(1);
        by_cpus.max(by_tables).min(by_connections).max(1)
    }

    /// Whether this many threads can have a CPU each.
    pub fn has_one_for_each(&self, threads: u32) -> bool {
        threads as usize <= self.allowed.len()
    }

    /// The last CPUs, one for each thread: servers usually use the first ones.
    ///
    /// # Errors
    /// If there are fewer than threads.
    pub fn last(&self, threads: u32) -> Result<Vec<usize>, CpuError> {
        let from = self.allowed.len().checked_sub(threads as usize);
        let cpus = from.and_then(|from| self.allowed.get(from..)).map(<[usize]>::to_vec);
        cpus.ok_or(CpuError::TooFew { threads, cpus: self.allowed.len() })
    }

    /// Refuses CPUs that this process may not use.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self, cpus: &[usize]) -> Result<(), CpuError> {
        match cpus.iter().find(|cpu| !self.allowed.contains(cpu)) {
            Some(cpu) => Err(CpuError::NotAllowed { cpu: *cpu, allowed: self.allowed.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime::launch::Tables;

    use super::*;
    use crate::plan::sample::plan;
    use crate::plan::{LoadAddress, PortRange};

    const ROOM: HostRoom = HostRoom {
        descriptors: 1000,
        tables: Tables::Private,
        ports: PortRange { first: 1, last: 9 },
    };

    fn cpus() -> Cpus {
        Cpus { allowed: vec![0, 1, 2, 3, 6, 7, 8, 9], threads: 8 }
    }

    #[test]
    fn a_local_server_is_left_half_of_the_cpus() {
        let local = plan(&["http://127.0.0.1:1/"]).peers;
        let mut remote = local.clone();
        remote[0].address = LoadAddress::Tcp("10.0.0.1:1".parse().unwrap());
        let threads = |peers: &[TargetServer], connections| {
            cpus().threads_by_default(peers, connections, &ROOM)
        };
        assert_eq!(threads(&local, 256), 4);
        assert_eq!(threads(&remote, 256), 8);
        assert_eq!(threads(&local, 3), 3);
        // 1,000 descriptors less 64 and one for each thread.
        assert_eq!(threads(&local, 5000), 6);
        let one = Cpus { allowed: vec![5], threads: 1 };
        assert_eq!(one.threads_by_default(&local, 256, &ROOM), 1);
    }

    #[test]
    fn the_last_cpus_are_taken() {
        assert_eq!(cpus().last(3), Ok(vec![7, 8, 9]));
        assert_eq!(cpus().last(9), Err(CpuError::TooFew { threads: 9, cpus: 8 }));
    }

    #[test]
    fn a_forbidden_cpu_is_named() {
        assert_eq!(cpus().check(&[6, 1]), Ok(()));
        let refused = cpus().check(&[6, 5]).unwrap_err().to_string();
        assert_eq!(refused, "CPU 5 is not one this process may use; choose among 0,1,2,3,6,7,8,9");
    }

    #[test]
    fn this_host_has_cpus() {
        let cpus = Cpus::read().unwrap();
        assert!(cpus.threads >= 1 && cpus.threads as usize <= cpus.allowed.len());
    }
}
