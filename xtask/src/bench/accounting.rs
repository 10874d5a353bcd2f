//! CPU time and memory of a process, and ticks of a core, as the kernel counts them.
//!
//! Owns the reading of /proc. CPU time is exact (scheduler statistics, nanoseconds); the split
//! into user and system comes from clock ticks and is accurate to about 0.1 us per request.

use std::net::SocketAddr;

use crate::bench::host::Cores;

/// The state of an established connection in /proc/net/tcp.
const ESTABLISHED: &str = "01";

/// CPU time of all threads of a process and its descendants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) nanoseconds: u64,
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
}

/// Reads the CPU time. A process that has ended counts nothing.
pub(crate) fn spent(family: &[u32]) -> Spent {
    let mut total = Spent::default();
    for id in family {
        if let Ok(text) = std::fs::read_to_string(format!("/proc/{id}/stat"))
            && let Some((user, system)) = ticks(&text)
        {
            total.user_ticks += user;
            total.system_ticks += system;
        }
        let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else { continue };
        for thread in threads.flatten() {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            total.nanoseconds += number(text.split_whitespace().next());
        }
    }
    total
}

/// User and system ticks in a line of /proc/PID/stat, whose second field may contain spaces.
fn ticks(text: &str) -> Option<(u64, u64)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Ticks of one core since the machine started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CoreTicks {
    total: u64,
    idle: u64,
    steal: u64,
}

impl CoreTicks {
    fn of(text: &str, core: usize) -> CoreTicks {
        let name = format!("cpu{core} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_default();
        let fields: Vec<u64> =
            line.split_whitespace().take(8).map(|field| number(Some(field))).collect();
        let field = |index: usize| fields.get(index).copied().unwrap_or(0);
        // user nice system idle iowait irq softirq steal
        CoreTicks { total: fields.iter().sum(), idle: field(3) + field(4), steal: field(7) }
    }

    /// Percent of the time since `before` that this core was not idle.
    pub(crate) fn busy_percent(self, before: CoreTicks) -> f64 {
        100.0 - percent(self.idle - before.idle, self.total - before.total)
    }

    pub(crate) fn steal_percent(self, before: CoreTicks) -> f64 {
        percent(self.steal - before.steal, self.total - before.total)
    }
}

/// Ticks of the server's and the load's core.
pub(crate) fn cores(cores: &Cores) -> (CoreTicks, CoreTicks) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    (CoreTicks::of(&text, cores.server), CoreTicks::of(&text, cores.load))
}

/// Open descriptors of a process, in the largest table of its threads: threads may have tables of their own.
pub(crate) fn descriptors(id: u32) -> u64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else { return 0 };
    let open = |thread: std::fs::DirEntry| {
        std::fs::read_dir(thread.path().join("fd")).map_or(0, |open| open.count() as u64)
    };
    threads.flatten().map(open).max().unwrap_or(0)
}

/// Memory of a process and its descendants, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    pub(crate) anonymous: u64,
}

/// Resident memory now, from smaps_rollup: the counters in /proc/PID/status lag behind.
pub(crate) fn memory(family: &[u32]) -> Memory {
    let mut total = Memory::default();
    for id in family {
        let text = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
        total.resident += bytes(&text, "Rss:").unwrap_or(0);
        total.anonymous += bytes(&text, "Anonymous:").unwrap_or(0);
    }
    total
}

/// The bytes behind a name in a list of the kernel, which has them in kB.
pub(crate) fn bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok().map(|kilobytes: u64| kilobytes * 1024)
}

fn number(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / (whole.max(1)) as f64
}

/// The connections at this address that its server has accepted. One that waits in the accept queue has no inode.
pub(crate) fn accepted(address: SocketAddr) -> u32 {
    accepted_in(&std::fs::read_to_string("/proc/net/tcp").unwrap_or_default(), address)
}

fn accepted_in(table: &str, address: SocketAddr) -> u32 {
    let SocketAddr::V4(address) = address else { return 0 };
    // The kernel shows the bytes of an address as a number of this machine.
    let ip = u32::from_ne_bytes(address.ip().octets());
    let local = format!("{ip:08X}:{:04X}", address.port());
    let is_accepted = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, at, _, state, _, _, _, _, _, inode, ..] = fields[..] else { return false };
        at == local && state == ESTABLISHED && inode != "0"
    };
    u32::try_from(table.lines().filter(is_accepted).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_types, reason = "no scheduler runs here")]
    fn connections_in_the_accept_queue_are_not_open_at_the_server() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clients = [0; 3].map(|_| std::net::TcpStream::connect(address).unwrap());
        assert_eq!(accepted(address), 0);
        let first = listener.accept().unwrap();
        assert_eq!(accepted(address), 1);
        drop((first, clients));
    }

    #[test]
    fn ticks_are_read_past_a_name_with_blanks_and_brackets() {
        let text = "7 (a (b) c) S 1 7 7 0 -1 4194304 1 2 3 4 55 66 0 0 20 0 1 0";
        assert_eq!(ticks(text), Some((55, 66)));
    }

    #[test]
    fn a_core_is_busy_when_it_is_not_idle_or_waiting() {
        let text = "cpu  9 9 9 9\ncpu0 1 1 1 1 1 1 1 1 0 0\ncpu1 10 0 10 70 10 0 0 0 0 0\n";
        let core = CoreTicks::of(text, 1);
        assert_eq!(core, CoreTicks { total: 100, idle: 80, steal: 0 });
        assert_eq!(core.busy_percent(CoreTicks::default()), 20.0);
    }

    #[test]
    fn kilobytes_of_a_list_are_read_as_bytes() {
        let text = "MemTotal:  24 kB\nSlab:      494780 kB\n";
        assert_eq!(bytes(text, "Slab:"), Some(494_780 * 1024));
        assert_eq!(bytes(text, "Percpu:"), None);
    }

    #[test]
    fn this_process_has_spent_and_holds_something() {
        let own = [std::process::id()];
        let before = spent(&own);
        let mut sum = 0u64;
        while spent(&own).nanoseconds == before.nanoseconds {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(memory(&own).resident >= memory(&own).anonymous);
        assert!(memory(&own).anonymous > 0);
    }
}
