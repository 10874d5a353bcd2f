//! A host: its files, the change of its counters, and the server in question.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use crate::answers::{answers, counts};
use crate::calls::{self, ServerCalls};
use crate::connections::{Sockets, place, told};
use crate::counters::Counters;
use crate::debugging_aids;
use crate::drops::{self, DroppedPackets};
use crate::file_locks;
use crate::files::HostFiles;
use crate::limits::DEVICES;
use crate::name_queries;
use crate::namespaces::{NetworkPlace, enter};
use crate::observers;
use crate::open_files;
use crate::processes::{Process, cpu_list};
use crate::server::members;
use crate::socket_looks;
use crate::tcp;
use crate::upstreams;
use crate::watching::{self, Watched, watch};
use crate::work::{self, ServerWork};

/// A host, read twice: counters are those of the time between.
#[derive(Debug)]
pub struct HostReading {
    files: HostFiles,
    /// The process id of the server.
    pub(crate) process: Option<u32>,
    /// Whether the network is the server's.
    network: NetworkPlace,
    pub(crate) before: Counters,
    pub(crate) now: Counters,
    /// Seconds between the two readings; `None` if there was one, and counters are those since the host was started.
    pub(crate) seconds: Option<f64>,
}

impl HostReading {
    /// This host, read once. The calling thread enters the network namespace of the server.
    pub fn live(process: Option<u32>) -> Self {
        Self::of(Path::new("/"), process)
    }

    /// The host whose files are below a directory. If it is this host, the calling thread enters the network namespace
    /// of the server, and stays there.
    pub fn of(root: &Path, process: Option<u32>) -> Self {
        let mut files = HostFiles::here(root);
        let mut network = NetworkPlace::Same;
        let is_live = root == Path::new("/");
        // Another machine's kernel cannot be asked; its answers are in its files.
        if is_live {
            network = process.map_or(NetworkPlace::Same, |process| enter(process, &mut files));
            let mut all = answers(&files);
            all.extend(observers::told().map(|text| (observers::PLACE.to_owned(), text)));
            if let Some(process) = process {
                let members = members(&Process::stats(&files), process);
                all.extend(told(&members).map(|text| (place(process), text)));
                all.extend(
                    open_files::told(&members).map(|text| (open_files::place(process), text)),
                );
                let aids = debugging_aids::told(&members);
                all.extend(aids.map(|text| (debugging_aids::place(process), text)));
            }
            files.add_answers(all);
        }
        let mut host = Self {
            files,
            process,
            network,
            before: Counters::default(),
            now: Counters::default(),
            seconds: None,
        };
        host.now = host.counters();
        host
    }

    /// Looks at the server's threads for this time, and then reads the counters again.
    pub fn watch(&mut self, time: Duration) {
        let threads = self.now.threads.iter().map(|(thread, one)| (one.process, *thread)).collect();
        let seen = watch(&threads, &self.now.members, time);
        if let Some(process) = self.process {
            self.files.add_answers(BTreeMap::from([
                (watching::place(process), seen.threads),
                (name_queries::place(process), seen.names.text()),
                (upstreams::place(process), seen.sockets.upstreams.text()),
                (socket_looks::place(process), seen.sockets.text()),
                (file_locks::place(process), seen.locks.text()),
            ]));
        }
        self.look_again(time.as_secs_f64());
    }

    /// Adds the system calls of the server, which were recorded for a moment.
    pub fn add_calls(&mut self, calls: ServerCalls) {
        if let Some(process) = self.process {
            self.files.add_answers(BTreeMap::from([(calls::place(process), calls.text())]));
        }
    }

    /// Adds what the server spent the time of its CPUs on, which was sampled meanwhile.
    pub fn add_work(&mut self, work: ServerWork) {
        if let Some(process) = self.process {
            self.files.add_answers(BTreeMap::from([(work::place(process), work.text())]));
        }
    }

    /// Adds the packets that the kernel dropped meanwhile.
    pub fn add_drops(&mut self, drops: &DroppedPackets) {
        self.files.add_answers(BTreeMap::from([(drops::PLACE.to_owned(), drops.text())]));
    }

    /// Reads the counters again, this many seconds later.
    pub fn look_again(&mut self, seconds: f64) {
        let now = self.counters();
        self.before = std::mem::replace(&mut self.now, now);
        self.seconds = Some(seconds);
    }

    fn counters(&mut self) -> Counters {
        let programs = Process::stats(&self.files);
        if self.files.are_live() {
            let mut all = counts();
            if let Some(process) = self.process
                && self.network != NetworkPlace::Barred
            {
                let sockets = tcp::told(&self.files, &members(&programs, process));
                all.extend(sockets.ok().map(|text| (tcp::place(process), text)));
            }
            self.files.add_answers(all);
        }
        Counters::read(&self.files, self.process, programs)
    }

    /// The increase of a counter: between the two readings, or since the host was started.
    pub(crate) fn moved(&self, count: impl Fn(&Counters) -> Option<u64>) -> Option<u64> {
        let now = count(&self.now)?;
        Some(now.saturating_sub(count(&self.before).unwrap_or(0)))
    }

    /// The time of that increase, in words.
    pub(crate) fn span(&self) -> String {
        match self.seconds {
            Some(seconds) => format!("in {seconds} s"),
            None => "since the start of the host".to_owned(),
        }
    }

    /// Where the network was read, if not where this program runs: the end of a sentence.
    pub(crate) fn elsewhere(&self) -> &'static str {
        match self.network {
            NetworkPlace::Same => "",
            NetworkPlace::Entered => ", in the network namespace of the server",
            NetworkPlace::Barred => ", without the network namespace of the server",
        }
    }

    /// The reason why a check cannot be judged, if it is about a network that cannot be read.
    pub(crate) fn barred(&self, check: &str) -> Option<&'static str> {
        let is_of_network = check.starts_with("net.")
            || (check.starts_with("stack.") && check != "stack.file")
            || OF_NETWORK.contains(&check);
        (is_of_network && self.network == NetworkPlace::Barred).then_some(
            "the server is in another network namespace, which only root may enter (CAP_SYS_ADMIN)",
        )
    }

    /// The activities of the server's threads, by thread; empty if they were not looked at.
    pub(crate) fn watched(&self) -> BTreeMap<u32, Watched> {
        let text = self.process.and_then(|process| self.text(&watching::place(process)));
        Watched::read(&text.unwrap_or_default())
    }

    /// CPUs that the server may use: those of its threads, or all.
    pub(crate) fn cpus(&self) -> usize {
        let of_process = self.process.and_then(|process| Process::allowed(self, process));
        let mut all: Vec<usize> =
            self.now.threads.values().flat_map(|thread| thread.allowed.iter().copied()).collect();
        all.extend(of_process.unwrap_or_default());
        all.sort_unstable();
        all.dedup();
        if all.is_empty() { self.now.cpus.len().max(1) } else { all.len() }
    }

    /// Network devices to other machines, so without `lo`, and without those that carry hardly anything.
    pub(crate) fn devices(&self) -> Vec<String> {
        let mut names = self.names("/sys/class/net");
        names.retain(|name| {
            name != "lo" && self.has(&format!("/sys/class/net/{name}/queues")) && self.carries(name)
        });
        names.truncate(DEVICES);
        names
    }

    /// All devices that carry traffic, the loopback included.
    pub(crate) fn carriers(&self) -> Vec<String> {
        let mut names = self.devices();
        names.extend(Some("lo".to_owned()).filter(|lo| self.carries(lo)));
        names
    }

    /// The increase of a count of sent packets or bytes of a device.
    pub(crate) fn sent(&self, device: &str, name: &str) -> Option<u64> {
        self.moved(|counters| counters.sent.get(&(device.to_owned(), name)).copied())
    }

    /// Whether a device carried traffic between the two readings, so that its settings matter. With one reading it is
    /// not known.
    fn carries(&self, device: &str) -> bool {
        let Some(seconds) = self.seconds else { return true };
        let moved = self.moved(|counters| counters.packets.get(device).copied());
        moved.is_none_or(|packets| packets as f64 >= CARRIES * seconds)
    }

    /// The sums over the server's sockets; `None` if no server is named, or if they may not be inspected.
    pub(crate) fn sockets(&self) -> Option<Sockets> {
        Some(Sockets::read(&self.text(&place(self.process?))?))
    }

    /// Network devices with hardware behind them.
    pub(crate) fn hardware(&self) -> Vec<String> {
        let mut devices = self.devices();
        devices.retain(|device| self.has(&format!("/sys/class/net/{device}/device")));
        devices
    }

    /// The CPUs that are online.
    pub(crate) fn online(&self) -> Vec<usize> {
        let text = self.text("/sys/devices/system/cpu/online").unwrap_or_default();
        let list = cpu_list(&text);
        if list.is_empty() { (0..self.now.cpus.len()).collect() } else { list }
    }

    /// The kernel release: its first two numbers; zeros if it is unknown.
    pub(crate) fn kernel(&self) -> (u32, u32) {
        let release = self.text("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split(['.', '-']).map_while(|part| part.parse().ok());
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

/// Checks of the server that read its network.
const OF_NETWORK: [&str; 6] =
    ["app.fastopen", "app.connect", "app.keepalive", "app.datagrams", "app.limit", "app.pacing"];

/// Packets per second from which the settings of a device matter.
const CARRIES: f64 = 100.0;

impl Deref for HostReading {
    type Target = HostFiles;

    fn deref(&self) -> &HostFiles {
        &self.files
    }
}
